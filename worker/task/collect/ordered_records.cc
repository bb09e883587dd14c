#include "worker/task/collect/ordered_records.h"

namespace millrace::map {

Status OrderedRecords::Write(run::RunWriter& writer, std::uint64_t* records) const {
  for (const Lane& lane : lanes_) {
    writer.BeginPartition();
    for (const Chunk& chunk : lane.chunks) {
      MILLRACE_TRY(writer.AddEncoded(lane.BytesOf(chunk), chunk.records));
      *records += chunk.records;
    }
    MILLRACE_TRY(writer.EndPartition());
  }
  return Status::Ok();
}

std::vector<std::string> OrderedRecords::Copy() const {
  std::vector<std::string> copies(lanes_.size());
  for (std::size_t partition = 0; partition < lanes_.size(); ++partition) {
    for (const Chunk& chunk : lanes_[partition].chunks) copies[partition] += lanes_[partition].BytesOf(chunk);
  }
  return copies;
}

}  // namespace millrace::map
