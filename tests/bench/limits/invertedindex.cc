// SPDX-License-Identifier: Apache-2.0
// invertedindex OUTPUT INPUT...: "word TAB file file ..." for each word, the files of at most 64 by name, in OUTPUT.0
// and OUTPUT.1, each sorted.
#include <atomic>
#include <functional>

#include "tests/bench/limits/words.h"

namespace {

using namespace millrace::limits;
using Table = WordTable<std::uint64_t, std::bit_or<>>;  // bit i: the word is in file i

void Write(const Table& table, const std::vector<std::string>& names, const std::string& path) {
  Writer out(path);
  for (const Table::Item& item : table.Sorted()) {
    out.PutWord(item.word);
    char before = '\t';
    for (std::uint64_t files = item.value; files != 0; files &= files - 1) {
      out.Put(std::exchange(before, ' '));
      out.Put(names[static_cast<std::size_t>(std::countr_zero(files))]);
    }
    out.Put('\n');
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 66) return 2;
  const std::string output = argv[1];
  std::vector<std::string> paths(argv + 2, argv + argc), names;
  std::ranges::sort(paths);
  for (const std::string& path : paths) names.push_back(path.substr(path.rfind('/') + 1));
  Table tables[kThreads];
  std::atomic<std::size_t> next = 0;
  std::barrier counted(kThreads);
  InThreads([&](int t) {
    for (std::size_t i; (i = next++) < paths.size();) {
      const std::string_view text = MapFile(paths[i]);
      Populate(text);
      ForEachWord(text, [&](const char* word, std::size_t size) { tables[t].Push(word, size, std::uint64_t{1} << i); });
      tables[t].Flush();
    }
    counted.arrive_and_wait();
    const Table share = Table::Share(tables, t);
    Write(share, names, output + "." + std::to_string(t));
  });
  std::_Exit(0);
}
