// SPDX-License-Identifier: Apache-2.0
#include "base/archive.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace {
namespace {

enum class Colour : std::uint8_t { kRed = 0, kGreen = 1, kBlue = 2 };

struct Part {
  std::string name;
  std::uint64_t bytes = 0;
  bool operator==(const Part&) const = default;
};

struct Thing {
  std::uint16_t port = 0;
  NodeId node;
  Micros time = 0;
  bool open = false;
  double share = 0;
  Colour colour = Colour::kRed;
  std::optional<Part> cover;
  std::vector<Part> parts;
  std::map<std::string, std::int64_t> counters;
  std::uint32_t replication = 1;
  std::string token;
  bool operator==(const Thing&) const = default;
};

constexpr std::uint32_t kMostReplicas = 3;

constexpr auto kPart = [](auto& archive, auto& part) {
  archive.Text(part.name);
  archive.Varint(part.bytes);
};

// Since version 2 there are counters; a replication is 1 to 3, and a thing has at most two parts.
constexpr auto kThing = [](auto& archive, auto& thing) {
  archive.Version(1, 2, [](int version) { return Corrupt("version " + std::to_string(version)); });
  archive.U32(thing.port, thing.node);
  archive.U64(thing.time);
  archive(thing.open, thing.share);
  archive.Enum(thing.colour, Colour::kBlue);
  archive.Optional(thing.cover, kPart);
  archive.List(thing.parts, kPart,
               [](std::uint64_t size) { return size <= 2 ? Status::Ok() : Invalid(std::to_string(size) + " parts"); });
  if (archive.Has(2)) {
    archive.Map(thing.counters, [](auto& in, auto& name, auto& value) {
      in.Text(name);
      in.U64(value);
    });
  }
  archive.Varint(thing.replication);
  archive.Check(thing.replication >= 1 && thing.replication <= kMostReplicas,
                [&] { return Corrupt("replication " + std::to_string(thing.replication)); });
  if (archive.More(!thing.token.empty())) archive.Text(thing.token);
};

Thing Example() {
  return {.port = 513,
          .node = {7},
          .time = -2,
          .open = true,
          .share = 1.5,
          .colour = Colour::kGreen,
          .cover = Part{"c", 300},
          .parts = {{"p", 1}, {"", 2}},
          .counters = {{"n", -1}},
          .replication = 3,
          .token = "t"};
}

std::string Bytes(std::string_view text) { return std::string(text); }

// The bytes of the example in pieces, of which a test can replace one.
std::vector<std::string> Pieces() {
  using namespace std::string_view_literals;
  return {Bytes("\x02"sv),                              // version
          Bytes("\x01\x02\0\0"sv),                      // port
          Bytes("\x07\0\0\0"sv),                        // node
          Bytes("\xfe\xff\xff\xff\xff\xff\xff\xff"sv),  // time
          Bytes("\x01"sv),                              // open
          Bytes("\0\0\0\0\0\0\xf8\x3f"sv),              // share: 1.5 in IEEE 754
          Bytes("\x01"sv),                              // colour
          Bytes("\x01\x01"
                "c\xac\x02"sv),                                  // cover
          Bytes("\x02\x01p\x01\0\x02"sv),                        // parts
          Bytes("\x01\x01n\xff\xff\xff\xff\xff\xff\xff\xff"sv),  // counters
          Bytes("\x03"sv),                                       // replication
          Bytes("\x01t"sv)};                                     // token
}
enum Piece { kVersion, kPort, kNode, kTime, kOpen, kShare, kColour, kCover, kParts, kCounters, kReplication, kToken };

std::string Joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

std::string With(Piece piece, std::string_view bytes) {
  std::vector<std::string> pieces = Pieces();
  pieces[piece] = bytes;
  return Joined(pieces);
}

Status RefusalOf(std::string_view bytes) { return ReadFields<Thing>(bytes, "a thing", kThing).status(); }

std::pair<StatusCode, std::string> Said(const Status& status) { return {status.code(), status.message()}; }

TEST(ArchiveTest, OneListWritesAndReadsTheBytesOfItsEncodings) {
  EXPECT_EQ(WriteFields(Example(), kThing), Joined(Pieces()));
  const Result<Thing> read = ReadFields<Thing>(Joined(Pieces()), "a thing", kThing);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, Example());
}

