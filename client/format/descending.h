// SPDX-License-Identifier: Apache-2.0
// Descending<T> is a T that sorts the other way round, as a Key or as a part of one, so that the highest count comes
// first:
//   using Key = millrace::Descending<std::uint64_t>;
//   using Key = std::pair<std::string, millrace::Descending<double>>;   // by name, and the best first
// Its bytes are the complements of those of T as a part of others (compound_codec.h). The bytes of a part are never a
// prefix of another's, so the first byte that differs reverses the order. Text is std::string. A T may be emitted where
// a Descending<T> is the Key, and a Descending<T> converts to T.
// Thread rule: values.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "client/format/codec.h"
#include "client/format/compound_codec.h"

namespace millrace {

template <class T>
struct Descending {
  Descending() = default;
  Descending(T of) : value(std::move(of)) {}   // NOLINT: converts from T
  operator const T&() const { return value; }  // NOLINT: and to T
  bool operator==(const Descending& other) const = default;
  auto operator<=>(const Descending& other) const { return other.value <=> value; }
  T value{};
};

namespace internal {

inline void Complement(std::string* bytes) {
  for (char& byte : *bytes) byte = static_cast<char>(~byte);
}

template <class T>
struct FixedLength {};
template <class T>
requires FixedPart<T>
struct FixedLength<T> {
  static constexpr std::size_t kFixedBytes = Codec<T>::kFixedBytes;
};

}  // namespace internal

template <class T>
struct Codec<Descending<T>> : internal::FixedLength<T> {
  static std::string_view Encode(const Descending<T>& value, std::string* scratch) requires internal::WritesPart<T> {
    scratch->clear();
    internal::Part<T>::Append(value.value, scratch);
    internal::Complement(scratch);
    return *scratch;
  }
  static bool Decode(std::string_view bytes, Descending<T>* value) requires internal::ReadsPart<T> {
    std::string turned(bytes);
    internal::Complement(&turned);
    std::string_view rest(turned);
    return internal::Part<T>::Take(&rest, &value->value) && rest.empty();
  }
  static void AppendText(const Descending<T>& value, std::string* out) requires internal::PartText<T> {
    internal::Part<T>::AppendText(value.value, '\t', out);
  }
};

}  // namespace millrace
