#include "lab/generate/text.h"

#include <cmath>
#include <cstring>

namespace millrace::generate {
namespace {

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
