// SPDX-License-Identifier: Apache-2.0
// grep-regex INPUT OUTPUT: "match TAB count" for each match of [a-g][a-z]*ing, in OUTPUT.0 and OUTPUT.1, each sorted.
// In a run of small letters the longest match from the leftmost place begins at the first of a to g that has an "ing"
// behind it and ends with the run's last "ing": so one search for "ing", 32 places at once, finds all, and a run has
// one match at most.
#include <functional>

#include "tests/bench/limits/words.h"

namespace {

using namespace millrace::limits;
using Table = WordTable<std::uint64_t, std::plus<>>;

std::uint32_t Equal(const char* at, char wanted) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(wanted))));
}

bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

void Find(std::string_view text, Table& table) {
  const char* const end = text.data() + text.size();
  const char* ing = nullptr;    // the last one seen, of a run that may have another
  const char* begin = nullptr;  // of the match that it ends
  const auto give = [&] {
    if (begin != nullptr) table.Push(begin, static_cast<std::size_t>(ing + 3 - begin), 1);
  };
  for (const char* at = text.data(); at < end; at += 32) {
    for (std::uint32_t places = Equal(at, 'i') & Equal(at + 1, 'n') & Equal(at + 2, 'g'); places != 0;
         places &= places - 1) {
      const char* const place = at + std::countr_zero(places);
      if (end - place < 3) break;
      const char* run = place;
      while (run > text.data() && run != ing && IsLetter(run[-1])) --run;
      if (run != ing || ing == nullptr) {
        give();
        begin = nullptr;
      } else if (begin == nullptr) {
        run = ing - (ing > text.data() && IsLetter(ing[-1]) ? 1 : 0);
        while (run > text.data() && IsLetter(run[-1])) --run;
      }
      while (begin == nullptr && run < place) {
        if (*run <= 'g' && *run >= 'a') begin = run;
        ++run;
      }
      ing = place;
    }
  }
  give();
  table.Flush();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view text = MapFile(argv[1]);
  const std::string output = argv[2];
  Table tables[kThreads];
  std::barrier counted(kThreads);
  InThreads([&](int t) {
    const std::string_view part = PartOf(text, t);
    Populate(part);
    Find(part, tables[t]);
    counted.arrive_and_wait();
    Writer out(output + "." + std::to_string(t));
    const Table share = Table::Share(tables, t);
    for (const Table::Item& item : share.Sorted()) {
      out.PutWord(item.word);
      out.Put('\t');
      out.PutNumber(item.value);
      out.Put('\n');
    }
  });
  std::_Exit(0);
}
