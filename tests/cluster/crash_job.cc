// A job whose maps fail in the way that -D crash.how names: abort, exit, signal, throw, or hang or stop until they are
// killed: one that stops cannot even say that it lives; or that kill their parent, or their worker. -D crash.record has
// only those fail that read this record, and -D crash.hold has a map that reads "hold" wait at this named pipe.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "client/api/job.h"

namespace {

// 0: it is gone.
pid_t ParentOf(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  return 0;
}

struct Crash {
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(millrace::JobOptions& options) {
    options.Text("crash.record", "", "the record at which the map ends; empty: the first");
    options.Text("crash.hold", "", "a named pipe at which a map that reads the record `hold` waits for a line");
    options.Choice("crash.how", "throw", {"abort", "exit", "hang", "parent", "signal", "stop", "throw", "worker"},
                   "how the map ends");
  }
  explicit Crash(millrace::TaskContext& context)
      : how_(context.options().text("crash.how")),
        record_(context.options().text("crash.record")),
        hold_(context.options().text("crash.hold")) {}

  void Map(std::string_view record, auto& emit) {
    if (record == "hold" && !hold_.empty()) Hold();
    if (!record_.empty() && record != record_) return emit(record, 1);
    std::fprintf(stderr, "about to end by %s\n", how_.c_str());
    if (how_ == "abort") std::abort();
    if (how_ == "exit") std::_Exit(3);
    if (how_ == "signal") std::raise(SIGSEGV);
    if (how_ == "parent") ::kill(::getppid(), SIGKILL);
    if (how_ == "worker") KillTheWorker();
    if (how_ == "stop") std::raise(SIGSTOP);
    while (how_ == "hang" || how_ == "parent" || how_ == "worker") ::pause();
    if (how_ == "throw") throw std::runtime_error("thrown on purpose");
    emit(std::string_view("never"), 1);
  }
  void Reduce(std::string_view key, auto&, auto& emit) { emit(key, std::uint64_t{1}); }

  // Between it and the task is the minder.
  static void KillTheWorker() {
    const pid_t worker = ParentOf(::getppid());
    if (worker > 1) ::kill(worker, SIGKILL);
  }

  void Hold() const {
    std::ifstream pipe(hold_);
    std::string line;
    std::getline(pipe, line);
  }

  std::string how_, record_, hold_;
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Crash>(argc, argv); }
