// SPDX-License-Identifier: Apache-2.0
// A job whose maps fail in the way that -D crash.how names: abort, exit, signal, throw, null (a null pointer), overflow
// (of the stack), call (of a null pointer), wild (a pointer that is no address), memory, or hang or stop until they are
// killed: one that stops cannot even say that it lives; or that kill their parent, or their worker. -D crash.record has
// only those fail that read this record, and -D crash.hold has a map that reads "hold" wait at this named pipe. -D
// crash.where has other functions of the job fail than Map.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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
    options.Choice("crash.how", "throw",
                   {"abort", "call", "exit", "hang", "memory", "null", "overflow", "parent", "signal", "stop", "throw",
                    "wild", "worker"},
                   "how the map ends");
    options.Choice("crash.where", "Map", {"Start", "Map", "FinishMap", "Reduce", "FinishReduce"},
                   "the function in which it ends");
  }
  explicit Crash(millrace::TaskContext& context)
      : how_(context.options().text("crash.how")),
        where_(context.options().text("crash.where")),
        record_(context.options().text("crash.record")),
        hold_(context.options().text("crash.hold")) {}

  void Map(std::string_view record, auto& emit) {
    if (record == "hold" && !hold_.empty()) Hold();
    if (where_ != "Map" || (!record_.empty() && record != record_)) return emit(record, 1);
    End();
    emit(std::string_view("never"), 1);
  }
  millrace::Status Start(millrace::TaskContext&) {
    if (where_ == "Start") End();
    return millrace::Status::Ok();
  }
  void FinishMap(auto&) {
    if (where_ == "FinishMap") End();
  }
  void Reduce(std::string_view key, auto&, auto& emit) {
    if (where_ == "Reduce" && (record_.empty() || key == record_)) End();
    emit(key, std::uint64_t{1});
  }
  void FinishReduce(auto&) {
    if (where_ == "FinishReduce") End();
  }

  // The functions that crash are not inlined, so that reports name them in every build.
  [[gnu::noinline]] void End() {
    std::fprintf(stderr, "about to end by %s\n", how_.c_str());
    if (how_ == "null") *static_cast<volatile int*>(Nowhere()) = 1;
    if (how_ == "wild")
      *reinterpret_cast<volatile int*>(reinterpret_cast<std::uintptr_t>(Nowhere()) + 0x4141414141414141) = 1;
    if (how_ == "call") reinterpret_cast<void (*)()>(Nowhere())();
    if (how_ == "overflow") std::fprintf(stderr, "depth %d\n", Deeper(0));
    if (how_ == "memory") EatMemory();
    if (how_ == "abort") std::abort();
    if (how_ == "exit") std::_Exit(3);
    if (how_ == "signal") std::raise(SIGSEGV);
    if (how_ == "parent") ::kill(::getppid(), SIGKILL);
    if (how_ == "worker") KillTheWorker();
    if (how_ == "stop") std::raise(SIGSTOP);
    while (how_ == "hang" || how_ == "parent" || how_ == "worker") ::pause();
    if (how_ == "throw") throw std::runtime_error("thrown on purpose");
  }
  static void* Nowhere() {
    static void* volatile nowhere = nullptr;
    return nowhere;
  }
  [[gnu::noinline]] static int Deeper(int depth) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth < 1'000'000 ? Deeper(depth + 1) + frame[0] : depth;
  }
  static void EatMemory() {
    constexpr std::size_t kPiece = std::size_t{16} << 20, kMost = std::size_t{64} << 30;
    std::vector<std::unique_ptr<char[]>> pieces;
    for (std::size_t eaten = 0; eaten < kMost; eaten += kPiece) pieces.push_back(std::make_unique<char[]>(kPiece));
  }

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

  std::string how_, where_, record_, hold_;
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Crash>(argc, argv); }
