// SPDX-License-Identifier: Apache-2.0
// Notes beside the state of a cluster: what is not wrong, but may be good to know. Pure. Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "dfs/client/dfs_client.h"
#include "dfs/wire/quota.h"

namespace millrace::cli {

struct ClusterNote {
  std::string code;  // "trash" or "quota", for programs
  std::string text;
};

// Returns what the trash takes, if there is anything in it, and the quotas of which nine tenths are used: the fullest
// first, a few of them in full.
[[nodiscard]] std::vector<ClusterNote> NotesOf(const dfs::Use& trash, const std::vector<dfs::QuotaState>& quotas);

}  // namespace millrace::cli
