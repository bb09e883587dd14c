// SPDX-License-Identifier: Apache-2.0
// Holds the verbs ls, du, count and stat.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/file_document.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/stat_format.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/quota.h"

namespace millrace::dfs {
namespace {

using Json = nlohmann::ordered_json;
using console::JsonList;
using console::Printer;

}  // namespace

Json FileDocument(const FileStatus& info) {
  Json out;
  console::SetBytes(out, "path", info.path);
  out["type"] = info.directory ? "directory" : "file";
  out["length"] = info.length;
  out["replication"] = info.replication;
  out["block_size"] = info.block_size;
  out["modified_at"] = console::Seconds(info.modified);
  console::SetBytes(out, "owner", info.owner);
  console::SetBytes(out, "group", info.group);
  out["mode"] = OctalText(info.mode);
  out["id"] = info.id;
  return out;
}

namespace {

// Returns the path as a terminal can show it. A pipe gets its bytes as they are.
std::string Name(const std::string& path, const console::Console& console) {
  if (!console.out_is_terminal) return path;
  const std::string quoted = Quote(path, path.size());
  const bool plain = quoted.size() == path.size() + 2 && path.find(' ') == std::string::npos;
  return plain ? path : quoted;
}

// Returns a user or group in one word, so that columns stay where they are.
std::string Who(const std::string& name) { return name.empty() ? "-" : Printable(name); }

std::string Size(std::uint64_t bytes, bool human) { return human ? FormatBytes(bytes) : std::to_string(bytes); }

struct ListOptions {
  bool recursive = false;
  bool itself = false;  // a directory itself, not what is in it
  bool names = false;   // paths alone
  bool null = false;    // the same, as they are, each ended by a NUL
  bool human = false;   // sizes as people read them
  bool head = false;
  bool by_time = false, by_size = false;  // the newest, or the largest, first
  bool reverse = false;
  [[nodiscard]] bool ordered() const { return by_time || by_size || reverse; }
};

class Lister {
 public:
  Lister(const console::Console& console, Printer& out, JsonList* json, ListOptions options)
      : console_(console), out_(out), json_(json), options_(options) {}

  Status List(DfsClient& client, const std::string& path) {
    MILLRACE_ASSIGN(const FileStatus root, client.Stat(path));
    if (!root.directory || options_.itself) {
      Take(root);
      return Status::Ok();
    }
    if (options_.recursive) {
      return Walk(client, path, [this](const FileStatus& entry) {
        Take(entry);
        return out_.failed() ? out_.Flush() : Status::Ok();
      });
    }
    MILLRACE_TRY(client.List(path, [this](const FileStatus& entry) {
      Take(entry);
      return !out_.failed();
    }));
    return Status::Ok();
  }

  // Shows what an order holds back until all is known.
  void Finish() {
    std::ranges::stable_sort(held_, [this](const FileStatus& a, const FileStatus& b) {
      if (options_.by_time && a.modified != b.modified) return a.modified > b.modified;
      if (options_.by_size && a.length != b.length) return a.length > b.length;
      return a.path < b.path;
    });
    if (options_.reverse) std::ranges::reverse(held_);
    for (const FileStatus& entry : held_) Show(entry);
  }

 private:
  void Take(const FileStatus& info) {
    if (options_.ordered()) {
      held_.push_back(info);
    } else {
      Show(info);
    }
  }

  void Show(const FileStatus& info) {
    if (json_ != nullptr) {
      json_->Add(FileDocument(info));
      return;
    }
    if (options_.null) {
      out_ << info.path << (info.directory ? std::string_view("/\0", 2) : std::string_view("\0", 1));
      return;
    }
    if (options_.names) {
      out_ << Name(info.path, console_) << (info.directory ? "/\n" : "\n");
      return;
    }
    if (options_.head) out_ << Row("MODE      ", "RP", "OWNER", "GROUP", "BYTES", "MODIFIED (UTC)", "PATH");
    options_.head = false;
    out_ << Row((info.directory ? "d" : "-") + ModeText(info.mode),
                info.directory ? "-" : std::to_string(info.replication), Who(info.owner), Who(info.group),
                Size(info.length, options_.human), console::FormatTime(info.modified), Name(info.path, console_));
  }

