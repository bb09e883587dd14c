// SPDX-License-Identifier: Apache-2.0
// Codec<T> turns a key or value into bytes between map and reduce, and into text in an output. Keys are sorted by their
// bytes, so the codecs here keep the order of numbers. Integers are big-endian; signed ones have the sign bit inverted.
// Floats and doubles are big-endian with the sign bit inverted; a negative one has all other bits inverted, too. An
// enum is written as its number. compound_codec.h has pairs, tuples, optionals, arrays and vectors.
//
// For a type of your own, specialise it:
//   template <> struct millrace::Codec<Point> {
//     static std::string_view Encode(const Point& p, std::string* scratch);  // into *scratch, or a view of p itself
//     static bool Decode(std::string_view bytes, Point* p);                  // false: the bytes make no sense
//     static void AppendText(const Point& p, std::string* out);              // for TextOutput; may be left out
//     static constexpr std::size_t kFixedBytes = 16;  // may be left out; the length, if it is the same for every Point
//   };
// Thread rule: values.
#pragma once

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace millrace {

// The type with one value and no bytes: for outputs without a value, and for jobs in which only the key matters.
struct Nothing {
  bool operator==(const Nothing&) const = default;
};

template <class T>
struct Codec;

template <class T>
concept Encodable = requires(const T& value, T* out, std::string* scratch, std::string_view bytes) {
  { Codec<T>::Encode(value, scratch) } -> std::convertible_to<std::string_view>;
  { Codec<T>::Decode(bytes, out) } -> std::same_as<bool>;
};

template <class T>
concept TextValue = requires(const T& value, std::string* out) {
  Codec<T>::AppendText(value, out);
};

template <>
struct Codec<std::string_view> {
  static std::string_view Encode(std::string_view value, std::string*) { return value; }
  static bool Decode(std::string_view bytes, std::string_view* value) {
    *value = bytes;
    return true;
  }
  static void AppendText(std::string_view value, std::string* out) { out->append(value); }
};

template <>
struct Codec<std::string> {
  static std::string_view Encode(const std::string& value, std::string*) { return value; }
  static bool Decode(std::string_view bytes, std::string* value) {
    value->assign(bytes);
    return true;
  }
  static void AppendText(const std::string& value, std::string* out) { out->append(value); }
};

template <>
struct Codec<Nothing> {
  static constexpr std::size_t kFixedBytes = 0;
  static std::string_view Encode(Nothing, std::string*) { return {}; }
  static bool Decode(std::string_view bytes, Nothing*) { return bytes.empty(); }
  static void AppendText(Nothing, std::string*) {}
};

namespace internal {

static_assert(std::is_signed_v<char>, "a char has a sign in records: compile with -fsigned-char, as jobs are");

template <std::unsigned_integral U>
U SwapToBigEndian(U value) {
  if constexpr (sizeof(U) == 1) return value;
  if constexpr (sizeof(U) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(U) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(U) == 8) return __builtin_bswap64(value);
}

template <std::unsigned_integral U>
std::string_view EncodeOrdered(U value, std::string* scratch) {
  const U big = SwapToBigEndian(value);
  scratch->resize(sizeof big);
  std::memcpy(scratch->data(), &big, sizeof big);
  return *scratch;
}

template <std::unsigned_integral U>
bool DecodeOrdered(std::string_view bytes, U* value) {
  if (bytes.size() != sizeof(U)) return false;
  U big;
  std::memcpy(&big, bytes.data(), sizeof big);
  *value = SwapToBigEndian(big);
  return true;
}

template <class N>
void AppendNumber(N value, std::string* out) {
  char text[32];
  out->append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace internal

template <std::integral T>
requires(!std::same_as<T, bool> && sizeof(T) <= 8) struct Codec<T> {
  using U = std::make_unsigned_t<T>;
  static constexpr std::size_t kFixedBytes = sizeof(T);
  static constexpr U kTurn = std::is_signed_v<T> ? static_cast<U>(U{1} << (8 * sizeof(T) - 1)) : U{0};

  static std::string_view Encode(T value, std::string* scratch) {
    return internal::EncodeOrdered(static_cast<U>(static_cast<U>(value) ^ kTurn), scratch);
  }
  static bool Decode(std::string_view bytes, T* value) {
    U raw = 0;
    if (!internal::DecodeOrdered(bytes, &raw)) return false;
    *value = static_cast<T>(static_cast<U>(raw ^ kTurn));
    return true;
  }
  // Appends the number; for a char, the character.
  static void AppendText(T value, std::string* out) {
    if constexpr (std::same_as<T, char>) {
      out->push_back(value);
    } else {
      internal::AppendNumber(+value, out);
    }
  }
};

template <>
struct Codec<bool> {
  static constexpr std::size_t kFixedBytes = 1;
  static std::string_view Encode(bool value, std::string*) { return {value ? "\1" : "\0", 1}; }
  static bool Decode(std::string_view bytes, bool* value) {
    if (bytes.size() != 1 || static_cast<unsigned char>(bytes[0]) > 1) return false;
    *value = bytes[0] == 1;
    return true;
  }
  static void AppendText(bool value, std::string* out) { out->append(value ? "true" : "false"); }
};

// The order is that of <, except that -0.0 comes right before 0.0, and that a NaN has a place, too.
template <std::floating_point T>
requires(sizeof(T) == 4 || sizeof(T) == 8) struct Codec<T> {
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr U kSign = U{1} << (8 * sizeof(T) - 1);
  static constexpr std::size_t kFixedBytes = sizeof(T);

  static std::string_view Encode(T value, std::string* scratch) {
    const U bits = std::bit_cast<U>(value);
    return internal::EncodeOrdered((bits & kSign) != 0 ? ~bits : bits | kSign, scratch);
  }
  static bool Decode(std::string_view bytes, T* value) {
    U raw = 0;
    if (!internal::DecodeOrdered(bytes, &raw)) return false;
    *value = std::bit_cast<T>((raw & kSign) != 0 ? raw & ~kSign : ~raw);
    return true;
  }
  // Appends the shortest text that reads back as the same number.
  static void AppendText(T value, std::string* out) { internal::AppendNumber(value, out); }
};

template <class E>
requires(std::is_enum_v<E> && !std::same_as<std::underlying_type_t<E>, bool>) struct Codec<E> {
  using Number = std::underlying_type_t<E>;
  static constexpr std::size_t kFixedBytes = sizeof(E);
  static std::string_view Encode(E value, std::string* scratch) {
    return Codec<Number>::Encode(static_cast<Number>(value), scratch);
  }
  static bool Decode(std::string_view bytes, E* value) {
    Number number{};
    if (!Codec<Number>::Decode(bytes, &number)) return false;
    *value = static_cast<E>(number);
    return true;
  }
  static void AppendText(E value, std::string* out) { internal::AppendNumber(+static_cast<Number>(value), out); }
};

}  // namespace millrace
