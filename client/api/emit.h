// SPDX-License-Identifier: Apache-2.0
// Emitters: the `emit` arguments of Map and Reduce, which call emit(key, value), or emit(key) when the value is
// Nothing. The types are concrete, so that a record costs no virtual call; a job takes them as `auto& emit`. Keys and
// values are copied at once.
// Thread rule: one thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "client/api/emitted.h"
#include "client/api/group.h"
#include "client/api/partition.h"
#include "client/format/codec.h"
#include "client/format/held_value.h"
#include "client/format/value_bytes.h"
#include "worker/task/collect/collector.h"
#include "worker/task/collect/combine_collector.h"
#include "worker/task/collect/partition.h"

namespace millrace {

namespace internal {

// Returns the value as the formats take it: text of any kind as a string_view, all else as it is.
template <class T>
decltype(auto) AsField(const T& value) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    return std::string_view(value);
  } else {
    return (value);
  }
}

[[nodiscard]] Status PartitionOutOfRange(std::uint32_t got, std::uint32_t partitions);

template <class Job>
struct CombineValues {
  using As = Held<typename Job::Value>;
  void operator()(typename As::Type& sum, const typename As::Type& value) const {
    sum = As::Of(Job::Combine(As::Back(sum), As::Back(value)));
  }
};

// The collector of a reduce that folds its segments into one sorted run. A key may occur in several segments.
template <class Job>
using FoldCollector =
    map::CombineCollector<typename Held<typename Job::Value>::Type, CombineValues<Job>, HeldCodec<typename Job::Value>>;

template <class Job>
concept HasPartition = requires(const Job& job, const typename Job::Key& key, std::uint32_t n) {
  { job.Partition(key, n) } -> std::convertible_to<std::uint32_t>;
};

// The job's reduces have ranges of keys.
template <class Job>
concept OrdersTotally = requires {
  requires std::same_as<typename Job::Partition, TotalOrder>;
};

// Returns the reduce of a key in a job without a Partition. The hash of the key's group decides if the job has a Group,
// else the hash of the key.
template <class Job>
std::uint32_t DefaultPartition([[maybe_unused]] const typename Job::Key& key, std::string_view key_bytes,
                               [[maybe_unused]] std::string* scratch, std::uint32_t partitions) {
  if constexpr (HasGroup<Job>) {
    return UseGroup<Job>(key, scratch, [&](std::string_view group) { return HashPartition(group, partitions); });
  } else {
    return HashPartition(key_bytes, partitions);
  }
}

// False, but dependent on a template argument, so that static_assert fires only on use.
template <class Emit>
inline constexpr bool kNever = false;

// The base of SortEmitter and CombineEmitter: checks the types of an emitted record and calls Self::Emit with the job's
// own types.
template <class Self, class Key, class Value>
class TypedEmitter {
 public:
  // True if emit(key) is accepted. A Map that may run without reduces checks this, since DirectEmitter accepts it for
  // any job.
  static constexpr bool kTakesKeyAlone = std::same_as<Value, Nothing>;

  template <class K = Key, class V = Value>
  void operator()(const K& key, const V& value) {
    constexpr bool kKeyFits = IsEmittedAs<K, Key>(), kValueFits = IsEmittedAs<V, Value>();
    static_assert(kKeyFits,
                  "emit(key, value): the key is not of the job's Key type, and does not become one without loss");
    static_assert(kValueFits || !kKeyFits,
                  "emit(key, value): the value is not of the job's Value type, and does not become one without loss");
    if constexpr (kKeyFits && kValueFits)
      static_cast<Self&>(*this).Emit(Emitted<Key>(key, "Key"), Emitted<Value>(value, "Value"));
  }
  template <class K = Key>
  void operator()(const K& key) {
    constexpr bool kKeyFits = IsEmittedAs<K, Key>();
    static_assert(kTakesKeyAlone,
                  "emit(key): the job has a Value, so it is emit(key, value); or let Value be millrace::Nothing");
    static_assert(kKeyFits || !kTakesKeyAlone,
                  "emit(key): the key is not of the job's Key type, and does not become one without loss");
    if constexpr (kTakesKeyAlone && kKeyFits) static_cast<Self&>(*this).Emit(Emitted<Key>(key, "Key"), Nothing{});
  }
  template <class... Args>
  void To(const Args&...) {
    static_assert(kNever<Self>,
                  "emit.To: named outputs are for Reduce, and for the Map of a job without Key and Value");
  }
};

}  // namespace internal

// Emits to the job's output, in any types that the format takes.
template <class Output>
class OutputEmitter {
 public:
  explicit OutputEmitter(typename Output::Writer& writer) : writer_(writer) {}

  template <class K, class V = Nothing>
  void operator()(const K& key, const V& value = {}) {
    using KeyField = std::remove_cvref_t<decltype(internal::AsField(key))>;
    using ValueField = std::remove_cvref_t<decltype(internal::AsField(value))>;
    static_assert(
        Output::template kTakes<KeyField, ValueField>,
        "the job's Output cannot write what is emitted here: specialise millrace::Codec for the type (codec.h)");
    writer_.Write(internal::AsField(key), internal::AsField(value));
  }
  template <class... Args>
  void To(const Args&...) {
    static_assert(internal::kNever<OutputEmitter>,
                  "emit.To: the job lists no outputs, as in `using Outputs = millrace::NamedOutputs<kOne, kOther>`");
  }

 private:
  typename Output::Writer& writer_;
};

// Emits from the maps of a job with intermediate types straight to its output, when the job runs without reduces.
template <class Job, class Output>
class DirectEmitter {
 public:
  using Key = typename Job::Key;
  using Value = typename Job::Value;
  static constexpr bool kTakesKeyAlone = true;

