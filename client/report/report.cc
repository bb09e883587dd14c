#include "client/report/report.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/file.h"
#include "client/report/packed.h"
#include "client/report/page.h"

namespace millrace::report {

Result<std::string> Page(std::string_view document) {
  const std::size_t first = document.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || document[first] != '{' || !nlohmann::json::accept(document)) {
    return Invalid("cannot make a report: its document is not a JSON object; it is written as in docs/comparison.md");
  }
  constexpr std::string_view kMark = "@DOCUMENT@";
  const std::size_t mark = kPage.find(kMark);
  MILLRACE_CHECK(mark != std::string_view::npos, kMark);
  std::string page(kPage.substr(0, mark));
  page += Packed(document);
  page += kPage.substr(mark + kMark.size());
  return page;
}

Status WriteReport(std::string_view document, const std::string& path) {
  MILLRACE_ASSIGN(const std::string page, Page(document));
  return WriteFileDurably(path, page);
}

}  // namespace millrace::report
