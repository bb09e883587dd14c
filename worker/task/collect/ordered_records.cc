// SPDX-License-Identifier: Apache-2.0
#include "worker/task/collect/ordered_records.h"

namespace millrace::map {

Status OrderedRecords::Write(run::RunWriter& writer, std::uint64_t* records) const {
  for (const PartitionRecords& partition : partitions_) {
    writer.BeginPartition();
    for (const Chunk& chunk : partition.chunks) {
      MILLRACE_TRY(writer.AddEncoded(partition.BytesOf(chunk), chunk.records));
      *records += chunk.records;
    }
    MILLRACE_TRY(writer.EndPartition());
  }
  return Status::Ok();
}

std::vector<std::string> OrderedRecords::Copy() const {
  std::vector<std::string> copies(partitions_.size());
  for (std::size_t partition = 0; partition < partitions_.size(); ++partition) {
    for (const Chunk& chunk : partitions_[partition].chunks) copies[partition] += partitions_[partition].BytesOf(chunk);
  }
  return copies;
}

}  // namespace millrace::map
