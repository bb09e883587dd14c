// SPDX-License-Identifier: Apache-2.0
#include "client/process/command_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/child_process.h"
#include "base/file.h"
#include "base/text.h"
#include "client/job/side_files.h"
#include "client/process/run.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::internal {
namespace {

struct StepEnd {
  std::string output;
  int exit_status = 0;       // as in a shell: 128 + signal when a signal ended it
  bool interrupted = false;  // SIGINT or SIGTERM has come
};

// Facts of the running child for the signal handler, which can only reach globals.
volatile sig_atomic_t child_pid = 0;
volatile sig_atomic_t signal_that_came = 0;

void HandOn(int number, siginfo_t* info, void*) {
  signal_that_came = number;
  // A signal from the terminal has reached the child, too.
  if (info != nullptr && info->si_code <= 0 && child_pid > 0) ::kill(child_pid, number);
}

// Handles both signals while it lives.
class Handlers {
 public:
  Handlers() {
    struct sigaction action {};
    action.sa_sigaction = HandOn;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
  }
  ~Handlers() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

Result<pid_t> Spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  PlainSignals(&attributes);
  pid_t child = -1;
  const int failure = ::posix_spawn(&child, argv[0].c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failure != 0) return FromErrno(failure, "start " + Quote(argv[0]));
  return child;
}

// Runs argv[0] (a path) until it has ended, as a child that shares the terminal: its standard error is shown, and its
// standard output is kept. Ctrl-C reaches the child by the terminal; SIGINT and SIGTERM that another process sends to
// this one are passed on to the child.
Result<StepEnd> RunStep(const std::vector<std::string>& argv) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "make a pipe");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  signal_that_came = 0;
  const Handlers handlers;
  MILLRACE_ASSIGN(const pid_t child, Spawn(argv, writer.get()));
  child_pid = child;
  writer.Close();
  if (signal_that_came != 0) ::kill(child, signal_that_came);  // it came before the child was known
  StepEnd end;
  for (bool more = true; more;) {
    char buffer[16384];
    const ssize_t size = ::read(reader.get(), buffer, sizeof buffer);
    if (size > 0) end.output.append(buffer, static_cast<std::size_t>(size));
    more = size > 0 || (size < 0 && errno == EINTR);
  }
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  child_pid = 0;  // before it is reaped: its number may then be another's
  MILLRACE_ASSIGN(const int status, WaitForChild(child));
  end.exit_status = ExitStatusOf(status);
  end.interrupted = signal_that_came != 0 && end.exit_status != 0;
  return end;
}

}  // namespace

Result<StepResult> CommandSteps::Run(const Step& step) {
  std::vector<std::string> argv{
      command_.millrace, "run", "--json", "--step", "-o", step.output, "--name", command_.name + "/" + step.name, "-D",
      JobWord(step.job)};
  if (step.options.reduces) argv.insert(argv.end(), {"--reducers", std::to_string(*step.options.reduces)});
  for (const std::string& parameter : command_.parameters) argv.insert(argv.end(), {"-D", parameter});
  for (const auto& [name, value] : step.options.parameters) argv.insert(argv.end(), {"-D", name + "=" + value});
  argv.insert(argv.end(), {"--", command_.executable});
  argv.insert(argv.end(), step.inputs.begin(), step.inputs.end());

  MILLRACE_ASSIGN(const StepEnd end, RunStep(argv));
  if (nlohmann::ordered_json report = nlohmann::ordered_json::parse(end.output, nullptr, false); report.is_object()) {
    report["step"] = step.name;
    jobs_.push_back(std::move(report));
  }
  if (end.interrupted) return Cancelled("interrupted");
  MILLRACE_ASSIGN(StepResult result, ReadStepReport(end.output, end.exit_status));
  result.output = step.output;
  if (command_.says) {
    std::printf("%s/%s: job%u succeeded\n", command_.name.c_str(), step.name.c_str(), result.job);
    std::fflush(stdout);
  }
  return result;
}

Result<std::string> CommandSteps::Read(const std::string& path) { return SideFiles(input_, {}).Read(path); }

Status CommandSteps::MakeDirectory(const std::string& path) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  return client->MakeDirectory(path);
}

Status CommandSteps::Move(const std::string& from, const std::string& to) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  return client->Rename(from, to);
}

Status CommandSteps::Remove(const std::string& path) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  const Status removed = client->Remove(path, true);
  return removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
}

Result<StepResult> ReadStepReport(std::string_view json, int exit_status) {
  const nlohmann::json report = nlohmann::json::parse(json, nullptr, false);
  const auto text = [&](const char* name) {
    const auto field = report.find(name);
    return field != report.end() && field->is_string() ? field->get<std::string>() : std::string();
  };
  if (!report.is_object() || !report.contains("job") || !report["job"].is_number_unsigned())
    return Invalid("it could not be run (exit status " + std::to_string(exit_status) + ")");
  StepResult result;
  result.job = report["job"].get<std::uint32_t>();
  if (exit_status != 0) {
    const std::string reason = text("reason");
    return Invalid("job" + std::to_string(result.job) + ": " + text("state") + ": " +
                   (reason.empty() ? "no reason was given" : reason));
  }
  if (report.contains("counters") && report["counters"].is_array()) {
    for (const nlohmann::json& counter : report["counters"]) {
      if (counter.is_object() && counter.contains("group") && counter["group"].is_string() &&
          counter.contains("name") && counter["name"].is_string() && counter.contains("value") &&
          counter["value"].is_number_integer())
        result.counters.push_back({counter["group"], counter["name"], counter["value"]});
    }
  }
  return result;
}

}  // namespace millrace::internal
