// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/record_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "client/streaming/frame_child.h"
#include "client/streaming/typed_bytes.h"

namespace millrace::streaming {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Cut {
  explicit Cut(Io io)
      : cutter(
            io, [this](std::string_view line) { lines.emplace_back(line); },
            [this](std::string_view key, std::string_view value) { pairs.emplace_back(key, value); }) {}
  // Gives the bytes in pieces of random sizes.
  Status Take(std::string_view bytes, Random& random) {
    while (!bytes.empty()) {
      const std::size_t size = random.Below(std::min<std::size_t>(bytes.size(), 20)) + 1;
      cutter.Take(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    return cutter.Finish();
  }
  std::vector<std::string> lines;
  Pairs pairs;
  RecordCutter cutter;
};

std::string RandomBytes(Random& random, std::size_t most) {
  std::string bytes(random.Below(most + 1), '\0');
  for (char& c : bytes) c = static_cast<char>(random.Below(256));
  return bytes;
}

TEST(RecordCutterTest, LinesComeBackHoweverTheyArrive) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<std::string> lines(random.Below(20) + 1);
    std::string text;
    for (std::string& line : lines) {
      line = RandomBytes(random, 30);
      std::erase(line, '\n');
      text += line + "\n";
    }
    if (random.Below(2) == 0 && !lines.back().empty()) text.pop_back();
    Cut cut(Io::kText);
    ASSERT_TRUE(cut.Take(text, random).ok());
    EXPECT_EQ(cut.lines, lines);
  }
}

TEST(RecordCutterTest, PairsComeBackHoweverTheyArrive) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Io io = seed % 2 == 0 ? Io::kRawBytes : Io::kTypedBytes;
    Pairs pairs(random.Below(20) + 1);
    std::string bytes;
    for (auto& [key, value] : pairs) {
      for (std::string* part : {&key, &value}) {
        const std::string some = RandomBytes(random, 30);
        if (io == Io::kRawBytes) {
          *part = some;
        } else if (random.Below(2) == 0) {
          AppendTypedInteger(static_cast<std::int64_t>(random.Next()), part);
        } else {
          AppendTypedBytes(some, part);
        }
      }
      AppendRecord(io, key, "\t", value, &bytes);
    }
    Cut cut(io);
    ASSERT_TRUE(cut.Take(bytes, random).ok());
    EXPECT_EQ(cut.pairs, pairs);
    Cut cut_off(io);
    EXPECT_FALSE(cut_off.Take(bytes.substr(0, bytes.size() - 1), random).ok());
  }
}

TEST(TypedBytesTest, ObjectsHaveTheSizesOfTheirSpecification) {
  const auto size = [](std::string_view bytes) {
    return TypedSize(bytes).ok() ? static_cast<int>(*TypedSize(bytes)) : -1;
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(size("\x00\x00\x00\x00\x02"
                 "ab"sv),
            7);
  EXPECT_EQ(size("\x01\x07"sv), 2);
  EXPECT_EQ(size("\x03\x00\x00\x00\x07"sv), 5);
  EXPECT_EQ(size("\x06\x00\x00\x00\x00\x00\x00\x00\x00"sv), 9);
  EXPECT_EQ(size("\x08\x00\x00\x00\x02\x01\x07\x01\x08"sv), 9);
  EXPECT_EQ(size("\x09\x01\x07\xff"sv), 4);
  EXPECT_EQ(size("\x0a\x00\x00\x00\x01\x01\x07\x02\x01"sv), 9);
  EXPECT_EQ(size("\x32\x00\x00\x00\x01x"sv), 6);  // 50, of the user's own
  EXPECT_EQ(size("\x09\x01\x07"sv), 0);
  EXPECT_EQ(size(""sv), 0);
  EXPECT_EQ(size("\x0b"sv), -1);
  EXPECT_EQ(size("\xff"sv), -1);
  EXPECT_EQ(size("\x08\xff\xff\xff\xff"sv), 0);  // it claims more than there is
  EXPECT_EQ(size(std::string(100, '\x09')), -1);
}

TEST(TypedBytesTest, SimpleObjectsAreText) {
  const auto text = [](const std::string& object) {
    std::string out;
    const Status status = AppendAsText(object, &out);
    return status.ok() ? out : status.message();
  };
  std::string object;
  AppendTypedInteger(-5, &object);
  EXPECT_EQ(text(object), "-5");
  object.clear();
  AppendTypedText("words", &object);
  EXPECT_EQ(text(object), "words");
  EXPECT_EQ(text(std::string("\x02\x00", 2)), "false");
  EXPECT_EQ(text(std::string("\x06\x40\x09\x00\x00\x00\x00\x00\x00", 9)), "3.125");
  EXPECT_EQ(text(std::string("\x03\xff\xff\xff\xff", 5)), "-1");
  EXPECT_NE(text(std::string("\x09\xff", 2)).find("SequenceFileOutputFormat"), std::string::npos);
}

TEST(FrameCutterTest, MessagesComeBackHoweverTheyArrive) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::string bytes;
    std::vector<std::pair<char, std::string>> sent(random.Below(10) + 1), got;
    for (auto& [type, payload] : sent) {
      type = static_cast<char>('A' + random.Below(26));
      payload = RandomBytes(random, 40);
      bytes += FrameHead(type, payload.size()) + payload;
    }
    FrameCutter cutter([&](char type, std::string_view payload) { got.emplace_back(type, payload); });
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::size_t size = random.Below(std::min<std::size_t>(rest.size(), 20)) + 1;
      ASSERT_TRUE(cutter.Take(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
    EXPECT_EQ(got, sent);
    EXPECT_TRUE(cutter.between());
  }
  FrameCutter cutter([](char, std::string_view) { FAIL(); });
  EXPECT_FALSE(cutter.Take(FrameHead('O', 0xffffffff)));
  EXPECT_FALSE(cutter.Take("more"));
}

}  // namespace
}  // namespace millrace::streaming
