// SPDX-License-Identifier: Apache-2.0
// The codecs of bool, floats, enums and of what is made of parts: they keep C++'s order, give back what they were
// given, and take no other bytes.
#include "client/format/compound_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "client/format/descending.h"
#include "client/format/held_value.h"
#include "client/format/value_bytes.h"

namespace millrace {
namespace {

enum class Grade : std::int16_t { kLow = -3, kNone = 0, kHigh = 300 };

// Any<T>(random) returns one of few values, so that two are often equal or alike.
template <class T>
struct Any;
template <std::integral T>
struct Any<T> {
  static T Of(Random& random) {
    if constexpr (std::same_as<T, bool>) return random.Below(2) == 1;
    const T some[] = {
        0, 1, static_cast<T>(2), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), static_cast<T>(-1)};
    return random.Below(4) == 0 ? static_cast<T>(random.Next()) : some[random.Below(6)];
  }
};
template <std::floating_point T>
struct Any<T> {
  static T Of(Random& random) {
    const T some[] = {0, 1, -1, T{0.5}, std::numeric_limits<T>::max(), -std::numeric_limits<T>::infinity(), T{-1e-30f}};
    return some[random.Below(7)];
  }
};
template <>
struct Any<Grade> {
  static Grade Of(Random& random) { return static_cast<Grade>(Any<std::int16_t>::Of(random)); }
};
template <>
struct Any<std::string> {
  static std::string Of(Random& random) {
    std::string text(random.Below(4), '\0');
    for (char& c : text)
      c = "\0\1\2\xff\xfe"
          "a"[random.Below(6)];
    return text;
  }
};
template <class A, class B>
struct Any<std::pair<A, B>> {
  static std::pair<A, B> Of(Random& random) { return {Any<A>::Of(random), Any<B>::Of(random)}; }
};
template <class... T>
struct Any<std::tuple<T...>> {
  static std::tuple<T...> Of(Random& random) { return {Any<T>::Of(random)...}; }
};
template <class T, std::size_t N>
struct Any<std::array<T, N>> {
  static std::array<T, N> Of(Random& random) {
    std::array<T, N> some;
    for (T& part : some) part = Any<T>::Of(random);
    return some;
  }
};
template <class T>
struct Any<std::optional<T>> {
  static std::optional<T> Of(Random& random) {
    return random.Below(3) == 0 ? std::nullopt : std::optional<T>(Any<T>::Of(random));
  }
};
template <class T>
struct Any<std::vector<T>> {
  static std::vector<T> Of(Random& random) {
    std::vector<T> some;
    for (std::uint64_t n = random.Below(4); n > 0; --n) some.push_back(Any<T>::Of(random));
    return some;
  }
};

// Structs, with a tuple's order of their members.
struct Visit {
  std::string user;
  std::uint32_t page = 0;
  auto operator<=>(const Visit&) const = default;
};
struct Everything {
  std::optional<Visit> last;
  std::vector<Visit> all;
  double numbers[2] = {};
  Grade grade = Grade::kNone;
  auto operator<=>(const Everything& other) const {
    return std::partial_ordering(std::tie(last, all, numbers[0], numbers[1], grade) <=>
                                 std::tie(other.last, other.all, other.numbers[0], other.numbers[1], other.grade));
  }
  bool operator==(const Everything& other) const { return (*this <=> other) == 0; }
};
template <>
struct Any<Visit> {
  static Visit Of(Random& random) { return {Any<std::string>::Of(random), Any<std::uint32_t>::Of(random)}; }
};
template <>
struct Any<Everything> {
  static Everything Of(Random& random) {
    return {Any<std::optional<Visit>>::Of(random),
            Any<std::vector<Visit>>::Of(random),
            {Any<double>::Of(random), Any<double>::Of(random)},
            Any<Grade>::Of(random)};
  }
};

template <class T>
struct Any<Descending<T>> {
  static Descending<T> Of(Random& random) { return Any<T>::Of(random); }
};

template <class T>
std::string BytesOf(const T& value) {
  std::string scratch = "left over";
  return std::string(Codec<T>::Encode(value, &scratch));
}

template <class T>
std::string TextOf(const T& value) {
  std::string text;
  Codec<T>::AppendText(value, &text);
  return text;
}

template <class T>
class OrderedCodecTest : public ::testing::Test {};
using Types =
    ::testing::Types<bool, char, float, double, Grade, std::pair<std::string, std::string>, std::pair<int, bool>,
                     std::tuple<std::string, std::int64_t, Grade>, std::tuple<>, std::array<std::uint16_t, 3>,
                     std::array<std::string, 2>, std::optional<std::string>, std::optional<std::optional<double>>,
                     std::vector<std::string>, std::vector<bool>, std::vector<std::vector<std::uint8_t>>,
                     std::pair<std::vector<std::pair<std::string, float>>, std::optional<std::array<std::int8_t, 2>>>,
                     Visit, Everything, std::pair<Visit, std::vector<Visit>>, Descending<std::uint64_t>,
                     Descending<std::string>, std::pair<std::string, Descending<double>>,
                     std::tuple<Descending<Visit>, bool>, std::vector<Descending<std::vector<std::string>>>,
                     Descending<Descending<std::int16_t>>>;
TYPED_TEST_SUITE(OrderedCodecTest, Types);

TYPED_TEST(OrderedCodecTest, BytesHaveTheOrderOfValuesAndGiveThemBack) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    const TypeParam a = Any<TypeParam>::Of(random), b = Any<TypeParam>::Of(random);
    const std::string as_bytes = BytesOf(a), bs_bytes = BytesOf(b);
    ASSERT_EQ(a < b, as_bytes < bs_bytes) << TextOf(a) << " and " << TextOf(b);
    ASSERT_EQ(a == b, as_bytes == bs_bytes) << TextOf(a) << " and " << TextOf(b);
    TypeParam back = b;
    ASSERT_TRUE(Codec<TypeParam>::Decode(as_bytes, &back));
    ASSERT_EQ(back, a);
    std::string scratch;
    back = b;
    ASSERT_TRUE(internal::ValueBytes<TypeParam>::Decode(internal::ValueBytes<TypeParam>::Encode(a, &scratch), &back));
    ASSERT_EQ(back, a);
  }
}

