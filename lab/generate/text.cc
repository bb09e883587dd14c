// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace millrace::generate {
namespace {

constexpr std::string_view kConsonants = "bcdfghjklmnprstvz";  // 17, a prime; without y, since "ly" is an ending
constexpr std::string_view kVowels = "aeiou";
constexpr std::array<std::string_view, 5> kEndings = {"", "ing", "ly", "ness", "tion"};
constexpr std::size_t kMostLetters = Vocabulary::kLongest - 4;

// Stems of `letters` letters that begin with a consonant or a vowel, with one ending. They are counted through from a
// seeded place in seeded steps that share no factor with their number, so that none comes twice.
class Family {
 public:
  Family(std::size_t letters, bool vowel_first, std::string_view ending, Random& random)
      : letters_(letters), vowel_first_(vowel_first), ending_(ending) {
    for (std::size_t i = 0; i < letters; ++i) room_ *= Alphabet(i).size();
    at_ = random.Below(room_);
    do {
      step_ = random.Below(room_) + 1;
    } while (step_ % kConsonants.size() == 0 || step_ % kVowels.size() == 0);
  }

  [[nodiscard]] bool exhausted() const { return given_ == room_; }
  Vocabulary::Word Next() {
    ++given_;
    at_ = (at_ + step_) % room_;
    Vocabulary::Word word;
    std::memset(word.bytes, ' ', sizeof word.bytes);
    std::uint64_t rest = at_;
    for (std::size_t i = 0; i < letters_; ++i) {
      const std::string_view alphabet = Alphabet(i);
      word.bytes[i] = alphabet[rest % alphabet.size()];
      rest /= alphabet.size();
    }
    std::memcpy(word.bytes + letters_, ending_.data(), ending_.size());
    word.size = static_cast<std::uint8_t>(letters_ + ending_.size());
    return word;
  }

 private:
  [[nodiscard]] std::string_view Alphabet(std::size_t i) const {
    return (i % 2 == 0) == vowel_first_ ? kVowels : kConsonants;
  }

  std::size_t letters_;
  bool vowel_first_;
  std::string_view ending_;
  std::uint64_t room_ = 1, at_ = 0, step_ = 1, given_ = 0;
};

// All words of one size.
class Size {
 public:
  Size(std::size_t size, Random& random) {
    for (const std::string_view ending : kEndings) {
      if (size < ending.size() + (ending.empty() ? 1 : 2)) continue;
      const std::size_t letters = size - ending.size();
      if (letters > kMostLetters) continue;
      for (const bool vowel_first : {false, true}) families_.emplace_back(letters, vowel_first, ending, random);
    }
  }
  [[nodiscard]] bool exhausted() const { return families_.empty(); }
  // Returns the next word. Eleven of twelve have no ending, as long as there are such words.
  Vocabulary::Word Next(std::uint64_t random) {
    const bool bare = (random >> 32) % 12 != 0;
    const std::size_t i = (bare ? random % std::min<std::size_t>(families_.size(), 2) : random % families_.size());
    const Vocabulary::Word word = families_[i].Next();
    if (families_[i].exhausted()) families_.erase(families_.begin() + static_cast<std::ptrdiff_t>(i));
    return word;
  }

 private:
  std::vector<Family> families_;
};

constexpr double kWordBytes = 7.1;  // with its blank: about the average over what the vocabulary gives

double WordsAfter(std::uint64_t bytes) { return static_cast<double>(bytes) / kWordBytes; }

std::uint32_t WordsKnown(const Shape& shape, double words) {
  const double known = shape.vocabulary * std::pow(words, shape.growth);
  return static_cast<std::uint32_t>(std::clamp(known, 100.0, static_cast<double>(Vocabulary::kMostWords)));
}

std::vector<double> ZipfWeights(std::uint32_t words, double exponent) {
  std::vector<double> weights(words);
  for (std::uint32_t rank = 0; rank < words; ++rank) weights[rank] = std::pow(rank + 1.0, -exponent);
  return weights;
}

}  // namespace

