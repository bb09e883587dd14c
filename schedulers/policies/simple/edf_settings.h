// EdfSettings: the settings of `edf`.
#pragma once

#include <string_view>

namespace millrace::sched {

class KeyList;

struct EdfSettings {
  bool exclusive = false;

  static constexpr std::string_view kSection = "edf";
  static constexpr std::string_view kOneLine = "The scheduler edf.";
};

void Declare(KeyList& keys, EdfSettings& settings);

}  // namespace millrace::sched
