// SPDX-License-Identifier: Apache-2.0
// LsapSettings: the settings of the LSAP schedulers. Times are in us.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids/time.h"
#include "schedulers/cluster/bandwidths.h"

namespace millrace::sched {

class KeyList;

struct LsapSettings {
  std::optional<Micros> batch_window;  // absent: 0 when at least 5% of the map slots are free, else 200 ms
  double alpha = 1;                    // weight of data locality in `lsap-fair`
  double beta = 100;                   // fairness cost beyond the group's share
  Micros ageing_half_life = 60 * kSecond;
  LevelBandwidths bandwidths;  // bytes/s

  static constexpr std::string_view kSection = "lsap";
  static constexpr std::string_view kOneLine = "The schedulers lsap, lsap-uniform and lsap-fair.";
};

void Declare(KeyList& keys, LsapSettings& settings);

}  // namespace millrace::sched
