#include "dfs/tools/fs_command.h"

#include <utility>

#include "base/console/arguments.h"
#include "dfs/tools/glob.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {

using console::Printer;
using console::SayError;

const std::vector<FsVerb>& FsVerbs() {
  static const std::vector<FsVerb> kVerbs = {
      {"ls", "list files and directories", RunLs},
      {"put", "store local files and directories, or standard input", RunPut},
      {"get", "fetch files and directories", RunGet},
      {"cat", "write files to standard output", RunCat},
      {"head", "write the beginning of a file to standard output", RunHead},
      {"tail", "write the end of a file to standard output", RunTail},
      {"mkdir", "make directories, parents included", RunMkdir},
      {"rm", "remove files and, with -r, directories", RunRm},
      {"undelete", "bring back from the trash what was removed", RunUndelete},
      {"trash", "list what is in the trash, or empty it", RunTrash},
      {"quota", "show, set or clear the most that directories and users may have", RunQuota},
      {"cp", "copy within the file system", RunCp},
      {"mv", "rename, or move into a directory", RunMv},
      {"du", "show the bytes below a directory", RunDu},
      {"df", "show the space on all disks together", RunDf},
      {"stat", "show what is known about a path", RunStat},
      {"chmod", "change who may do what with files and directories", RunChmod},
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
  SayError(context.console, "fs", console::UnknownVerb(args[0], names));
  return console::kWrongUsage;
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
            const std::function<Status(DfsClient&, const std::string&)>& f) {
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
      for (const std::string& one : *some) note(f(client, one));
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
  return ForEach(context, verb, paths, itself, f);
}

int ForEachMatch(const FsContext& context, const std::string& verb, const Args& paths,
                 const std::function<Status(DfsClient&, const std::string&)>& f, bool none_is_fine) {
  const auto expand = [none_is_fine](DfsClient& client, const std::string& path) {
    Result<std::vector<std::string>> some = ExpandPattern(client, path);
    if (none_is_fine && some.status().code() == StatusCode::kNotFound) some = std::vector<std::string>();
    return some;
  };
  return ForEach(context, verb, paths, expand, f);
}

}  // namespace millrace::dfs
