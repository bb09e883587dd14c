// SPDX-License-Identifier: Apache-2.0
#include "client/api/emit.h"

#include <stdexcept>
#include <string>

namespace millrace::internal {

Status PartitionOutOfRange(std::uint32_t got, std::uint32_t partitions) {
  return Invalid("Partition returned " + std::to_string(got) + " for a job of " + std::to_string(partitions) +
                 " reduces; it must be less");
}

namespace {

[[noreturn]] void ThrowOutOfRange(const char* what, const std::string& number, std::int64_t least, std::uint64_t most) {
  throw std::out_of_range("emit: " + number + " does not fit the job's " + what + ", which holds " +
                          std::to_string(least) + " to " + std::to_string(most) + "; give " + what + " a wider type");
}

}  // namespace

void EmitOutOfRange(const char* what, std::int64_t number, std::int64_t least, std::uint64_t most) {
  ThrowOutOfRange(what, std::to_string(number), least, most);
}
void EmitOutOfRange(const char* what, std::uint64_t number, std::int64_t least, std::uint64_t most) {
  ThrowOutOfRange(what, std::to_string(number), least, most);
}

}  // namespace millrace::internal
