// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/job_client/subprocess.h"

namespace millrace::cli {
namespace {

constexpr const char* kEnvProgram = "/usr/bin/env";
constexpr const char* kTraceModule = "millrace.trace";
constexpr Micros kImportPatience = 60 * kSecond;

// Becomes `python3 -m millrace.trace VERB ARGS...`, whose streams and exit status are then those of the command.
// Returns an exit status only if there is no such module.
int BecomePython(const Invocation& invocation, const std::string& what, const std::string& verb, const Words& args) {
  const Words probe{kEnvProgram, "python3", "-c", "import " + std::string(kTraceModule)};
  const Result<job::Captured> found = job::RunCaptured(probe, {.timeout = kImportPatience});
  if (!found.ok()) return invocation.Fail(what, found.status());
  if (found->exit_status != 0) {
    const bool absent = found->error.find("No module named") != std::string::npos || found->exit_status == 127;
    return invocation.Fail(
        what, Invalid(absent ? "python3 does not find the package millrace, which reads and writes traces; install it "
                               "(docs/use/python.md) or set PYTHONPATH"
                             : "python3 ended with status " + std::to_string(found->exit_status) + ": " +
                                   Printable(LastLines(found->error, 3))));
  }
  Words words{kEnvProgram, "python3", "-m", kTraceModule, verb};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(kEnvProgram, argv.data());
  return invocation.Fail(what, FromErrno(errno, "start " + Quote(kEnvProgram)));
}

// The words are declared here for --help and for shells; the module reads them again. tests/cluster/test_traces.py
// compares both lists.
struct HandedOver {
  std::string text;
  bool flag = false;
};

int ImportTrace(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "trace import", "FORMAT FILE",
      "Makes a workload of `millrace sim` from a trace. FILE may be compressed by gzip; - is standard input. FORMAT:\n"
      "  swf          Standard Workload Format, of the Parallel Workloads Archive\n"
      "  sls          jobs of YARN's Scheduler Load Simulator (JSON)\n"
      "  synth        distributions of YARN's Scheduler Load Simulator (JSON)\n"
      "  batsim       a workload of Batsim (JSON)\n"
      "  alibaba2018  batch_task.csv of Alibaba's cluster-trace-v2018\n"
      "  google2019   instance_events of Google's cluster traces of 2019 (CSV or JSON lines)\n"
      "  csv          a CSV file with a header; --columns names its columns");
  arguments.Offline();
  arguments.Example("swf UniLu-Gaia-2014-2.swf --jobs 1000 -o gaia.toml");
  arguments.Example("csv jobs.csv --columns submit=arrival,maps=tasks,map_seconds=mean");
  HandedOver word;
  arguments.Text("-o,--output", &word.text, "the file to write; standard output if none is given");
  arguments.Text("--to", &word.text, "toml, a workload file (default), or swim, a SWIM trace, which has bytes only");
  arguments.Text("--jobs", &word.text, "the first so many jobs that are left after all else");
  arguments.Text("--from", &word.text, "jobs from so many seconds on, after the first of the trace");
  arguments.Text("--until", &word.text, "jobs before so many seconds, after the first of the trace");
  arguments.Flag("--skip-odd", &word.flag, "leave out lines that are wrong, and count them");
  arguments.Flag("--keep-failed", &word.flag, "keep jobs that failed or were killed");
  arguments.Text("--flops", &word.text, "batsim: operations a second of a host");
  arguments.Text("--collections", &word.text, "google2019: the file of collection_events, for the names of users");
  arguments.Text("--columns", &word.text, "csv: FIELD=COLUMN,..., the names of columns (docs/schedulers/traces.md)");
  arguments.Text("--rate", &word.text, "with --to swim: for how many bytes a second of a task stands");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 2, 2)) return *status;
  return BecomePython(invocation, arguments.verb(), "import", args);
}

int ExportTrace(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "trace export", "FORMAT WHAT",
      "Writes a run or a workload in the format of another program. WHAT is a directory with jobs.csv, below the one "
      "that `millrace sim -o` wrote, or a workload file of plain numbers. FORMAT:\n"
      "  swf          Standard Workload Format\n"
      "  sls          YARN's Scheduler Load Simulator, so that it judges the same jobs\n"
      "  batsim       a workload of Batsim\n"
      "  batsim-jobs  the columns of Batsim's jobs.csv, which evalys reads\n"
      "  csv          a CSV file that `import csv` reads");
  arguments.Offline();
  arguments.Example("batsim-jobs results/fair -o jobs.csv");
  arguments.Example("sls results/fair -o sls-jobs.json");
  HandedOver word;
  arguments.Text("-o,--output", &word.text, "the file to write; standard output if none is given");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 2, 2)) return *status;
  return BecomePython(invocation, arguments.verb(), "export", args);
}

}  // namespace

std::vector<Verb> TraceVerbs() {
  return {
      {"import", "make a workload of a trace: swf, sls, synth, batsim, alibaba2018, google2019, csv", ImportTrace, {}},
      {"export", "write a run or a workload as swf, sls, batsim, batsim-jobs or csv", ExportTrace, {}}};
}

}  // namespace millrace::cli
