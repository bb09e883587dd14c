// SPDX-License-Identifier: Apache-2.0
#include "client/ui/api.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/console/json_output.h"
#include "base/text.h"
#include "base/tls/sha256.h"
#include "client/cli/documents.h"
#include "client/cli/history_json.h"
#include "client/cli/job_list.h"
#include "client/cli/report.h"
#include "client/job_client/job_types.h"
#include "client/ui/timeline_json.h"
#include "dfs/tools/file_document.h"
#include "dfs/wire/path.h"

namespace millrace::ui {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostJobs = 100'000, kMostTasks = 10'000, kMostEntries = 10'000, kMostOffset = 100'000'000,
                        kMostLines = 100'000, kMostRows = 50'000;
constexpr std::size_t kMostLog = std::size_t{1} << 20;

http::Answer JsonAnswer(std::string body) { return {.type = "application/json", .body = std::move(body)}; }
http::Answer JsonAnswer(const Json& json) { return JsonAnswer(console::Dump(json)); }

unsigned HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalid:
    case StatusCode::kUnsupported:
      return 400;
    case StatusCode::kDenied:
      return 403;
    case StatusCode::kNotFound:
      return 404;
    default:
      return 503;
  }
}

std::string TagOf(std::string_view body) {
  constexpr std::size_t kDigits = 32;
  return "\"" + tls::Sha256Hex(body).substr(0, kDigits) + "\"";
}

Status NoSuchPath(const Query& query) {
  return NotFound("there is no " + Quote(query.path()) + "; docs/use/json.md has what there is");
}

// The page of a list, and how long the list is.
http::Answer PageAnswer(Json page, std::size_t total) {
  http::Answer answer = JsonAnswer(page);
  answer.headers.emplace_back("Millrace-Total", std::to_string(total));
  return answer;
}

}  // namespace

http::Answer Api::Get(const Query& query) {
  Result<http::Answer> answer = Route(query);
  if (answer.ok()) return *std::move(answer);
  http::Answer failed = JsonAnswer(Json{{"error", Printable(answer.status().message())}});
  failed.status = HttpStatusOf(answer.status().code());
  return failed;
}

Result<http::Answer> Api::Route(const Query& query) {
  std::string_view rest = query.path();
  rest.remove_prefix(kPrefix.size());
  for (const auto& [name, text] : {std::pair("cluster", &Snapshot::cluster), std::pair("nodes", &Snapshot::nodes),
                                   std::pair("scheduler", &Snapshot::scheduler)}) {
    if (rest != name) continue;
    MILLRACE_TRY(query.CheckNames({}));
    MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view_.Latest());
    return JsonAnswer((*snapshot).*text);
  }
  if (rest == "whoami") {
    MILLRACE_TRY(query.CheckNames({}));
    MILLRACE_ASSIGN(const job::CallerRights rights, view_.WhoAmI());
    return JsonAnswer(cli::CallerDocument(rights));
  }
  if (rest == "source") {
    MILLRACE_TRY(query.CheckNames({}));
    return JsonAnswer(view_.Source());
  }
  if (rest == "jobs") return Jobs(query);
  if (rest == "files") return Files(query);
  if (rest == "stream") return Stream(query);
  if (rest == "decisions") return Decisions(query);
  constexpr std::string_view kJobs = "jobs/";
  if (!rest.starts_with(kJobs)) return NoSuchPath(query);
  rest.remove_prefix(kJobs.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  MILLRACE_ASSIGN(const JobId job, job::ParseJobArgument(rest.substr(0, slash)));
  return OneJob(job, rest.substr(slash), query);
}

Result<http::Answer> Api::Jobs(const Query& query) {
  MILLRACE_TRY(query.CheckNames({"live", "ended", "user", "pool", "state", "name", "before", "last"}));
  JobQuery wanted{query.Has("live"), query.Has("ended"), query.Get("user"),
                  query.Get("pool"), query.Get("state"), query.Get("name")};
  MILLRACE_ASSIGN(wanted.before, query.Number("before", 0, ~std::uint32_t{0}));
  MILLRACE_ASSIGN(wanted.last, query.Number("last", 0, kMostJobs));
  MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view_.Latest());
  if (query.CheckNames({"live"}).ok() && wanted.live) return JsonAnswer(snapshot->live_jobs);
  MILLRACE_ASSIGN(const std::vector<JobStatus> jobs, view_.Jobs(wanted));
  Json list = Json::array();
  for (const JobStatus& job : jobs) list.push_back(snapshot->DocumentOf(job));
  return JsonAnswer(list);
}

