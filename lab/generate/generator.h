// SPDX-License-Identifier: Apache-2.0
// A Generator makes seeded data of one kind, in chunks that any thread can make in any order. Chunk i depends on (seed,
// i) alone, so the same kind, size, seed and shape give the same bytes whatever the number of threads.
//
//   text     Zipf words over a vocabulary that grows by Heaps' law (text.h), in lines
//   ratings  "movie:user_rating,user_rating,..." as in the movie data of the PUMA suite; ratings 1 to 5
//   dna      lines of A, C, G and T
//   points   "x y" around seeded centres, three decimals, lines of equal length
//   edges    "vTABv" of a directed graph without loops at a vertex, targets skewed, lines of equal length
//   tuples   "e,e,e,e" rising numbers of equal length, many of which differ only in the last one: for selfjoin
//   records  terasort's 100 bytes: 10 random ones (the key), the record's number in hex, filler
//
// Text, ratings and dna have exactly the requested size: the last line of a chunk is cut or lengthened to fit. The
// other kinds have lines of one length, and as many of them as fit.
// Thread rule: a Generator is constant: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"

namespace millrace::generate {

// The parameters of the data. Each kind uses those that concern it.
struct Shape {
  double exponent = 1.0;          // text: the word of rank r comes with probability ~ 1 / r^exponent; 0.1 to 3
  double vocabulary = 81;         // text: after n words, the vocabulary has vocabulary * n^growth words
  double growth = 0.5;            // text: 0.1 to 1
  std::uint32_t line_words = 12;  // text: words of a line on average; 1 to 1,000
  std::uint32_t ratings = 100;    // ratings: of a movie on average; 1 to 10,000
  std::uint32_t line_bases = 80;  // dna: 1 to 10,000
  std::uint32_t centres = 16;     // points: 1 to 65,536
};

class Generator {
 public:
  // `size` is rounded down to whole lines of `unit` bytes. Chunks have as many lines as fit into kChunk; the last one
  // has half to one and a half times as many, unless it is the only one.
  Generator(std::uint64_t size, std::uint64_t seed, std::uint32_t unit = 1)
      : size_(size - size % unit), seed_(seed), chunk_(kChunk - kChunk % unit) {}
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t chunk_bytes() const { return chunk_; }
  [[nodiscard]] std::uint64_t chunks() const {
    return size_ == 0 ? 0 : std::max<std::uint64_t>(1, (size_ + chunk_ / 2) / chunk_);
  }
  // Returns the size of a chunk: all but the last have chunk_bytes(), and none has more than most_bytes(). Requires:
  // chunk < chunks().
  [[nodiscard]] std::uint64_t BytesOf(std::uint64_t chunk) const {
    return chunk + 1 < chunks() ? chunk_ : size_ - chunk * chunk_;
  }
  [[nodiscard]] std::uint64_t most_bytes() const { return chunk_ + chunk_ / 2; }
  // Fills out[0, BytesOf(chunk)), and may write kSlack bytes of garbage after it.
  virtual void Fill(std::uint64_t chunk, char* out) const = 0;

  static constexpr std::size_t kSlack = 64;

 protected:
  static constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

  [[nodiscard]] Random RandomOf(std::uint64_t chunk) const { return Random(Random(seed_ ^ ~chunk).Next() + chunk); }

 private:
  std::uint64_t size_, seed_, chunk_;
};

// Returns the names of the kinds, in the order above.
[[nodiscard]] const std::vector<std::string>& Kinds();

// Makes a generator. Returns kInvalid if there is no such kind, or if the shape is out of its range. It takes about
// 0.1 s to make a generator of text for a million words.
[[nodiscard]] Result<std::unique_ptr<Generator>> MakeGenerator(std::string_view kind, std::uint64_t size,
                                                               std::uint64_t seed, const Shape& shape);

// Produce writes all chunks of a Generator to a file or pipe; several threads make them, and the calling thread waits.
// It writes to `fd` from its position on. If the file is seekable, each thread writes its chunks in their places;
// otherwise chunks are written in turn. `path` is for messages. The first failure ends the writing and is returned.
Status Produce(const Generator& generator, int fd, std::string_view path, unsigned threads);

}  // namespace millrace::generate
