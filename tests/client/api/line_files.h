// SPDX-License-Identifier: Apache-2.0
// Files that are difficult for line readers, and the lines in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace millrace {

struct Line {
  std::string text;
  std::uint64_t offset = 0;
  bool operator==(const Line&) const = default;
};

// Returns the lines from byte `first` on, found byte by byte from the definition of a line.
inline std::vector<Line> LinesOf(std::string_view file, std::size_t first = 0) {
  std::vector<Line> lines;
  Line line;
  bool open = false;
  for (std::size_t i = first; i < file.size(); ++i) {
    if (!open) line = {"", i};
    open = file[i] != '\n';
    if (open) line.text.push_back(file[i]);
    if (!open) lines.push_back(line);
  }
  if (open) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> NastyFiles() {
  using namespace std::string_literals;
  std::vector<std::string> files = {"",
                                    "\n",
                                    "\n\n\n",
                                    "a",
                                    "a\n",
                                    "\na",
                                    "ab\ncd",
                                    "ab\n\n\ncd\n",
                                    "a\r\nb\r\n\r\n",
                                    "\r",
                                    "\r\n\r",
                                    "x\0y\n\0\n\0"s,
                                    std::string(40, 'l'),
                                    std::string(40, 'l') + "\n",
                                    "s\n" + std::string(37, 'l') + "\ns"};
  Random random(20240611);
  for (int i = 0; i < 40; ++i) {
    std::string file;
    for (std::uint64_t n = random.Below(48); n > 0; --n) file.push_back("ab\n\r\0\n"[random.Below(6)]);
    files.push_back(file);
  }
  return files;
}

}  // namespace millrace
