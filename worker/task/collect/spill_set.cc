// SPDX-License-Identifier: Apache-2.0
#include "worker/task/collect/spill_set.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace millrace::map {

struct SpillSet::Spill {
  MappedFile file;
  std::vector<run::SegmentInfo> segments;
};

Result<run::RunWriter> CreateRun(const CollectorOptions& options, std::uint64_t expected_bytes) {
  if (!options.choose) return run::RunWriter::Create(options.run_file, options.compress);
  return run::RunWriter::Create(options.run_file, [choose = options.choose, expected_bytes](std::string_view first) {
    return choose(first, expected_bytes);
  });
}

SpillSet::SpillSet(const CollectorOptions& options) : options_(options) {}

SpillSet::~SpillSet() {
  for (const std::string& path : paths_) ::unlink(path.c_str());
}

Result<run::RunWriter> SpillSet::Begin() {
  paths_.push_back(options_.scratch + "/spill-" + std::to_string(paths_.size()) + ".run");
  return run::RunWriter::Create(paths_.back(), compresses());
}

Result<std::vector<SpillSet::Spill>> SpillSet::Open() const {
  std::vector<Spill> spills;
  spills.reserve(paths_.size());
  for (const std::string& path : paths_) {
    Spill spill;
    MILLRACE_ASSIGN(const Fd fd, OpenFile(path, O_RDONLY));
    MILLRACE_ASSIGN(spill.segments, run::ReadRunIndex(fd.get(), path, options_.partitions));
    MILLRACE_ASSIGN(const std::uint64_t size, FileSize(fd.get(), path));
    MILLRACE_ASSIGN(spill.file, MappedFile::Map(fd.get(), 0, size, path));
    spills.push_back(std::move(spill));
  }
  return spills;
}

Result<std::vector<run::SegmentCursor>> SpillSet::Cursors(const std::vector<Spill>& spills,
                                                          std::uint32_t partition) const {
  std::vector<run::SegmentCursor> cursors;
  for (std::size_t i = 0; i < spills.size(); ++i) {
    const run::SegmentInfo& segment = spills[i].segments[partition];
    if (segment.records == 0) continue;
    const std::string_view stored = spills[i].file.bytes().substr(segment.offset, segment.length);
    std::string name = std::to_string(partition) + " of spill " + paths_[i];
    MILLRACE_TRY(run::VerifySegment(stored, segment, name));
    cursors.emplace_back(stored, segment.compressed, std::move(name));
  }
  return cursors;
}

Status SpillSet::Merge(RunCombiner* combiner, CollectorFigures* figures) {
  MILLRACE_ASSIGN(const std::vector<Spill> spills, Open());
  std::uint64_t bytes = 0;
  for (const Spill& spill : spills) {
    for (const run::SegmentInfo& segment : spill.segments) bytes += segment.raw_length;
  }
  MILLRACE_ASSIGN(run::RunWriter writer, CreateRun(options_, bytes));
  CombiningWriter out(&writer, combiner);
  for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
    MILLRACE_ASSIGN(std::vector<run::SegmentCursor> cursors, Cursors(spills, partition));
    run::SegmentMerger merger(std::move(cursors));
    writer.BeginPartition();
    while (merger.Next()) MILLRACE_TRY(out.Add(merger.key(), merger.value(), /*key_stays=*/!compresses()));
    MILLRACE_TRY(merger.status());
    MILLRACE_TRY(out.EndPartition());
    MILLRACE_TRY(writer.EndPartition());
  }
  figures->output_records = out.records();
  figures->output_bytes = writer.bytes();
  return writer.Finish();
}

Status CombiningWriter::Add(std::string_view key, std::string_view value, bool key_stays) {
  if (combiner_ == nullptr) {
    ++records_;
    return writer_->Add(key, value);
  }
  if (open_ && key == key_) {
    combiner_->Add(value);
    return Status::Ok();
  }
  MILLRACE_TRY(EndPartition());
  if (!key_stays) copy_.assign(key);
  key_ = key_stays ? key : std::string_view(copy_);
  combiner_->Begin(value);
  open_ = true;
  return Status::Ok();
}

Status CombiningWriter::EndPartition() {
  if (!open_) return Status::Ok();
  open_ = false;
  ++records_;
  return writer_->Add(key_, combiner_->End());
}

}  // namespace millrace::map
