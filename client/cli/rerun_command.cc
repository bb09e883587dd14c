// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/child_process.h"
#include "base/console/arguments.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "base/tls/sha256.h"
#include "client/cli/commands.h"
#include "client/job_client/job_client.h"
#include "dfs/wire/path.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::cli {
namespace {

constexpr const char* kRerunVerb = "job rerun";
constexpr int kNotStarted = 127;  // as a shell has it

struct Rerun {
  AttemptId attempt;
  std::string program;  // empty: the executable of the job
  std::string output;   // empty: dropped
  Words wrapper;
};

// Returns the exit status of the command if it is done.
std::optional<int> Parse(const Invocation& invocation, const Words& args, Rerun* wanted) {
  console::Arguments arguments(
      kRerunVerb, "ATTEMPT --local [-- WRAPPER...]",
      "Runs a map attempt again, alone on this machine: its executable on its input, with its options. It reads the "
      "file system and changes nothing there. WRAPPER runs it: `-- gdb --args`, `-- valgrind`.");
  bool local = false;
  arguments.Flag("--local", &local, "on this machine; there is no other way yet");
  arguments.Text("--program", &wanted->program,
                 "an executable to run instead of the job's own, such as one with symbols or a sanitizer");
  arguments.Text("-o,--output", &wanted->output, "a new directory for the map's output (dropped by default)");
  const auto end = std::ranges::find(args, "--");
  if (const std::optional<int> status = arguments.Parse({args.begin(), end}, invocation.console, 1, 1)) return status;
  if (end != args.end()) wanted->wrapper.assign(end + 1, args.end());
  const std::string& name = arguments.operands()[0];
  const Result<AttemptId> attempt = job::ParseAttemptArgument(name);
  if (!attempt.ok()) return invocation.Fail(kRerunVerb, attempt.status(), kWrongUsage);
  wanted->attempt = *attempt;
  if (!local)
    return invocation.Fail(kRerunVerb, Invalid("say that " + name + " is to run here: give --local"), kWrongUsage);
  if (wanted->attempt.task.reduce())
    return invocation.Fail(
        kRerunVerb,
        Invalid(name +
                " is a reduce, whose input, the outputs of the maps, is deleted with the job; run the job on the "
                "part of its input that has the key with `millrace local run --in-process`"),
        kWrongUsage);
  if (wanted->output.empty()) return std::nullopt;
  wanted->output = WithoutSlashes(wanted->output);
  const Status place = CheckNewDirectory(wanted->output);
  if (place.ok()) return std::nullopt;
  return invocation.Fail(kRerunVerb, Status(place.code(), "the output " + place.message()));
}

// Returns a name for the executable's copy that says of which job it is, in a debugger and in `ps`.
std::string FileNameOf(const std::string& job_name) {
  std::string name = job_name.substr(0, 64);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  }
  return name.empty() ? "job" : name;
}

Status FetchExecutable(dfs::DfsClient& files, const StoredExecutable& stored, const std::string& path) {
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileReader> reader, files.Open(stored.path));
  MILLRACE_ASSIGN(Fd file, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
  std::uint32_t crc = 0;
  tls::Sha256 digest;
  Status written;
  MILLRACE_TRY(reader->Stream(0, reader->info().length, [&](std::string_view piece) {
    crc = Crc32c(piece, crc);
    digest.Add(piece);
    written = WriteAll(file.get(), piece, path);
    return written.ok();
  }));
  MILLRACE_TRY(written);
  if (reader->info().length != stored.bytes || crc != stored.crc)
    return Corrupt("the job's executable " + Quote(stored.path) + " is not as it was stored");
  MILLRACE_TRY(dfs::CheckExecutable(stored.path, digest.Hex()));
  if (::fchmod(file.get(), 0700) != 0) return FromErrno(errno, "make " + Quote(path) + " executable");
  return CloseFile(std::move(file), path);
}

// Returns the words that run the attempt. The files that they name lie in `directory`.
Result<Words> Fetch(const Invocation& invocation, const Rerun& wanted, const std::string& directory) {
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  MILLRACE_ASSIGN(const job::MapLaunch launch, job::JobClient(*files).GetMapLaunch(wanted.attempt, invocation.master));
  std::string program = wanted.program;
  if (program.empty()) {
    program = directory + "/" + FileNameOf(launch.job_name);
    MILLRACE_TRY(FetchExecutable(*files, launch.executable, program));
  }
  const std::string messages = directory + "/" + ToText(wanted.attempt) + ".launch";
  MILLRACE_TRY(WriteFileDurably(messages, launch.messages));
  Words words = wanted.wrapper;
  words.insert(words.end(), {program, "--millrace-rerun", messages});
  if (!wanted.output.empty()) words.push_back(wanted.output);
  return words;
}

// Runs the program in the foreground; the terminal's Ctrl-C is the program's. Returns its exit status as a shell has
// it.
Result<int> RunInForeground(const Words& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  struct sigaction ignore {
  }, interrupt{}, quit{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &interrupt);
  ::sigaction(SIGQUIT, &ignore, &quit);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  PlainSignals(&attributes);
  sigset_t defaults;
  ::posix_spawnattr_getsigdefault(&attributes, &defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t child = -1;
  const int failure = ::posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  const Result<int> status =
      failure == 0 ? WaitForChild(child) : Result<int>(FromErrno(failure, "start " + Quote(words[0])));
  ::sigaction(SIGINT, &interrupt, nullptr);
  ::sigaction(SIGQUIT, &quit, nullptr);
  return status.ok() ? Result<int>(ExitStatusOf(*status)) : status;
}

}  // namespace

int RerunCommand(const Invocation& invocation, const Words& args) {
  Rerun wanted;
  if (const std::optional<int> status = Parse(invocation, args, &wanted)) return *status;
  const std::string what = std::string(kRerunVerb) + " " + ToText(wanted.attempt);
  const Result<TempDir> directory = TempDir::Make("millrace-rerun-");
  if (!directory.ok()) return invocation.Fail(what, directory.status());
  const Result<Words> words = Fetch(invocation, wanted, directory->path());
  if (!words.ok()) {
    const bool unreachable = words.status().code() == StatusCode::kUnavailable;
    return invocation.Fail(what, words.status(), unreachable ? kUnreachable : kFailed);
  }
  const Result<int> status = RunInForeground(*words);
  if (!status.ok()) return invocation.Fail(what, status.status(), kNotStarted);
  if (*status > 128)
    console::SayLine(invocation.console, "millrace: " + what + ": ended by signal " + std::to_string(*status - 128));
  return *status;
}

}  // namespace millrace::cli
