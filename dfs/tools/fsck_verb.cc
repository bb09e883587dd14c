// SPDX-License-Identifier: Apache-2.0
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

using Json = nlohmann::ordered_json;
using console::Printer;

Json ToJson(const Health& health) {
  return {{"healthy", health.missing == 0 && health.corrupt_replicas == 0 && health.single_replica == 0},
          {"blocks", health.blocks},
          {"missing", health.missing},
          {"safe_mode", !health.awaiting.empty()},
          {"safe_mode_reason", console::TextOrNull(health.awaiting)},
          {"read_only", !health.read_only.empty()},
          {"read_only_reason", console::TextOrNull(health.read_only)},
          {"under_replicated", health.under_replicated},
          {"short_of_nodes", health.short_of_nodes},
          {"single_replica", health.single_replica},
          {"over_replicated", health.over_replicated},
          {"corrupt_replicas", health.corrupt_replicas},
          {"unknown_blocks", health.unknown_blocks},
          {"holding_workers", health.holding_workers},
          {"live_workers", health.live_workers},
          {"capacity", health.capacity},
          {"used", health.used},
          {"free", health.free}};
}

// The master lists no block that has too many replicas: one that has as many as it wants has them on nodes that are
// being decommissioned or in maintenance.
void Show(const UnhealthyBlock& block, bool awaiting, Printer& out) {
  const char* state = block.live == 0                       ? (awaiting ? "awaited   " : "missing   ")
                      : block.live == 1 && block.wanted > 1 ? "single    "
                                                            : "under     ";
  out << state << BlockName(block.block) << ", " << FormatBytes(block.length) << ", " << std::to_string(block.live)
      << " of " << Counted(block.wanted, "replica")
      << (block.live < block.wanted ? "" : ", too few of them on nodes that stay in use") << ": "
      << Quote(block.path, block.path.size()) << "\n";
}

void Show(const Health& health, Printer& out) {
  const auto line = [&out](const char* name, std::uint64_t count) {
    out << console::Left(name, 18) << std::to_string(count) << "\n";
  };
  line("blocks", health.blocks);
  line(health.awaiting.empty() ? "missing" : "awaited", health.missing);
  line("under-replicated", health.under_replicated);
  line("short of nodes", health.short_of_nodes);
  line("single replica", health.single_replica);
  line("over-replicated", health.over_replicated);
  line("corrupt replicas", health.corrupt_replicas);
  line("unknown blocks", health.unknown_blocks);
  line("live workers", health.live_workers);
  out << "space             " << FormatBytes(health.used) << " used, " << FormatBytes(health.free) << " free of "
      << FormatBytes(health.capacity) << "\n";
  for (const std::string& what : {health.awaiting, health.read_only}) {
    if (!what.empty()) out << what << "\n";
  }
  if (health.holding_workers == 0) return;
  out << "Of the unknown blocks, which no file has, " << Counted(health.holding_workers, "worker holds", "workers hold")
      << " too many to be right: they stay until `millrace node discard-unknown`; "
         "`millrace node list` shows where\n";
}

// "7 blocks have one replica"; empty while the master awaits workers, since it does not know their replicas yet.
std::string RiskOf(const Health& health) {
  if (health.single_replica == 0 || !health.awaiting.empty()) return "";
  return Counted(health.single_replica, "block has one replica, and its file wants more",
                 "blocks have one replica, and their files want more");
}

Status Check(DfsClient& client, const std::string& below, bool as_json, Printer& out, std::string* risk) {
  const std::string prefix = below == "/" ? below : below + "/";
  if (below != "/") MILLRACE_TRY(client.Stat(below).status());  // nothing is wrong below a path that is not there
  MILLRACE_ASSIGN(const Health health, client.GetHealth());
  Json json = ToJson(health);
  json["unhealthy"] = Json::array();
  MILLRACE_TRY(client.ListUnhealthy([&](const UnhealthyBlock& block) {
    if (block.path != below && !block.path.starts_with(prefix)) return true;
    if (!as_json) {
      Show(block, !health.awaiting.empty(), out);
      return !out.failed();
    }
    Json entry = {
        {"block", BlockText(block.block)}, {"length", block.length}, {"live", block.live}, {"wanted", block.wanted}};
    console::SetBytes(entry, "path", block.path);
    json["unhealthy"].push_back(entry);
    return true;
  }));
  if (as_json) {
    out << console::Dump(json) << "\n";
  } else {
    Show(health, out);
  }
  MILLRACE_TRY(out.Flush());
  *risk = RiskOf(health);
  if (health.missing == 0 && health.corrupt_replicas == 0) return Status::Ok();
  if (!health.awaiting.empty() && health.corrupt_replicas == 0) {
    return Unavailable(Counted(health.missing, "block has no live replica yet, but does not count as missing: ",
                               "blocks have no live replica yet, but do not count as missing: ") +
                       health.awaiting + "; `millrace fs safemode wait` waits until that is over");
  }
  const std::string corrupt = Counted(health.corrupt_replicas, "replica is corrupt", "replicas are corrupt");
  if (health.missing == 0) return Corrupt(corrupt + "; they are replaced where there is a good one");
  return Corrupt(Counted(health.missing, "block has", "blocks have") + " no live replica and " + corrupt +
                 "; bring back workers that are lost, and remove files whose replicas are all corrupt");
}

}  // namespace

int RunFsck(const Args& args, const FsContext& context) {
  bool json = false;
  console::Arguments arguments(
      "fs fsck", "[PATH]",
      "Shows the health of all blocks, and lists the blocks (below PATH) that are not healthy. Blocks are short of "
      "nodes "
      "that have a replica on each worker in use and want more. The exit status is 1 if blocks are missing or replicas "
      "are corrupt, else 4 if blocks have a single replica whose files want more.");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, 1)) return *status;
  const Result<std::string> below = CanonicalPath(arguments.operands().empty() ? "/" : arguments.operands()[0]);
  if (!below.ok()) {
    console::SayError(context.console, "fs fsck", below.status());
    return console::kWrongUsage;
  }
  std::string risk;
  const int status = WithClient(context, "fsck", [&](DfsClient& client) -> Status {
    Printer out(context.console);
    return Check(client, *below, json, out, &risk);
  });
  if (status != console::kDone || risk.empty()) return status;
  console::SayError(context.console, "fs fsck", Unavailable(risk + "; bring back workers that are lost, or add some"));
  return console::kAtRisk;
}

}  // namespace millrace::dfs
