// SPDX-License-Identifier: Apache-2.0
// Turns intermediate values into bytes. Integers are varints (zigzag if signed), since values are not sorted. Other
// types use their Codec. A trivially copyable type without a Codec of its own is copied as it lies in memory, if it
// holds all of its bytes itself (plain_bytes.h).
// Thread rule: values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "client/format/codec.h"
#include "client/format/compound_codec.h"
#include "client/format/plain_bytes.h"
#include "worker/task/run/varint.h"

namespace millrace::internal {

// A type that would be copied as it lies in memory, if it consists of its bytes alone.
template <class T>
concept LooksPlain = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> &&
    (!Encodable<T> || OfStruct<T>);

template <class T>
concept PlainBytes = LooksPlain<T> && HoldsItsBytes<T>();

template <class T>
concept IntermediateValue = Encodable<T> || PlainBytes<T>;

// Returns the zigzag form of a signed integer, and an unsigned one as it is.
template <std::integral T>
std::uint64_t Fold(T value) {
  if constexpr (std::is_signed_v<T>) {
    const auto wide = static_cast<std::int64_t>(value);
    return (static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63);
  } else {
    return value;
  }
}

template <std::integral T>
T Unfold(std::uint64_t raw) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1)));
  } else {
    return static_cast<T>(raw);
  }
}

template <IntermediateValue T>
struct ValueBytes {
  static constexpr bool kVarint = std::integral<T> && !std::same_as<T, bool>;

  static std::string_view Encode(const T& value, std::string* scratch) {
    if constexpr (kVarint) {
      scratch->resize(run::kMaxVarintBytes);
      return {scratch->data(),
              static_cast<std::size_t>(run::PutVarint(scratch->data(), Fold(value)) - scratch->data())};
    } else if constexpr (PlainBytes<T>) {
      return {reinterpret_cast<const char*>(&value), sizeof value};
    } else {
      return Codec<T>::Encode(value, scratch);
    }
  }

  static bool Decode(std::string_view bytes, T* value) {
    if constexpr (kVarint) {
      std::uint64_t raw = 0;
      const char* const end = bytes.data() + bytes.size();
      if (bytes.empty() || run::GetVarint(bytes.data(), end, &raw) != end) return false;
      *value = Unfold<T>(raw);
      return Fold(*value) == raw;
    } else if constexpr (PlainBytes<T>) {
      if (bytes.size() != sizeof *value) return false;
      std::memcpy(value, bytes.data(), sizeof *value);
      return true;
    } else {
      return Codec<T>::Decode(bytes, value);
    }
  }
};

template <class T>
constexpr std::size_t MaxValueBytes() {
  if constexpr (std::integral<T>) {
    return run::kMaxVarintBytes;
  } else if constexpr (PlainBytes<T>) {
    return sizeof(T);
  } else if constexpr (requires { Codec<T>::kMaxBytes; }) {
    return Codec<T>::kMaxBytes;
  } else if constexpr (requires { Codec<T>::kFixedBytes; }) {
    return Codec<T>::kFixedBytes;
  } else {
    return 0;
  }
}

// Encodes values as ValueBytes does, for the collector of combined values in worker/task/collect. A type with a Codec
// of its own must have Codec<T>::kMaxBytes or kFixedBytes.
template <class T>
requires(MaxValueBytes<T>() > 0) struct CombinedValueCodec {
  static constexpr std::size_t kMaxBytes = MaxValueBytes<T>();

  static std::size_t Encode(const T& value, char* out) {
    if constexpr (std::integral<T>) {  // without a detour through a string, since runs hold millions of them
      return static_cast<std::size_t>(run::PutVarint(out, Fold(value)) - out);
    } else if constexpr (PlainBytes<T>) {
      std::memcpy(out, &value, sizeof value);
      return sizeof value;
    } else {
      std::string scratch;
      const std::string_view bytes = ValueBytes<T>::Encode(value, &scratch);
      MILLRACE_CHECK(bytes.size() <= kMaxBytes, "a Codec wrote more than its kMaxBytes");
      std::memcpy(out, bytes.data(), bytes.size());
      return bytes.size();
    }
  }
  static std::optional<T> Decode(std::string_view bytes) {
    T value{};
    if (!ValueBytes<T>::Decode(bytes, &value)) return std::nullopt;
    return value;
  }
};

}  // namespace millrace::internal
