// JossSettings: what the JoSS schedulers can be told.
#pragma once

#include <string_view>

namespace millrace::sched {

class KeyList;

struct JossSettings {
  double default_ratio =
      -1;  // filtering percentage of a program of which nothing is known; below 0: unknown, goes to MQ_FIFO

  static constexpr std::string_view kSection = "joss";
  static constexpr std::string_view kOneLine = "The schedulers joss-t and joss-j.";
};

void Declare(KeyList& keys, JossSettings& settings);

}  // namespace millrace::sched