  static std::string Row(const std::string& mode, const std::string& replicas, const std::string& owner,
                         const std::string& group, const std::string& bytes, const std::string& time,
                         const std::string& path) {
    return mode + " " + console::Right(replicas, 2) + "  " + console::Left(owner, 8) + " " + console::Left(group, 8) +
           " " + console::Right(bytes, 13) + "  " + console::Left(time, 19) + "  " + path + "\n";
  }

  const console::Console& console_;
  Printer& out_;
  JsonList* json_;
  ListOptions options_;
  std::vector<FileStatus> held_;  // with an order: what is shown at the end
};

// Whether a table has a head: on a terminal, or if it is asked for.
bool WantsHead(bool asked, const console::Console& console) { return asked || console.out_is_terminal; }

constexpr const char* kHeadLine = "print the names of the columns also into a pipe; a terminal always shows them";

std::string UsageRow(const std::string& bytes, const std::string& replicas, const std::string& files,
                     const std::string& path) {
  return console::Right(bytes, 13) + " " + console::Right(replicas, 13) + " " + console::Right(files, 9) + "  " + path +
         "\n";
}

// The verb du over all its paths.
class Usages {
 public:
  struct Options {
    bool summary = false, human = false, total = false, head = false;
  };
  Usages(const console::Console& console, Printer& out, JsonList* json, Options options)
      : console_(console), out_(out), json_(json), options_(options) {}

  Status Show(DfsClient& client, const std::string& path) {
    MILLRACE_ASSIGN(const FileStatus root, client.Stat(path));
    std::vector<std::string> entries;
    if (root.directory && !options_.summary) {
      MILLRACE_TRY(client.List(path, [&](const FileStatus& entry) {
        entries.push_back(entry.path);
        return true;
      }));
    } else {
      entries.push_back(root.path);
    }
    for (const std::string& entry : entries) {
      MILLRACE_ASSIGN(const FileUsage usage, client.Measure(entry));
      Add(entry, usage);
    }
    return Status::Ok();
  }

  void Finish() {
    if (options_.total && json_ == nullptr) Print(total_, "total");
  }

 private:
  void Add(const std::string& path, const FileUsage& usage) {
    total_.files += usage.files;
    total_.bytes += usage.bytes;
    total_.bytes_with_replicas += usage.bytes_with_replicas;
    if (json_ == nullptr) return Print(usage, Name(path, console_));
    Json line;
    console::SetBytes(line, "path", path);
    line["files"] = usage.files;
    line["directories"] = usage.directories;
    line["bytes"] = usage.bytes;
    line["bytes_with_replicas"] = usage.bytes_with_replicas;
    line["blocks"] = usage.blocks;
    json_->Add(line);
  }

  void Print(const FileUsage& usage, const std::string& name) {
    if (options_.head) out_ << UsageRow("BYTES", "WITH REPLICAS", "FILES", "PATH");
    options_.head = false;
    out_ << UsageRow(Size(usage.bytes, options_.human), Size(usage.bytes_with_replicas, options_.human),
                     std::to_string(usage.files), name);
  }

