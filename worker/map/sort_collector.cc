#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "worker/map/collector.h"
#include "worker/map/item_sort.h"
#include "worker/map/page_buffer.h"
#include "worker/map/spill_set.h"
#include "worker/run/run_file.h"
#include "worker/run/varint.h"

namespace millrace::map {
namespace {

constexpr std::uint64_t kMinMemory = 4096;
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << kPositionBits;
constexpr std::size_t kPrefetch = 12;  // records ahead of the writer

struct Record {
  std::string_view key, value, encoded;
};

Record RecordAt(const char* at) {
  const char* const end = at + 2 * run::kMaxVarintBytes;
  std::uint64_t key_size = 0, value_size = 0;
  const char* const key = run::GetVarint(run::GetVarint(at, end, &key_size), end, &value_size);
  const char* const value = key + key_size;
  return {{key, key_size}, {value, value_size}, {at, static_cast<std::size_t>(value + value_size - at)}};
}

}  // namespace

// One buffer: encoded records from the front, their items from the back; full when they meet.
struct SortCollector::Impl {
  Impl(CollectorOptions o, RunCombiner* c)
      : options(std::move(o)),
        combiner(c),
        buffer((std::clamp(options.memory, kMinMemory, kMaxMemory) + 7) & ~std::uint64_t{7}),
        spills(options.scratch, options.partitions, options.compress) {
    MILLRACE_CHECK(options.partitions >= 1 && options.partitions <= kMaxPartitions, std::to_string(options.partitions));
    if (buffer.data() == nullptr) {
      failure = NoSpace("sort map output: no memory for a buffer of " + std::to_string(buffer.size()) + " bytes");
      return;
    }
    front = buffer.data();
    Clear();
  }

  void Clear() {
    front = buffer.data();
    first_item = end_of_items();
  }
  [[nodiscard]] SortItem* end_of_items() const {
    return reinterpret_cast<SortItem*>(buffer.data() + (buffer.size() & ~std::size_t{15}));
  }
  [[nodiscard]] std::span<SortItem> items() const { return {first_item, end_of_items()}; }

  bool MakeRoom(std::uint32_t partition, std::string_view key, std::string_view value);
  Status Spill();
  Status SpillAlone(std::uint32_t partition, std::string_view key, std::string_view value);
  Status WriteSorted(run::RunWriter& writer, std::uint64_t* records);
  Status WritePartition(std::span<const SortItem> items, run::RunWriter& writer, CombiningWriter& out);
  Status Finish();