Result<http::Answer> Api::OneJob(JobId job, std::string_view rest, const Query& query) {
  if (rest == "/tasks") return Tasks(job, query);
  if (rest == "/history") return History(job, query);
  if (constexpr std::string_view kLogs = "/logs/"; rest.starts_with(kLogs))
    return Logs(job, rest.substr(kLogs.size()), query);
  MILLRACE_TRY(query.CheckNames({}));
  if (rest.empty()) {
    MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view_.Latest());
    MILLRACE_ASSIGN(const JobStatus status, view_.Job(job));
    return JsonAnswer(snapshot->DocumentOf(status));
  }
  if (rest == "/counters") {
    MILLRACE_ASSIGN(const millrace::Counters counters, view_.Counters(job));
    Json list = Json::array();
    for (const auto& counter : counters) list.push_back(cli::ToJson(counter));
    return JsonAnswer(list);
  }
  if (rest == "/summary") {
    MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view_.Latest());
    Result<http::Answer> answer = NotFound("there is no journal of " + ToText(job) + " yet");
    MILLRACE_TRY(view_.WithTimeline(job, [&](const Timeline& timeline, std::size_t) {
      if (const JobTrack* track = timeline.Find(job))
        answer = JsonAnswer(SummaryDocument(*track, snapshot->master_now));
    }));
    return answer;
  }
  return NoSuchPath(query);
}

Result<http::Answer> Api::Tasks(JobId job, const Query& query) {
  MILLRACE_TRY(query.CheckNames({"state", "kind", "sort", "offset", "limit"}));
  const std::string sort = query.Get("sort"), state = query.Get("state"), kind = query.Get("kind");
  if (!sort.empty() && sort != "took" && sort != "launched")
    return Invalid("sort " + Quote(sort) + " is neither launched nor took");
  if (!kind.empty() && kind != "m" && kind != "r") return Invalid("kind " + Quote(kind) + " is neither m nor r");
  MILLRACE_ASSIGN(const std::uint64_t offset, query.Number("offset", 0, kMostOffset));
  MILLRACE_ASSIGN(const std::uint64_t limit, query.Number("limit", kMostTasks, kMostTasks));
  MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view_.Latest());
  MILLRACE_ASSIGN(const auto attempts, view_.Attempts(job));
  std::vector<const AttemptStatus*> chosen;
  for (const AttemptStatus& attempt : *attempts) {
    if (!state.empty() && ToString(attempt.state) != state) continue;
    if (!kind.empty() && attempt.attempt.task.reduce() != (kind == "r")) continue;
    chosen.push_back(&attempt);
  }
  const std::size_t begin = std::min<std::size_t>(offset, chosen.size());
  const std::size_t end = std::min<std::size_t>(begin + limit, chosen.size());
  if (sort == "took") {
    const auto took = [now = snapshot->master_now](const AttemptStatus* attempt) {
      return (attempt->ended == 0 ? now : attempt->ended) - attempt->launched;
    };
    std::ranges::partial_sort(
        chosen, chosen.begin() + static_cast<std::ptrdiff_t>(end),
        [&](const auto* a, const auto* b) { return took(a) != took(b) ? took(a) > took(b) : a->attempt < b->attempt; });
  }
  Json list = Json::array();
  for (std::size_t i = begin; i < end; ++i) list.push_back(snapshot->DocumentOf(*chosen[i]));
  return PageAnswer(std::move(list), chosen.size());
}

Result<http::Answer> Api::History(JobId job, const Query& query) {
  MILLRACE_TRY(query.CheckNames({"after", "limit"}));
  MILLRACE_ASSIGN(const std::uint64_t after, query.Number("after", 0, ~std::uint64_t{0} >> 1));
  MILLRACE_ASSIGN(const std::uint64_t limit, query.Number("limit", kMostLines, kMostLines));
  Json list = Json::array();
  MILLRACE_TRY(view_.History(job, after, [&](std::uint64_t number, const std::string& line) {
    if (list.size() < limit) list.push_back(cli::HistoryJson(number, line));
  }));
  return JsonAnswer(list);
}

Result<http::Answer> Api::Logs(JobId job, std::string_view attempt, const Query& query) {
  MILLRACE_TRY(query.CheckNames({"stream"}));
  const std::string stream = query.Get("stream");
  if (stream != "stdout" && stream != "stderr")
    return Invalid("stream " + Quote(stream) + " is neither stdout nor stderr");
  MILLRACE_ASSIGN(const AttemptId id, job::ParseAttemptArgument(attempt));
  if (id.task.job != job) return Invalid("attempt " + Quote(attempt) + " is not one of " + ToText(job));
  std::string text;
  std::uint64_t cut = 0;
  MILLRACE_TRY(view_.ReadLog(id, stream == "stdout" ? job::LogStream::kStdout : job::LogStream::kStderr,
                             [&](std::string_view piece) {
                               text += piece;
                               if (text.size() <= 2 * kMostLog) return;
                               cut += text.size() - kMostLog;
                               text.erase(0, text.size() - kMostLog);
                             }));
  if (text.size() > kMostLog) {
    cut += text.size() - kMostLog;
    text.erase(0, text.size() - kMostLog);
  }
  http::Answer answer{.body = std::move(text)};
  answer.headers.emplace_back("Millrace-Cut-Bytes", std::to_string(cut));
  return answer;
}

