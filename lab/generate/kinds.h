// SPDX-License-Identifier: Apache-2.0
// The kinds of data that are simpler than text (generator.h says what each looks like).
#pragma once

#include "lab/generate/generator.h"

namespace millrace::generate {

class Ratings final : public Generator {
 public:
  static constexpr std::uint64_t kLeastBytes = 64;  // unless the size is 0

  Ratings(std::uint64_t size, std::uint64_t seed, std::uint32_t average) : Generator(size, seed), average_(average) {}
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  std::uint32_t average_;
};

class Dna final : public Generator {
 public:
  Dna(std::uint64_t size, std::uint64_t seed, std::uint32_t line) : Generator(size, seed), line_(line) {}
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  std::uint32_t line_;
};

// Lines "012.345 678.901". Coordinates are below 1,000, and those of a cluster lie within 50 of its centre.
class Points final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 16;

  Points(std::uint64_t size, std::uint64_t seed, std::uint32_t centres);
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  struct Centre {
    std::uint32_t x, y;  // in thousandths
  };
  std::vector<Centre> centres_;
};

// Vertices are numbers of eight digits, with 16 edges each on average. The target v has a density ~ 1 / sqrt(v).
class Edges final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 18;

  Edges(std::uint64_t size, std::uint64_t seed);
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  std::uint32_t vertices_;
};

// Lines of four numbers of seven digits each. Four lines on average begin with the same three numbers.
class Tuples final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 32;

  Tuples(std::uint64_t size, std::uint64_t seed);
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  std::uint64_t beginnings_, seed_;
};

// Records as Hadoop's teragen lays them out: the key, 00 11, 32 hex digits of the record's number, 88 99 aa bb, 12 hex
// digits four times each, cc dd ee ff.
class Records final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 100;

  Records(std::uint64_t size, std::uint64_t seed) : Generator(size, seed, kLine) {}
  void Fill(std::uint64_t chunk, char* out) const override;
};

}  // namespace millrace::generate
