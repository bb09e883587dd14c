// SPDX-License-Identifier: Apache-2.0
// Tests which types may be sent as they lie in memory. The compiler decides all of it.
#include "client/format/plain_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace millrace::internal {
namespace {

enum class Kind : char { kOne };
int some_number = 0;

struct Empty {};
struct Numbers {
  int a = 3;
  double b = 0;
  char name[5000];  // members are counted, not elements
  Kind kind;
};
struct Nested {
  Numbers three[3][2];
  std::array<Numbers, 2> two;
  std::array<int, 0> none;
  std::optional<int> maybe;
  std::chrono::milliseconds time;
  std::chrono::system_clock::time_point when;
  unsigned low : 3;
  unsigned high : 5;
  Empty empty;
};
struct M8 {
  int a, b, c, d, e, f, g, h;
};
struct M32 {
  int a0[2], a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3,
      d4, d5, d6, d7;
};
static_assert(HoldsItsBytes<int>() && HoldsItsBytes<Kind>() && HoldsItsBytes<Empty>() && HoldsItsBytes<Numbers>());
static_assert(HoldsItsBytes<Nested>() && HoldsItsBytes<M8>() && HoldsItsBytes<M32>());
static_assert(HoldsItsBytes<std::array<int, 3>>() && HoldsItsBytes<std::optional<Numbers>>());

struct View {
  int a;
  std::string_view text;
};
struct Pointer {
  int a;
  const char* text;
};
struct Span {
  std::span<int> numbers;
};
struct Deep {
  Numbers first;
  View two[2];
};
struct InArray {
  std::array<Pointer, 2> two;
};
struct InOptional {
  std::optional<const char*> maybe;
};
struct Last {  // the last of 32 is looked at too
  M8 a;
  int b[3], c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, a2, a3, a4, a5;
  const char* last;
};
struct Function {
  void (*call)();
};
struct Member {
  int Numbers::*which;
};
struct FirstReference {
  int& number = some_number;
  int a;
};
struct LaterReference {
  int a;
  int& number = some_number;
  int b;
};
struct Wrapper {
  std::reference_wrapper<int> number;
};
static_assert(!HoldsItsBytes<std::string_view>() && !HoldsItsBytes<int*>() && !HoldsItsBytes<std::nullptr_t>());
static_assert(!HoldsItsBytes<View>() && !HoldsItsBytes<Pointer>() && !HoldsItsBytes<Span>() && !HoldsItsBytes<Deep>());
static_assert(!HoldsItsBytes<InArray>() && !HoldsItsBytes<InOptional>() && !HoldsItsBytes<Last>());
static_assert(!HoldsItsBytes<Function>() && !HoldsItsBytes<Member>() && !HoldsItsBytes<Wrapper>());
static_assert(!HoldsItsBytes<FirstReference>() && !HoldsItsBytes<LaterReference>());

// Types that cannot be looked into are refused.
class Private {
 public:
  int Get() const { return number_; }

 private:
  int number_ = 0;
};
struct WithConstructor {
  WithConstructor() = default;
  explicit WithConstructor(int to) : number(to) {}
  int number = 0;
};
struct WithBase : Numbers {
  int c;
};
struct WithEmptyBase : Empty {
  int c;
};
union Either {
  int a;
  const char* b;
};
struct WithUnion {
  Either either;
};
struct Explicit {
  explicit Explicit() = default;
};
struct WithExplicit {
  int a;
  Explicit b;
  const char* c;
};
struct M33 {
  M32 a;
  int b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3,
      e4, e5, e6;
  const char* last;
};
static_assert(!HoldsItsBytes<Private>() && !HoldsItsBytes<WithConstructor>() && !HoldsItsBytes<WithBase>());
static_assert(!HoldsItsBytes<WithEmptyBase>() && !HoldsItsBytes<Either>() && !HoldsItsBytes<WithUnion>());
static_assert(!HoldsItsBytes<WithExplicit>() && !HoldsItsBytes<M33>());

TEST(PlainBytesTest, IsDecidedByTheCompiler) { EXPECT_EQ(some_number, 0); }

}  // namespace
}  // namespace millrace::internal
