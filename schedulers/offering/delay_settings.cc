// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/delay_settings.h"

#include <utility>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, DelaySettings::Mode> kDelayModes[] = {{"fixed", DelaySettings::Mode::kFixed},
                                                                            {"auto", DelaySettings::Mode::kAuto}};

}  // namespace

void Declare(KeyList& keys, DelaySettings& settings) {
  auto& [mode, rack_wait, datacenter_wait, off_wait] = settings;
  keys.Choice<DelaySettings::Mode>("mode", &mode, kDelayModes,
                                   "waits as given here, or adapted to what a job gains by waiting");
  keys.Duration("rack_wait", &rack_wait, kHour,
                "how long a job waits for a node with its data before it takes one in the same rack (T1)");
  keys.Duration("datacenter_wait", &datacenter_wait, kHour, "and then before it takes one in the same datacenter (T2)");
  keys.Duration("off_wait", &off_wait, kHour, "and then before it takes any node (T3)");
}

}  // namespace millrace::sched
