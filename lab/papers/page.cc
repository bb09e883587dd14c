#include "lab/papers/page.h"

#include <string_view>

namespace millrace::sim::experiments {
namespace {

constexpr std::string_view kBegin = "<!-- table ";
constexpr std::string_view kEnd = "<!-- end of table -->\n";

std::string_view ExperimentOf(std::string_view table) { return table.substr(0, table.find('/')); }

// Returns a place of the page for a table that its experiment has not made; empty if there is none.
std::string LeftOver(const std::string& page, const PageTables& tables) {
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1)) {
    const std::size_t begin = at + kBegin.size();
    const std::string name = page.substr(begin, page.find(' ', begin) - begin);
    if (tables.count(name) != 0) continue;
    for (const auto& [other, text] : tables) {
      if (ExperimentOf(other) == ExperimentOf(name)) return name;
    }
  }
  return {};
}

}  // namespace

Result<std::string> PutTables(const std::string& page, const PageTables& tables) {
  const std::string left_over = LeftOver(page, tables);
  if (!left_over.empty()) return Invalid("the page has a place for the table " + left_over + ", which does not exist");
  std::string out = page;
  for (const auto& [name, text] : tables) {
    const std::string mark = std::string(kBegin) + name + " -->\n";
    const std::size_t at = out.find(mark);
    if (at == std::string::npos) {
      return Invalid("the page has no place for the table " + name + ": write \"" + mark.substr(0, mark.size() - 1) +
                     "\" and <!-- end of table --> where it should stand");
    }
    if (out.find(mark, at + 1) != std::string::npos) {
      return Invalid("the page has two places for the table " + name);
    }
    const std::size_t begin = at + mark.size();
    const std::size_t end = out.find(kEnd, begin);
    if (end == std::string::npos || out.substr(begin, end - begin).find(kBegin) != std::string::npos) {
      return Invalid("the place of the table " + name + " has no end");
    }
    out.replace(begin, end - begin, text);
  }
  return out;
}

}  // namespace millrace::sim::experiments
