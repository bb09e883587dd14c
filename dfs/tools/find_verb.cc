// SPDX-License-Identifier: Apache-2.0
// Holds the verb find.
#include <cstdint>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "dfs/tools/find_query.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

constexpr std::int64_t kDeepest = 10'000;

struct Depths {
  std::int64_t least = 0, most = kDeepest;
};

class Finder {
 public:
  using Show = std::function<Status(const FileStatus&)>;
  Finder(DfsClient& client, const FindQuery& query, const Depths& depths, Show show)
      : client_(client), query_(query), depths_(depths), show_(std::move(show)) {}

  Status Find(const std::string& path) {
    if (query_.asks_for_age()) {
      // A master of an earlier release does not tell its time.
      const Result<Micros> now = client_.Time();
      if (!now.ok() && now.status().code() != StatusCode::kUnsupported) return now.status();
      now_ = now.ok() ? *now : SystemClock().Now();
    }
    MILLRACE_ASSIGN(const FileStatus root, client_.Stat(path));
    return Visit(root, 0);
  }

 private:
  Status Visit(const FileStatus& info, std::int64_t depth) {
    std::vector<FileStatus> below;
    const bool matches = depth >= depths_.least && query_.Matches(info, now_);
    if (info.directory && (depth < depths_.most || (matches && query_.asks_for_empty()))) {
      MILLRACE_TRY(client_.List(info.path, [&below](const FileStatus& entry) {
        below.push_back(entry);
        return true;
      }));
    }
    if (matches && !(query_.asks_for_empty() && !below.empty())) MILLRACE_TRY(show_(info));
    if (depth == depths_.most) return Status::Ok();
    for (const FileStatus& entry : below) MILLRACE_TRY(Visit(entry, depth + 1));
    return Status::Ok();
  }

  DfsClient& client_;
  const FindQuery& query_;
  const Depths depths_;
  const Show show_;
  Micros now_ = 0;  // if the query asks for ages
};

}  // namespace

int RunFind(const Args& args, const FsContext& context) {
  FindWords words;
  Depths depths;
  bool null = false, print = false, json = false;
  console::Arguments arguments("fs find", "[PATH...]",
                               "Lists the paths at and below each PATH (default /) for which all tests hold, with the "
                               "meanings that find(1) gives them, and with one dash or two.");
  arguments.Example("/in -name '*.log' -size +10M -mtime +7");
  arguments.Example("/tmp -type f -empty -print0");
  arguments.OneDash();
  arguments.Text("--name", &words.name, "the name fits the pattern");
  arguments.Text("--iname", &words.iname, "the same, for letters of both cases (of ASCII)");
  arguments.Text("--path", &words.path, "the whole path fits the pattern, whose * takes slashes, too");
  arguments.Text("--type", &words.type, "f for files, d for directories");
  arguments.Text("--size", &words.size,
                 "N units of 512 bytes, or of c (bytes), k, M, G, rounded up; +N more, -N less than that");
  arguments.Text("--mtime", &words.mtime,
                 "modified N days ago by the master's clock, rounded down; +N earlier, -N later");
  arguments.Text("--mmin", &words.mmin, "the same in minutes");
  arguments.Text("--user", &words.user, "owned by this user");
  arguments.Text("--group", &words.group, "of this group");
  arguments.Flag("--empty", &words.empty, "files without bytes and directories without entries");
  arguments.Integer("--maxdepth", &depths.most, 0, kDeepest, "descend at most so far below each PATH");
  arguments.Integer("--mindepth", &depths.least, 0, kDeepest, "leave out what is less deep");
  arguments.Flag("--print", &print, "accepted for compatibility: paths are always printed");
  arguments.Flag("-0,--print0", &null, "end each path by a NUL byte, for `xargs -0`");
  arguments.Flag("--json", &json, "print a JSON array of paths");
  if (const auto status = arguments.Parse(args, context.console, 0, args.size())) return *status;
  const Result<FindQuery> query = FindQuery::Parse(words);
  if (!query.ok()) {
    console::SayError(context.console, "fs find", query.status());
    return console::kWrongUsage;
  }
  const Args paths = arguments.operands().empty() ? Args{"/"} : arguments.operands();
  console::Printer out(context.console);
  console::JsonList list(out);
  const auto show = [&](const FileStatus& info) {
    if (json) {
      nlohmann::ordered_json line;
      console::SetBytes(line, "path", info.path);
      line["type"] = info.directory ? "directory" : "file";
      list.Add(line);
    } else {
      const bool plain = null || !context.console.out_is_terminal;
      out << (plain ? info.path : Printable(info.path)) << (null ? std::string_view("\0", 1) : "\n");
    }
    return out.failed() ? out.Flush() : Status::Ok();
  };
  const int status = ForEachMatch(context, "find", paths, [&](DfsClient& client, const std::string& path) {
    return Finder(client, *query, depths, show).Find(path);
  });
  if (json && status == console::kDone) list.Close();
  const Status written = out.Flush();
  if (written.ok()) return status;
  console::SayError(context.console, "fs find", written);
  return console::kFailed;
}

}  // namespace millrace::dfs
