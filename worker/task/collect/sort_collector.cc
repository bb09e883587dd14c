// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "worker/task/collect/collector.h"
#include "worker/task/collect/indexed_records.h"
#include "worker/task/collect/ordered_records.h"
#include "worker/task/collect/page_buffer.h"
#include "worker/task/collect/spill_set.h"
#include "worker/task/run/run_file.h"

namespace millrace::map {
namespace {

constexpr std::uint64_t kMinMemory = 4096;
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << kPositionBits;
// If order ends within this part of the memory, the records in order are sorted with the others, and make no run of
// their own.
constexpr std::size_t kSoon = 8;

}  // namespace

// The one buffer serves for records that come in order, and, from the first that does not, for an index and the sort.
struct SortCollector::Impl {
  Impl(CollectorOptions o, RunCombiner* c)
      : options(std::move(o)),
        combiner(c),
        emitted(options.emitted != nullptr ? *options.emitted : unseen),
        buffer((std::clamp(options.memory, kMinMemory, kMaxMemory) + 7) & ~std::uint64_t{7}),
        ordered({buffer.data(), buffer.data() == nullptr ? 0 : buffer.size()}, options.partitions),
        indexed({buffer.data(), buffer.data() == nullptr ? 0 : buffer.size()}),
        in_order(combiner == nullptr),
        spills(options) {
    MILLRACE_CHECK(options.partitions >= 1 && options.partitions <= kMaxPartitions, std::to_string(options.partitions));
    if (buffer.data() != nullptr) return;
    failure = NoSpace("sort map output: no memory for a buffer of " + std::to_string(buffer.size()) + " bytes");
  }

  bool AddInOrder(std::uint32_t partition, std::string_view key, std::string_view value);
  void SortInstead();
  void Index(std::uint32_t partition, std::string_view key, std::string_view value);
  Status SpillAlone(std::uint32_t partition, std::string_view key, std::string_view value);
  Status Spill();
  Status Write(run::RunWriter& writer, std::uint64_t* records);
  Status Finish();

  const CollectorOptions options;
  RunCombiner* const combiner;
  std::atomic<std::uint64_t> unseen{0};
  std::atomic<std::uint64_t>& emitted;
  PageBuffer buffer;
  OrderedRecords ordered;  // one of these two is always empty
  IndexedRecords indexed;
  bool in_order;
  SpillSet spills;
  Status failure;
  bool finished = false;
  CollectorFigures figures;
};

// Adds a record that comes in order. Returns false if it has to be sorted in.
bool SortCollector::Impl::AddInOrder(std::uint32_t partition, std::string_view key, std::string_view value) {
  const OrderedRecords::AddResult added = ordered.Add(partition, key, value);
  if (added == OrderedRecords::AddResult::kAdded) [[likely]]
    return true;
  const bool soon = added == OrderedRecords::AddResult::kOutOfOrder && ordered.bytes() <= buffer.size() / kSoon;
  if (!soon && !ordered.empty()) {  // what came so far makes a run, and perhaps order begins again
    failure = Spill();
    if (!failure.ok() || ordered.Add(partition, key, value) == OrderedRecords::AddResult::kAdded) return true;
  }
  SortInstead();
  return false;
}

// Sorts the records that came in order so far together with later ones.
void SortCollector::Impl::SortInstead() {
  in_order = false;
  const std::vector<std::string> came = ordered.Copy();
  ordered.Clear();
  for (std::uint32_t partition = 0; partition < options.partitions; ++partition) {
    const char* at = came[partition].data();
    while (at != came[partition].data() + came[partition].size()) {
      const EncodedRecord record = EncodedRecord::At(at);
      Index(partition, record.key, record.value);
      at += record.bytes.size();
    }
  }
}

void SortCollector::Impl::Index(std::uint32_t partition, std::string_view key, std::string_view value) {
  // A record of several that are indexed in a row may have failed before this one.
  if (!failure.ok() || indexed.Add(partition, key, value)) return;
  if (!indexed.empty()) failure = Spill();
  if (!failure.ok() || indexed.Add(partition, key, value)) return;
  failure = SpillAlone(partition, key, value);
}

Status SortCollector::Impl::SpillAlone(std::uint32_t partition, std::string_view key, std::string_view value) {
  MILLRACE_ASSIGN(run::RunWriter writer, spills.Begin());
  for (std::uint32_t p = 0; p < options.partitions; ++p) {
    writer.BeginPartition();
    if (p == partition) MILLRACE_TRY(writer.Add(key, value));
    MILLRACE_TRY(writer.EndPartition());
  }
  MILLRACE_TRY(writer.Finish());
  ++figures.spills;
  ++figures.spilled_records;
  return Status::Ok();
}

Status SortCollector::Impl::Spill() {
  MILLRACE_ASSIGN(run::RunWriter writer, spills.Begin());
  ++figures.spills;
  MILLRACE_TRY(Write(writer, &figures.spilled_records));
  return writer.Finish();
}

// Writes the content of the buffer to a run and empties it.
Status SortCollector::Impl::Write(run::RunWriter& writer, std::uint64_t* records) {
  const Status written =
      in_order ? ordered.Write(writer, records) : indexed.Write(options.partitions, combiner, writer, records);
  ordered.Clear();
  indexed.Clear();
  return written;
}

Status SortCollector::Impl::Finish() {
  MILLRACE_TRY(failure);
  if (!spills.empty()) {
    if (!ordered.empty() || !indexed.empty()) MILLRACE_TRY(Spill());
    return spills.Merge(combiner, &figures);
  }
  MILLRACE_ASSIGN(run::RunWriter writer, CreateRun(options, figures.bytes));
  MILLRACE_TRY(Write(writer, &figures.output_records));
  figures.output_bytes = writer.bytes();
  return writer.Finish();
}

SortCollector::SortCollector(CollectorOptions options, RunCombiner* combiner)
    : impl_(std::make_unique<Impl>(std::move(options), combiner)) {}
SortCollector::~SortCollector() = default;

void SortCollector::Emit(std::uint32_t partition, std::string_view key, std::string_view value) {
  Impl& impl = *impl_;
  if (!impl.failure.ok()) [[unlikely]]
    return;
  impl.emitted.store(++impl.figures.records, std::memory_order_relaxed);
  impl.figures.bytes += key.size() + value.size();
  if (partition >= impl.options.partitions) [[unlikely]] {
    impl.failure = Invalid("collect map output: partition " + std::to_string(partition) + " of " +
                           std::to_string(impl.options.partitions) + "; the job's partitioner is wrong");
    return;
  }
  if (impl.in_order && impl.AddInOrder(partition, key, value)) return;
  impl.Index(partition, key, value);
}

Status SortCollector::Finish() {
  MILLRACE_CHECK(!impl_->finished, impl_->options.run_file);
  impl_->finished = true;
  return impl_->Finish();
}

CollectorFigures SortCollector::figures() const { return impl_->figures; }

}  // namespace millrace::map
