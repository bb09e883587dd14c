// SPDX-License-Identifier: Apache-2.0
#include "client/process/run.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/program.h"
#include "base/random.h"
#include "base/units.h"
#include "client/export/stream_task.h"
#include "client/process/crash_frames.h"
#include "client/process/crash_report.h"
#include "client/process/describe.h"
#include "client/process/dfs_source.h"
#include "client/process/rerun.h"
#include "client/process/task_loop.h"
#include "client/solo/solo.h"

namespace millrace::internal {
namespace {

constexpr int kChannelFd = 3;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int Describe(const JobBinding& binding, int argc, char** argv) {
  return Answer(argv[0], DescribeJob(binding, BaseName(argv[0]), {argv + 2, argv + argc}), kWrongUsage);
}

Result<std::string> Prepared(const JobBinding& binding, char** argv, const std::vector<std::string>& arguments) {
  dfs::ClientOptions options;
  options.master = argv[2];
  options.cluster = argv[3];
  MILLRACE_ASSIGN(options.credentials, tls::CredentialsOfUser());
  MILLRACE_ASSIGN(options.patience, ParseDuration(argv[4]));
  const StorageAccess access = RealStorage();
  Storage storage(access, std::move(options));
  MILLRACE_TRY(storage.Client().status());
  DfsInput files(storage);
  return PrepareJob(binding, files, static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10)), arguments);
}

// Drops the output of the job's code: the caller reads one line only.
class Quiet {
 public:
  Quiet() {
    const Result<Fd> null = OpenFile("/dev/null", O_WRONLY);
    if (!null.ok()) return;
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[fd] = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
      (void)::dup2(null->get(), fd);
    }
  }
  ~Quiet() {
    std::cout.flush();
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      if (saved_[fd].valid()) (void)::dup2(saved_[fd].get(), fd);
    }
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  Fd saved_[STDERR_FILENO + 1];
};

int Prepare(const JobBinding& binding, int argc, char** argv) {
  const Result<std::string> line = [&] {
    const Quiet quiet;
    return Prepared(binding, argv, {argv + 6, argv + argc});
  }();
  return Answer(argv[0], line, kFailed);
}

// The path is looked up before a crash, and is not /proc/self/exe, which means another program below valgrind.
void ReportOwnCrashes(const char* argv0) {
  static const std::string path = OwnPath(argv0);
  ReportCrashes(path.c_str());
}

// Prints the counters of a run in this process. Returns the exit status.
int Report(const std::string& name, const Result<std::vector<CounterValue>>& counters) {
  if (!counters.ok()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), counters.status().message().c_str());
    return kFailed;
  }
  for (const CounterValue& counter : *counters)
    std::printf("%s %s %lld\n", counter.group.c_str(), counter.name.c_str(), static_cast<long long>(counter.value));
  return 0;
}

int Solo(const JobBinding& binding, int argc, char** argv) {
  ReportOwnCrashes(argv[0]);
  const std::string name = BaseName(argv[0]);
  const Result<solo::SoloRun> run = solo::ParseSoloRun({argv + 2, argv + argc});
  if (run.ok()) return Report(name, solo::RunSolo(binding, name, *run));
  std::fprintf(stderr, "%s: %s\n", name.c_str(), run.status().message().c_str());
  return kWrongUsage;
}

