// SPDX-License-Identifier: Apache-2.0
// grep-literal WORD INPUT OUTPUT: "WORD TAB count", how often a text of two bytes or more occurs without overlap within
// lines. Compares the first and the last byte of 32 places at once, and the rest only where both fit.
#include <bit>

#include "tests/bench/limits/common.h"

namespace {

using namespace millrace::limits;

std::uint32_t Equal(const char* at, __m256i wanted) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted)));
}

std::uint64_t Count(std::string_view text, std::string_view word) {
  const std::size_t last = word.size() - 1;
  if (text.size() <= last) return 0;
  const __m256i first_byte = _mm256_set1_epi8(word.front()), last_byte = _mm256_set1_epi8(word.back());
  const char* const stop = text.data() + text.size() - last;  // no match begins here or later
  const char* free = text.data();                             // where the next match may begin
  std::uint64_t count = 0;
  for (const char* at = free; at < stop; at += 32) {
    for (std::uint32_t both = Equal(at, first_byte) & Equal(at + last, last_byte); both != 0; both &= both - 1) {
      const char* const place = at + std::countr_zero(both);
      if (place < free || place >= stop || std::memcmp(place, word.data(), word.size()) != 0) continue;
      ++count;
      free = place + word.size();
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::strlen(argv[1]) < 2 || std::strlen(argv[1]) > 4096) return 2;
  const std::string_view word = argv[1], text = MapFile(argv[2]);
  std::uint64_t counts[kThreads] = {};
  InThreads([&](int t) {
    const std::string_view part = PartOf(text, t);
    Populate(part);
    counts[t] = Count(part, word);
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) sum += count;
  Writer out(argv[3]);
  if (sum == 0) return 0;
  out.Put(word);
  out.Put('\t');
  out.PutNumber(sum);
  out.Put('\n');
}