// Bytes that are taken are those that the value has: nothing is left over, and nothing has two forms.
TYPED_TEST(OrderedCodecTest, OtherBytesAreRefused) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 6000; ++i) {
    std::string bytes = BytesOf(Any<TypeParam>::Of(random));
    switch (random.Below(4)) {
      case 0:
        bytes.resize(random.Below(bytes.size() + 1));
        break;
      case 1:
        bytes.push_back("\0\1\xff"[random.Below(3)]);
        break;
      case 2:
        if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
        break;
      default:
        for (char& c : bytes) c = "\0\1\2\xff"[random.Below(4)];
    }
    TypeParam value{};
    if (Codec<TypeParam>::Decode(bytes, &value)) {
      ASSERT_EQ(BytesOf(value), bytes);
    }
  }
  const std::string whole = BytesOf(Any<TypeParam>::Of(random));
  TypeParam value{};
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(Codec<TypeParam>::Decode(whole.substr(0, n), &value));
  EXPECT_FALSE(Codec<TypeParam>::Decode(whole + '\0', &value));
}

TEST(CompoundCodecTest, BytesAreAsTheHeaderSays) {
  EXPECT_EQ(BytesOf(std::pair<std::string, std::uint16_t>(std::string("a\0b", 3), 0x0102)), std::string("a\0\xff"
                                                                                                        "b\0\1\1\2",
                                                                                                        8));
  EXPECT_EQ(BytesOf(std::optional<std::uint8_t>()), std::string(1, '\0'));
  EXPECT_EQ(BytesOf(std::vector<std::uint8_t>{7, 8}), std::string("\1\7\1\10\0", 5));
  EXPECT_EQ(BytesOf(true), "\1");
}

TEST(CompoundCodecTest, TextIsForPeople) {
  EXPECT_EQ(TextOf(std::pair<std::string, std::uint64_t>("word", 3)), "word\t3");
  EXPECT_EQ(TextOf(std::tuple<bool, char, float, Grade>(true, 'x', 0.5f, Grade::kHigh)), "true\tx\t0.5\t300");
  EXPECT_EQ(TextOf(std::vector<int>{1, -2, 3}), "1,-2,3");
  EXPECT_EQ(TextOf(std::array<double, 2>{0.1, 1e300}), "0.1,1e+300");
  EXPECT_EQ(TextOf(std::pair<int, std::optional<int>>(1, std::nullopt)), "1\t");
  EXPECT_EQ(TextOf(std::pair<int, std::vector<std::pair<std::string, int>>>(1, {{"a", 2}, {"b", 3}})), "1\ta:2,b:3");
  EXPECT_EQ(TextOf(std::pair<std::string_view, int>("view", 1)), "view\t1") << "a view may be written";
  static_assert(!Encodable<std::pair<std::string_view, int>>, "and not read");
}

struct Sum {
  double total = 0;
  std::int32_t count = 0;
  auto operator<=>(const Sum&) const = default;
};
struct View {
  std::string_view text;
  int number = 0;
};

