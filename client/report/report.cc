#include "client/report/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/file.h"
#include "client/report/page.h"

namespace millrace::report {
namespace {

constexpr std::string_view kMark = "@DOCUMENT@";
// JSON takes these two for characters like any other, and JavaScript long took them for ends of lines.
constexpr std::string_view kLineSeparator = "\u2028";
constexpr std::string_view kParagraphSeparator = "\u2029";

// Returns the same JSON without what HTML or JavaScript would understand as theirs. Where `<` and the two separators
// occur in JSON they stand in strings, so that they may be written as escapes.
std::string Harmless(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  std::size_t done = 0;
  const auto replace = [&](std::size_t at, std::size_t size, std::string_view escape) {
    out += json.substr(done, at - done);
    out += escape;
    done = at + size;
  };
  for (std::size_t at = json.find_first_of("<\n\r\xE2"); at != std::string_view::npos;
       at = json.find_first_of("<\n\r\xE2", std::max(at + 1, done))) {
    const std::string_view rest = json.substr(at);
    if (rest[0] == '<') {
      replace(at, 1, "\\u003c");
    } else if (rest[0] == '\n' || rest[0] == '\r') {
      replace(at, 1, " ");  // between members: a string holds none
    } else if (rest.starts_with(kLineSeparator)) {
      replace(at, kLineSeparator.size(), "\\u2028");
    } else if (rest.starts_with(kParagraphSeparator)) {
      replace(at, kParagraphSeparator.size(), "\\u2029");
    }
  }
  out += json.substr(done);
  return out;
}

}  // namespace

Result<std::string> Page(std::string_view document) {
  const std::size_t first = document.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || document[first] != '{' || !nlohmann::json::accept(document)) {
    return Invalid("cannot make a report: its document is not a JSON object");
  }
  const std::size_t mark = kPage.find(kMark);
  MILLRACE_CHECK(mark != std::string_view::npos, kMark);
  const std::string json = Harmless(document);
  std::string page;
  page.reserve(kPage.size() + json.size());
  page += kPage.substr(0, mark);
  page += json;
  page += kPage.substr(mark + kMark.size());
  return page;
}

Status WriteReport(std::string_view document, const std::string& path) {
  MILLRACE_ASSIGN(const std::string page, Page(document));
  return WriteFileDurably(path, page);
}

}  // namespace millrace::report
