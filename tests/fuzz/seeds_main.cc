// SPDX-License-Identifier: Apache-2.0
// With libFuzzer: writes the target's seeds into the directory $MILLRACE_FUZZ_SEEDS before the corpus is read.
#include <fstream>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* directory = std::getenv("MILLRACE_FUZZ_SEEDS");
  if (directory == nullptr) return 0;
  std::size_t number = 0;
  for (const std::string& seed : millrace::fuzz::Seeds()) {
    std::ofstream out(std::string(directory) + "/seed" + std::to_string(number++), std::ios::binary);
    out << seed;
  }
  return 0;
}
