// SPDX-License-Identifier: Apache-2.0
// Holds the verbs chmod, chown and chgrp.
#include <optional>

#include "base/console/arguments.h"
#include "base/text.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

using Change = std::function<Status(DfsClient&, const FileStatus&)>;

// Returns true if a directory has to be changed before its contents, because its owner cannot enter it yet.
using OpensUp = std::function<bool(const FileStatus&)>;

Status ChangeTree(DfsClient& client, const FileStatus& root, const Change& change, const OpensUp& opens_up) {
  const bool first = !root.directory || opens_up(root);
  if (first) MILLRACE_TRY(change(client, root));
  if (!root.directory) return Status::Ok();
  std::vector<FileStatus> directories;
  Status changed;
  MILLRACE_TRY(client.List(root.path, [&](const FileStatus& entry) {
    if (entry.directory) {
      directories.push_back(entry);
    } else {
      changed = change(client, entry);
    }
    return changed.ok();
  }));
  MILLRACE_TRY(changed);
  for (const FileStatus& directory : directories) MILLRACE_TRY(ChangeTree(client, directory, change, opens_up));
  return first ? Status::Ok() : change(client, root);
}

// Runs a verb of the form WHAT PATH... once it is known what is to change.
int ChangePaths(const FsContext& context, const std::string& verb, const Args& paths, bool recursive,
                const Change& change, const OpensUp& opens_up) {
  return ForEachMatch(context, verb, paths, [&](DfsClient& client, const std::string& path) -> Status {
    MILLRACE_ASSIGN(const FileStatus info, client.Stat(path));
    return recursive ? ChangeTree(client, info, change, opens_up) : change(client, info);
  });
}

int Refuse(const FsContext& context, const std::string& verb, const Status& why) {
  console::SayError(context.console, "fs " + verb, why);
  return console::kWrongUsage;
}

int RunGiving(const FsContext& context, const std::string& verb, const Args& paths, bool recursive,
              const std::string& owner, const std::string& group) {
  const auto give = [&](DfsClient& client, const FileStatus& info) { return client.SetOwner(info.path, owner, group); };
  return ChangePaths(context, verb, paths, recursive, give, [](const FileStatus&) { return false; });
}

// Takes the first operand, which says what is to change, from the others.
std::string TakeFirst(Args* operands) {
  std::string first = operands->front();
  operands->erase(operands->begin());
  return first;
}

}  // namespace

Result<Mode> ModeOf(const std::string& text, Mode otherwise, bool directory) {
  if (text.empty()) return otherwise;
  MILLRACE_ASSIGN(const ModeChange change, ModeChange::Parse(text));
  return change.Apply(otherwise, directory);
}

int RunChmod(const Args& args, const FsContext& context) {
  bool recursive = false;
  console::Arguments arguments("fs chmod", "MODE PATH...",
                               "Changes who may read, write and traverse: MODE is octal, as 750, or [ugoa][+-=][rwxXt] "
                               "with commas between, as u+rwx,go-w. You can change your own files and directories.");
  arguments.Example("-R g+rX /team/data");
  arguments.DashedOperands(
      [](std::string_view word) { return word.find_first_not_of("rwxXtugoa+-=,") == std::string_view::npos; });
  arguments.Flag("-R,--recursive", &recursive, "change directories with everything below");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args paths = arguments.operands();
  const Result<ModeChange> change = ModeChange::Parse(TakeFirst(&paths));
  if (!change.ok()) return Refuse(context, "chmod", change.status());
  const auto set = [&](DfsClient& client, const FileStatus& info) {
    return client.SetMode(info.path, change->Apply(info.mode, info.directory));
  };
  constexpr Mode kGoIn = 0500;
  const auto opens_up = [&](const FileStatus& info) {
    return (info.mode & kGoIn) != kGoIn && (change->Apply(info.mode, true) & kGoIn) == kGoIn;
  };
  return ChangePaths(context, "chmod", paths, recursive, set, opens_up);
}

int RunChown(const Args& args, const FsContext& context) {
  bool recursive = false;
  console::Arguments arguments("fs chown", "OWNER[:GROUP] PATH...",
                               "Gives files and directories to another user, and with :GROUP to a group. On a cluster "
                               "with TLS only administrators may change owners.");
  arguments.Example("-R ann:analysts /team/data");
  arguments.Flag("-R,--recursive", &recursive, "change directories with everything below");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args paths = arguments.operands();
  const std::string given = TakeFirst(&paths);
  const std::size_t colon = given.find(':');
  const std::string owner = given.substr(0, colon);
  const std::string group = colon == std::string::npos ? std::string() : given.substr(colon + 1);
  if ((owner.empty() && group.empty()) || (colon != std::string::npos && group.empty()))
    return Refuse(context, "chown", Invalid(Quote(given) + " is not OWNER, OWNER:GROUP or :GROUP"));
  return RunGiving(context, "chown", paths, recursive, owner, group);
}

int RunChgrp(const Args& args, const FsContext& context) {
  bool recursive = false;
  console::Arguments arguments("fs chgrp", "GROUP PATH...",
                               "Changes the group of files and directories. On a cluster with TLS their owners may "
                               "give them the groups that they are in.");
  arguments.Flag("-R,--recursive", &recursive, "change directories with everything below");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args paths = arguments.operands();
  const std::string group = TakeFirst(&paths);
  if (group.empty()) return Refuse(context, "chgrp", Invalid("the name of the group is empty"));
  return RunGiving(context, "chgrp", paths, recursive, {}, group);
}

}  // namespace millrace::dfs
