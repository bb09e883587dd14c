// SPDX-License-Identifier: Apache-2.0
// wordcount INPUT OUTPUT: "word TAB count" for each word, in OUTPUT.0 and OUTPUT.1, each sorted.
#include <functional>

#include "tests/bench/limits/words.h"

namespace {

using namespace millrace::limits;
using Table = WordTable<std::uint64_t, std::plus<>>;

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
    ForEachWord(part, [&](const char* word, std::size_t size) { tables[t].Push(word, size, 1); });
    tables[t].Flush();
    counted.arrive_and_wait();
    const Table share = Table::Share(tables, t);
    Writer out(output + "." + std::to_string(t));
    for (const Table::Item& item : share.Sorted()) {
      out.PutWord(item.word);
      out.Put('\t');
      out.PutNumber(item.value);
      out.Put('\n');
    }
  });
  std::_Exit(0);  // what is mapped goes with the process
}
