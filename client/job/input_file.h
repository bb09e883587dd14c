// SPDX-License-Identifier: Apache-2.0
// InputFile: one file of a job's input.
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

struct InputFile {
  std::string path;
  std::string name;  // as TaskContext::input_name returns it: the path below the input, or the base name
  std::uint64_t length = 0;
  std::uint64_t block_size = 0;  // 0 if the file is not cut into blocks
};

}  // namespace millrace
