// SPDX-License-Identifier: Apache-2.0
#include "client/format/codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "client/format/value_bytes.h"

namespace millrace {
namespace {

template <class T>
std::string KeyOf(const T& value) {
  std::string scratch;
  return std::string(Codec<T>::Encode(value, &scratch));
}

// Checks that values, given in rising order, come back, and that their bytes are in the same order.
template <class T>
void ExpectOrdered(const std::vector<T>& rising) {
  for (std::size_t i = 0; i < rising.size(); ++i) {
    T back{};
    ASSERT_TRUE(Codec<T>::Decode(KeyOf(rising[i]), &back));
    EXPECT_EQ(back, rising[i]);
    if (i > 0) {
      EXPECT_LT(KeyOf(rising[i - 1]), KeyOf(rising[i])) << rising[i];
    }
    std::string scratch;
    ASSERT_TRUE(internal::ValueBytes<T>::Decode(internal::ValueBytes<T>::Encode(rising[i], &scratch), &back));
    EXPECT_EQ(back, rising[i]);
  }
  T back{};
  EXPECT_FALSE(Codec<T>::Decode("12345678901", &back));
  EXPECT_FALSE(Codec<T>::Decode("", &back));
  EXPECT_FALSE(internal::ValueBytes<T>::Decode("", &back));
}

TEST(CodecTest, NumbersKeepTheirOrderAsBytes) {
  ExpectOrdered<std::uint8_t>({0, 1, 127, 128, 255});
  ExpectOrdered<std::int32_t>({std::numeric_limits<std::int32_t>::min(), -256, -255, -1, 0, 1, 255, 256, 1 << 30});
  ExpectOrdered<std::int64_t>({std::numeric_limits<std::int64_t>::min(), -(1LL << 32), -1, 0, 1, 1LL << 40,
                               std::numeric_limits<std::int64_t>::max()});
  ExpectOrdered<std::uint64_t>({0, 1, 255, 256, 65535, 65536, 1ULL << 63, ~0ULL});
  ExpectOrdered<double>({-std::numeric_limits<double>::infinity(), -1e300, -1.5, -1e-300, 0.0, 1e-300, 0.1, 1.0, 2.5,
                         1e300, std::numeric_limits<double>::infinity()});
}

TEST(CodecTest, KeysAreBigEndian) {
  EXPECT_EQ(KeyOf<std::uint32_t>(0x01020304), std::string("\x01\x02\x03\x04"));
  EXPECT_EQ(KeyOf<std::int16_t>(-2), std::string("\x7f\xfe"));
}

// Machines whose compilers give a char no sign read and write the same.
TEST(CodecTest, ACharHasASign) {
  EXPECT_EQ(KeyOf('\x01'), "\x81");
  EXPECT_EQ(KeyOf('\xff'), "\x7f");
  std::string scratch;
  EXPECT_EQ(internal::ValueBytes<char>::Encode('\xff', &scratch), "\x01");  // -1, zigzag
  ExpectOrdered<char>({'\x80', '\xff', '\0', 'a', '\x7f'});
}

TEST(CodecTest, SmallValuesAreShort) {
  std::string scratch;
  EXPECT_EQ(internal::ValueBytes<std::uint64_t>::Encode(1, &scratch).size(), 1u);
  EXPECT_EQ(internal::ValueBytes<std::int64_t>::Encode(-3, &scratch).size(), 1u);
}

TEST(CodecTest, AValueOutOfTheTypesRangeIsRefused) {
  std::string scratch;
  const std::string bytes(internal::ValueBytes<std::uint64_t>::Encode(300, &scratch));
  std::uint8_t small = 0;
  EXPECT_FALSE(internal::ValueBytes<std::uint8_t>::Decode(bytes, &small));
}

struct Pair {
  std::uint32_t a = 0, b = 0;
};

TEST(CodecTest, APlainStructIsAValue) {
  std::string scratch;
  Pair back;
  ASSERT_TRUE(internal::ValueBytes<Pair>::Decode(internal::ValueBytes<Pair>::Encode(Pair{3, 4}, &scratch), &back));
  EXPECT_EQ(back.b, 4u);
  EXPECT_FALSE(internal::ValueBytes<Pair>::Decode("short", &back));
}

TEST(CodecTest, Text) {
  std::string out;
  Codec<double>::AppendText(0.1, &out);
  out += ' ';
  Codec<std::int64_t>::AppendText(-17, &out);
  out += ' ';
  Codec<std::uint8_t>::AppendText(65, &out);
  EXPECT_EQ(out, "0.1 -17 65");
}

}  // namespace
}  // namespace millrace
