// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/await_drained.h"
#include "client/cli/commands.h"
#include "client/cli/documents.h"
#include "client/cli/find.h"
#include "client/cli/listing.h"
#include "client/cli/report.h"
#include "client/job_client/job_client.h"
#include "dfs/wire/blocks.h"

namespace millrace::cli {
namespace {

using console::Arguments;
using console::Printer;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNodes = 10000;  // in one command

// "14:30 UTC": a maintenance ends within a day.
std::string MaintenanceEnd(const job::Node& node) {
  constexpr std::size_t kClock = 11, kMinutes = 5;  // in "2024-05-01 14:30:00"
  return console::FormatTime(SystemClock().Now() + node.maintenance_for).substr(kClock, kMinutes) + " UTC";
}

std::string AvoidedLine(const job::Node& node) {
  std::string jobs;
  for (const JobId job : node.avoided_by) jobs += (jobs.empty() ? "" : ", ") + ToText(job);
  return "node " + std::to_string(node.node.value) + ": no tasks go to it for another " +
         FormatDuration(node.avoided_for) + ", because too many tasks of " + jobs +
         " failed there; `millrace node recommission " + std::to_string(node.node.value) +
         "` puts it back into use at once";
}

std::string AilingLine(const job::Node& node) {
  return "node " + std::to_string(node.node.value) + ": " + node.ailing + "; it has been ailing for " +
         FormatDuration(node.ailing_for) + ", and gets no tasks, and no blocks that others can take, until it is well";
}

std::string LeavingLine(const job::Node& node) {
  std::string line = "node " + std::to_string(node.node.value) + ": its machine will be taken away in " +
                     std::to_string(*node.leaving_in / kSecond) + " s (" + node.leaving_reason + "); ";
  using job::GoState;
  if (node.may_go == GoState::kUnknown) return line + "it is not known yet what other nodes have, too";
  if (node.may_go == GoState::kDoubt)
    return line +
           "its trash, or blocks that belong to no file, may be the last copies of files that the database has lost";
  const bool copied = node.may_go == GoState::kYes || (node.may_go == GoState::kTasks && node.outputs_left == 0);
  line += copied ? "other nodes have everything that it has"
                 : Counted(node.blocks_left, "block") + " and " + Counted(node.outputs_left, "map output") +
                       " are still to be copied";
  const std::uint32_t tasks = node.maps_running + node.reduces_running;
  return tasks == 0 ? line : line + "; " + Counted(tasks, "task is", "tasks are") + " to end";
}

// "all", "part", "off", or "-" where the worker has not told.
std::string Sandbox(const job::Node& node) {
  if (node.sandbox.empty()) return "-";
  if (node.sandbox == "none") return "off";
  return node.sandbox == "user, mounts, processes, ipc, network, filter, landlock, cgroup" ? "all" : "part";
}

Json SandboxParts(const job::Node& node) {
  Json parts = Json::array();
  if (node.sandbox == "none") return parts;
  for (std::size_t begin = 0; begin < node.sandbox.size();) {
    const std::size_t end = std::min(node.sandbox.find(", ", begin), node.sandbox.size());
    parts.push_back(node.sandbox.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

Json ToJson(const job::Node& node) {
  Json json{{"node", node.node.value}};
  console::SetBytes(json, "host", node.host);
  json["port"] = node.port;
  json["state"] = NodeStateWord(node);
  json["may_go"] = job::InWords(node.may_go);
  console::SetBytes(json, "rack", node.rack);
  console::SetBytes(json, "datacenter", node.datacenter);
  json["sandbox"] = SandboxParts(node);
  console::SetBytes(json, "python", node.python);
  if (node.python.empty()) json["python"] = Json();
  json["map_slots"] = node.map_slots;
  json["reduce_slots"] = node.reduce_slots;
  json["maps_running"] = node.maps_running;
  json["reduces_running"] = node.reduces_running;
  json["blocks"] = node.blocks;
  json["used"] = node.used;
  json["free"] = node.free;
  json["capacity"] = node.capacity;
  json["trashed"] = node.trashed;
  json["unknown_blocks"] = node.unknown_blocks;
  json["unknown_held"] = node.unknown_held;
  console::SetBytes(json, "name", node.name);
  json["version"] = node.release.version;
  json["protocol"] = node.release.protocol;
  json["blocks_left"] = node.Drains() ? node.blocks_left : 0;
  json["leaving_in_s"] = console::Seconds(node.leaving_in);
  json["outputs_left"] = node.outputs_left;
  json["maintenance_left_s"] = console::Seconds(node.maintenance_for);
  json["reason"] = node.reason.empty() ? Json() : Json(node.reason);
  json["avoided_for_s"] = console::Seconds(node.avoided_for);
  json["avoided_by"] = JobNumbers(node.avoided_by);
  json["ailing"] = node.ailing.empty() ? Json() : Json(node.ailing);
  json["sync_s"] = console::Seconds(node.sync);
  json["since_heartbeat_s"] = console::Seconds(node.since_heartbeat);
  return json;
}

std::string ToMove(const job::Node& node) {
  if (!node.Drains()) return "-";
  const std::string blocks = Counted(node.blocks_left, "block");
  return node.outputs_left == 0 ? blocks : blocks + ", " + Counted(node.outputs_left, "map output");
}

Listing<job::Node> Fields() {
  using Node = const job::Node&;
  constexpr int kAlways = console::kAlwaysShown;
  const auto bytes = [](std::uint64_t job::Node::*field) {
    return [field](Node node) { return FormatBytes(node.*field); };
  };
  const auto number = [](auto job::Node::*field) {
    return [field](Node node) { return SortKey(static_cast<double>(node.*field), ""); };
  };
  const auto slots = [](std::uint32_t used, std::uint32_t of) {
    return std::to_string(used) + " of " + std::to_string(of);
  };
  return Listing<job::Node>({
      {"node",
       {"NODE", kAlways},
       [](Node node) { return std::to_string(node.node.value); },
       [](Node node) { return SortKey(node.node.value, ""); }},
      {"name", {"NAME", 9, 8}, [](Node node) { return node.name; }, {}},
      {"state", {"STATE", kAlways, 15}, NodeState, {}},
      {"address", {"ADDRESS", 10}, [](Node node) { return node.host + ":" + std::to_string(node.port); }, {}},
      {"datacenter", {"DATACENTER", 1}, [](Node node) { return node.datacenter; }, {}},
      {"rack", {"RACK", 2, 8}, [](Node node) { return node.rack; }, {}},
      {"maps",
       {"MAPS", 8},
       [slots](Node node) { return slots(node.maps_running, node.map_slots); },
       number(&job::Node::maps_running)},
      {"reduces",
       {"REDUCES", 8},
       [slots](Node node) { return slots(node.reduces_running, node.reduce_slots); },
       number(&job::Node::reduces_running)},
      {"blocks", {"BLOCKS", 4}, [](Node node) { return std::to_string(node.blocks); }, number(&job::Node::blocks)},
      {"used", {"USED", 5}, bytes(&job::Node::used), number(&job::Node::used)},
      {"free", {"FREE", 7}, bytes(&job::Node::free), number(&job::Node::free)},
      {"sandbox", {"SANDBOX", 3}, Sandbox, {}},
      {"heard",
       {"HEARD", 6},
       [](Node node) { return FormatDuration(node.since_heartbeat) + " ago"; },
       number(&job::Node::since_heartbeat)},
      {"version", {"VERSION", 1}, [](Node node) { return ToText(node.release); }, {}, true},
      {"capacity", {"CAPACITY", 1}, bytes(&job::Node::capacity), number(&job::Node::capacity), true},
      {"trash", {"TRASH", 1}, bytes(&job::Node::trashed), number(&job::Node::trashed), true},
      {"to-move", {"TO MOVE", 1}, ToMove, number(&job::Node::blocks_left), true},
  });
}

// Returns "node 3" or "nodes 1, 2, 5"; of many, the first ones and how many more there are.
std::string InWords(const std::vector<NodeId>& nodes) {
  constexpr std::size_t kNamed = 8;
  std::string text = nodes.size() == 1 ? "node" : "nodes";
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamed); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(nodes[i].value);
  return nodes.size() > kNamed ? text + " and " + std::to_string(nodes.size() - kNamed) + " more" : text;
}

// Says what is so of the nodes now.
void SayNow(const Invocation& invocation, const std::vector<NodeId>& nodes, const std::string& now) {
  const std::string verb = now.starts_with("may ") ? " " : nodes.size() == 1 ? " is " : " are ";
  Printer(invocation.console) << InWords(nodes) + verb + now + "\n";
}

// What is said below the table: a line a kind of trouble, not a line a node, where the nodes have it in common.
void PrintNotes(const std::vector<job::Node>& nodes, Printer& out) {
  std::map<std::string, std::vector<NodeId>> confined;  // by the parts
  std::vector<NodeId> full;
  for (const job::Node& node : nodes) {
    if (Sandbox(node) == "part") confined[node.sandbox].push_back(node.node);
    if (node.alive && node.capacity > 0 && node.free == 0) full.push_back(node.node);
  }
  for (const auto& [parts, in] : confined) {
    out << InWords(in) << (in.size() == 1 ? ": its tasks are" : ": their tasks are") << " confined in part, by "
        << parts << (in.size() == 1 ? "; its log says" : "; their logs say") << " what is missing\n";
  }
  if (!full.empty()) {
    out << InWords(full)
        << (full.size() == 1 ? ": its disk is full: no blocks go to it"
                             : ": their disks are full: no blocks go to them")
        << " until something is removed there\n";
  }
  for (const job::Node& node : nodes) {
    if (node.maintenance_for > 0 || !node.reason.empty()) out << OutOfUseLine(node) << "\n";
    if (node.alive && node.leaving_in) out << LeavingLine(node) << "\n";
    if (!node.ailing.empty()) out << AilingLine(node) << "\n";
    if (node.avoided_for > 0) out << AvoidedLine(node) << "\n";
    if (!node.unknown_held) continue;
    const std::string number = std::to_string(node.node.value);
    out << "node " << number << ": " << Counted(node.unknown_blocks, "block belongs", "blocks belong")
        << " to no file, too many to be right: they stay until `millrace node discard-unknown " << number << "`\n";
  }
}

std::string Totals(const std::vector<job::Node>& nodes) {
  if (nodes.empty()) return "no nodes\n";
  std::vector<std::string> states;
  std::uint64_t maps = 0, map_slots = 0, reduces = 0, reduce_slots = 0, used = 0, free = 0;
  for (const job::Node& node : nodes) {
    states.push_back(NodeStateWord(node));
    if (!node.alive) continue;
    maps += node.maps_running;
    map_slots += node.map_slots;
    reduces += node.reduces_running;
    reduce_slots += node.reduce_slots;
    used += node.used;
    free += node.free;
  }
  return Counted(nodes.size(), "node: ", "nodes: ") +
         CountsInWords(states, {"alive", "leaving", "decommissioning", "decommissioned", "maintenance", "ailing",
                                "avoided", "awaited", "lost"}) +
         "; maps " + std::to_string(maps) + " of " + std::to_string(map_slots) + ", reduces " +
         std::to_string(reduces) + " of " + std::to_string(reduce_slots) + "; used " + FormatBytes(used) + ", free " +
         FormatBytes(free) + "\n";
}

int ListNodes(const Invocation& invocation, const Words& args) {
  Arguments arguments("node list", "", "Lists the workers that the master knows.");
  arguments.Example("--wide");
  arguments.Example("--format name,state,to-move --sort free");
  bool json = false;
  ListingOptions listing;
  arguments.Flag("--json", &json, "print one JSON array");
  listing.Declare(
      arguments,
      "node, name, state, address, datacenter, rack, maps, reduces, blocks, used, free, sandbox, heard; also "
      "version, capacity, trash, to-move, which --wide shows");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Listing<job::Node> fields = Fields();
  if (const Status checked = fields.Check(listing); !checked.ok())
    return invocation.Fail("node list", checked, kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("node list", files.status(), kUnreachable);
  Result<std::vector<job::Node>> nodes = job::JobClient(**files).Nodes();
  if (!nodes.ok()) return invocation.Fail("node list", nodes.status());
  fields.Sort(listing, &*nodes);
  const Result<dfs::Health> health = (*files)->GetHealth();
  if (!health.ok()) return invocation.Fail("node list", health.status());
  Printer out(invocation.console);
  if (json) {
    console::JsonList list(out);
    for (const job::Node& node : *nodes) list.Add(ToJson(node));
    list.Close();
  } else {
    out << fields.Text(listing, *nodes, invocation.console);
    if (listing.totals || invocation.console.out_is_terminal) out << Totals(*nodes);
    PrintNotes(*nodes, out);
  }
  for (const std::string& line : {health->awaiting, health->read_only}) {
    if (!json && !line.empty()) out << line << "\n";
  }
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail("node list", written);
}

Status PrintUnknown(job::JobClient& client, const std::string& word, bool json, Printer& out) {
  MILLRACE_ASSIGN(const std::vector<job::Node> nodes, client.Nodes());
  MILLRACE_ASSIGN(const NodeId node, FindNode(nodes, word));
  if (json) {
    console::JsonList list(out);
    MILLRACE_TRY(client.UnknownBlocks(node, [&list](std::uint64_t id, std::uint64_t length) {
      list.Add({{"block", dfs::BlockText(id)}, {"length", length}});
    }));
    list.Close();
    return out.Flush();
  }
  std::uint64_t blocks = 0, bytes = 0;
  MILLRACE_TRY(client.UnknownBlocks(node, [&](std::uint64_t id, std::uint64_t length) {
    ++blocks;
    bytes += length;
    out << "block " << std::to_string(id) << ", " << FormatBytes(length) << "\n";
  }));
  out << Counted(blocks, "block") << " of " << FormatBytes(bytes) << (blocks == 1 ? " belongs" : " belong")
      << " to no file\n";
  return out.Flush();
}

int Unknown(const Invocation& invocation, const Words& args) {
  Arguments arguments("node unknown", "NODE", "Lists the blocks on a node that belong to no file.");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON array");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("node unknown", files.status(), kUnreachable);
  job::JobClient client(**files);
  Printer out(invocation.console);
  const Status printed = PrintUnknown(client, arguments.operands()[0], json, out);
  return printed.ok() ? kDone : invocation.Fail("node unknown", printed);
}

int DiscardUnknown(const Invocation& invocation, const Words& args) {
  Arguments arguments("node discard-unknown", "NODE",
                      "Moves the blocks on a node that belong to no file to the node's trash, however many they are. "
                      "They can come back from there for worker.trash_retention.");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("node discard-unknown", files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<std::vector<job::Node>> nodes = client.Nodes();
  const Result<NodeId> node = nodes.ok() ? FindNode(*nodes, arguments.operands()[0]) : nodes.status();
  const Result<std::uint64_t> blocks = node.ok() ? client.DiscardUnknown(*node) : node.status();
  if (!blocks.ok()) return invocation.Fail("node discard-unknown", blocks.status());
  Printer out(invocation.console);
  out << Counted(*blocks, "block goes", "blocks go") << " to the trash of node " << std::to_string(node->value) << "\n";
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail("node discard-unknown", written);
}

// The nodes that a command is about: those that its operands name, and those of racks that are not lost.
struct Chosen {
  Words racks;

  void Declare(Arguments& arguments) {
    arguments.List("--rack", &racks, "all nodes of this rack that are not lost, too; may be repeated");
  }
  // Returns an exit status after wrong arguments.
  [[nodiscard]] std::optional<int> Check(const Invocation& invocation, const Arguments& arguments) const {
    if (!arguments.operands().empty() || !racks.empty()) return std::nullopt;
    return invocation.Fail(arguments.verb(), Invalid("name a node, or a rack with --rack"), kWrongUsage);
  }
  [[nodiscard]] Result<std::vector<NodeId>> Find(job::JobClient& client, const Words& operands) const {
    MILLRACE_ASSIGN(const std::vector<job::Node> nodes, client.Nodes());
    std::vector<NodeId> found;
    const auto add = [&found](NodeId node) {
      if (std::ranges::find(found, node) == found.end()) found.push_back(node);
    };
    for (const std::string& word : operands) {
      MILLRACE_ASSIGN(const NodeId node, FindNode(nodes, word));
      add(node);
    }
    for (const std::string& rack : racks) MILLRACE_TRY(AddRack(nodes, rack, add));
    return found;
  }

 private:
  static Status AddRack(const std::vector<job::Node>& nodes, const std::string& rack,
                        const std::function<void(NodeId)>& add) {
    const job::Node* first = nullptr;
    for (const job::Node& node : nodes) {
      if (node.rack != rack || NodeStateWord(node) == "lost") continue;
      if (first != nullptr && first->datacenter != node.datacenter) {
        return Invalid("rack " + Quote(rack) + " is in two datacenters, " + Quote(first->datacenter) + " and " +
                       Quote(node.datacenter) + "; name the nodes instead");
      }
      if (first == nullptr) first = &node;
    }
    if (first == nullptr) return NotFound("rack " + Quote(rack) + ": no node there that is not lost");
    for (const job::Node& node : nodes) {
      if (node.rack == rack && NodeStateWord(node) != "lost") add(node.node);
    }
    return Status::Ok();
  }
};

int Decommission(const Invocation& invocation, const Words& args) {
  const std::string verb = "node decommission";
  Arguments arguments(
      verb, "[NODE...]",
      "Gives nodes no new tasks, copies their blocks and map outputs elsewhere and waits until the master says that "
      "they "
      "may be taken away for good. It fails if one of them is lost. NODE is a number, a name, HOST:PORT or HOST.");
  arguments.Example("10.0.0.7");
  arguments.Example("--no-wait 3 4");
  arguments.Example("--rack r7 --reason 'the rack is sold'");
  bool force = false, no_wait = false;
  std::string reason;
  Chosen chosen;
  chosen.Declare(arguments);
  arguments.Text("--reason", &reason, "why; `node list` shows it, and the audit log");
  arguments.Flag("--force", &force, "do it even if too few nodes are left for the blocks, or its trash may be needed");
  arguments.Flag("--no-wait", &no_wait, "return at once; `node list --wide` shows how much is left to move");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, kMostNodes)) return *status;
  if (const std::optional<int> status = chosen.Check(invocation, arguments)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail(verb, files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<std::vector<NodeId>> nodes = chosen.Find(client, arguments.operands());
  if (!nodes.ok()) return invocation.Fail(verb, nodes.status());
  Status done = client.DrainNodes(*nodes, true, force, reason);
  if (done.ok() && !no_wait) done = AwaitDrained(invocation, client, *nodes, force);
  if (!done.ok()) return invocation.Fail(verb, done);
  SayNow(invocation, *nodes, no_wait ? "being decommissioned" : "decommissioned");
  return kDone;
}

// Returns the time of --for; 0 for --end.
Result<Micros> TimeOf(const std::string& length, bool end) {
  constexpr Micros kLongest = 24 * kHour;
  if (end != length.empty()) return Invalid(end ? "--for and --end exclude each other" : "give --for TIME, or --end");
  if (end) return Micros{0};
  MILLRACE_ASSIGN(const Micros time, ParseDuration(length));
  if (time <= 0 || time > kLongest) return Invalid("--for " + length + ": give a time of at most 24h, such as 30m");
  return time;
}

int Maintain(const Invocation& invocation, const Words& args) {
  const std::string verb = "node maintenance";
  Arguments arguments(
      verb, "[NODE...]",
      "Says that nodes will be away for a while. They get no new tasks and no blocks, their running tasks go on, and "
      "nothing is copied while they are away, until the time is over. A node that is not back then is lost. NODE is a "
      "number, a name, HOST:PORT or HOST.");
  arguments.Example("3 --for 30m --reason 'new kernel'");
  arguments.Example("--rack r7 --for 2h");
  arguments.Example("3 --end");
  std::string length, reason;
  bool end = false, force = false;
  Chosen chosen;
  chosen.Declare(arguments);
  arguments.Text("--for", &length, "how long, from now, 24h at most; given again, it sets the end anew");
  arguments.Text("--reason", &reason, "why; `node list` shows it, and the audit log");
  arguments.Flag("--end", &end, "end it now");
  arguments.Flag("--force", &force,
                 "do it even if no node is left in use, or blocks are on these nodes only; these are then copied");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, kMostNodes)) return *status;
  if (const std::optional<int> status = chosen.Check(invocation, arguments)) return *status;
  const Result<Micros> time = TimeOf(length, end);
  if (!time.ok()) return invocation.Fail(verb, time.status(), kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail(verb, files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<std::vector<NodeId>> nodes = chosen.Find(client, arguments.operands());
  if (!nodes.ok()) return invocation.Fail(verb, nodes.status());
  const Status done = client.MaintainNodes(*nodes, *time, force, reason);
  if (!done.ok()) return invocation.Fail(verb, done);
  SayNow(invocation, *nodes, *time == 0 ? "out of maintenance" : "in maintenance for " + FormatDuration(*time));
  return kDone;
}

int Recommission(const Invocation& invocation, const Words& args) {
  const std::string verb = "node recommission";
  Arguments arguments(verb, "NODE...",
                      "Puts nodes back into use that are decommissioned or in maintenance. NODE is a number, a name, "
                      "HOST:PORT or HOST.");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, kMostNodes)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail(verb, files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<std::vector<NodeId>> nodes = FindNodes(client, arguments.operands());
  const Status done = nodes.ok() ? client.DrainNodes(*nodes, false, false) : nodes.status();
  if (!done.ok()) return invocation.Fail(verb, done);
  SayNow(invocation, *nodes, "may be used again");
  return kDone;
}

int Forget(const Invocation& invocation, const Words& args) {
  Arguments arguments(
      "node forget", "NODE...",
      "Removes a lost node from the list for good. A worker that comes back with its directory is a new "
      "node.");
  bool force = false;
  arguments.Flag("--force", &force, "do it even if blocks are missing that the node may have");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, kMostNodes)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("node forget", files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<std::vector<NodeId>> nodes = FindNodes(client, arguments.operands());
  if (!nodes.ok()) return invocation.Fail("node forget", nodes.status());
  const Status done = client.ForgetNodes(*nodes, force);
  if (!done.ok()) return invocation.Fail("node forget", done);
  SayNow(invocation, *nodes, "off the list");
  return kDone;
}

}  // namespace

Json NodeDocument(const job::Node& node) { return ToJson(node); }

std::string NodeStateWord(const job::Node& node) {
  if (node.maintenance_for > 0) return "maintenance";
  if (!node.alive) return node.awaited ? "awaited" : "lost";
  if (node.leaving_in) return "leaving";
  if (node.may_go == job::GoState::kYes) return "decommissioned";
  if (node.draining) return "decommissioning";
  if (!node.ailing.empty()) return "ailing";
  return node.avoided_for > 0 ? "avoided" : "alive";
}

std::string NodeState(const job::Node& node) {
  if (node.maintenance_for > 0) return "maintenance until " + MaintenanceEnd(node);
  if (!node.alive || !node.leaving_in) return NodeStateWord(node);
  return "leaving in " + std::to_string(*node.leaving_in / kSecond) + " s (" + node.leaving_reason + ")";
}

std::string OutOfUseLine(const job::Node& node) {
  std::string line = "node " + std::to_string(node.node.value) + ": " + NodeState(node);
  if (node.maintenance_for > 0 && !node.alive) line += ", and away";
  return node.reason.empty() ? line : line + ": " + Printable(node.reason);
}

std::vector<Verb> NodeVerbs() {
  return {
      {"list", "the workers that the master knows", ListNodes, {}},
      {"decommission", "empty a node before it is taken away", Decommission, {}},
      {"recommission", "put a node back into use", Recommission, {}},
      {"maintenance", "say that a node will be away for a while", Maintain, {}},
      {"forget", "take a lost node off the list", Forget, {}},
      {"unknown", "the blocks on a node that belong to no file", Unknown, {}},
      {"discard-unknown", "move them to the node's trash, however many they are", DiscardUnknown, {}},
  };
}

}  // namespace millrace::cli