  explicit DirectEmitter(typename Output::Writer& writer) : writer_(writer) {}
  // Has no static_assert, since the emitter to the reduces takes the same types and has one.
  template <class K = Key, class V = Value>
  void operator()(const K& key, const V& value) {
    if constexpr (internal::EmittedAs<K, Key> && internal::EmittedAs<V, Value>)
      Write(internal::Emitted<Key>(key, "Key"), internal::Emitted<Value>(value, "Value"));
  }
  // Writes the key alone, whatever the job's Value is.
  template <class K = Key>
  void operator()(const K& key) {
    if constexpr (internal::EmittedAs<K, Key>) Write(internal::Emitted<Key>(key, "Key"), Nothing{});
  }
  template <class... Args>
  void To(const Args&...) {}

 private:
  template <class V>
  void Write(const Key& key, const V& value) {
    writer_.Write(key, value);
  }

  typename Output::Writer& writer_;
};

// Emits to the reduces, sorted. Requires: the job outlives this.
template <class Job>
class SortEmitter : public internal::TypedEmitter<SortEmitter<Job>, typename Job::Key, typename Job::Value> {
 public:
  using Key = typename Job::Key;
  using Value = typename Job::Value;

  // `ranges` is null unless the job's keys are in total order. Requires: `ranges` outlives this.
  SortEmitter(map::CollectorOptions options, const Job& job, const KeyRanges* ranges)
      : job_(job), ranges_(ranges), partitions_(options.partitions), collector_(std::move(options), nullptr) {}

  Status Finish() {
    MILLRACE_TRY(status_);
    return collector_.Finish();
  }
  [[nodiscard]] map::CollectorFigures figures() const { return collector_.figures(); }

 private:
  friend class internal::TypedEmitter<SortEmitter<Job>, Key, Value>;

  void Emit(const Key& key, const Value& value) {
    const std::string_view key_bytes = Codec<Key>::Encode(key, &key_scratch_);
    const std::uint32_t partition = PartitionFor(key, key_bytes);
    if (partition >= partitions_) [[unlikely]]
      return;
    collector_.Emit(partition, key_bytes, internal::ValueBytes<Value>::Encode(value, &value_scratch_));
  }
  std::uint32_t PartitionFor([[maybe_unused]] const Key& key, [[maybe_unused]] std::string_view key_bytes) {
    if constexpr (internal::OrdersTotally<Job>) {
      return ranges_->Find(key_bytes);
    } else if constexpr (internal::HasPartition<Job>) {
      const std::uint32_t partition = job_.Partition(key, partitions_);
      if (partition >= partitions_ && status_.ok()) status_ = internal::PartitionOutOfRange(partition, partitions_);
      return partition;
    } else {
      return partitions_ == 1 ? 0 : internal::DefaultPartition<Job>(key, key_bytes, &group_scratch_, partitions_);
    }
  }

  const Job& job_;
  const KeyRanges* ranges_;
  std::uint32_t partitions_;
  map::SortCollector collector_;
  std::string key_scratch_, value_scratch_, group_scratch_;
  Status status_;
};

// Emits to the reduces; the job's Combine folds the records as they are emitted. Requires: the job and `ranges` (as for
// SortEmitter) outlive this.
template <class Job>
class CombineEmitter : public internal::TypedEmitter<CombineEmitter<Job>, typename Job::Key, typename Job::Value> {
 public:
  using Key = typename Job::Key;
  using Value = typename Job::Value;

  CombineEmitter(map::CollectorOptions options, const Job& job, const KeyRanges* ranges)
      : collector_(std::move(options), internal::CombineValues<Job>{}, Partitioner{&status_, &job, ranges}) {}
  CombineEmitter(const CombineEmitter&) = delete;
  CombineEmitter& operator=(const CombineEmitter&) = delete;

  Status Finish() {
    const Status finished = collector_.Finish();
    MILLRACE_TRY(status_);
    return finished;
  }
  [[nodiscard]] map::CollectorFigures figures() const { return collector_.figures(); }

 private:
  friend class internal::TypedEmitter<CombineEmitter<Job>, Key, Value>;

  void Emit(const Key& key, const Value& value) {
    collector_.Emit(Codec<Key>::Encode(key, &key_scratch_), internal::Held<Value>::Of(value));
  }

  struct Partitioner {
    Status* status = nullptr;
    const Job* job = nullptr;
    const KeyRanges* ranges = nullptr;
    std::uint32_t operator()([[maybe_unused]] std::string_view key_bytes, [[maybe_unused]] std::uint64_t hash,
                             std::uint32_t partitions) const {
      if constexpr (internal::OrdersTotally<Job>) {
        return ranges->Find(key_bytes);
      } else if constexpr (internal::HasPartition<Job>) {
        Key key{};
        if (!Codec<Key>::Decode(key_bytes, &key)) return 0;  // it was encoded by the same Codec
        const std::uint32_t partition = job->Partition(key, partitions);
        if (partition < partitions) return partition;
        if (status->ok()) *status = internal::PartitionOutOfRange(partition, partitions);
        return 0;
      } else if constexpr (internal::HasGroup<Job>) {
        Key key{};
        std::string scratch;
        if (!Codec<Key>::Decode(key_bytes, &key)) return 0;
        return internal::DefaultPartition<Job>(key, key_bytes, &scratch, partitions);
      } else {
        return map::PartitionOf(hash, partitions);
      }
    }
  };

  Status status_;  // declared before the collector, which points to it
  map::CombineCollector<typename internal::Held<Value>::Type, internal::CombineValues<Job>, internal::HeldCodec<Value>,
                        Partitioner>
      collector_;
  std::string key_scratch_;
};

}  // namespace millrace
