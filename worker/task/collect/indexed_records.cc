// SPDX-License-Identifier: Apache-2.0
#include "worker/task/collect/indexed_records.h"

#include "worker/task/collect/spill_set.h"

namespace millrace::map {
namespace {

constexpr std::size_t kPrefetch = 12;  // how many records it fetches ahead of the writer

}  // namespace

Status IndexedRecords::Write(std::uint32_t partitions, RunCombiner* combiner, run::RunWriter& writer,
                             std::uint64_t* records) {
  const char* const base = begin_;
  const std::span<SortItem> items(items_, items_end_);
  ItemSorter sorter([base](std::uint64_t position) { return EncodedRecord::At(base + position).key; });
  sorter.Sort(items, partitions);
  CombiningWriter combined(&writer, combiner);
  std::size_t i = 0;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    writer.BeginPartition();
    for (; i < items.size() && items[i].partition() == partition; ++i) {
      if (i + kPrefetch < items.size()) {
        const char* const next = base + items[i + kPrefetch].position();
        __builtin_prefetch(next);
        __builtin_prefetch(next + 64);
      }
      const EncodedRecord record = EncodedRecord::At(base + items[i].position());
      if (combiner == nullptr) {
        MILLRACE_TRY(writer.AddEncoded(record.bytes, 1));
      } else {
        MILLRACE_TRY(combined.Add(record.key, record.value, /*key_stays=*/true));
      }
    }
    MILLRACE_TRY(combined.EndPartition());
    MILLRACE_TRY(writer.EndPartition());
  }
  *records += combiner == nullptr ? items.size() : combined.records();
  return Status::Ok();
}

}  // namespace millrace::map
