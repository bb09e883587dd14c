// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/fs_command.h"

#include <algorithm>
#include <utility>

#include "base/console/arguments.h"
#include "base/local_place.h"
#include "base/text.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"
#include "dfs/wire/pattern.h"

namespace millrace::dfs {

using console::Printer;
using console::SayError;

namespace {

// What Hadoop, coreutils and other shells of file systems call the verbs.
constexpr console::Synonym kSynonyms[] = {
    {"list", "ls"},
    {"dir", "ls"},
    {"ll", "ls"},
    {"lsr", "ls -R"},
    {"upload", "put"},
    {"copyFromLocal", "put"},
    {"moveFromLocal", "put, and rm of the local file"},
    {"appendToFile", "put, since files cannot be appended to"},
    {"download", "get"},
    {"copyToLocal", "get"},
    {"moveToLocal", "get, and fs rm"},
    {"type", "cat"},
    {"text", "cat"},
    {"less", "cat, into less"},
    {"more", "cat, into less"},
    {"grep", "cat, into grep, or millrace run grep"},
    {"remove", "rm"},
    {"delete", "rm"},
    {"del", "rm"},
    {"unlink", "rm"},
    {"rmr", "rm -r"},
    {"rmdir", "rm -d"},
    {"move", "mv"},
    {"rename", "mv"},
    {"copy", "cp"},
    {"distcp", "cp -r"},
    {"md", "mkdir"},
    {"dus", "du -s"},
    {"touchz", "touch"},
    {"exists", "test -e"},
    {"sha256sum", "checksum"},
    {"md5sum", "checksum"},
    {"replication", "setrep"},
    {"getfacl", "stat"},
    {"info", "stat"},
    {"report", "df, or millrace node list"},
    {"dfsadmin", "df, safemode or millrace node list"},
};

}  // namespace

const std::vector<FsVerb>& FsVerbs() {
  static const std::vector<FsVerb> kVerbs = {
      {"ls", "list files and directories", RunLs},
      {"put", "store local files and directories, or standard input", RunPut},
      {"get", "fetch files and directories", RunGet},
      {"getmerge", "fetch several files as a single local one", RunGetmerge},
      {"cat", "write files to standard output", RunCat},
      {"head", "write the beginning of a file to standard output", RunHead},
      {"tail", "write the end of a file to standard output", RunTail},
      {"find", "list what has a certain name, kind, size or age", RunFind},
      {"test", "tell by the exit status whether a path exists, is a directory or is empty", RunTest},
      {"touch", "make empty files", RunTouch},
      {"mkdir", "make directories, parents included", RunMkdir},
      {"rm", "remove files and, with -r, directories", RunRm},
      {"undelete", "bring back from the trash what was removed", RunUndelete},
      {"trash", "list what is in the trash, or empty it", RunTrash},
      {"quota", "show, set or clear the most that directories and users may have", RunQuota},
      {"cp", "copy within the file system", RunCp},
      {"mv", "rename, or move into a directory", RunMv},
      {"du", "show the bytes below a directory", RunDu},
      {"count", "count the directories, files and bytes at and below paths", RunCount},
      {"df", "show the space on all disks together", RunDf},
      {"stat", "show what is known about a path", RunStat},
      {"checksum", "show the SHA-256 of the bytes of files", RunChecksum},
      {"chmod", "change the modes of files and directories", RunChmod},
      {"chown", "change the owner of files and directories", RunChown},
      {"chgrp", "change the group of files and directories", RunChgrp},
      {"setrep", "set how many replicas a file has", RunSetrep},
      {"fsck", "show the health of all blocks", RunFsck},
      {"safemode", "show whether the master waits for workers or is read-only", RunSafemode},
      {"verify", "have all replicas read and checked now", RunVerify},
      {"balance", "move replicas from full workers to emptier ones", RunBalance},
  };
  return kVerbs;
}

int RunFsCommand(const std::vector<std::string>& args, const FsContext& context) {
  std::vector<std::string> names;
  for (const FsVerb& verb : FsVerbs()) names.push_back(verb.name);
  if (args.empty()) {
    SayError(context.console, "fs", Invalid("a command is missing; millrace fs --help lists them"));
    return console::kWrongUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    Printer out(context.console);
    out << "Usage: millrace fs COMMAND [OPTIONS] ...; see millrace fs COMMAND --help for more\n\n";
    for (const FsVerb& verb : FsVerbs()) out << "  " + console::Left(verb.name, 10) + verb.one_line + "\n";
    return console::kDone;
  }
  for (const FsVerb& verb : FsVerbs()) {
    if (verb.name == args[0]) return verb.run({args.begin() + 1, args.end()}, context);
  }
  const std::string word = args[0].substr(args[0].starts_with('-'));  // Hadoop's verbs have a dash in front
  const bool only_dash = std::ranges::find(names, word) != names.end();
  SayError(context.console, "fs",
           only_dash ? Invalid("no command " + Quote(args[0]) + "; did you mean " + word + "?")
                     : console::UnknownVerb(word, names, kSynonyms));
  return console::kWrongUsage;
}

Status CheckPaths(const Args& paths) {
  for (const std::string& path : paths) {
    if (path.starts_with('{') || (HasPattern(path) && path.starts_with('/')))
      continue;  // its alternatives are looked at
    const Status checked = CanonicalPath(path).status();
    if (checked.ok()) continue;
    const LocalKind local = path.starts_with('/') ? LocalKind::kNothing : LookAtLocal(path);
    if (local == LocalKind::kNothing) return checked;
    return Invalid(checked.message() + "; a file of this machine has that name, and `millrace fs put` stores it");
  }
  return Status::Ok();
}

int WithClient(const FsContext& context, const std::string& verb, const std::function<Status(DfsClient&)>& f) {
  const Result<std::unique_ptr<DfsClient>> client = context.connect();
  if (!client.ok()) {
    SayError(context.console, "fs " + verb, client.status());
    return console::kUnreachable;
  }
  if (const Status done = f(**client); !done.ok()) {
    SayError(context.console, "fs " + verb, done);
    return console::kFailed;
  }
  return console::kDone;
}

namespace {

using Expand = std::function<Result<std::vector<std::string>>(DfsClient&, const std::string&)>;

int ForEach(const FsContext& context, const std::string& verb, const Args& paths, const Expand& expand,
            const std::function<Status(DfsClient&, const std::string&, bool several)>& f) {
  if (const Status checked = CheckPaths(paths); !checked.ok()) {
    SayError(context.console, "fs " + verb, checked);
    return console::kWrongUsage;
  }
  bool failed = false;
  const auto note = [&](const Status& done) {
    if (done.ok()) return;
    SayError(context.console, "fs " + verb, done);
    failed = true;
  };
  const int status = WithClient(context, verb, [&](DfsClient& client) {
    for (const std::string& path : paths) {
      const Result<std::vector<std::string>> some = expand(client, path);
      note(some.status());
      if (!some.ok()) continue;
      for (const std::string& one : *some) note(f(client, one, paths.size() > 1 || some->size() > 1));
    }
    return Status::Ok();
  });
  return status == console::kDone && failed ? console::kFailed : status;
}

}  // namespace

int ForEachPath(const FsContext& context, const std::string& verb, const Args& paths,
                const std::function<Status(DfsClient&, const std::string&)>& f) {
  const auto itself = [](DfsClient&, const std::string& path) -> Result<std::vector<std::string>> {
    MILLRACE_ASSIGN(std::string canonical, CanonicalPath(path));
    return std::vector<std::string>{std::move(canonical)};
  };
  return ForEach(context, verb, paths, itself,
                 [&f](DfsClient& client, const std::string& path, bool) { return f(client, path); });
}

int ForEachOfMatches(const FsContext& context, const std::string& verb, const Args& paths,
                     const std::function<Status(DfsClient&, const std::string&, bool several)>& f, bool none_is_fine) {
  const auto expand = [none_is_fine](DfsClient& client, const std::string& path) {
    Result<std::vector<std::string>> some = ExpandPattern(client, path);
    if (none_is_fine && some.status().code() == StatusCode::kNotFound) some = std::vector<std::string>();
    return some;
  };
  return ForEach(context, verb, paths, expand, f);
}

int ForEachMatch(const FsContext& context, const std::string& verb, const Args& paths,
                 const std::function<Status(DfsClient&, const std::string&)>& f, bool none_is_fine) {
  return ForEachOfMatches(
      context, verb, paths, [&f](DfsClient& client, const std::string& path, bool) { return f(client, path); },
      none_is_fine);
}

}  // namespace millrace::dfs
