// Codec<T>: how a key or value becomes bytes between map and reduce, and text in an output. Keys are sorted by their
// bytes, so the codecs here keep the order of numbers: integers are big-endian with the sign bit turned, doubles
// likewise.
//
// For a type of your own, specialise it:
//   template <> struct millrace::Codec<Point> {
//     static std::string_view Encode(const Point& p, std::string* scratch);  // into *scratch, or a view of p itself
//     static bool Decode(std::string_view bytes, Point* p);                  // false: the bytes make no sense
//     static void AppendText(const Point& p, std::string* out);              // for TextOutput; may be left out
//   };
// Thread rule: as values.
#pragma once

#include <bit>
#include <charconv>
#include <concepts>
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
  static std::string_view Encode(Nothing, std::string*) { return {}; }
  static bool Decode(std::string_view bytes, Nothing*) { return bytes.empty(); }
  static void AppendText(Nothing, std::string*) {}
};

namespace internal {

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
  static void AppendText(T value, std::string* out) { internal::AppendNumber(value, out); }
};

template <>
struct Codec<double> {
  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

  static std::string_view Encode(double value, std::string* scratch) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return internal::EncodeOrdered((bits & kSign) != 0 ? ~bits : bits | kSign, scratch);
  }
  static bool Decode(std::string_view bytes, double* value) {
    std::uint64_t raw = 0;
    if (!internal::DecodeOrdered(bytes, &raw)) return false;
    *value = std::bit_cast<double>((raw & kSign) != 0 ? raw & ~kSign : ~raw);
    return true;
  }
  // Appends the shortest text that reads back as the same number.
  static void AppendText(double value, std::string* out) { internal::AppendNumber(value, out); }
};

}  // namespace millrace
