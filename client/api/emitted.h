// SPDX-License-Identifier: Apache-2.0
// The types that a job may emit in place of its Key or Value: the type itself; text of any kind for text; a number for
// a number, if no value can be cut silently. An integer that does not fit throws, so the attempt fails with a message.
// Thread rule: any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "client/format/descending.h"

namespace millrace::internal {

template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;

// A type whose values convert to integers without a cast: integers, bool, and unscoped enums.
template <class T>
concept WholeSource = std::integral<T> ||(std::is_enum_v<T>&& std::is_convertible_v<T, long long>);

template <class T>
inline constexpr bool kIsDescending = false;
template <class T>
inline constexpr bool kIsDescending<Descending<T>> = true;

// Says whether a `From` may be emitted as a `To`.
template <class From, class To>
consteval bool IsEmittedAs() {
  if constexpr (std::same_as<From, To>) {
    return true;
  } else if constexpr (kIsDescending<To>) {
    return IsEmittedAs<From, decltype(To::value)>();
  } else if constexpr (!std::is_convertible_v<const From&, To>) {
    return false;
  } else if constexpr (std::is_class_v<From> && std::is_arithmetic_v<To>) {
    return requires(const From& value) { To{value}; };  // braces refuse to narrow the number that the class converts to
  } else if constexpr (std::is_class_v<From>) {
    return true;
  } else if constexpr (Whole<To>) {
    return WholeSource<From>;
  } else if constexpr (std::floating_point<To>) {
    return std::is_arithmetic_v<From> || WholeSource<From>;
  } else if constexpr (std::same_as<To, bool>) {
    return false;
  } else {
    // A number that becomes an optional, or another class, would be cut on the way.
    return !std::is_arithmetic_v<From>;
  }
}
template <class From, class To>
concept EmittedAs = IsEmittedAs<From, To>();

// Both throw std::out_of_range for a number that does not fit the job's Key or Value; `what` is "Key" or "Value".
[[noreturn]] void EmitOutOfRange(const char* what, std::int64_t number, std::int64_t least, std::uint64_t most);
[[noreturn]] void EmitOutOfRange(const char* what, std::uint64_t number, std::int64_t least, std::uint64_t most);

// Returns the emitted value as the job's type: `value` itself if it is one, else a new To. So the result is a reference
// or an object, and lives for the full expression either way.
template <class To, EmittedAs<To> From>
decltype(auto) Emitted(const From& value, [[maybe_unused]] const char* what) {
  if constexpr (std::same_as<From, To>) {
    return (value);
  } else if constexpr (kIsDescending<To>) {
    return To(Emitted<decltype(To::value)>(value, what));
  } else if constexpr (Whole<To> && WholeSource<From>) {
    const auto number = +value;  // bool, characters and enums become the integers that they are
    constexpr auto kLeast = +std::numeric_limits<To>::min();
    constexpr auto kMost = +std::numeric_limits<To>::max();
    if (std::cmp_less(number, kLeast) || std::cmp_greater(number, kMost)) [[unlikely]] {
      using Wide = std::conditional_t<std::is_signed_v<decltype(number)>, std::int64_t, std::uint64_t>;
      EmitOutOfRange(what, static_cast<Wide>(number), static_cast<std::int64_t>(kLeast),
                     static_cast<std::uint64_t>(kMost));
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace millrace::internal
