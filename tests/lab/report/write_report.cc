// SPDX-License-Identifier: Apache-2.0
// write_report DOCUMENT.json REPORT.html: the report of a comparison document, for tests and for looking at the page.
// "-" stands for standard input.
#include <iostream>
#include <iterator>
#include <string>

#include "base/file.h"
#include "base/program.h"
#include "lab/report/report.h"

namespace {

millrace::Status Write(const std::string& from, const std::string& to) {
  std::string document;
  if (from == "-") {
    document.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    MILLRACE_ASSIGN(document, millrace::ReadWholeFile(from));
  }
  return millrace::report::WriteReport(document, to);
}

}  // namespace

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  if (argc != 3) {
    std::cerr << "write_report: it takes two arguments: DOCUMENT.json (or -) and REPORT.html\n";
    return 2;
  }
  const millrace::Status status = Write(argv[1], argv[2]);
  if (!status.ok()) std::cerr << "write_report: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
