// Text makes lines of Zipf words over a vocabulary that grows by Heaps' law (generator.h).
#pragma once

#include "lab/generate/alias_table.h"
#include "lab/generate/generator.h"
#include "lab/generate/vocabulary.h"

namespace millrace::generate {

class Text final : public Generator {
 public:
  Text(std::uint64_t size, std::uint64_t seed, const Shape& shape);
  void Fill(std::uint64_t chunk, char* out) const override;

  // Returns the number of words in the vocabulary at the end of a chunk. The chunk's words are drawn from these.
  [[nodiscard]] std::uint32_t VocabularyAt(std::uint64_t chunk) const;
  [[nodiscard]] const Vocabulary& vocabulary() const { return words_; }

 private:
  class Lines;

  Shape shape_;
  Vocabulary words_;
  AliasTable zipf_;
};

}  // namespace millrace::generate
