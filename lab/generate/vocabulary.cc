#include "lab/generate/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

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

}  // namespace millrace::generate
