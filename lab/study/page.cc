// SPDX-License-Identifier: Apache-2.0
#include "lab/study/page.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"

namespace millrace::sim::experiments {
namespace {

constexpr std::string_view kBegin = "<!-- table ";
constexpr std::string_view kEnd = "<!-- end of table -->";

std::string_view ExperimentOf(std::string_view table) { return table.substr(0, table.find('/')); }

// Returns a place of the page for a table that its experiment has not made; empty if there is none.
std::string LeftOver(const std::string& page, const PageTables& tables) {
  for (const std::string& name : TablesOn(page)) {
    if (tables.count(name) != 0) continue;
    for (const auto& [other, text] : tables) {
      if (ExperimentOf(other) == ExperimentOf(name)) return name;
    }
  }
  return {};
}

std::string WithReturns(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\r\n" : std::string(1, c);
  return out;
}

}  // namespace

std::vector<std::string> TablesOn(const std::string& page) {
  std::vector<std::string> names;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1)) {
    const std::size_t begin = at + kBegin.size();
    names.push_back(page.substr(begin, page.find(' ', begin) - begin));
  }
  return names;
}

Result<std::string> PutTables(const std::string& page, const PageTables& tables) {
  const std::string left_over = LeftOver(page, tables);
  if (!left_over.empty()) return Invalid("the page has a place for the table " + left_over + ", which does not exist");
  std::string out = page;
  for (const auto& [name, text] : tables) {
    const std::string mark = std::string(kBegin) + name + " -->";
    const std::size_t at = out.find(mark);
    if (at == std::string::npos) {
      return Invalid("the page has no place for the table " + name + ": write \"" + mark +
                     "\" and <!-- end of table --> where it should stand");
    }
    if (out.find(mark, at + 1) != std::string::npos) {
      return Invalid("the page has two places for the table " + name);
    }
    // The page's lines may end in carriage return and newline.
    const bool returns = out.compare(at + mark.size(), 2, "\r\n") == 0;
    const std::size_t begin = std::min(at + mark.size() + (returns ? 2 : 1), out.size());
    const std::size_t end = out.find(kEnd, begin);
    if (end == std::string::npos || out.substr(begin, end - begin).find(kBegin) != std::string::npos) {
      return Invalid("the place of the table " + name + " has no end");
    }
    out.replace(begin, end - begin, returns ? WithReturns(text) : text);
  }
  return out;
}

namespace {

// Returns the page as it is, and with the tables.
Result<std::pair<std::string, std::string>> BothPages(const std::string& path, const PageTables& tables) {
  MILLRACE_ASSIGN(std::string page, ReadPage(path));
  Result<std::string> made = PutTables(page, tables);
  if (!made.ok()) return Invalid(path + ": " + made.status().message());
  return std::pair(std::move(page), std::move(*made));
}

std::string LineAt(const std::string& text, std::string::const_iterator at) {
  const auto begin = std::find(std::make_reverse_iterator(at), text.rend(), '\n').base();
  return {begin, std::find(at, text.end(), '\n')};
}

}  // namespace

Result<std::string> ReadPage(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return Invalid(path + ": the page is not a regular file");
  return ReadWholeFile(path);
}

Status CheckMarks(const std::string& path, const std::vector<std::string>& names) {
  PageTables tables;
  for (const std::string& name : names) tables[name] = "";
  return BothPages(path, tables).status();
}

Status WritePage(const std::string& path, const PageTables& tables) {
  MILLRACE_ASSIGN(const auto pages, BothPages(path, tables));
  return pages.first == pages.second ? Status::Ok() : WriteLocalFile(path, pages.second);
}

Status CheckPage(const std::string& path, const PageTables& tables, const std::string& mend) {
  MILLRACE_ASSIGN(const auto pages, BothPages(path, tables));
  const auto& [page, made] = pages;
  if (page == made) return Status::Ok();
  const auto differs = std::mismatch(page.begin(), page.end(), made.begin(), made.end());
  const auto line = 1 + std::count(page.begin(), differs.first, '\n');
  return Invalid(path + ":" + std::to_string(line) + ": the page has " + Quote(LineAt(page, differs.first), 400) +
                 ", and here it comes out as " + Quote(LineAt(made, differs.second), 400) + "; " + mend + " mends it");
}

}  // namespace millrace::sim::experiments