TEST(ArchiveTest, WhatIsEmptyIsReadEmpty) {
  const Thing empty;
  const Result<Thing> read = ReadFields<Thing>(WriteFields(empty, kThing), "a thing", kThing);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, empty);
}

TEST(ArchiveTest, TheTypePicksTheEncoding) {
  using namespace std::string_view_literals;
  struct Row {
    std::string text = "ab";
    bool flag = true;
    double number = -2;
    std::uint32_t count = 200;
    Micros time = 5;
  } row;
  const auto fields = [](auto& archive, auto& r) { archive(r.text, r.flag, r.number, r.count, r.time); };
  const std::string bytes = WriteFields(row, fields);
  EXPECT_EQ(bytes,
            "\x02"
            "ab\x01\0\0\0\0\0\0\0\xc0\xc8\x01\x05\0\0\0\0\0\0\0"sv);
  const Result<Row> read = ReadFields<Row>(bytes, "a row", fields, Row{"", false, 0, 0, 0});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::tuple(read->text, read->flag, read->number, read->count, read->time),
            std::tuple("ab", true, -2.0, 200u, 5));
}

TEST(ArchiveTest, BooleansCanShareAByte) {
  struct Flags {
    bool first = true, second = false, third = true;
  };
  const auto fields = [](auto& archive, auto& of) { archive.Bits(of.first, of.second, of.third); };
  EXPECT_EQ(WriteFields(Flags(), fields), "\x05");
  const Result<Flags> read = ReadFields<Flags>("\x06", "flags", fields);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::tuple(read->first, read->second, read->third), std::tuple(false, true, true));
  EXPECT_FALSE(ReadFields<Flags>("\x08", "flags", fields).ok()) << "a fourth";
}

TEST(ArchiveTest, AListCanReachToTheEnd) {
  using namespace std::string_view_literals;
  const auto fields = [](auto& archive, auto& numbers) {
    archive.Rest(numbers, [](auto& in, auto& number) { in.U32(number); });
  };
  const std::vector<std::uint32_t> numbers = {1, 2};
  EXPECT_EQ(WriteFields(numbers, fields), "\x01\0\0\0\x02\0\0\0"sv);
  EXPECT_EQ(*ReadFields<std::vector<std::uint32_t>>("\x01\0\0\0\x02\0\0\0"sv, "numbers", fields), numbers);
  EXPECT_FALSE(ReadFields<std::vector<std::uint32_t>>("\x01\0\0\0\x02\0\0"sv, "numbers", fields).ok());
}

TEST(ArchiveTest, AnOlderVersionLacksTheLaterFields) {
  std::vector<std::string> old = Pieces();
  old[kVersion] = "\x01";
  old[kCounters] = "";
  Thing before;
  before.counters = {{"as before", 4}};
  const Result<Thing> read = ReadFields<Thing>(Joined(old), "a thing", kThing, before);
  ASSERT_TRUE(read.ok()) << read.status().message();
  Thing expected = Example();
  expected.counters = before.counters;
  EXPECT_EQ(*read, expected);
}

TEST(ArchiveTest, TheVersionCanStandElsewhere) {
  const auto fields = [](auto& archive, auto& part) {
    archive.Text(part.name);
    if (archive.Has(3)) archive.Varint(part.bytes);
  };
  for (const std::uint32_t version : {2, 3}) {
    Reading archive(version == 2 ? std::string_view("\x01p") : std::string_view("\x01p\x09"), version);
    Part part;
    fields(archive, part);
    EXPECT_TRUE(archive.Finish("a part").ok());
    EXPECT_EQ(part, (Part{"p", version == 2 ? 0u : 9u}));
  }
}

