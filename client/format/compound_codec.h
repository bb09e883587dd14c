// SPDX-License-Identifier: Apache-2.0
// Codecs of pairs, tuples, arrays, optionals, vectors and structs of types that have a Codec, in any nesting. As keys
// they sort as C++ compares them (structs member by member), if their parts do. To that end, the bytes of one part are
// never a prefix of the bytes of another.
//   numbers, bool, enums   as their Codec writes them: their length is fixed
//   pair, tuple, array     part after part; std::array and arrays in structs
//   struct                 as the tuple of its members: an aggregate of up to 32, without a base, private members or
//                          bit-fields
//   optional               0, or 1 and the part: an empty one comes first
//   vector                 1 before each part, and 0 at the end
//   text, and a type with a Codec of its own
//                          its bytes, with FF after each 0 among them, then 0 and 1
// As text, the parts of pairs, tuples and structs are columns, separated by TABs. The elements of an array or a vector
// are separated by commas; if they are pairs, their parts are separated by colons. An empty optional is an empty text.
// A std::string_view may be a part of a type that is only written; a type that is read holds its text as std::string.
// Thread rule: values.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/format/codec.h"
#include "client/format/members.h"

namespace millrace::internal {

template <class T>
struct Compound : std::false_type {};
template <class A, class B>
struct Compound<std::pair<A, B>> : std::true_type {};
template <class... T>
struct Compound<std::tuple<T...>> : std::true_type {};
template <class T, std::size_t N>
struct Compound<std::array<T, N>> : std::true_type {};
template <class T>
struct Compound<std::optional<T>> : std::true_type {};
template <class T>
struct Compound<std::vector<T>> : std::true_type {};

// A struct that is taken apart if it has no Codec of its own.
template <class T>
concept StructShape =
    std::is_class_v<T> && std::is_aggregate_v<T> && !Compound<T>::value && !std::same_as<T, Nothing> &&
    !std::same_as<MembersOf<T>, UnseenMembers> && !std::same_as<MembersOf<T>, Members<>>;
// A struct whose Codec is the one below.
template <class T>
concept OfStruct = StructShape<T> && requires {
  requires Codec<T>::kOfStruct;
};

template <class T>
concept IsCompound = Compound<T>::value || OfStruct<T>;

template <class T>
concept FixedPart = !IsCompound<T> && requires {
  Codec<T>::kFixedBytes;
};

template <class T>
struct Part;

template <class T>
concept WritesPart = requires(const T& value, std::string* out) {
  Part<T>::Append(value, out);
};
template <class T>
concept ReadsPart = requires(std::string_view* bytes, T* value) {
  { Part<T>::Take(bytes, value) } -> std::same_as<bool>;
};
template <class T>
concept PartText = requires(const T& value, std::string* out) {
  Part<T>::AppendText(value, '\t', out);
};

[[nodiscard]] inline bool TakeByte(std::string_view* bytes, unsigned char* byte) {
  if (bytes->empty()) return false;
  *byte = static_cast<unsigned char>(bytes->front());
  bytes->remove_prefix(1);
  return true;
}

void AppendEscaped(std::string_view bytes, std::string* out);
// Takes off the front of *bytes a text that AppendEscaped wrote. Returns false if there is none.
[[nodiscard]] bool TakeEscaped(std::string_view* bytes, std::string* value);

// Part<T> writes and reads a T among other parts. Append adds it to *out. Take takes one off the front of *bytes, and
// returns false if there is none. AppendText writes text for people, and separates the parts of pairs by `between`.
template <class T>
requires FixedPart<T>
struct Part<T> {
  static constexpr std::size_t kMaxBytes = Codec<T>::kFixedBytes;
  static void Append(const T& value, std::string* out) requires Encodable<T> {
    std::string scratch;  // short: no number leaves it
    out->append(Codec<T>::Encode(value, &scratch));
  }
  static bool Take(std::string_view* bytes, T* value) requires Encodable<T> {
    if (bytes->size() < kMaxBytes || !Codec<T>::Decode(bytes->substr(0, kMaxBytes), value)) return false;
    bytes->remove_prefix(kMaxBytes);
    return true;
  }
  static void AppendText(const T& value, char, std::string* out) requires TextValue<T> {
    Codec<T>::AppendText(value, out);
  }
};

template <class T>
requires(!FixedPart<T> && !IsCompound<T>) struct Part<T> {
  static void Append(const T& value, std::string* out) requires requires(std::string* scratch) {
    Codec<T>::Encode(value, scratch);
  }
  {
    std::string scratch;
    AppendEscaped(Codec<T>::Encode(value, &scratch), out);
  }
  static bool Take(std::string_view* bytes, T* value) requires(Encodable<T> && !std::same_as<T, std::string_view>) {
    std::string own;
    return TakeEscaped(bytes, &own) && Codec<T>::Decode(own, value);
  }
  static void AppendText(const T& value, char, std::string* out) requires TextValue<T> {
    Codec<T>::AppendText(value, out);
  }
};

template <class T>
constexpr std::size_t kMaxPartBytes = 0;  // there is no limit
template <class T>
requires requires { Part<T>::kMaxBytes; }
constexpr std::size_t kMaxPartBytes<T> = Part<T>::kMaxBytes;

template <std::size_t N>
struct MostBytes {
  static constexpr std::size_t kMaxBytes = N;
};
template <>
struct MostBytes<0> {};

// The most bytes that parts take together; 0: there is no limit.
template <class... T>
constexpr std::size_t kMaxBytesOfAll = ((kMaxPartBytes<T> > 0) && ...) ? (kMaxPartBytes<T> + ... + 0) : 0;

// The Part of a pair or a tuple, whose parts have the types T.
template <class All, class... T>
struct PartsInOrder : MostBytes<kMaxBytesOfAll<T...>> {
  static void Append(const All& value, std::string* out) requires(WritesPart<T>&&...) {
    std::apply([&](const auto&... part) { (Part<T>::Append(part, out), ...); }, value);
  }
  static bool Take(std::string_view* bytes, All* value) requires(ReadsPart<T>&&...) {
    return std::apply([&](auto&... part) { return (Part<T>::Take(bytes, &part) && ...); }, *value);
  }
  static void AppendText(const All& value, char between, std::string* out) requires(PartText<T>&&...) {
    bool first = true;
    const auto next = [&] {
      if (!std::exchange(first, false)) out->push_back(between);
    };
    std::apply([&](const auto&... part) { ((next(), Part<T>::AppendText(part, between, out)), ...); }, value);
  }
};

template <class A, class B>
struct Part<std::pair<A, B>> : PartsInOrder<std::pair<A, B>, A, B> {};
template <class... T>
struct Part<std::tuple<T...>> : PartsInOrder<std::tuple<T...>, T...> {};

// Holds whether all members can be written, read and shown, and the most bytes that they take (0: there is no limit).
template <class List>
struct OfMembers;
template <class... T>
struct OfMembers<Members<T...>> {
  static constexpr bool kWritten = (WritesPart<T> && ...), kRead = (ReadsPart<T> && ...), kShown = (PartText<T> && ...);
  static constexpr std::size_t kMaxBytes = kMaxBytesOfAll<T...>;
};

template <class T>
requires OfStruct<T>
struct Part<T> : MostBytes<OfMembers<MembersOf<T>>::kMaxBytes> {
  using Of = OfMembers<MembersOf<T>>;
  static void Append(const T& value, std::string* out) requires Of::kWritten {
    WithMembers<T>(value, [out]<class... P>(const P&... part) { (Part<P>::Append(part, out), ...); });
  }
  static bool Take(std::string_view* bytes, T* value) requires Of::kRead {
    return WithMembers<T>(*value, [bytes]<class... P>(P&... part) { return (Part<P>::Take(bytes, &part) && ...); });
  }
  static void AppendText(const T& value, char between, std::string* out) requires Of::kShown {
    WithMembers<T>(value, [between, out]<class... P>(const P&... part) {
      bool first = true;
      const auto next = [&] {
        if (!std::exchange(first, false)) out->push_back(between);
      };
      ((next(), Part<P>::AppendText(part, between, out)), ...);
    });
  }
};

template <class T, std::size_t N>
struct Part<std::array<T, N>> : MostBytes<N * kMaxPartBytes<T>> {
  static void Append(const std::array<T, N>& value, std::string* out) requires WritesPart<T> {
    for (const T& part : value) Part<T>::Append(part, out);
  }
  static bool Take(std::string_view* bytes, std::array<T, N>* value) requires ReadsPart<T> {
    for (T& part : *value) {
      if (!Part<T>::Take(bytes, &part)) return false;
    }
    return true;
  }
  static void AppendText(const std::array<T, N>& value, char, std::string* out) requires PartText<T> {
    for (std::size_t i = 0; i < N; ++i) {
      if (i > 0) out->push_back(',');
      Part<T>::AppendText(value[i], ':', out);
    }
  }
};

// The Part of an array that is a member of a struct. Characters are text up to the first NUL.
template <class T, std::size_t N>
struct Part<T[N]> : MostBytes<N * kMaxPartBytes<T>> {
  static void Append(const T (&value)[N], std::string* out) requires WritesPart<T> {
    for (const T& part : value) Part<T>::Append(part, out);
  }
  static bool Take(std::string_view* bytes, T (*value)[N]) requires ReadsPart<T> {
    for (T& part : *value) {
      if (!Part<T>::Take(bytes, &part)) return false;
    }
    return true;
  }
  static void AppendText(const T (&value)[N], char, std::string* out) requires PartText<T> {
    for (std::size_t i = 0; i < N; ++i) {
      if constexpr (std::same_as<T, char>) {
        if (value[i] == '\0') return;
      } else if (i > 0) {
        out->push_back(',');
      }
      Part<T>::AppendText(value[i], ':', out);
    }
  }
};

template <class T>
struct Part<std::optional<T>> : MostBytes<kMaxPartBytes<T> == 0 ? 0 : 1 + kMaxPartBytes<T>> {
  static void Append(const std::optional<T>& value, std::string* out) requires WritesPart<T> {
    out->push_back(value ? '\1' : '\0');
    if (value) Part<T>::Append(*value, out);
  }
  static bool Take(std::string_view* bytes, std::optional<T>* value) requires ReadsPart<T> {
    unsigned char has = 0;
    if (!TakeByte(bytes, &has) || has > 1) return false;
    value->reset();
    return has == 0 || Part<T>::Take(bytes, &value->emplace());
  }
  static void AppendText(const std::optional<T>& value, char between, std::string* out) requires PartText<T> {
    if (value) Part<T>::AppendText(*value, between, out);
  }
};

template <class T>
struct Part<std::vector<T>> {
  static void Append(const std::vector<T>& value, std::string* out) requires WritesPart<T> {
    for (const T& part : value) {
      out->push_back('\1');
      Part<T>::Append(part, out);
    }
    out->push_back('\0');
  }
  static bool Take(std::string_view* bytes, std::vector<T>* value) requires ReadsPart<T> {
    value->clear();
    unsigned char more = 0;
    while (TakeByte(bytes, &more) && more <= 1) {
      if (more == 0) return true;
      T part{};
      if (!Part<T>::Take(bytes, &part)) return false;
      value->push_back(std::move(part));
    }
    return false;
  }
  static void AppendText(const std::vector<T>& value, char, std::string* out) requires PartText<T> {
    bool first = true;
    for (const T& part : value) {
      if (!std::exchange(first, false)) out->push_back(',');
      Part<T>::AppendText(part, ':', out);
    }
  }
};

// The Codec of a type that is one part, made of others.
template <class T>
struct PartCodec {
  static std::string_view Encode(const T& value, std::string* scratch) requires WritesPart<T> {
    scratch->clear();
    Part<T>::Append(value, scratch);
    return *scratch;
  }
  static bool Decode(std::string_view bytes, T* value) requires ReadsPart<T> {
    return Part<T>::Take(&bytes, value) && bytes.empty();
  }
  static void AppendText(const T& value, std::string* out) requires PartText<T> {
    Part<T>::AppendText(value, '\t', out);
  }
};

}  // namespace millrace::internal

namespace millrace {

template <class T>
requires internal::StructShape<T>
struct Codec<T> : internal::PartCodec<T> {
  static constexpr bool kOfStruct = true;
};

template <class T>
requires internal::Compound<T>::value struct Codec<T> : internal::PartCodec<T>,
                                                        internal::MostBytes<internal::kMaxPartBytes<T>> {
};

}  // namespace millrace
