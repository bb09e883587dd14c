// SPDX-License-Identifier: Apache-2.0
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/units.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

Status Show(const Health& health, bool as_json, bool in_bytes, console::Printer& out) {
  if (as_json) {
    out << console::Dump(nlohmann::ordered_json{{"capacity", health.capacity},
                                                {"used", health.used},
                                                {"free", health.free},
                                                {"live_workers", health.live_workers},
                                                {"trash", health.trash.bytes}})
        << "\n";
    return out.Flush();
  }
  const auto size = [in_bytes](std::uint64_t bytes) { return in_bytes ? std::to_string(bytes) : FormatBytes(bytes); };
  const std::uint64_t percent = health.capacity == 0 ? 0 : 100 * health.used / health.capacity;
  out << "CAPACITY        USED            FREE            USED%  WORKERS\n"
      << console::Left(size(health.capacity), 16) << console::Left(size(health.used), 16)
      << console::Left(size(health.free), 16) << console::Left(std::to_string(percent) + "%", 7)
      << std::to_string(health.live_workers) << "\n";
  if (health.trash.entries > 0)
    out << size(health.trash.bytes) << (in_bytes ? " bytes" : "") << " of what is used are in the trash\n";
  return out.Flush();
}

}  // namespace

int RunDf(const Args& args, const FsContext& context) {
  bool json = false, bytes = false, human = true;
  console::Arguments arguments("fs df", "",
                               "Shows the space on the disks of all live workers together: the total, the part used by "
                               "blocks with all their replicas, the free part, and what is in the trash.");
  arguments.Human(&human);  // unless bytes are asked for
  arguments.Flag("-B,--bytes", &bytes, "show numbers of bytes");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, 0)) return *status;
  return WithClient(context, "df", [&](DfsClient& client) -> Status {
    MILLRACE_ASSIGN(const Health health, client.GetHealth());
    console::Printer out(context.console);
    return Show(health, json, bytes, out);
  });
}

}  // namespace millrace::dfs
