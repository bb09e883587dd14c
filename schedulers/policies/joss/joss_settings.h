// SPDX-License-Identifier: Apache-2.0
// JossSettings: the settings of the JoSS schedulers.
#pragma once

#include <string_view>

namespace millrace::sched {

class KeyList;

struct JossSettings {
  double default_ratio = -1;  // filtering percentage of a program without a history; below 0: unknown, goes to MQ_FIFO

  static constexpr std::string_view kSection = "joss";
  static constexpr std::string_view kOneLine = "The schedulers joss-t and joss-j.";
};

void Declare(KeyList& keys, JossSettings& settings);

}  // namespace millrace::sched
