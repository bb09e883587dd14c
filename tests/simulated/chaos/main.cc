// SPDX-License-Identifier: Apache-2.0
// The simulation as a program: runs seeds in parallel processes, stops at the first that fails, and replays one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/program.h"
#include "tests/simulated/chaos/simulation.h"

namespace {

using millrace::simulated::Counts;
using millrace::simulated::Fault;
using millrace::simulated::Simulate;
using millrace::simulated::Verdict;

constexpr const char* kUsage =
    "usage: chaos_sim [--seeds N] [--first N] [--only SEED] [--faults KINDS] [--jobs N] [--keep-going] [--moves] "
    "[--log]\n"
    "  --seeds N      so many seeds (default 100), from --first (default 1) on\n"
    "  --only SEED    this one, with its whole record\n"
    "  --faults KINDS master-kill,link-cut,... only these; -rot,-foreign all but these\n"
    "  --jobs N       processes at once (default 2)\n"
    "  --keep-going   does not stop at the first seed that fails\n"
    "  --moves        fails if in no seed an output and a sole replica left a machine with a notice\n"
    "  --log          with --only: what the daemons log, too\n";

struct Arguments {
  std::uint64_t seeds = 100, first = 1, only = 0;
  unsigned jobs = 2;
  bool has_only = false, keep_going = false, log = false, moves = false;
  std::string faults;
};

bool Parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--keep-going") {
      out->keep_going = true;
      continue;
    }
    if (name == "--moves") {
      out->moves = true;
      continue;
    }
    if (name == "--log") {
      out->log = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--seeds") {
      out->seeds = std::strtoull(value, nullptr, 10);
    } else if (name == "--first") {
      out->first = std::strtoull(value, nullptr, 10);
    } else if (name == "--only") {
      out->only = std::strtoull(value, nullptr, 10);
      out->has_only = true;
    } else if (name == "--jobs") {
      out->jobs = std::max(1U, static_cast<unsigned>(std::strtoul(value, nullptr, 10)));
    } else if (name == "--faults") {
      out->faults = value;
    } else {
      return false;
    }
  }
  return true;
}

[[noreturn]] void RunOne(std::uint64_t seed, const std::set<Fault>& faults, bool log) {
  const Verdict verdict = Simulate(seed, faults, log);
  for (const std::string& line : verdict.record) std::printf("%s\n", line.c_str());
  if (verdict.failure.empty()) std::printf("seed %llu held\n", static_cast<unsigned long long>(seed));
  std::fflush(nullptr);
  ::_exit(verdict.failure.empty() ? 0 : 1);
}

// Each seed has a process of its own, so that what it does to its process (an assertion, a leak) affects no other.
pid_t Begin(std::uint64_t seed, const std::set<Fault>& faults, int counts) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const Verdict verdict = Simulate(seed, faults, false);
  const bool told = ::write(counts, &verdict.counts, sizeof(Counts)) == static_cast<ssize_t>(sizeof(Counts));
  ::_exit(verdict.failure.empty() && told ? 0 : 1);
}

struct Sweep {
  std::uint64_t done = 0, failed = 0, first_failed = 0;
  Counts counts;
};

Sweep RunAll(const Arguments& arguments, const std::set<Fault>& faults) {
  Sweep sweep;
  std::map<pid_t, std::uint64_t> running;
  // Each child writes what it counted, which is less than a pipe writes at once, before it ends.
  int counts[2];
  if (::pipe2(counts, O_NONBLOCK | O_CLOEXEC) != 0) {
    std::perror("pipe");
    std::exit(2);
  }
  std::uint64_t next = arguments.first;
  const std::uint64_t end = arguments.first + arguments.seeds;
  while (next < end || !running.empty()) {
    while (next < end && running.size() < arguments.jobs) {
      const pid_t child = Begin(next, faults, counts[1]);
      if (child > 0) running[child] = next++;
    }
    int status = 0;
    const pid_t child = ::wait(&status);
    const auto found = running.find(child);
    if (found == running.end()) continue;
    const std::uint64_t seed = found->second;
    running.erase(found);
    ++sweep.done;
    Counts of_seed;
    if (::read(counts[0], &of_seed, sizeof(of_seed)) == static_cast<ssize_t>(sizeof(of_seed))) sweep.counts += of_seed;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++sweep.failed;
    std::printf("seed %llu failed%s\n", static_cast<unsigned long long>(seed),
                WIFSIGNALED(status) ? " (its process died)" : "");
    if (sweep.first_failed == 0 || seed < sweep.first_failed) sweep.first_failed = seed;
    if (!arguments.keep_going) next = end;
  }
  return sweep;
}

}  // namespace

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::string why;
  const std::set<Fault> faults = millrace::simulated::ParseFaults(arguments.faults, &why);
  if (!why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 2;
  }
  if (arguments.has_only) RunOne(arguments.only, faults, arguments.log);
  const auto begin = std::chrono::steady_clock::now();
  const Sweep sweep = RunAll(arguments, faults);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%llu seeds, %llu failed, %.1f seeds a second\n", static_cast<unsigned long long>(sweep.done),
              static_cast<unsigned long long>(sweep.failed), static_cast<double>(sweep.done) / seconds);
  std::printf("%s\n", sweep.counts.Describe().c_str());
  if (sweep.failed == 0 && arguments.moves && sweep.counts.outputs_moved * sweep.counts.sole_copied == 0) {
    std::printf("no output was moved, or no sole replica copied: the seeds do not try what they should\n");
    return 1;
  }
  if (sweep.failed == 0) return 0;
  std::printf("the first that failed, again:\n");
  std::fflush(stdout);
  RunOne(sweep.first_failed, faults, false);
}
