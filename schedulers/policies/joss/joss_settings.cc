// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_settings.h"

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, JossSettings& settings) {
  auto& [default_ratio] = settings;
  keys.Real(
      "default_ratio", &default_ratio, {-kNoBound, kNoBound},
      "filtering percentage of a program without history; below 0: unknown, and such jobs run first in, first out");
}

}  // namespace millrace::sched