Vocabulary::Vocabulary(std::uint32_t size, std::uint64_t seed) {
  MILLRACE_CHECK(size <= kMostWords, "a vocabulary is asked for that is too large");
  Random random(seed);
  std::vector<Size> sizes;
  for (std::size_t letters = 1; letters <= kLongest; ++letters) sizes.emplace_back(letters, random);
  words_.reserve(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const std::uint64_t bits = random.Next();
    // A word has three letters more for every eight doublings of the rank: 6 on average over the words of a large text.
    const auto doublings = static_cast<std::uint32_t>(std::bit_width(rank));
    std::size_t wanted = std::min<std::size_t>(1 + (doublings + bits % 5) * 3 / 8, kLongest - 1);
    while (wanted < kLongest - 1 && sizes[wanted].exhausted()) ++wanted;
    while (sizes[wanted].exhausted()) --wanted;
    words_.push_back(sizes[wanted].Next(bits >> 3));
  }
}

AliasTable::AliasTable(const std::vector<double>& weights) : cells_(weights.size()) {
  MILLRACE_CHECK(!weights.empty(), "there is nothing to draw from");
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  std::vector<double> left(weights);
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t i = 0; i < left.size(); ++i) {
    left[i] /= mean;
    (left[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back(), high = large.back();
    small.pop_back();
    cells_[low] = {static_cast<std::uint32_t>(left[low] * 0x1p32), high};
    left[high] -= 1 - left[low];
    if (left[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
  // An entry that rounding leaves over fills its whole cell.
  for (const std::uint32_t i : small) cells_[i] = {~std::uint32_t{0}, i};
  for (const std::uint32_t i : large) cells_[i] = {~std::uint32_t{0}, i};
}

Text::Text(std::uint64_t size, std::uint64_t seed, const Shape& shape)
    : Generator(size, seed),
      shape_(shape),
      words_(WordsKnown(shape, WordsAfter(size)), seed),
      zipf_(ZipfWeights(words_.size(), shape.exponent)) {}

std::uint32_t Text::VocabularyAt(std::uint64_t chunk) const {
  const std::uint64_t end = chunk * chunk_bytes() + BytesOf(chunk);
  return std::min(words_.size(), WordsKnown(shape_, WordsAfter(end)));
}

// Gives what ends each word: a newline after the words that the line was given, which are 1 to twice the average, and
// otherwise a blank.
class Text::Lines {
 public:
  Lines(std::uint32_t average, std::uint64_t random) : most_(2 * average - 1), random_(random) { Begin(); }
  char Next() {
    if (--left_ > 0) return ' ';
    Begin();
    return '\n';
  }

 private:
  void Begin() { left_ = static_cast<std::uint32_t>(1 + random_.Below(most_)); }
  std::uint32_t most_, left_ = 0;
  Random random_;
};

void Text::Fill(std::uint64_t chunk, char* out) const {
  constexpr std::size_t kBatch = 32;  // words are drawn together, so that their cache misses overlap
  Random random = RandomOf(chunk);
  Lines lines(shape_.line_words, random.Next());
  const std::uint32_t known = VocabularyAt(chunk);
  char* const end = out + BytesOf(chunk);
  std::uint32_t ranks[kBatch];
  while (true) {
    for (std::size_t i = 0; i < kBatch;) {
      ranks[i] = zipf_.Draw(random.Next());
      if (ranks[i] >= known) continue;
      __builtin_prefetch(&words_[ranks[i]]);
      ++i;
    }
    for (const std::uint32_t rank : ranks) {
      const Vocabulary::Word& word = words_[rank];
      std::memcpy(out, &word, sizeof word);
      if (end - out <= word.size + 1) {
        *(end - 1) = '\n';
        return;
      }
      out += word.size;
      *out++ = lines.Next();
    }
  }
}

}  // namespace millrace::generate
