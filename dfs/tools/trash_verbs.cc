// SPDX-License-Identifier: Apache-2.0
// Holds the verbs rm, undelete and trash.
#include <algorithm>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {
namespace {

using Json = nlohmann::ordered_json;
using console::JsonList;
using console::Printer;

// Tells where removed things are: the first few in full.
class Farewell {
 public:
  explicit Farewell(const console::Console& console) : out_(console) {}
  ~Farewell() {
    if (moved_ > kInFull)
      out_ << Counted(moved_ - kInFull, "more was", "more were") +
                  " moved to the trash; millrace fs trash lists them\n";
  }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

  void Tell(const std::string& path, const DfsClient::Trashed& trashed) {
    if (trashed.place.empty() || ++moved_ > kInFull) return;
    out_ << Quote(path) + " is in the trash until " + console::FormatTime(trashed.until) + " UTC, as " +
                Quote(trashed.place) + "; millrace fs undelete " + Quote(path) + " brings it back\n";
  }

 private:
  static constexpr std::size_t kInFull = 5;
  Printer out_;
  std::size_t moved_ = 0;
};

Json ToJson(const Deletion& deletion, const std::string& user, Micros retention) {
  Json out;
  if (!user.empty()) console::SetBytes(out, "user", user);
  console::SetBytes(out, "path", deletion.path);
  console::SetBytes(out, "place", deletion.place);
  out["stamp"] = TrashStamp(deletion.deleted);
  out["deleted_at"] = console::Seconds(deletion.deleted);
  out["expires_at"] = retention == 0 ? Json() : console::Seconds(deletion.deleted + retention);
  out["type"] = deletion.directory ? "directory" : "file";
  out["bytes_with_replicas"] = deletion.use.bytes;
  out["files_and_directories"] = deletion.use.entries;
  return out;
}

std::string Line(const Deletion& deletion, Micros retention) {
  return console::Left(TrashStamp(deletion.deleted), 24) + console::Right(FormatBytes(deletion.use.bytes), 10) + "  " +
         console::Right(std::to_string(deletion.use.entries), 8) + "  " +
         console::Left(retention == 0 ? "-" : console::FormatTime(deletion.deleted + retention), 20) +
         Quote(deletion.path + (deletion.directory ? "/" : "")) + "\n";
}

constexpr std::string_view kTrashHead = "AT                      REPLICAS'   ENTRIES  UNTIL (UTC)         PATH\n";

// What `millrace fs trash` and `fs undelete --list` list.
class TrashLister {
 public:
  TrashLister(DfsClient& client, const console::Console& console, bool as_json)
      : client_(client), out_(console), json_(out_), as_json_(as_json) {}

  // Lists those deletions of `user` (of this user, if empty) for which `wanted` is true.
  Status List(const std::string& user, bool of_many, const std::function<bool(const Deletion&)>& wanted) {
    std::vector<Deletion> found;
    MILLRACE_ASSIGN(const Micros retention, client_.ListTrash(user, [&](const Deletion& deletion) {
      if (wanted(deletion)) found.push_back(deletion);
      return true;
    }));
    if (!as_json_ && of_many && !found.empty()) out_ << "the trash of " + Quote(user) + ":\n";
    if (!as_json_ && !found.empty()) out_ << kTrashHead;
    for (const Deletion& deletion : found) {
      if (as_json_) {
        json_.Add(ToJson(deletion, of_many ? user : std::string(), retention));
      } else {
        out_ << Line(deletion, retention);
      }
      use_ += deletion.use;
    }
    listed_ += found.size();
    return Status::Ok();
  }
  Status Finish() {
    if (as_json_) {
      json_.Close();
    } else if (listed_ == 0) {
      out_ << "nothing is in the trash\n";
    } else {
      out_ << FormatBytes(use_.bytes) + " with all replicas in " + Counted(listed_, "deletion") + "\n";
    }
    return out_.Flush();
  }