  const console::Console& console_;
  Printer& out_;
  JsonList* json_;
  Options options_;
  FileUsage total_;
};

// The verb count, in the columns of Hadoop's; those of the quotas come first (count -q).
std::string CountRow(const std::string& directories, const std::string& files, const std::string& bytes,
                     const std::string& path) {
  return console::Right(directories, 12) + " " + console::Right(files, 12) + " " + console::Right(bytes, 18) + " " +
         path + "\n";
}

std::string QuotaColumns(const std::string& quota, const std::string& rest, const std::string& bytes,
                         const std::string& rest_of_bytes) {
  return console::Right(quota, 12) + " " + console::Right(rest, 15) + " " + console::Right(bytes, 15) + " " +
         console::Right(rest_of_bytes, 15) + " ";
}

// Returns the quota of the directory itself, not of those above it; one without limits if it has none. What files that
// are being written reserve counts as used.
Result<QuotaState> QuotaOf(DfsClient& client, const std::string& path) {
  MILLRACE_ASSIGN(const std::vector<QuotaState> quotas, client.GetQuotas(path, ""));
  for (const QuotaState& state : quotas) {
    if (state.user.empty() && state.directory == path) return state;
  }
  return QuotaState{};
}

// What is left of a quota, below 0 if it is exceeded.
std::int64_t RestOf(std::uint64_t quota, std::uint64_t used, std::uint64_t reserved) {
  return static_cast<std::int64_t>(quota) - static_cast<std::int64_t>(used + reserved);
}

std::string QuotaText(const QuotaState& state, bool human) {
  const auto limit = [human](std::uint64_t quota, bool bytes) {
    return quota == kNoQuota ? std::string("none") : Size(quota, human && bytes);
  };
  const auto rest = [human](std::uint64_t quota, std::uint64_t used, std::uint64_t reserved, bool bytes) {
    if (quota == kNoQuota) return std::string("inf");
    const std::int64_t left = RestOf(quota, used, reserved);
    return (left < 0 ? "-" : "") + Size(static_cast<std::uint64_t>(std::abs(left)), human && bytes);
  };
  const Quota& quota = state.quota;
  const Use &use = state.use, &reserved = state.reserved;
  return QuotaColumns(limit(quota.entries, false), rest(quota.entries, use.entries, reserved.entries, false),
                      limit(quota.bytes, true), rest(quota.bytes, use.bytes, reserved.bytes, true));
}

Json QuotaJson(const QuotaState& state) {
  const auto one = [](std::uint64_t quota, std::uint64_t used, std::uint64_t reserved) -> Json {
    if (quota == kNoQuota) return nullptr;
    return {{"quota", quota}, {"left", RestOf(quota, used, reserved)}};
  };
  return {{"files_and_directories", one(state.quota.entries, state.use.entries, state.reserved.entries)},
          {"bytes_with_replicas", one(state.quota.bytes, state.use.bytes, state.reserved.bytes)}};
}

std::string Nodes(const LocatedBlock& block) {
  std::string nodes;
  for (const ReplicaHost& place : block.replicas) {
    nodes += (nodes.empty() ? "" : ", ") + std::to_string(place.node.value) + " (" + Printable(place.host) + ", " +
             Printable(place.rack) + ")";
  }
  return nodes.empty() ? "no live replica" : "on nodes " + nodes;
}

Json ToJson(const std::vector<LocatedBlock>& blocks) {
  Json list = Json::array();
  for (const LocatedBlock& block : blocks) {
    Json nodes = Json::array();
    for (const ReplicaHost& place : block.replicas) nodes.push_back(place.node.value);
    list.push_back(
        {{"block", BlockText(block.id)}, {"offset", block.offset}, {"length", block.length}, {"nodes", nodes}});
  }
  return list;
}

Status Stat(DfsClient& client, const std::string& path, const console::Console& console, Printer& out, JsonList* json) {
  MILLRACE_ASSIGN(const FileStatus info, client.Stat(path));
  std::vector<LocatedBlock> blocks;
  if (!info.directory) {
    MILLRACE_ASSIGN(const std::unique_ptr<FileReader> reader, client.Open(path));
    MILLRACE_ASSIGN(blocks, reader->Blocks());
  }
  if (json != nullptr) {
    Json entry = FileDocument(info);
    entry["blocks"] = ToJson(blocks);
    json->Add(entry);
    return Status::Ok();
  }
  out << "path         " << Name(info.path, console) << "\n";
  out << "type         " << (info.directory ? "directory" : "file") << "\n";
  out << "owner        " << Who(info.owner) << "\n";
  out << "group        " << Who(info.group) << "\n";
  out << "mode         " << OctalText(info.mode) << " (" << ModeText(info.mode) << ")\n";
  out << "modified     " << console::FormatTime(info.modified) << " UTC\n";
  if (info.directory) return Status::Ok();
  out << "id           " << std::to_string(info.id) << "\n";
  out << "length       " << std::to_string(info.length) << " (" << FormatBytes(info.length) << ")\n";
  out << "replication  " << std::to_string(info.replication) << "\n";
  out << "block size   " << FormatBytes(info.block_size) << "\n";
  out << "blocks       " << std::to_string(blocks.size()) << "\n";
  for (const LocatedBlock& block : blocks) {
    out << "  " << BlockText(block.id) << " at " << std::to_string(block.offset) << ", " << FormatBytes(block.length)
        << ", " << Nodes(block) << "\n";
  }
  return Status::Ok();
}

// What a listing prints on.
struct Sheet {
  explicit Sheet(const FsContext& context, bool as_json)
      : out(context.console), list(out), json(as_json ? &list : nullptr) {}
  Printer out;
  JsonList list;
  JsonList* json;
};

// Runs a listing over paths, and `finish` after them. In JSON the closing bracket is written only if the listing is
// complete.
int Listing(const FsContext& context, const std::string& verb, const Args& paths, Sheet& sheet,
            const std::function<Status(DfsClient&, const std::string&)>& list,
            const std::function<void()>& finish = {}) {
  const int status = ForEachMatch(context, verb, paths, list);
  if (finish) finish();
  if (sheet.json != nullptr && status == console::kDone) sheet.json->Close();
  if (const Status written = sheet.out.Flush(); !written.ok()) {
    console::SayError(context.console, "fs " + verb, written);
    return console::kFailed;
  }
  return status;
}

}  // namespace

int RunLs(const Args& args, const FsContext& context) {
  ListOptions options;
  bool json = false, always = true;
  console::Arguments arguments(
      "fs ls", "[PATH...]",
      "Lists files and the contents of directories: kind and mode, replicas, owner, group, bytes, time (UTC), path.");
  arguments.Example("-h /in/*.log");
  arguments.Example("-ltr '/out/{2023,2024}'");
  arguments.Flag("-R,--recursive", &options.recursive, "list everything below");
  arguments.Flag("-d,--directory", &options.itself, "list a directory itself, not what is in it");
  arguments.Flag("-t", &options.by_time, "the newest first; with -R and several PATHs the order is one over all");
  arguments.Flag("-S", &options.by_size, "the largest first");
  arguments.Flag("-r,--reverse", &options.reverse, "in the opposite order");
  arguments.Flag("-1,--names", &options.names, "show paths only, those of directories with / at the end");
  arguments.Flag("-0,--null", &options.null, "as --names, each path ended by a NUL byte, for `xargs -0`");
  arguments.Human(&options.human);
  arguments.Flag("-v,--head", &options.head, kHeadLine);
  arguments.Flag("-l,-a,-A,--all", &always, "accepted for compatibility: everything is always listed, with details");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, args.size())) return *status;
  if (options.by_time && options.by_size) {
    console::SayError(context.console, "fs ls", Invalid("-t and -S contradict each other; give one of them"));
    return console::kWrongUsage;
  }
  options.head = WantsHead(options.head, context.console);
  const Args paths = arguments.operands().empty() ? Args{"/"} : arguments.operands();
  Sheet sheet(context, json);
  Lister lister(context.console, sheet.out, sheet.json, options);
  return Listing(
      context, "ls", paths, sheet,
      [&](DfsClient& client, const std::string& path) { return lister.List(client, path); }, [&] { lister.Finish(); });
}

