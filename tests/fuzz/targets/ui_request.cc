// SPDX-License-Identifier: Apache-2.0
// Requests to the page of `millrace ui`: whatever a stranger sends, it is refused, and nobody but the owner of the
// token gets a cookie. The lines of an input are the method, the target, and then names and values of headers.
#include "base/text.h"
#include "client/ui/gate.h"
#include "client/ui/query.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  const std::string host = "\nHost\n127.0.0.1:40123";
  return {"GET\n/" + host,
          "GET\n/?token=0123456789abcdef0123456789abcdef" + host + "\nSec-Fetch-Site\nnone",
          "GET\n/?token=" + host,
          "HEAD\n/api/v1/files?path=%2Fa+b&offset=1&limit=x" + host + "\nOrigin\nhttp://127.0.0.1:40123",
          "GET\n/api/v1/jobs/1/tasks?sort=took&limit=100" + host +
              "\nCookie\na=b; millrace_ui_40123=000000000000000000000000000000000000000000000000; c",
          "POST\n/" + host + "\nSec-Fetch-Site\ncross-site\nSec-Fetch-Mode\nnavigate\nSec-Fetch-Dest\ndocument"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> lines(1);
  for (const char c : fuzz::View(data, size)) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  http::Request request{.method = lines[0], .target = lines.size() > 1 ? lines[1] : "", .headers = {}};
  for (std::size_t i = 2; i + 1 < lines.size(); i += 2) request.headers.emplace_back(lines[i], lines[i + 1]);

  const ui::Query query(request.target);
  fuzz::Require(request.target.starts_with(query.path()), "the path is no part of the target");
  for (const char* const name : {"token", "path", "limit", ""}) {
    fuzz::Require(query.Has(name) || query.Get(name).empty(), "a value of nothing");
    const auto number = query.Number(name, 7, 1000);
    fuzz::Require(!number.ok() || *number <= 1000, "a number beyond the limit");
  }
  fuzz::Require(query.CheckNames({}).message().find('\n') == std::string::npos, "an error of two lines");

  static ui::Gate gate(40123);
  static const std::string token = gate.NewToken();
  for (const bool used : {false, true}) {
    const std::optional<http::Answer> answer = gate.Check(request);
    fuzz::Require(answer.has_value(), "a stranger is let in");
    for (const auto& [name, value] : answer->headers) fuzz::Require(name != "Set-Cookie", "a stranger gets a cookie");
    if (used) break;
    static const bool spent =
        gate.Check({.method = "GET", .target = "/?token=" + token, .headers = {{"Host", "127.0.0.1:40123"}}})->status ==
        303;
    fuzz::Require(spent, "the token was good");
  }
  return 0;
}