 private:
  DfsClient& client_;
  Printer out_;
  JsonList json_;
  const bool as_json_;
  std::size_t listed_ = 0;
  Use use_;
};

// Removes for good what `user` deleted at `before` or earlier.
Status Empty(DfsClient& client, const std::string& user, Micros before, Use* emptied) {
  std::vector<Deletion> found;
  MILLRACE_TRY(client
                   .ListTrash(user,
                              [&](const Deletion& deletion) {
                                if (deletion.deleted <= before) found.push_back(deletion);
                                return true;
                              })
                   .status());
  for (const Deletion& deletion : found) {
    const std::string all = deletion.place.substr(0, deletion.place.size() - deletion.path.size());
    const Status removed = client.Remove(all, true);
    if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
    *emptied += deletion.use;
  }
  return Status::Ok();
}

// Returns the users whose trash a command means; an empty name is the user who asks.
Result<std::vector<std::string>> UsersOf(DfsClient& client, const std::string& user, bool all) {
  std::vector<std::string> users;
  if (!all) return std::vector<std::string>{user};
  const Result<FileStatus> trash = client.Stat(kTrashDirectory);
  if (trash.status().code() == StatusCode::kNotFound) return users;
  MILLRACE_TRY(trash.status());
  MILLRACE_TRY(client.List(kTrashDirectory, [&](const FileStatus& entry) {
    if (entry.directory) users.emplace_back(BaseName(entry.path));
    return true;
  }));
  return users;
}

// The master would remove a directory that is empty. Whoever forgot -r may mean another path, so the answer is that of
// rm(1). Where one may not look, the master refuses the removal, and its audit log has it.
Status IsNoDirectory(DfsClient& client, const std::string& path) {
  const Result<FileStatus> info = client.Stat(path);
  if (!info.ok() || !info->directory) return Status::Ok();
  return Invalid(Quote(path) + ": is a directory; -r removes it with everything in it, -d if it is empty");
}

}  // namespace

int RunRm(const Args& args, const FsContext& context) {
  bool recursive = false, empty = false, force = false, trash = false, skip = false;
  console::Arguments arguments("fs rm", "PATH...",
                               "Removes files and directories: into the trash if standard input or output is a "
                               "terminal, and at once in scripts.");
  arguments.Example("-r /old");
  arguments.Example("-r --skip-trash /old");
  arguments.Flag("-r,-R,--recursive", &recursive, "remove directories with everything in them");
  arguments.Flag("-d,--dir", &empty, "remove directories that are empty");
  arguments.Flag("-f,--force", &force, "a path that does not exist is not an error");
  arguments.Flag("--trash", &trash, "use the trash, from where fs undelete brings things back, also in scripts");
  arguments.Flag("--skip-trash", &skip, "remove at once, and free the space");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  if (trash && skip) {
    console::SayError(context.console, "fs rm", Invalid("--trash and --skip-trash exclude each other; give one"));
    return console::kWrongUsage;
  }
  trash = trash || (!skip && (context.console.in_is_terminal || context.console.out_is_terminal));
  Farewell farewell(context.console);
  const auto remove = [&](DfsClient& client, const std::string& path) {
    Status removed = recursive || empty ? Status::Ok() : IsNoDirectory(client, path);
    if (!removed.ok()) {
      // It is told below.
    } else if (trash) {
      const Result<DfsClient::Trashed> trashed = client.Trash(path, recursive);
      if (trashed.ok()) farewell.Tell(path, *trashed);
      removed = trashed.status();
    } else {
      removed = client.Remove(path, recursive);
    }
    return force && removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
  };
  return ForEachMatch(context, "rm", arguments.operands(), remove, force);
}

