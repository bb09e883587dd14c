// SPDX-License-Identifier: Apache-2.0
// Beginnings and ends of files, of which some are no text.
#include "client/format/text_check.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {"text\n",
          "PK\x03\x04",
          "SEQ\x06",
          std::string("PAR1 columns \x01\0\0\0PAR1", 21),
          "ORC rows \x82\xf4\x03\x03ORC\x17",
          "\xff\xfe",
          "\x1f\x9d\x90",
          std::string(257, 'a') + "ustar" + std::string(250, '\0')};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file = fuzz::View(data, size);
  const std::string_view first = file.substr(0, kTextCheckBytes);
  const auto read_at = [file](std::uint64_t offset, std::uint64_t bytes, std::string* out) {
    fuzz::Require(offset <= file.size() && bytes <= file.size() - offset, "read beyond the file");
    out->append(file.substr(offset, bytes));
    return Status::Ok();
  };
  const Status text = CheckText("name", first, file.size(), read_at);
  fuzz::Require(text.ok() || text.code() == StatusCode::kUnsupported, "another failure");
  fuzz::Require(text.message().find('\n') == std::string::npos, "an error of two lines");
  const bool letters =
      std::ranges::all_of(first, [](char c) { return c == '\n' || c == '\t' || (c >= ' ' && c < 0x7f); });
  fuzz::Require(!letters || text.ok() || first.starts_with("PAR") || first.starts_with("ORC"),
                "text that is told to be none");
  return 0;
}
