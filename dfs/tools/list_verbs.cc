// SPDX-License-Identifier: Apache-2.0
// Holds the verbs ls, du and stat.
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {
namespace {

using Json = nlohmann::ordered_json;
using console::JsonList;
using console::Printer;

Json ToJson(const FileStatus& info) {
  Json out;
  console::SetBytes(out, "path", info.path);
  out["type"] = info.directory ? "directory" : "file";
  out["length"] = info.length;
  out["replication"] = info.replication;
  out["block_size"] = info.block_size;
  out["modified"] = info.modified;
  console::SetBytes(out, "owner", info.owner);
  console::SetBytes(out, "group", info.group);
  out["mode"] = OctalText(info.mode);
  out["id"] = info.id;
  return out;
}

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
  bool names = false;  // paths alone
  bool null = false;   // the same, as they are, each ended by a NUL
  bool human = false;  // sizes as people read them
};

class Lister {
 public:
  Lister(DfsClient& client, const console::Console& console, Printer& out, JsonList* json, ListOptions options)
      : client_(client), console_(console), out_(out), json_(json), options_(options) {}

  Status List(const std::string& path) {
    MILLRACE_ASSIGN(const FileStatus root, client_.Stat(path));
    if (!root.directory) {
      Show(root);
      return Status::Ok();
    }
    if (options_.recursive) {
      return Walk(client_, path, [this](const FileStatus& entry) {
        Show(entry);
        return out_.failed() ? out_.Flush() : Status::Ok();
      });
    }
    MILLRACE_TRY(client_.List(path, [this](const FileStatus& entry) {
      Show(entry);
      return !out_.failed();
    }));
    return Status::Ok();
  }

 private:
  void Show(const FileStatus& info) {
    if (json_ != nullptr) {
      json_->Add(ToJson(info));
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
    const std::string replicas = info.directory ? "-" : std::to_string(info.replication);
    out_ << (info.directory ? "d" : "-") << ModeText(info.mode) << " " << console::Right(replicas, 2) << "  "
         << console::Left(Who(info.owner), 8) << " " << console::Left(Who(info.group), 8) << " "
         << console::Right(Size(info.length, options_.human), 13) << "  " << console::FormatTime(info.modified) << "  "
         << Name(info.path, console_) << "\n";
  }

  DfsClient& client_;
  const console::Console& console_;
  Printer& out_;
  JsonList* json_;
  const ListOptions options_;
};

Status ShowUsage(DfsClient& client, const FileStatus& entry, bool human, const console::Console& console, Printer& out,
                 JsonList* json) {
  MILLRACE_ASSIGN(const FileUsage usage, client.Measure(entry.path));
  if (json != nullptr) {
    Json line;
    console::SetBytes(line, "path", entry.path);
    line["files"] = usage.files;
    line["directories"] = usage.directories;
    line["bytes"] = usage.bytes;
    line["bytes_with_replicas"] = usage.bytes_with_replicas;
    line["blocks"] = usage.blocks;
    json->Add(line);
    return Status::Ok();
  }
  out << console::Right(Size(usage.bytes, human), 13) << " "
      << console::Right(Size(usage.bytes_with_replicas, human), 13) << " "
      << console::Right(std::to_string(usage.files), 9) << "  " << Name(entry.path, console) << "\n";
  return Status::Ok();
}

Status Du(DfsClient& client, const std::string& path, bool summary, bool human, const console::Console& console,
          Printer& out, JsonList* json) {
  MILLRACE_ASSIGN(const FileStatus root, client.Stat(path));
  std::vector<FileStatus> entries;
  if (root.directory && !summary) {
    MILLRACE_TRY(client.List(path, [&](const FileStatus& entry) {
      entries.push_back(entry);
      return true;
    }));
  } else {
    entries.push_back(root);
  }
  for (const FileStatus& entry : entries) MILLRACE_TRY(ShowUsage(client, entry, human, console, out, json));
  return Status::Ok();
}

std::string Nodes(const LocatedBlock& block) {
  std::string nodes;
  for (const ReplicaHost& place : block.replicas) {
    nodes += (nodes.empty() ? "" : ", ") + std::to_string(place.node.value) + " (" + Printable(place.host) + ", " +
             Printable(place.rack) + ")";
  }
  return nodes.empty() ? "no live replica" : nodes;
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
    Json entry = ToJson(info);
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
        << ", on nodes " << Nodes(block) << "\n";
  }
  return Status::Ok();
}

// Runs a listing over paths. In JSON the closing bracket is written only if the listing is complete.
int Listing(const FsContext& context, const std::string& verb, const Args& paths, bool as_json,
            const std::function<Status(DfsClient&, const std::string&, Printer&, JsonList*)>& list) {
  Printer out(context.console);
  JsonList json(out);
  const int status = ForEachMatch(context, verb, paths, [&](DfsClient& client, const std::string& path) {
    return list(client, path, out, as_json ? &json : nullptr);
  });
  if (as_json && status == console::kDone) json.Close();
  if (const Status written = out.Flush(); !written.ok()) {
    console::SayError(context.console, "fs " + verb, written);
    return console::kFailed;
  }
  return status;
}

}  // namespace

int RunLs(const Args& args, const FsContext& context) {
  ListOptions options;
  bool json = false;
  console::Arguments arguments(
      "fs ls", "[PATH...]",
      "Lists files and the contents of directories: kind and mode, replicas, owner, group, bytes, time (UTC), path.");
  arguments.Example("-H /in/*.log");
  arguments.Flag("-R,--recursive", &options.recursive, "list everything below");
  arguments.Flag("-1,--names", &options.names, "show paths only, those of directories with / at the end");
  arguments.Flag("-0,--null", &options.null, "as --names, each path ended by a NUL byte, for `xargs -0`");
  arguments.Flag("-H,--human", &options.human, "show sizes as in 1.5 MiB");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, args.size())) return *status;
  const Args paths = arguments.operands().empty() ? Args{"/"} : arguments.operands();
  return Listing(context, "ls", paths, json,
                 [&](DfsClient& client, const std::string& path, Printer& out, JsonList* list) {
                   return Lister(client, context.console, out, list, options).List(path);
                 });
}

int RunDu(const Args& args, const FsContext& context) {
  bool summary = false, human = false, json = false;
  console::Arguments arguments(
      "fs du", "[PATH...]",
      "Shows the bytes, the bytes with all replicas, and the files of each entry of a directory.");
  arguments.Flag("-s,--summary", &summary, "print one line for each path");
  arguments.Flag("-H,--human", &human, "show sizes as in 1.5 MiB");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, args.size())) return *status;
  const Args paths = arguments.operands().empty() ? Args{"/"} : arguments.operands();
  return Listing(context, "du", paths, json,
                 [&](DfsClient& client, const std::string& path, Printer& out, JsonList* list) {
                   return Du(client, path, summary, human, context.console, out, list);
                 });
}

int RunStat(const Args& args, const FsContext& context) {
  bool json = false;
  console::Arguments arguments("fs stat", "PATH...", "Shows what is known about a path, and where its blocks are.");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  return Listing(context, "stat", arguments.operands(), json,
                 [&](DfsClient& client, const std::string& path, Printer& out, JsonList* list) {
                   return Stat(client, path, context.console, out, list);
                 });
}

}  // namespace millrace::dfs
