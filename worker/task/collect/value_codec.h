// SPDX-License-Identifier: Apache-2.0
// Codecs turn a combined value into the bytes of a run file and back. client/api supplies codecs for its value types;
// VarintCodec is the codec of counts.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "worker/task/collect/collector.h"
#include "worker/task/run/varint.h"

namespace millrace::map {

// Encode writes at most kMaxBytes to `out` and returns the number written. Decode is its inverse, and returns nullopt
// if the bytes make no sense.
template <class C, class Value>
concept ValueCodec = requires(const Value& value, char* out, std::string_view bytes) {
  { C::kMaxBytes } -> std::convertible_to<std::size_t>;
  { C::Encode(value, out) } -> std::same_as<std::size_t>;
  { C::Decode(bytes) } -> std::same_as<std::optional<Value>>;
};

struct VarintCodec {
  static constexpr std::size_t kMaxBytes = run::kMaxVarintBytes;
  static std::size_t Encode(const std::uint64_t& value, char* out) {
    return static_cast<std::size_t>(run::PutVarint(out, value) - out);
  }
  static std::optional<std::uint64_t> Decode(std::string_view bytes) {
    std::uint64_t value = 0;
    const char* const end = bytes.data() + bytes.size();
    if (run::GetVarint(bytes.data(), end, &value) != end || bytes.empty()) return std::nullopt;
    return value;
  }
};

// Combines encoded values; `Combine` is as in combine_collector.h. A value that cannot be decoded is left out and makes
// ok() false.
template <class Value, class Combine, class Codec>
requires ValueCodec<Codec, Value>
class CodecCombiner final : public RunCombiner {
 public:
  explicit CodecCombiner(Combine combine) : combine_(combine) {}

  void Begin(std::string_view first_value) override { Set(Codec::Decode(first_value)); }
  void Add(std::string_view value) override {
    const std::optional<Value> decoded = Codec::Decode(value);
    if (decoded && sum_) {
      combine_(*sum_, *decoded);
    } else {
      Set(decoded);
    }
  }
  std::string_view End() override { return {bytes_, sum_ ? Codec::Encode(*sum_, bytes_) : 0}; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void Set(std::optional<Value> value) {
    sum_ = value;
    ok_ = ok_ && value.has_value();
  }

  Combine combine_;
  std::optional<Value> sum_;
  bool ok_ = true;
  char bytes_[Codec::kMaxBytes];
};

}  // namespace millrace::map
