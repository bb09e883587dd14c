// What rights cost the master's control thread: the time of a line of the audit log, as text and as JSON, of a look
// that is not written, and of the questions that services ask of a caller.
//   audit_cost DIRECTORY [LINES]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "master/access/access_rules.h"
#include "master/access/audit_log.h"
#include "master/access/caller.h"

namespace millrace::master {
namespace {

template <class Act>
void Print(const char* what, std::uint64_t times, Act&& act) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < times; ++i) act(i);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-28s %8.0f ns\n", what, took.count() / static_cast<double>(times));
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
    const Caller task(rules, audit, {"10.0.0.7", false, {tls::Role::kTask, "ann"}});
    const std::string path = "/user/ann/output/_temporary/part-r-00017";
    Print((std::string("a change, ") + format).c_str(), lines,
          [&](std::uint64_t) { allowed += task.Audited("create", AuditedPath(path), Status::Ok()).ok() ? 1 : 0; });
    Print("a look, not written", lines,
          [&](std::uint64_t) { allowed += task.AuditedLook("stat", path, Status::Ok()).ok() ? 1 : 0; });
    Print("who the caller is", lines, [&](std::uint64_t) { allowed += task.principal().groups.size(); });
    Print("may he manage a job", lines,
          [&](std::uint64_t) { allowed += task.CheckManages("kill", "job3", "ann", "production").ok() ? 1 : 0; });
  }
  return allowed == 0 ? 1 : 0;
}

}  // namespace
}  // namespace millrace::master

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "audit_cost DIRECTORY [LINES]\n"), 2;
  return millrace::master::Run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200'000);
}