int RunDu(const Args& args, const FsContext& context) {
  Usages::Options options;
  bool json = false;
  console::Arguments arguments(
      "fs du", "[PATH...]",
      "Shows the bytes, the bytes with all replicas, and the files of each entry of a directory.");
  arguments.Example("-sh /in /out");
  arguments.Flag("-s,--summary", &options.summary, "print one line for each path");
  arguments.Flag("-c,--total", &options.total, "print the sum of all lines at the end");
  arguments.Human(&options.human);
  arguments.Flag("-v,--head", &options.head, kHeadLine);
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, args.size())) return *status;
  options.head = WantsHead(options.head, context.console);
  const Args paths = arguments.operands().empty() ? Args{"/"} : arguments.operands();
  Sheet sheet(context, json);
  Usages usages(context.console, sheet.out, sheet.json, options);
  return Listing(
      context, "du", paths, sheet,
      [&](DfsClient& client, const std::string& path) { return usages.Show(client, path); }, [&] { usages.Finish(); });
}

int RunCount(const Args& args, const FsContext& context) {
  bool human = false, head = false, json = false, quotas = false;
  console::Arguments arguments("fs count", "PATH...",
                               "Counts what is at and below each path: directories, files and bytes. A directory "
                               "counts itself.");
  arguments.Example("-h /in/*");
  arguments.Example("-q -h -v /data/team");
  arguments.Flag("-q,--quota", &quotas,
                 "show first the quota of the path itself, and what is left of it: of files and directories, and of "
                 "bytes with replicas");
  arguments.Human(&human);
  arguments.Flag("-v,--head", &head, kHeadLine);
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  head = WantsHead(head, context.console);
  Sheet sheet(context, json);
  return Listing(context, "count", arguments.operands(), sheet,
                 [&](DfsClient& client, const std::string& path) -> Status {
                   MILLRACE_ASSIGN(const FileUsage usage, client.Measure(path));
                   QuotaState quota;
                   if (quotas) {
                     MILLRACE_ASSIGN(quota, QuotaOf(client, path));
                   }
                   if (sheet.json != nullptr) {
                     Json line;
                     console::SetBytes(line, "path", path);
                     line["directories"] = usage.directories;
                     line["files"] = usage.files;
                     line["bytes"] = usage.bytes;
                     if (quotas) line["quota"] = QuotaJson(quota);
                     sheet.json->Add(line);
                     return Status::Ok();
                   }
                   if (head) {
                     sheet.out << (quotas ? QuotaColumns("QUOTA", "REMAINING", "SPACE QUOTA", "REMAINING") : "")
                               << CountRow("DIRECTORIES", "FILES", "BYTES", "PATH");
                   }
                   head = false;
                   sheet.out << (quotas ? QuotaText(quota, human) : "")
                             << CountRow(std::to_string(usage.directories), std::to_string(usage.files),
                                         Size(usage.bytes, human), Name(path, context.console));
                   return Status::Ok();
                 });
}

int RunStat(const Args& args, const FsContext& context) {
  bool json = false;
  std::string format;
  console::Arguments arguments("fs stat", "PATH...", "Shows what is known about a path, and where its blocks are.");
  arguments.Example("-c '%s %n' /in/*");
  arguments.Text("-c,--format", &format,
                 "print this for each path instead, as stat(1) does: " + std::string(kStatFormatLine));
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  Status wrong = format.empty() ? Status::Ok() : FormatStat(format, {}).status().Within("--format");
  if (json && !format.empty()) wrong = Invalid("--format and --json contradict each other; give one of them");
  if (!wrong.ok()) {
    console::SayError(context.console, "fs stat", wrong);
    return console::kWrongUsage;
  }
  Sheet sheet(context, json);
  return Listing(context, "stat", arguments.operands(), sheet,
                 [&](DfsClient& client, const std::string& path) -> Status {
                   if (format.empty()) return Stat(client, path, context.console, sheet.out, sheet.json);
                   MILLRACE_ASSIGN(const FileStatus info, client.Stat(path));
                   MILLRACE_ASSIGN(const std::string line, FormatStat(format, info));
                   sheet.out << line << "\n";
                   return Status::Ok();
                 });
}

}  // namespace millrace::dfs
