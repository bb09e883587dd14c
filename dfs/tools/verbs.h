// SPDX-License-Identifier: Apache-2.0
// The verbs of `millrace fs`, each in the form of FsVerb::run, and their shared helpers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dfs/tools/fs_command.h"

namespace millrace::dfs {

using Args = std::vector<std::string>;

int RunLs(const Args& args, const FsContext& context);
int RunCount(const Args& args, const FsContext& context);
int RunFind(const Args& args, const FsContext& context);
int RunTest(const Args& args, const FsContext& context);
int RunChecksum(const Args& args, const FsContext& context);
int RunTouch(const Args& args, const FsContext& context);
int RunGetmerge(const Args& args, const FsContext& context);
int RunDu(const Args& args, const FsContext& context);
int RunStat(const Args& args, const FsContext& context);
int RunPut(const Args& args, const FsContext& context);
int RunGet(const Args& args, const FsContext& context);
int RunCat(const Args& args, const FsContext& context);
int RunHead(const Args& args, const FsContext& context);
int RunTail(const Args& args, const FsContext& context);
int RunMkdir(const Args& args, const FsContext& context);
int RunRm(const Args& args, const FsContext& context);
int RunUndelete(const Args& args, const FsContext& context);
int RunTrash(const Args& args, const FsContext& context);
int RunQuota(const Args& args, const FsContext& context);
int RunCp(const Args& args, const FsContext& context);
int RunMv(const Args& args, const FsContext& context);
int RunDf(const Args& args, const FsContext& context);
int RunChmod(const Args& args, const FsContext& context);
int RunChown(const Args& args, const FsContext& context);
int RunChgrp(const Args& args, const FsContext& context);
int RunSetrep(const Args& args, const FsContext& context);
int RunFsck(const Args& args, const FsContext& context);
int RunSafemode(const Args& args, const FsContext& context);
int RunVerify(const Args& args, const FsContext& context);
int RunBalance(const Args& args, const FsContext& context);

// Returns the mode that results when the change `text`, written as for chmod, is applied to the mode `otherwise`. Empty
// text changes nothing.
[[nodiscard]] Result<Mode> ModeOf(const std::string& text, Mode otherwise, bool directory);

// Returns kInvalid for operands that no path can be, so that they are refused as wrong usage before the master is
// asked.
[[nodiscard]] Status CheckPaths(const Args& paths);

// Connects and calls `f`. Prints a failure ("fs VERB: ..."). Returns the exit status.
int WithClient(const FsContext& context, const std::string& verb, const std::function<Status(DfsClient&)>& f);
// Does the same as WithClient, but checks the paths first (CheckPaths), and calls `f` for each path, in canonical form.
// After a failure, it continues with the other paths.
int ForEachPath(const FsContext& context, const std::string& verb, const Args& paths,
                const std::function<Status(DfsClient&, const std::string&)>& f);

// Does the same as ForEachPath for existing paths. A path may be a pattern (dfs/wire/pattern.h); with `none_is_fine`
// the pattern may match nothing.
int ForEachMatch(const FsContext& context, const std::string& verb, const Args& paths,
                 const std::function<Status(DfsClient&, const std::string&)>& f, bool none_is_fine = false);
// Does the same as ForEachMatch; `several` is whether the paths may name more than one file.
int ForEachOfMatches(const FsContext& context, const std::string& verb, const Args& paths,
                     const std::function<Status(DfsClient&, const std::string&, bool several)>& f,
                     bool none_is_fine = false);

}  // namespace millrace::dfs
