// SPDX-License-Identifier: Apache-2.0
// Gives access to the members of a struct, their number and their types, as structured bindings see them. It takes
// apart structs that are sent between machines (plain_bytes.h, compound_codec.h).
// Thread rule: types, and calls on the caller's thread.
#pragma once

#include <type_traits>
#include <utility>

namespace millrace::internal {

// Objects of these types stand for a member in the initializer of a struct. None is ever made.
struct AnyValue {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): it has to convert
};
struct AnyObject {
  template <class T>
  operator T&() const;  // NOLINT(google-explicit-constructor)
};
template <class Derived>
struct AnyBase {
  template <class T>
  requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived>) operator T() const;  // NOLINT
};

template <class... T>
struct Members {};
struct UnseenMembers {};

// clang-format takes these macros for statements.
// clang-format off

// x(1), x(2) and so on up to x(N), with commas between.
#define MILLRACE_TO_1_(x) x(1)
#define MILLRACE_TO_2_(x) MILLRACE_TO_1_(x), x(2)
#define MILLRACE_TO_3_(x) MILLRACE_TO_2_(x), x(3)
#define MILLRACE_TO_4_(x) MILLRACE_TO_3_(x), x(4)
#define MILLRACE_TO_5_(x) MILLRACE_TO_4_(x), x(5)
#define MILLRACE_TO_6_(x) MILLRACE_TO_5_(x), x(6)
#define MILLRACE_TO_7_(x) MILLRACE_TO_6_(x), x(7)
#define MILLRACE_TO_8_(x) MILLRACE_TO_7_(x), x(8)
#define MILLRACE_TO_9_(x) MILLRACE_TO_8_(x), x(9)
#define MILLRACE_TO_10_(x) MILLRACE_TO_9_(x), x(10)
#define MILLRACE_TO_11_(x) MILLRACE_TO_10_(x), x(11)
#define MILLRACE_TO_12_(x) MILLRACE_TO_11_(x), x(12)
#define MILLRACE_TO_13_(x) MILLRACE_TO_12_(x), x(13)
#define MILLRACE_TO_14_(x) MILLRACE_TO_13_(x), x(14)
#define MILLRACE_TO_15_(x) MILLRACE_TO_14_(x), x(15)
#define MILLRACE_TO_16_(x) MILLRACE_TO_15_(x), x(16)
#define MILLRACE_TO_17_(x) MILLRACE_TO_16_(x), x(17)
#define MILLRACE_TO_18_(x) MILLRACE_TO_17_(x), x(18)
#define MILLRACE_TO_19_(x) MILLRACE_TO_18_(x), x(19)
#define MILLRACE_TO_20_(x) MILLRACE_TO_19_(x), x(20)
#define MILLRACE_TO_21_(x) MILLRACE_TO_20_(x), x(21)
#define MILLRACE_TO_22_(x) MILLRACE_TO_21_(x), x(22)
#define MILLRACE_TO_23_(x) MILLRACE_TO_22_(x), x(23)
#define MILLRACE_TO_24_(x) MILLRACE_TO_23_(x), x(24)
#define MILLRACE_TO_25_(x) MILLRACE_TO_24_(x), x(25)
#define MILLRACE_TO_26_(x) MILLRACE_TO_25_(x), x(26)
#define MILLRACE_TO_27_(x) MILLRACE_TO_26_(x), x(27)
#define MILLRACE_TO_28_(x) MILLRACE_TO_27_(x), x(28)
#define MILLRACE_TO_29_(x) MILLRACE_TO_28_(x), x(29)
#define MILLRACE_TO_30_(x) MILLRACE_TO_29_(x), x(30)
#define MILLRACE_TO_31_(x) MILLRACE_TO_30_(x), x(31)
#define MILLRACE_TO_32_(x) MILLRACE_TO_31_(x), x(32)
#define MILLRACE_TO_33_(x) MILLRACE_TO_32_(x), x(33)
#define MILLRACE_NOTHING_(n) {}
#define MILLRACE_NAME_(n) member##n
#define MILLRACE_SEE_(n)                                                                 \
  if constexpr (requires { T{MILLRACE_TO_##n##_(MILLRACE_NOTHING_)}; }) {                \
    if constexpr (requires { T{MILLRACE_TO_##n##_(MILLRACE_NOTHING_), AnyValue{}}; } ||  \
                  requires { T{MILLRACE_TO_##n##_(MILLRACE_NOTHING_), AnyObject{}}; }) { \
      return UnseenMembers{};                                                            \
    } else {                                                                             \
      auto& [MILLRACE_TO_##n##_(MILLRACE_NAME_)] = object;                               \
      return visit(MILLRACE_TO_##n##_(MILLRACE_NAME_));                                  \
    }                                                                                    \
  } else

// Calls `visit` with references to an aggregate's members, and returns its result, if there are at most 32 members (no
// initializer of 33 fits) and no base. Else it returns UnseenMembers. T is the aggregate; Object is T or const T.
template <class T, class Object, class Visit>
constexpr decltype(auto) WithMembers([[maybe_unused]] Object& object, [[maybe_unused]] const Visit& visit) {
  if constexpr (requires { T{AnyBase<T>{}}; } || requires { T{MILLRACE_TO_33_(MILLRACE_NOTHING_)}; }) {
    return UnseenMembers{};
  } else  // a chain of ifs follows, from the most members down
  MILLRACE_SEE_(32) MILLRACE_SEE_(31) MILLRACE_SEE_(30) MILLRACE_SEE_(29) MILLRACE_SEE_(28) MILLRACE_SEE_(27)
  MILLRACE_SEE_(26) MILLRACE_SEE_(25) MILLRACE_SEE_(24) MILLRACE_SEE_(23) MILLRACE_SEE_(22) MILLRACE_SEE_(21)
  MILLRACE_SEE_(20) MILLRACE_SEE_(19) MILLRACE_SEE_(18) MILLRACE_SEE_(17) MILLRACE_SEE_(16) MILLRACE_SEE_(15)
  MILLRACE_SEE_(14) MILLRACE_SEE_(13) MILLRACE_SEE_(12) MILLRACE_SEE_(11) MILLRACE_SEE_(10) MILLRACE_SEE_(9)
  MILLRACE_SEE_(8) MILLRACE_SEE_(7) MILLRACE_SEE_(6) MILLRACE_SEE_(5) MILLRACE_SEE_(4) MILLRACE_SEE_(3)
  MILLRACE_SEE_(2) MILLRACE_SEE_(1)
  if constexpr (std::is_empty_v<T>) {
    return visit();
  } else {
    return UnseenMembers{};
  }
}

#undef MILLRACE_SEE_
#undef MILLRACE_NAME_
#undef MILLRACE_NOTHING_

// clang-format on

struct ListTypes {
  template <class... T>
  constexpr Members<T...> operator()(const T&...) const {
    return {};
  }
};

// Members<types...> of an aggregate, or UnseenMembers.
template <class T>
using MembersOf = std::remove_cvref_t<decltype(WithMembers<T>(std::declval<T&>(), ListTypes{}))>;

}  // namespace millrace::internal
