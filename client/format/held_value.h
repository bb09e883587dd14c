// SPDX-License-Identifier: Apache-2.0
// Held<T> is the form in which the table of a collector holds a value of Combine. The table moves values as bytes
// (worker/task/collect/combine_table.h). Most values are held as they are. Pairs, tuples and arrays of pairs are held
// as their parts, one after the other, since the standard does not call them trivially copyable.
// Thread rule: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "client/format/value_bytes.h"

namespace millrace::internal {

template <class T>
struct Held {
  using Type = T;
  static const T& Of(const T& value) { return value; }
  static const T& Back(const T& held) { return held; }
};

// A collector can hold a T.
template <class T>
concept Holdable = std::is_trivially_copyable_v<typename Held<T>::Type>;

// The Held of an All whose parts have the types T.
template <class All, class... T>
struct HeldAsParts {
  struct Type {
    std::array<unsigned char, (sizeof(typename Held<T>::Type) + ... + 0)> bytes;
  };
  static Type Of(const All& value) {
    Type held;
    unsigned char* at = held.bytes.data();
    const auto put = [&at]<class H>(const H& part) {
      at = static_cast<unsigned char*>(std::memcpy(at, &part, sizeof part)) + sizeof part;
    };
    std::apply([&put](const T&... part) { (put(Held<T>::Of(part)), ...); }, value);
    return held;
  }
  static All Back(const Type& held) {
    All value{};
    const unsigned char* at = held.bytes.data();
    const auto take = [&at]<class P>(P* part) {
      typename Held<P>::Type of;
      std::memcpy(&of, at, sizeof of);
      at += sizeof of;
      *part = Held<P>::Back(of);
    };
    std::apply([&take](T&... part) { (take(&part), ...); }, value);
    return value;
  }
};

template <class A, class B>
requires(Holdable<A>&& Holdable<B>) struct Held<std::pair<A, B>> : HeldAsParts<std::pair<A, B>, A, B> {
};
template <class... T>
requires(Holdable<T>&&...) struct Held<std::tuple<T...>> : HeldAsParts<std::tuple<T...>, T...> {
};

template <class T, std::size_t N>
requires(!std::is_trivially_copyable_v<T> && Holdable<T>) struct Held<std::array<T, N>> {
  using Type = std::array<typename Held<T>::Type, N>;
  static Type Of(const std::array<T, N>& value) {
    Type held;
    for (std::size_t i = 0; i < N; ++i) held[i] = Held<T>::Of(value[i]);
    return held;
  }
  static std::array<T, N> Back(const Type& held) {
    std::array<T, N> value;
    for (std::size_t i = 0; i < N; ++i) value[i] = Held<T>::Back(held[i]);
    return value;
  }
};

// Encodes a held value as CombinedValueCodec encodes the value.
template <class T>
struct HeldCodec {
  using Type = typename Held<T>::Type;
  static constexpr std::size_t kMaxBytes = CombinedValueCodec<T>::kMaxBytes;

  static std::size_t Encode(const Type& held, char* out) {
    return CombinedValueCodec<T>::Encode(Held<T>::Back(held), out);
  }
  static std::optional<Type> Decode(std::string_view bytes) {
    const std::optional<T> value = CombinedValueCodec<T>::Decode(bytes);
    return value ? std::optional<Type>(Held<T>::Of(*value)) : std::nullopt;
  }
};

}  // namespace millrace::internal
