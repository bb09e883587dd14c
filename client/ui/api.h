// SPDX-License-Identifier: Apache-2.0
// Api answers /api/v1/..., which docs/use/json.md describes: the documents that commands print with --json, and a few
// that only the page has. Calls block. Thread rule: any thread.
#pragma once

#include <string>

#include "base/daemon/http_server.h"
#include "client/ui/query.h"
#include "client/ui/view.h"

namespace millrace::ui {

class Api {
 public:
  // Requires: `view` outlives this object.
  explicit Api(View& view) : view_(view) {}

  // Returns the answer to a request whose path begins with kPrefix, without its ETag.
  [[nodiscard]] http::Answer Get(const Query& query);
  // Returns the data of an event: which documents have changed, as their ETags, or why the master is out of reach.
  [[nodiscard]] std::string Digest();

  static constexpr std::string_view kPrefix = "/api/v1/";

 private:
  Result<http::Answer> Route(const Query& query);
  Result<http::Answer> Jobs(const Query& query);
  Result<http::Answer> OneJob(JobId job, std::string_view rest, const Query& query);
  Result<http::Answer> Tasks(JobId job, const Query& query);
  Result<http::Answer> History(JobId job, const Query& query);
  Result<http::Answer> Logs(JobId job, std::string_view attempt, const Query& query);
  Result<http::Answer> Files(const Query& query);
  Result<http::Answer> Stream(const Query& query);
  Result<http::Answer> Decisions(const Query& query);

  View& view_;
};

// Returns the answer with the ETag of its body; if the request knows that already, an answer that says so (304).
[[nodiscard]] http::Answer WithTag(http::Answer answer, const http::Request& request);

}  // namespace millrace::ui
