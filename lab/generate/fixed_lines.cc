// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lab/generate/digits.h"
#include "lab/generate/kinds.h"

namespace millrace::generate {
namespace {

// Writes a number of thousandths below 10^6 as "012.345".
char* PutThousandths(char* out, std::uint32_t thousandths) {
  std::memcpy(out, kFourDigits[thousandths / 1000].data() + 1, 3);
  out[3] = '.';
  std::memcpy(out + 4, kFourDigits[thousandths % 1000].data() + 1, 3);
  return out + 7;
}

// Draws from 0 to 99,999 in the shape of a bell: the sum of four uniform parts.
std::uint32_t Bell(std::uint64_t random) {
  std::uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += (random >> (16 * i)) & 0xffff;
  return static_cast<std::uint32_t>(sum * 100'000 >> 18);
}

constexpr char kHex[] = "0123456789ABCDEF";

char* PutHex(char* out, std::uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4) *out++ = kHex[(number >> shift) & 15];
  return out;
}

}  // namespace

Points::Points(std::uint64_t size, std::uint64_t seed, std::uint32_t centres) : Generator(size, seed, kLine) {
  Random random(~seed);
  for (std::uint32_t i = 0; i < centres; ++i) {
    centres_.push_back(
        {static_cast<std::uint32_t>(random.Below(900'000)), static_cast<std::uint32_t>(random.Below(900'000))});
  }
}

void Points::Fill(std::uint64_t chunk, char* out) const {
  Random random = RandomOf(chunk);
  for (std::uint64_t left = BytesOf(chunk) / kLine; left > 0; --left) {
    const Centre& centre = centres_[random.Below(centres_.size())];
    out = PutThousandths(out, centre.x + Bell(random.Next()));
    *out++ = ' ';
    out = PutThousandths(out, centre.y + Bell(random.Next()));
    *out++ = '\n';
  }
}

Edges::Edges(std::uint64_t size, std::uint64_t seed)
    : Generator(size, seed, kLine),
      vertices_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(size / kLine / 16, 16, 99'999'999))) {}

void Edges::Fill(std::uint64_t chunk, char* out) const {
  Random random = RandomOf(chunk);
  for (std::uint64_t left = BytesOf(chunk) / kLine; left > 0; --left) {
    const auto from = static_cast<std::uint32_t>(random.Below(vertices_));
    const double skewed = random.Unit();
    auto to = static_cast<std::uint32_t>(skewed * skewed * vertices_);
    if (to == from) to = (to + 1) % vertices_;
    out = PutEight(out, from);
    *out++ = '\t';
    out = PutEight(out, to);
    *out++ = '\n';
  }
}

Tuples::Tuples(std::uint64_t size, std::uint64_t seed)
    : Generator(size, seed, kLine), beginnings_(std::max<std::uint64_t>(size / kLine / 4, 1)), seed_(seed) {}

void Tuples::Fill(std::uint64_t chunk, char* out) const {
  Random random = RandomOf(chunk);
  for (std::uint64_t left = BytesOf(chunk) / kLine; left > 0; --left) {
    std::uint64_t bits = Random(seed_ + random.Below(beginnings_)).Next();
    std::uint32_t number = 0;
    for (int i = 0; i < 4; ++i) {
      // The steps are up to 2 M, and up to 4,096 for the last number, so the sum stays below 10^7.
      number += 1 + static_cast<std::uint32_t>(i < 3 ? bits & 0x1fffff : random.Next() & 0xfff);
      bits >>= 21;
      char digits[8];
      PutEight(digits, number);
      std::memcpy(out, digits + 1, 7);
      out[7] = i < 3 ? ',' : '\n';
      out += 8;
    }
  }
}

void Records::Fill(std::uint64_t chunk, char* out) const {
  Random random = RandomOf(chunk);
  const std::uint64_t first = chunk * chunk_bytes() / kLine, records = BytesOf(chunk) / kLine;
  for (std::uint64_t number = first; number < first + records; ++number) {
    const std::uint64_t key[2] = {random.Next(), random.Next()};
    std::memcpy(out, key, 10);
    std::memcpy(out + 10, "\x00\x11", 2);
    PutHex(PutHex(out + 12, 0), number);
    std::memcpy(out + 44, "\x88\x99\xaa\xbb", 4);
    for (int i = 0; i < 12; ++i) std::memset(out + 48 + 4 * i, kHex[(key[1] >> (16 + 4 * i)) & 15], 4);
    std::memcpy(out + 96, "\xcc\xdd\xee\xff", 4);
    out += kLine;
  }
}

}  // namespace millrace::generate
