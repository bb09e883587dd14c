// SPDX-License-Identifier: Apache-2.0
// Measures the cost of rights to the master's control thread: the processor time of a line of the audit log, as text
// and as JSON, of a look that is not written, and of the questions that services ask of a caller.
//   audit_cost DIRECTORY [LINES]
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/program.h"
#include "master/access/access_rules.h"
#include "master/access/audit_log.h"
#include "master/access/caller.h"

namespace millrace::master {
namespace {

double ProcessorNanos() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return 1e9 * static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec);
}

template <class Act>
void Print(const char* what, std::uint64_t times, Act&& act) {
  const double begin = ProcessorNanos();
  for (std::uint64_t i = 0; i < times; ++i) act(i);
  std::printf("%-28s %8.0f ns\n", what, (ProcessorNanos() - begin) / static_cast<double>(times));
}

int Run(const std::string& directory, std::uint64_t lines) {
  const SystemClock clock;
  const AccessRules rules = AccessRules::Parse(
                                "administrators = [\"admin\", \"@ops\"]\n[groups]\nops = [\"carl\", \"ann\"]\n"
                                "web = [\"ann\"]\n[pools.production]\nsubmit = [\"@web\"]\n",
                                "access.toml")
                                .value();
  std::uint64_t allowed = 0;
  for (const char* format : {"text", "json"}) {
    LogOptions options;
    options.format = format;
    options.file = directory + "/audit-" + format + ".log";
    AuditLog audit(clock, options, false, MakeSilentLog());
    const Caller caller(rules, audit, {"10.0.0.7", false, {tls::Role::kClient, "ann"}});
    const std::string path = "/user/ann/output/_temporary/part-r-00017";
    Print((std::string("a change, ") + format).c_str(), lines,
          [&](std::uint64_t) { allowed += caller.Audited("create", AuditedPath(path), Status::Ok()).ok() ? 1 : 0; });
    Print("a look, not written", lines,
          [&](std::uint64_t) { allowed += caller.AuditedLook("stat", path, Status::Ok()).ok() ? 1 : 0; });
    Print("who the caller is", lines, [&](std::uint64_t) { allowed += caller.principal().groups.size(); });
    Print("may he manage a job", lines,
          [&](std::uint64_t) { allowed += caller.CheckManages("kill", "job3", "ann", "production").ok() ? 1 : 0; });
  }
  return allowed == 0 ? 1 : 0;
}

}  // namespace
}  // namespace millrace::master

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  if (argc < 2) return std::fprintf(stderr, "audit_cost DIRECTORY [LINES]\n"), 2;
  return millrace::master::Run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200'000);
}
