// SPDX-License-Identifier: Apache-2.0
#include "lab/command/history_command.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "base/units.h"
#include "client/job_client/job_client.h"
#include "lab/journal/export_workload.h"

namespace millrace::cli {
namespace {

Result<std::string> Export(const Invocation& invocation, const std::string& since) {
  Micros begin = 0;
  if (!since.empty()) {
    MILLRACE_ASSIGN(begin, TimeAgo(since));
  }
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  MILLRACE_ASSIGN(const std::string journal, job::ReadWholeJournal(job::JobClient(*files)));
  MILLRACE_ASSIGN(sim::ExportedWorkload exported, sim::ExportWorkload(journal, "the journal", begin));
  return std::move(exported.text);
}

int ExportHistory(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("history export", "",
                               "Writes what the cluster has done as a workload file: `millrace sim` then runs the same "
                               "jobs under other schedulers.");
  std::string since, output;
  arguments.Text("--since", &since, "jobs submitted in this time until now, such as 24h (default: all remembered)");
  arguments.Text("-o,--output", &output, "a file; standard output if none is given");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  std::optional<LocalFile> file;
  if (!output.empty()) {
    Result<LocalFile> opened = LocalFile::Open(output, {.replace = true});
    if (!opened.ok()) return invocation.Fail("history export", opened.status());
    file.emplace(std::move(opened).value());
  }
  const Result<std::string> text = Export(invocation, since);
  if (!text.ok()) {
    const bool away = text.status().code() == StatusCode::kUnavailable;
    return invocation.Fail("history export", text.status(), away ? kUnreachable : kFailed);
  }
  Status written = Status::Ok();
  if (!file) {
    console::Printer out(invocation.console);
    out << *text;
    written = out.Flush();
  } else {
    written = console::WriteOut(file->fd(), *text, Quote(output));
    if (written.ok()) written = file->Commit();
  }
  return written.ok() ? kDone : invocation.Fail("history export", written);
}

}  // namespace

Result<Micros> TimeAgo(const std::string& duration) {
  MILLRACE_ASSIGN(const Micros ago, ParseDuration(duration));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count() - ago;
}

std::vector<Verb> HistoryVerbs() {
  return {{"export", "write the history of jobs as a workload file", ExportHistory, {}}};
}

}  // namespace millrace::cli
