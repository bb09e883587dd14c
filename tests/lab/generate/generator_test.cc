// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/generator.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"

namespace millrace::generate {
namespace {

std::unique_ptr<Generator> Make(const std::string& kind, std::uint64_t size, std::uint64_t seed) {
  auto made = MakeGenerator(kind, size, seed, Shape{});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(*made) : nullptr;
}

std::string ToFile(const Generator& generator, unsigned threads) {
  const auto directory = TempDir::Make("generate-test");
  const std::string path = directory->path() + "/data";
  {
    const auto file = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL);
    EXPECT_TRUE(Produce(generator, file->get(), path, threads).ok());
  }
  return *ReadWholeFile(path);
}

std::string ThroughPipe(const Generator& generator, unsigned threads) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  std::string all;
  std::jthread reader([&] {
    char buffer[65536];
    for (ssize_t got; (got = ::read(out.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(got));
    }
  });
  {
    const Fd in(ends[1]);
    EXPECT_TRUE(Produce(generator, in.get(), "pipe", threads).ok());
  }
  reader.join();
  return all;
}

TEST(Generator, SameSeedSameBytesWhateverTheThreads) {
  for (const std::string& kind : Kinds()) {
    const auto generator = Make(kind, 7'654'321, 42);
    const std::string one = ToFile(*generator, 1);
    EXPECT_EQ(one.size(), generator->size());
    EXPECT_EQ(one, ToFile(*generator, 5)) << kind;
    EXPECT_EQ(one, ThroughPipe(*generator, 4)) << kind;
    EXPECT_NE(one, ToFile(*Make(kind, 7'654'321, 43), 2)) << kind;
  }
}

TEST(Generator, ChunksDiffer) {
  for (const std::string& kind : Kinds()) {
    const auto generator = Make(kind, 4 << 20, 1);
    std::set<std::string> chunks;
    for (std::uint64_t chunk = 0; chunk < generator->chunks(); ++chunk) {
      std::string bytes(generator->most_bytes() + Generator::kSlack, 0);
      generator->Fill(chunk, bytes.data());
      EXPECT_TRUE(chunks.insert(bytes.substr(bytes[0] == 0 ? 50 : 0, 2000)).second) << kind;
    }
  }
}

TEST(Generator, SizeIsExactOrThatOfWholeLines) {
  const std::map<std::string, std::uint64_t> units = {{"points", 16}, {"edges", 18}, {"tuples", 32}, {"records", 100}};
  Random random(11);
  std::vector<std::uint64_t> sizes = {0, 64, 65, 66, 67, 68, 69, 70, 100, (1 << 20) - 1, 1 << 20, (1 << 20) + 1};
  for (int i = 0; i < 60; ++i) sizes.push_back(64 + random.Below(i < 50 ? 300 : 4'000'000));
  for (const std::string& kind : Kinds()) {
    for (const std::uint64_t size : sizes) {
      const auto generator = Make(kind, size, size);
      const std::uint64_t unit = units.contains(kind) ? units.at(kind) : 1;
      ASSERT_EQ(generator->size(), size - size % unit);
      std::uint64_t sum = 0;
      for (std::uint64_t chunk = 0; chunk < generator->chunks(); ++chunk) {
        const std::uint64_t bytes = generator->BytesOf(chunk);
        ASSERT_LE(bytes, generator->most_bytes());
        std::string out(bytes + Generator::kSlack + 8, '\x7f');
        generator->Fill(chunk, out.data());
        ASSERT_EQ(out.substr(bytes + Generator::kSlack), std::string(8, '\x7f')) << kind << " writes too far";
        if (kind != "records") {  // these have random bytes
          ASSERT_EQ(std::string_view(out).substr(0, bytes).find('\x7f'), std::string::npos)
              << kind << ", size " << size;
          ASSERT_EQ(out[bytes - 1], '\n') << kind << ", size " << size;
        }
        sum += bytes;
      }
      ASSERT_EQ(sum, generator->size());
    }
  }
}

void ExpectLines(const std::string& kind, const std::string& form) {
  const std::regex wanted(form, std::regex::extended | std::regex::optimize);
  std::istringstream in(ToFile(*Make(kind, 200'000, 6), 2));
  std::uint64_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    ASSERT_TRUE(std::regex_match(line, wanted)) << kind << ": " << line.substr(0, 200);
  }
  EXPECT_GT(lines, 20u);
}

TEST(Generator, LinesHaveTheirForm) {
  ExpectLines("text", "([a-z]+ )*[a-z]* ?");
  ExpectLines("ratings", "[1-9][0-9]*:([1-9][0-9]*_[1-5],)*[1-9][0-9]*_[1-5]");
  ExpectLines("dna", "[ACGT]{1,81}");
  ExpectLines("points", "[0-9]{3}\\.[0-9]{3} [0-9]{3}\\.[0-9]{3}");
  ExpectLines("edges", "[0-9]{8}\t[0-9]{8}");
  ExpectLines("tuples", "[0-9]{7},[0-9]{7},[0-9]{7},[0-9]{7}");
}

TEST(Generator, MoviesAreRatedOnceAndAsOftenAsAsked) {
  Shape shape;
  shape.ratings = 20;
  const std::string data = ToFile(**MakeGenerator("ratings", 5'000'000, 3, shape), 2);
  std::istringstream in(data);
  std::set<std::string> movies;
  std::string line;
  while (std::getline(in, line)) EXPECT_TRUE(movies.insert(line.substr(0, line.find(':'))).second);
  const auto ratings = static_cast<double>(std::ranges::count(data, '_'));
  EXPECT_NEAR(ratings / static_cast<double>(movies.size()), 20, 1);
}

TEST(Generator, EdgesLeadElsewhereAndTuplesRise) {
  std::istringstream edges(ToFile(*Make("edges", 900'000, 2), 2));
  for (std::uint64_t from = 0, to = 0; edges >> from >> to;) ASSERT_NE(from, to);
  std::istringstream tuples(ToFile(*Make("tuples", 320'000, 2), 2));
  std::map<std::string, int> beginnings;
  for (std::string line; tuples >> line;) {
    ASSERT_LT(line.substr(0, 7), line.substr(8, 7));
    ASSERT_LT(line.substr(8, 7), line.substr(16, 7));
    ASSERT_LT(line.substr(16, 7), line.substr(24, 7));
    ++beginnings[line.substr(0, 23)];
  }
  EXPECT_NEAR(10'000.0 / static_cast<double>(beginnings.size()), 4, 0.4);
}

TEST(Generator, RecordsAreNumberedAndTheirKeysSpread) {
  const std::string data = ToFile(*Make("records", 3'000'000, 2), 2);
  std::array<int, 16> first{};
  for (std::uint64_t number = 0; number < 30'000; ++number) {
    const std::string record = data.substr(number * 100, 100);
    ASSERT_EQ(std::stoull(record.substr(12, 32), nullptr, 16), number);
    ASSERT_EQ(record.substr(44, 4), "\x88\x99\xaa\xbb");
    ASSERT_EQ(record.substr(96), "\xcc\xdd\xee\xff");
    ++first[static_cast<unsigned char>(record[0]) / 16];
  }
  for (const int count : first) EXPECT_NEAR(count, 30'000 / 16, 200);
}

TEST(Generator, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& kind, std::uint64_t size, const std::function<void(Shape&)>& change) {
    Shape shape;
    change(shape);
    const auto made = MakeGenerator(kind, size, 1, shape);
    return made.ok() ? std::string() : made.status().message();
  };
  const auto same = [](Shape&) {};
  EXPECT_EQ(refusal("txt", 100, same), "no data of the kind \"txt\"; did you mean \"text\"?");
  EXPECT_NE(refusal("ratings", 63, same), "");
  EXPECT_NE(refusal("text", 100, [](Shape& shape) { shape.exponent = 0; }), "");
  EXPECT_NE(refusal("text", 100, [](Shape& shape) { shape.growth = std::nan(""); }), "");
  EXPECT_NE(refusal("dna", 100, [](Shape& shape) { shape.line_bases = 0; }), "");
  EXPECT_NE(refusal("points", 100, [](Shape& shape) { shape.centres = 0; }), "");
}

TEST(Generator, FailureOfTheFileIsToldByAllThreads) {
  const auto full = OpenFile("/dev/full", O_WRONLY);
  ASSERT_TRUE(full.ok());
  for (const unsigned threads : {1u, 4u}) {
    EXPECT_EQ(Produce(*Make("dna", 9'000'000, 1), full->get(), "/dev/full", threads).code(), StatusCode::kNoSpace);
  }
}

}  // namespace
}  // namespace millrace::generate
