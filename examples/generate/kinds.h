// The kinds of data that are simpler than text (generator.h says what each looks like).
#pragma once

#include "examples/generate/generator.h"

namespace millrace::generate {

class Ratings final : public Generator {
 public:
  static constexpr std::uint64_t kLeastBytes = 64;  // unless there is nothing at all

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

// "012.345 678.901": the coordinates are below 1,000, those of a cluster within 50 of its centre.
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

// Vertices are numbers of eight digits, 16 edges a vertex on average; the target v comes with a density ~ 1 / sqrt(v).
class Edges final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 18;

  Edges(std::uint64_t size, std::uint64_t seed);
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  std::uint32_t vertices_;
};

// Four numbers of seven digits; a beginning of three is shared by four lines on average.
class Tuples final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 32;

  Tuples(std::uint64_t size, std::uint64_t seed);
  void Fill(std::uint64_t chunk, char* out) const override;

 private:
  std::uint64_t beginnings_, seed_;
};

// As teragen of Hadoop lays them out: key, 00 11, 32 hex digits of the record's number, 88 99 aa bb, 12 hex digits each
// four times, cc dd ee ff.
class Records final : public Generator {
 public:
  static constexpr std::uint32_t kLine = 100;

  Records(std::uint64_t size, std::uint64_t seed) : Generator(size, seed, kLine) {}
  void Fill(std::uint64_t chunk, char* out) const override;
};

}  // namespace millrace::generate
