// SPDX-License-Identifier: Apache-2.0
#include "examples/words/word_sequences.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/random.h"

namespace millrace::examples {
namespace {

// A file in memory that comes in pieces of some length.
class TextSource : public ByteSource {
 public:
  TextSource(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    for (std::uint64_t at = offset; at < offset + size; at += piece_) {
      const std::string piece = text_.substr(at, std::min<std::uint64_t>(piece_, offset + size - at));  // moves
      if (!sink(piece)) break;
    }
    return Status::Ok();
  }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    if (offset < text_.size()) out->append(text_.substr(offset, size));
    return Status::Ok();
  }

 private:
  std::string text_;
  std::size_t piece_;
};

template <std::size_t kWords>
std::vector<std::string> Expected(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words, sequences;
  for (std::string word; in >> word;) words.push_back(word);
  for (std::size_t i = 0; i + kWords <= words.size(); ++i) {
    std::string sequence = words[i];
    for (std::size_t k = 1; k < kWords; ++k) sequence += "|" + words[i + k];
    sequences.push_back(sequence);
  }
  return sequences;
}

// Returns the sequences of the splits [0, cut), [cut, cut + width), ..., one after the other.
template <std::size_t kWords>
std::vector<std::string> OfSplits(const std::string& text, std::uint64_t cut, std::uint64_t width, std::size_t piece) {
  TextSource source(text, piece);
  std::vector<std::string> sequences;
  const auto take = [&](const WordSequence<kWords>& sequence, std::uint64_t) {
    sequences.emplace_back(sequence.text);
    std::string joined;
    for (const std::string_view word : sequence.words) joined.append(joined.empty() ? "" : "|").append(word);
    EXPECT_EQ(joined, sequence.text);
  };
  std::uint64_t end = cut;
  for (std::uint64_t begin = 0; begin < text.size(); begin = end, end += width) {
    end = std::min<std::uint64_t>(end, text.size());
    const Status status =
        WordSequences<kWords>::Read(source, Split{"f", begin, end - begin, text.size()}, ReadOptions{}, take);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return sequences;
}

TEST(WordSequencesTest, SplitsAnywhereGiveWhatTheWholeFileGives) {
  for (const std::string text : {"one two  three\nfour\n\nfive six\tseven ", " a b c", "a b", "a", "", "   ", "a b c d",
                                 "x yy zzz\n\n\n\n\n\n\n\n\n\n\n\n w\n"}) {
    const auto threes = Expected<3>(text);
    const auto ones = Expected<1>(text);
    for (std::uint64_t cut = 1; cut <= text.size() + 1; ++cut) {
      for (const std::uint64_t width : {1u, 2u, 3u, 7u, 1000u}) {
        for (const std::size_t piece : {1u, 2u, 5u, 1000u}) {
          ASSERT_EQ(OfSplits<3>(text, cut, width, piece), threes) << text << cut << ' ' << width << ' ' << piece;
          ASSERT_EQ(OfSplits<1>(text, cut, width, piece), ones) << text << cut << ' ' << width << ' ' << piece;
        }
      }
    }
  }
}

TEST(WordSequencesTest, AByteOrderMarkIsPartOfNoWord) {
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string text : {"one two three four", "", "\none two three\n",
                                 " \xef\xbb\xbf"
                                 "a b c",
                                 "\xef\xbb\xbf"
                                 "a b c d"}) {
    const auto threes = Expected<3>(text), ones = Expected<1>(text);
    const std::string file = mark + text;
    for (std::uint64_t cut = 1; cut <= file.size() + 1; ++cut) {
      for (const std::uint64_t width : {1u, 2u, 1000u}) {
        for (const std::size_t piece : {1u, 2u, 1000u}) {
          ASSERT_EQ(OfSplits<3>(file, cut, width, piece), threes) << text << cut << ' ' << width << ' ' << piece;
          ASSERT_EQ(OfSplits<1>(file, cut, width, piece), ones) << text << cut << ' ' << width << ' ' << piece;
        }
      }
    }
  }
}

TEST(WordSequencesTest, WordsOfAnyLengthAndManyOfThem) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::string text;
  while (text.size() < 3'000'000) {
    const std::uint64_t size = random.Below(200) == 0 ? random.Below(150'000) : random.Below(12);
    text.append(size, static_cast<char>('a' + random.Below(26))).append(1 + random.Below(2), " \n"[random.Below(2)]);
  }
  const auto expected = Expected<3>(text);
  EXPECT_EQ(OfSplits<3>(text, 1'000'003, 333'333, 100'000), expected);
  EXPECT_EQ(OfSplits<3>(text, 17, 2'000'000, 3'000'000), expected);
}

TEST(WordSequencesTest, AFileThatEndsEarlyIsAnError) {
  TextSource source("a b c", 100);
  const auto ignore = [](const WordSequence<3>&, std::uint64_t) {};
  EXPECT_EQ(WordSequences<3>::Read(source, Split{"f", 0, 5, 9}, ReadOptions{}, ignore).code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::examples
