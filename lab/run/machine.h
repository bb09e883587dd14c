// Machine describes the machine on which a comparison was made, for its report. Thread rule: free functions, any
// thread.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::compare {

struct Machine {
  std::string kernel, processor;  // empty if the system does not say
  std::uint32_t cores = 0;
  std::uint64_t memory = 0;  // bytes
};

[[nodiscard]] Machine ThisMachine();

}  // namespace millrace::compare
