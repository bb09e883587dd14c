// SPDX-License-Identifier: Apache-2.0
// Holds the verb safemode, which shows whether the master waits for reports after a start or is read-only.
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

using console::Printer;

Status Tell(DfsClient& client, bool json, const FsContext& context) {
  MILLRACE_ASSIGN(const Health health, client.GetHealth());
  Printer out(context.console);
  if (json) {
    out << console::Dump({{"safe_mode", !health.awaiting.empty()},
                          {"safe_mode_reason", console::TextOrNull(health.awaiting)},
                          {"read_only", !health.read_only.empty()},
                          {"read_only_reason", console::TextOrNull(health.read_only)}})
        << "\n";
    return out.Flush();
  }
  out << "safe mode is " << (health.awaiting.empty() ? "off" : "on: " + health.awaiting) << "\n";
  if (!health.read_only.empty()) out << health.read_only << "\n";
  return out.Flush();
}

}  // namespace

int RunSafemode(const Args& args, const FsContext& context) {
  bool json = false;
  console::Arguments arguments(
      "fs safemode", "get|wait",
      "Shows whether the master is in safe mode. After a start it waits there for the reports of its workers, for at "
      "most master.startup_grace, and a block without a replica does not count as missing yet. `get` says whether safe "
      "mode is on, which workers the master waits for, and whether it is read-only because its disk is full. `wait` "
      "waits for the end of safe mode first.");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, 1)) return *status;
  const std::string what = arguments.operands()[0];
  if (what != "get" && what != "wait") {
    console::SayError(context.console, "fs safemode", Invalid(Quote(what) + " is neither get nor wait"));
    return console::kWrongUsage;
  }
  return WithClient(context, "safemode", [&](DfsClient& client) -> Status {
    if (what == "wait") MILLRACE_TRY(client.AwaitReports());
    return Tell(client, json, context);
  });
}

}  // namespace millrace::dfs