int Stream(const JobBinding& binding, int argc, char** argv) {
  ReportOwnCrashes(argv[0]);
  const std::string name = BaseName(argv[0]);
  const Status done = exported::RunStreamTask(binding, name, {argv + 2, argv + argc});
  if (done.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", name.c_str(), done.message().c_str());
  return kFailed;
}

int Rerun(std::span<const JobBinding> jobs, int argc, char** argv) {
  ReportOwnCrashes(argv[0]);
  return Report(BaseName(argv[0]), RerunMap(jobs, argv[2], argc > 3 ? argv[3] : ""));
}

int Serve(std::span<const JobBinding> jobs, const char* argv0) {
  TaskLoopOptions options{.storage = RealStorage(),
                          // This is not exit(), because the task's thread is in the middle of something and nobody
                          // waits for it.
                          .daemon_gone = [] { ::_exit(kFailed); },
                          .random = Random(SeedFromSystem())};
  ReportOwnCrashes(argv0);
  return RunTaskLoop(jobs, Fd(kChannelFd), std::move(options));
}

// Returns the job that the words before the inputs name.
std::optional<std::size_t> MeantJob(std::span<const JobBinding> jobs, int argc, char** argv) {
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (int i = 2; i < argc && (i == 2 || std::string_view(argv[i]) != "--"); ++i) {
      if (argv[i] == JobWord(job)) return job;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string BaseName(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::string OwnPath(const char* argv0) {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 && static_cast<std::size_t>(size) < sizeof path ? std::string(path, static_cast<std::size_t>(size))
                                                                  : argv0;
}

int Answer(const char* job, const Result<std::string>& line, int when_refused) {
  if (!line.ok()) {
    std::fprintf(stderr, "%s: %s\n", BaseName(job).c_str(), line.status().message().c_str());
    return when_refused;
  }
  std::printf("%s\n", line->c_str());
  return 0;
}

int BecomeClient(int argc, char** argv) {
  std::string self = OwnPath(argv[0]);
  std::string run = "run", beside = self.substr(0, self.rfind('/') + 1) + "millrace";
  std::vector<char*> arguments{beside.data(), run.data(), self.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  ::execv(beside.c_str(), arguments.data());
  if (errno == ENOENT || errno == ENOTDIR) ::execvp("millrace", arguments.data());
  const int error = errno;
  std::fprintf(stderr, "%s: cannot start millrace, which runs the job: %s; put it at %s or on the PATH\n",
               BaseName(argv[0]).c_str(), std::strerror(error), beside.c_str());
  return kWrongUsage;
}

std::string JobWord(std::size_t i) { return std::string(kPipelineJob) + "=" + std::to_string(i); }

std::optional<int> RunOneOf(std::span<const JobBinding> jobs, int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--millrace-frames") return PrintCrash({argv + 2, argv + argc});
  if (mode == "--millrace-task" && argc == 2) return Serve(jobs, argv[0]);
  if (mode == "--millrace-rerun" && (argc == 3 || argc == 4)) return Rerun(jobs, argc, argv);
  const std::optional<std::size_t> meant = MeantJob(jobs, argc, argv);
  if (!meant) return std::nullopt;
  const JobBinding& binding = jobs[*meant];
  if (mode == "--millrace-describe") return Describe(binding, argc, argv);
  if (mode == "--millrace-prepare" && argc >= 7) return Prepare(binding, argc, argv);
  if (mode == "--millrace-solo") return Solo(binding, argc, argv);
  return std::nullopt;
}

namespace {

int DoAsAsked(const JobBinding& binding, int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--millrace-describe") return Describe(binding, argc, argv);
  if (mode == "--millrace-prepare" && argc >= 7) return Prepare(binding, argc, argv);
  if (mode == "--millrace-frames") return PrintCrash({argv + 2, argv + argc});
  if (mode == "--millrace-task" && argc == 2) return Serve({&binding, 1}, argv[0]);
  if (mode == "--millrace-rerun" && (argc == 3 || argc == 4)) return Rerun({&binding, 1}, argc, argv);
  if (mode == "--millrace-solo") return Solo(binding, argc, argv);
  if (mode == "--millrace-stream") return Stream(binding, argc, argv);
  return BecomeClient(argc, argv);
}

}  // namespace

int RunJob(const JobBinding& binding, int argc, char** argv) {
  return RunProgram(BaseName(argv[0]), [&] { return DoAsAsked(binding, argc, argv); });
}

}  // namespace millrace::internal
