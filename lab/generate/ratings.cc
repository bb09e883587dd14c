// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lab/generate/digits.h"
#include "lab/generate/kinds.h"

namespace millrace::generate {
namespace {

constexpr std::uint32_t kUsers = 500'000;
constexpr char kRatings[] = "1223333344444555";  // how the ratings are spread
constexpr std::uint64_t kMoviesOfChunk = 200'000;
constexpr std::ptrdiff_t kRoom = 48;  // enough for a movie and a rating

char* PutRating(char* out, std::uint32_t user, std::uint64_t random) {
  out = PutNumber(out, user);
  *out++ = '_';
  *out++ = kRatings[random % 16];
  return out;
}

char* PutMovie(char* out, std::uint64_t movie) {
  if (movie >= 100'000'000) {
    out = PutNumber(out, static_cast<std::uint32_t>(movie / 100'000'000));
    out = PutEight(out, static_cast<std::uint32_t>(movie % 100'000'000));
  } else {
    out = PutNumber(out, static_cast<std::uint32_t>(movie));
  }
  *out++ = ':';
  return out;
}

// Writes ratings up to exactly `end`: the number of the last user is as long as it must be. Requires: `end` is at least
// 4 bytes away.
void PutLast(char* out, char* end, Random& random) {
  while (end - out > 12) {
    const std::uint64_t rating = random.Next();  // first: compilers of different machines order arguments differently
    out = PutRating(out, static_cast<std::uint32_t>(10'000 + random.Below(90'000)), rating);
    *out++ = ',';
  }
  while (end - out > 3) *out++ = static_cast<char>('1' + random.Below(9));
  *out++ = '_';
  *out++ = kRatings[random.Next() % 16];
  *out = '\n';
}

}  // namespace

void Ratings::Fill(std::uint64_t chunk, char* out) const {
  Random random = RandomOf(chunk);
  char* const end = out + BytesOf(chunk);
  for (std::uint64_t movie = chunk * kMoviesOfChunk + 1;; ++movie) {
    out = PutMovie(out, movie);
    for (double left = -std::log1p(-random.Unit()) * (average_ - 0.5);; left -= 1) {
      if (end - out < kRoom) {
        PutLast(out, end, random);
        return;
      }
      const std::uint64_t bits = random.Next();
      out = PutRating(out, static_cast<std::uint32_t>(1 + ((bits >> 32) * kUsers >> 32)), bits);
      if (left < 1) break;
      *out++ = ',';
    }
    *out++ = '\n';
  }
}

}  // namespace millrace::generate
