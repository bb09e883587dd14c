// SPDX-License-Identifier: Apache-2.0
// Says which types may be sent between machines as they lie in memory: those that hold all of their bytes themselves.
// Being trivially copyable is not enough: a pointer, a reference or a view is copied without the bytes that it points
// to. So the members of a struct are checked one by one (members.h), and so are the members of structs and arrays among
// them.
// Thread rule: types only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "client/format/members.h"

namespace millrace::internal {

// Types of the standard library whose members are hidden and known to be plain.
template <class T>
struct KnownInside {};
template <class T>
struct KnownInside<std::optional<T>> {
  using Type = T;
};
template <class Number, class Period>
struct KnownInside<std::chrono::duration<Number, Period>> {
  using Type = Number;
};
template <class Clock, class Duration>
struct KnownInside<std::chrono::time_point<Clock, Duration>> {
  using Type = Duration;
};

template <class T>
consteval bool HoldsItsBytes();

template <class... T>
consteval bool AllHoldTheirBytes(Members<T...>) {
  return (HoldsItsBytes<T>() && ...);
}
consteval bool AllHoldTheirBytes(UnseenMembers) { return false; }

template <class T, std::size_t... I>
consteval bool ElementsHoldTheirBytes(std::index_sequence<I...>) {
  return (HoldsItsBytes<std::tuple_element_t<I, T>>() && ...);
}

// Says whether a T consists of its bytes alone. Also false for a type that cannot be looked into: with private members,
// a constructor of its own, a base, a union, or more than 32 members.
template <class T>
consteval bool HoldsItsBytes() {
  using Bare = std::remove_cv_t<std::remove_all_extents_t<T>>;
  if constexpr (std::is_arithmetic_v<Bare> || std::is_enum_v<Bare>) {
    return true;
  } else if constexpr (requires { typename KnownInside<Bare>::Type; }) {
    return HoldsItsBytes<typename KnownInside<Bare>::Type>();
  } else if constexpr (requires { std::tuple_size<Bare>::value; }) {
    return ElementsHoldTheirBytes<Bare>(std::make_index_sequence<std::tuple_size_v<Bare>>());
  } else if constexpr (std::is_class_v<Bare> && std::is_aggregate_v<Bare>) {
    return AllHoldTheirBytes(MembersOf<Bare>{});
  } else {
    return false;
  }
}

}  // namespace millrace::internal
