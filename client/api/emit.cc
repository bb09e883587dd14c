#include "client/api/emit.h"

namespace millrace::internal {

Status PartitionOutOfRange(std::uint32_t got, std::uint32_t partitions) {
  return Invalid("Partition returned " + std::to_string(got) + " for a job of " + std::to_string(partitions) +
                 " reduces; it must be less");
}

}  // namespace millrace::internal