int RunUndelete(const Args& args, const FsContext& context) {
  bool list = false, json = false;
  std::string at, user;
  console::Arguments arguments("fs undelete", "PATH...",
                               "Brings back from the trash what was last removed from each path.");
  arguments.Example("/data/in");
  arguments.Example("--list /data/in");
  arguments.Flag("-l,--list", &list, "list what was removed from the path, or from below it, and bring nothing back");
  arguments.Text("--at", &at, "bring back what was removed at this time, as --list shows it");
  arguments.Text("--user", &user, "use the trash of this user; for administrators");
  arguments.Flag("--json", &json, "with --list: print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  const std::optional<Micros> deleted = at.empty() ? 0 : ParseTrashStamp(at);
  if (!deleted) {
    console::SayError(context.console, "fs undelete",
                      Invalid("--at: " + Quote(at) + " is not the time of a deletion; fs undelete --list shows them"));
    return console::kWrongUsage;
  }
  if (list) {
    return WithClient(context, "undelete", [&](DfsClient& client) -> Status {
      TrashLister lister(client, context.console, json);
      for (const std::string& operand : arguments.operands()) {
        MILLRACE_ASSIGN(const std::string path, CanonicalPath(operand));
        MILLRACE_TRY(lister.List(user, false, [&](const Deletion& deletion) {
          return IsWithin(deletion.path, path) || IsWithin(path, deletion.path);
        }));
      }
      return lister.Finish();
    });
  }
  Printer out(context.console);
  return ForEachPath(context, "undelete", arguments.operands(),
                     [&](DfsClient& client, const std::string& path) -> Status {
                       MILLRACE_TRY(client.Undelete(path, *deleted, user).status());
                       out << Quote(path) + " is back\n";
                       return out.Flush();
                     });
}

int RunTrash(const Args& args, const FsContext& context) {
  bool empty = false, all = false, json = false;
  std::string older_than, user;
  console::Arguments arguments("fs trash", "",
                               "Lists what is in the trash, with the space that it takes, or empties it.");
  arguments.Example("--empty --older-than 24h");
  arguments.Flag("--empty", &empty, "remove for good what is in the trash");
  arguments.Text("--older-than", &older_than,
                 "with --empty: only what was removed longer ago than this, as in 24h, by the master's clock");
  arguments.Text("--user", &user, "the trash of this user; for administrators");
  arguments.Flag("--all", &all, "the trash of all users; for administrators");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, 0)) return *status;
  const Result<Micros> age = older_than.empty() ? Result<Micros>(0) : ParseDuration(older_than);
  Status wrong = age.ok() ? Status::Ok() : age.status().Within("--older-than");
  if (wrong.ok() && !older_than.empty() && !empty) wrong = Invalid("--older-than belongs to --empty");
  if (wrong.ok() && json && empty) wrong = Invalid("--json lists, and --empty does not; give one");
  if (wrong.ok() && all && !user.empty()) wrong = Invalid("--all and --user exclude each other; give one");
  if (!wrong.ok()) {
    console::SayError(context.console, "fs trash", wrong);
    return console::kWrongUsage;
  }
  return WithClient(context, "trash", [&](DfsClient& client) -> Status {
    MILLRACE_ASSIGN(const std::vector<std::string> users, UsersOf(client, user, all));
    if (!empty) {
      TrashLister lister(client, context.console, json);
      for (const std::string& one : users) MILLRACE_TRY(lister.List(one, all, [](const Deletion&) { return true; }));
      return lister.Finish();
    }
    Use emptied;
    // By another clock than that by which things were removed, more might go than was meant.
    Micros before = std::numeric_limits<Micros>::max();
    if (!older_than.empty()) {
      MILLRACE_ASSIGN(const Micros now, client.Time());
      before = now - *age;
    }
    for (const std::string& one : users) MILLRACE_TRY(Empty(client, one, before, &emptied));
    Printer out(context.console);
    out << Counted(emptied.entries, "file or directory", "files and directories") +
               " removed from the trash; their replicas take " + FormatBytes(emptied.bytes) +
               ", which workers free soon\n";
    return out.Flush();
  });
}

}  // namespace millrace::dfs
