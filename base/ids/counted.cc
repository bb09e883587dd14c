// SPDX-License-Identifier: Apache-2.0
#include "base/ids/counted.h"

namespace millrace {

std::string Counted(std::uint64_t count, std::string_view one, std::string_view many) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1 || many.empty()) {
    text += one;
    if (count != 1) text += 's';
  } else {
    text += many;
  }
  return text;
}

}  // namespace millrace