Result<http::Answer> Api::Files(const Query& query) {
  MILLRACE_TRY(query.CheckNames({"path", "offset", "limit"}));
  MILLRACE_ASSIGN(const std::string path, dfs::CanonicalPath(query.Has("path") ? query.Get("path") : "/"));
  MILLRACE_ASSIGN(const std::uint64_t offset, query.Number("offset", 0, kMostOffset));
  MILLRACE_ASSIGN(const std::uint64_t limit, query.Number("limit", kMostEntries, kMostEntries));
  Json list = Json::array();
  std::uint64_t seen = 0;
  bool more = false;
  MILLRACE_ASSIGN(const dfs::FileStatus root, view_.Stat(path));
  if (root.directory) {
    MILLRACE_TRY(view_.List(path, [&](const dfs::FileStatus& entry) {
      more = list.size() == limit;
      if (!more && seen++ >= offset) list.push_back(dfs::FileDocument(entry));
      return !more;
    }));
  } else if (offset == 0) {
    list.push_back(dfs::FileDocument(root));
  }
  http::Answer answer = JsonAnswer(list);
  answer.headers.emplace_back("Millrace-More", more ? "yes" : "no");
  return answer;
}

Result<http::Answer> Api::Stream(const Query& query) {
  MILLRACE_TRY(query.CheckNames({"job", "since", "last_s", "limit"}));
  constexpr std::uint64_t kLongest = 7 * 24 * 3600;
  std::optional<JobId> job;
  if (query.Has("job")) {
    MILLRACE_ASSIGN(job, job::ParseJobArgument(query.Get("job")));
  }
  MILLRACE_ASSIGN(const std::uint64_t since, query.Number("since", 0, ~std::uint64_t{0} >> 1));
  MILLRACE_ASSIGN(const std::uint64_t last, query.Number("last_s", kLongest, kLongest));
  MILLRACE_ASSIGN(const std::uint64_t limit, query.Number("limit", kMostRows, kMostRows));
  MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view_.Latest());
  Json json{{"now_at", console::Seconds(snapshot->master_now)}};
  MILLRACE_TRY(view_.WithTimeline(job, [&](const Timeline& timeline, std::size_t left_out) {
    json["jobs_left_out"] = left_out;
    // What does not change is asked for as a whole, however long ago it was.
    const bool all = view_.still() && !query.Has("last_s");
    json.update(StreamDocument(timeline, job, since,
                               all ? 0 : snapshot->master_now - static_cast<Micros>(last) * kSecond,
                               snapshot->master_now, static_cast<std::size_t>(limit)));
  }));
  return JsonAnswer(json);
}

Result<http::Answer> Api::Decisions(const Query& query) {
  MILLRACE_TRY(query.CheckNames({"launches", "last"}));
  constexpr std::uint64_t kUsual = 100, kMost = 1000;
  MILLRACE_ASSIGN(const std::uint64_t last, query.Number("last", kUsual, kMost));
  Json json;
  MILLRACE_TRY(view_.WithTimeline(std::nullopt, [&](const Timeline& timeline, std::size_t) {
    json = DecisionsDocument(timeline, static_cast<std::size_t>(last), query.Has("launches"));
  }));
  return JsonAnswer(json);
}

std::string Api::Digest() {
  const Result<std::shared_ptr<const Snapshot>> latest = view_.Latest();
  if (!latest.ok()) return console::Dump(Json{{"reachable", false}, {"why", Printable(latest.status().message())}});
  const Snapshot& now = **latest;
  return console::Dump(Json{{"reachable", true},
                            {"why", ""},
                            {"now_at", console::Seconds(now.master_now)},
                            {"tags",
                             {{"cluster", TagOf(now.cluster)},
                              {"nodes", TagOf(now.nodes)},
                              {"scheduler", TagOf(now.scheduler)},
                              {"jobs?live", TagOf(now.live_jobs)}}}});
}

http::Answer WithTag(http::Answer answer, const http::Request& request) {
  if (answer.status != 200 || answer.stream) return answer;
  const std::string tag = TagOf(answer.body);
  answer.headers.emplace_back("ETag", tag);
  const std::string_view known = request.Header("If-None-Match");
  if (known == "*" || known.find(tag) != std::string_view::npos) {
    answer.status = 304;
    answer.body.clear();
  }
  return answer;
}

}  // namespace millrace::ui