TEST(CompoundCodecTest, AStructIsTheTupleOfItsMembers) {
  const Visit visit{"a\tb", 7};
  EXPECT_EQ(BytesOf(visit), BytesOf(std::tuple(visit.user, visit.page)));
  EXPECT_EQ(TextOf(visit), "a\tb\t7");
  EXPECT_EQ(TextOf(std::pair<int, std::vector<Visit>>(1, {{"x", 2}, {"y", 3}})), "1\tx:2,y:3");
  EXPECT_EQ(BytesOf(Sum{2, 3}), BytesOf(std::tuple(2.0, std::int32_t{3}))) << "as a key, it sorts";
  std::string scratch;
  EXPECT_EQ(internal::ValueBytes<Sum>::Encode(Sum{2, 3}, &scratch).size(), sizeof(Sum)) << "as a value, it is copied";
  static_assert(internal::MaxValueBytes<Sum>() == sizeof(Sum) && internal::MaxValueBytes<Visit>() == 0);
  struct Tag {
    char name[4];
    int parts[2];
  };
  EXPECT_EQ(TextOf(Tag{"ab", {1, 2}}), "ab\t1,2");
  static_assert(!Encodable<View> && !internal::PlainBytes<View>, "a view cannot be read");
  EXPECT_EQ(TextOf(View{"x", 1}), "x\t1") << "and may be written";
}

template <class T>
void ExpectHeld(std::uint64_t seed) {
  using Held = internal::Held<T>;
  static_assert(std::is_trivially_copyable_v<typename Held::Type>);
  Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    const T value = Any<T>::Of(random);
    ASSERT_EQ(Held::Back(Held::Of(value)), value) << "seed " << seed;
    char out[internal::HeldCodec<T>::kMaxBytes];
    const std::size_t size = internal::HeldCodec<T>::Encode(Held::Of(value), out);
    const auto back = internal::HeldCodec<T>::Decode({out, size});
    ASSERT_TRUE(back.has_value());
    ASSERT_EQ(Held::Back(*back), value) << "seed " << seed;
  }
}

TEST(CompoundCodecTest, PairsOfNumbersAreHeldAsBytes) {
  const std::uint64_t seed = SeedFromSystem();
  ExpectHeld<std::uint64_t>(seed);
  ExpectHeld<std::pair<std::uint64_t, double>>(seed);
  ExpectHeld<std::pair<bool, std::pair<char, std::uint64_t>>>(seed);
  ExpectHeld<std::tuple<std::int8_t, std::pair<float, Grade>, std::uint16_t>>(seed);
  ExpectHeld<std::array<std::pair<std::int32_t, double>, 3>>(seed);
  static_assert(!internal::Holdable<std::pair<std::string, int>> && !internal::Holdable<std::vector<int>>);
}

TEST(CompoundCodecTest, ValuesOfFixedLengthMayBeCombined) {
  using Sums = std::array<double, 4>;
  char out[internal::CombinedValueCodec<Sums>::kMaxBytes];
  const Sums sums = {1, -2, 0.5, 1e9};
  const std::size_t size = internal::CombinedValueCodec<Sums>::Encode(sums, out);
  EXPECT_EQ(size, sizeof out);
  EXPECT_EQ(internal::CombinedValueCodec<Sums>::Decode({out, size}), sums);
  static_assert(internal::MaxValueBytes<std::optional<float>>() == 5);
  static_assert(internal::MaxValueBytes<std::pair<std::uint64_t, std::tuple<bool, std::optional<float>>>>() ==
                8 + 1 + 5);
  static_assert(internal::MaxValueBytes<std::pair<std::uint64_t, std::string>>() == 0);
  static_assert(internal::MaxValueBytes<std::vector<int>>() == 0 && internal::MaxValueBytes<std::string>() == 0);
}

// A type with a Codec of its own, of any length, is a part too.
struct Name {
  std::string text;
  bool operator==(const Name&) const = default;
  bool operator<(const Name& other) const { return text < other.text; }
};

}  // namespace

template <>
struct Codec<Name> {
  static std::string_view Encode(const Name& name, std::string*) { return name.text; }
  static bool Decode(std::string_view bytes, Name* name) {
    name->text = bytes;
    return !bytes.starts_with('?');
  }
};

namespace {

TEST(CompoundCodecTest, ATypeOfTheAuthorsIsAPart) {
  using Key = std::pair<Name, std::uint8_t>;
  const std::vector<Key> rising = {
      {{""}, 9}, {{std::string(1, '\0')}, 0}, {{std::string("\0a", 2)}, 0}, {{"a"}, 7}, {{"a"}, 8}, {{"ab"}, 0}};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    Key back;
    ASSERT_TRUE(Codec<Key>::Decode(BytesOf(rising[i]), &back));
    EXPECT_EQ(back, rising[i]);
    if (i > 0) {
      EXPECT_LT(BytesOf(rising[i - 1]), BytesOf(rising[i]));
    }
  }
  Key back;
  EXPECT_FALSE(Codec<Key>::Decode(BytesOf(Key{{"?"}, 1}), &back)) << "it does not take this";
  static_assert(!TextValue<Key>, "Name has no text");
}

}  // namespace
}  // namespace millrace