TEST(ArchiveTest, BytesThatEndTooEarlyOrGoOnAreRefused) {
  const std::string whole = Joined(Pieces());
  // Without its token, which may be absent, a thing is whole.
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(RefusalOf(whole.substr(0, size)).ok(), size == whole.size() - 2) << size;
  EXPECT_EQ(RefusalOf(whole + "x").message(), "a thing: 1 bytes too many");
}

TEST(ArchiveTest, NumbersOutOfRangeAreRefused) {
  using namespace std::string_view_literals;
  const std::string range = "a thing: ends too early or holds a number out of range";
  EXPECT_EQ(RefusalOf(With(kPort, "\0\0\x01\0"sv)).message(), range);  // 65536
  EXPECT_EQ(RefusalOf(With(kOpen, "\x02")).message(), range);
  EXPECT_EQ(RefusalOf(With(kColour, "\x03")).message(), range);
  EXPECT_EQ(RefusalOf(With(kCover,
                           "\x02\x01"
                           "c\x01"))
                .message(),
            range);
  EXPECT_EQ(RefusalOf(With(kReplication, "\xff\xff\xff\xff\x1f")).message(), range);  // 33 bits
}

TEST(ArchiveTest, ACheckRefusesInItsOwnWords) {
  EXPECT_EQ(Said(RefusalOf(With(kReplication, "\x04"))), Said(Corrupt("replication 4")));
  EXPECT_EQ(Said(RefusalOf(With(kVersion, "\x03"))), Said(Corrupt("version 3")));
  using namespace std::string_view_literals;
  EXPECT_EQ(Said(RefusalOf(With(kVersion, "\0"sv))), Said(Corrupt("version 0")));
  EXPECT_EQ(Said(RefusalOf(With(kParts, "\x03\0\0\0\0\0\0"sv))), Said(Invalid("3 parts")));
}

TEST(ArchiveTest, TheFirstRefusalIsTold) {
  std::vector<std::string> pieces = Pieces();
  pieces[kOpen] = "\x02";
  pieces[kReplication] = "\x04";
  EXPECT_EQ(RefusalOf(Joined(pieces)).message(), "a thing: ends too early or holds a number out of range");
  pieces[kVersion] = "\x07";
  EXPECT_EQ(RefusalOf(Joined(pieces)).message(), "version 7");
}

TEST(ArchiveTest, ACountTakesNoMemoryAheadOfItsElements) {
  const auto fields = [](auto& archive, auto& parts) { archive.List(parts, kPart); };
  std::vector<Part> parts;
  Reading more_than_bytes("\x05\x01p\x01");
  fields(more_than_bytes, parts);
  EXPECT_FALSE(more_than_bytes.Finish("parts").ok());
  EXPECT_EQ(parts.capacity(), 0u);

  Reading damaged("\x03\x09p\x01");  // a name of 9 bytes, of which 2 are there
  fields(damaged, parts);
  EXPECT_FALSE(damaged.Finish("parts").ok());
  EXPECT_EQ(parts.size(), 1u);

  const std::string many = "\x88\x27\xff\x7f" + std::string(6000, 'x');  // 5,000 parts; the first is too long
  Reading of_many(many);
  std::vector<Part> first;
  fields(of_many, first);
  EXPECT_FALSE(of_many.Finish("parts").ok());
  EXPECT_LE(first.capacity(), 1000u);

  std::map<std::string, std::int64_t> map;
  Reading of_map("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  of_map.Map(map, [](auto& in, auto& name, auto& value) {
    in.Text(name);
    in.U64(value);
  });
  EXPECT_FALSE(of_map.Finish("a map").ok());
  EXPECT_TRUE(map.empty());
}

}  // namespace
}  // namespace millrace