  const CollectorOptions options;
  RunCombiner* const combiner;
  PageBuffer buffer;
  char* front = nullptr;
  SortItem* first_item = nullptr;
  SpillSet spills;
  Status failure;
  bool finished = false;
  CollectorFigures figures;
};

// The slow part of Emit: false when the record needs no place in the buffer any more.
bool SortCollector::Impl::MakeRoom(std::uint32_t partition, std::string_view key, std::string_view value) {
  if (!failure.ok()) return false;
  if (!items().empty()) failure = Spill();
  if (!failure.ok()) return false;
  const std::uint64_t needed = std::uint64_t{2 * run::kMaxVarintBytes + sizeof(SortItem)} + key.size() + value.size();
  if (needed <= static_cast<std::uint64_t>(reinterpret_cast<char*>(first_item) - front)) return true;
  failure = SpillAlone(partition, key, value);
  return false;
}

Status SortCollector::Impl::Spill() {
  MILLRACE_ASSIGN(run::RunWriter writer, spills.Begin());
  std::uint64_t records = 0;
  MILLRACE_TRY(WriteSorted(writer, &records));
  MILLRACE_TRY(writer.Finish());
  ++figures.spills;
  figures.spilled_records += records;
  Clear();
  return Status::Ok();
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

Status SortCollector::Impl::WriteSorted(run::RunWriter& writer, std::uint64_t* records) {
  const char* const base = buffer.data();
  ItemSorter sorter([base](std::uint64_t position) { return RecordAt(base + position).key; });
  const std::span<SortItem> all = items();
  sorter.Sort(all, options.partitions);
  CombiningWriter out(&writer, combiner);
  std::size_t begin = 0;
  for (std::uint32_t partition = 0; partition < options.partitions; ++partition) {
    std::size_t end = begin;
    while (end < all.size() && all[end].partition() == partition) ++end;
    writer.BeginPartition();
    MILLRACE_TRY(WritePartition(all.subspan(begin, end - begin), writer, out));
    MILLRACE_TRY(writer.EndPartition());
    begin = end;
  }
  *records = combiner == nullptr ? all.size() : out.records();
  return Status::Ok();
}

Status SortCollector::Impl::WritePartition(std::span<const SortItem> part, run::RunWriter& writer,
                                           CombiningWriter& out) {
  const char* const base = buffer.data();
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (i + kPrefetch < part.size()) {
      const char* const next = base + part[i + kPrefetch].position();
      __builtin_prefetch(next);
      __builtin_prefetch(next + 64);
    }
    const Record record = RecordAt(base + part[i].position());
    if (combiner == nullptr) {
      MILLRACE_TRY(writer.AddEncoded(record.encoded, 1));
    } else {
      MILLRACE_TRY(out.Add(record.key, record.value, /*key_stays=*/true));
    }
  }
  return out.EndPartition();
}

Status SortCollector::Impl::Finish() {
  MILLRACE_TRY(failure);
  if (!spills.empty()) {
    if (!items().empty()) MILLRACE_TRY(Spill());
    return spills.Merge(options.run_file, combiner, &figures);
  }
  MILLRACE_ASSIGN(run::RunWriter writer, run::RunWriter::Create(options.run_file, options.compress));
  MILLRACE_TRY(WriteSorted(writer, &figures.output_records));
  figures.output_bytes = writer.bytes();
  return writer.Finish();
}

SortCollector::SortCollector(CollectorOptions options, RunCombiner* combiner)
    : impl_(std::make_unique<Impl>(std::move(options), combiner)) {}
SortCollector::~SortCollector() = default;

void SortCollector::Emit(std::uint32_t partition, std::string_view key, std::string_view value) {
  Impl& impl = *impl_;
  ++impl.figures.records;
  impl.figures.bytes += key.size() + value.size();
  if (partition >= impl.options.partitions) [[unlikely]] {
    if (impl.failure.ok()) {
      impl.failure = Invalid("collect map output: partition " + std::to_string(partition) + " of " +
                             std::to_string(impl.options.partitions) + "; the job's partitioner is wrong");
    }
    return;
  }
  constexpr std::size_t kOverhead = 2 * run::kMaxVarintBytes + sizeof(SortItem);
  const auto room = static_cast<std::size_t>(reinterpret_cast<char*>(impl.first_item) - impl.front);
  if (room < kOverhead || key.size() > room - kOverhead || value.size() > room - kOverhead - key.size() ||
      !impl.failure.ok()) [[unlikely]] {
    if (!impl.MakeRoom(partition, key, value)) return;
  }
  const auto position = static_cast<std::uint64_t>(impl.front - impl.buffer.data());
  char* out = run::PutVarint(run::PutVarint(impl.front, key.size()), value.size());
  if (!key.empty()) std::memcpy(out, key.data(), key.size());
  out += key.size();
  if (!value.empty()) std::memcpy(out, value.data(), value.size());
  impl.front = out + value.size();
  new (--impl.first_item) SortItem{PrefixOf(key), std::uint64_t{partition} << kPositionBits | position};
}

Status SortCollector::Finish() {
  MILLRACE_CHECK(!impl_->finished, impl_->options.run_file);
  impl_->finished = true;
  return impl_->Finish();
}

CollectorFigures SortCollector::figures() const { return impl_->figures; }

}  // namespace millrace::map
