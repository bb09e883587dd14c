// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cluster_notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::cli {
namespace {

constexpr double kNearlyFull = 0.9;
constexpr std::size_t kMostInFull = 3;

double FractionOf(std::uint64_t quota, std::uint64_t used, std::uint64_t reserved) {
  if (quota == dfs::kNoQuota) return 0;
  return quota == 0 ? 1 : (static_cast<double>(used) + static_cast<double>(reserved)) / static_cast<double>(quota);
}

struct Filled {
  double bytes = 0, entries = 0;  // as fractions of the quota
  const dfs::QuotaState* state = nullptr;
  [[nodiscard]] double most() const { return std::max(bytes, entries); }
};

std::string TextOf(const Filled& filled) {
  const dfs::QuotaState& state = *filled.state;
  std::string text = "the quota of " + (state.user.empty() ? Quote(state.directory) : "the user " + Quote(state.user)) +
                     (filled.most() >= 1 ? " is full: " : " is nearly full: ");
  if (filled.bytes >= kNearlyFull) {
    text += FormatBytes(state.use.bytes + state.reserved.bytes) + " of " + FormatBytes(state.quota.bytes) +
            " with replicas";
  }
  if (filled.entries >= kNearlyFull) {
    text += (filled.bytes >= kNearlyFull ? ", " : "") + std::to_string(state.use.entries + state.reserved.entries) +
            " of " + Counted(state.quota.entries, "file or directory", "files and directories");
  }
  return text;
}

}  // namespace

std::vector<ClusterNote> NotesOf(const dfs::Use& trash, const std::vector<dfs::QuotaState>& quotas) {
  std::vector<ClusterNote> notes;
  if (trash.bytes > 0) {  // not by the entries: a user's own directory in the trash stays when it is empty
    notes.push_back({"trash", FormatBytes(trash.bytes) + " with replicas wait in the trash for their removal; " +
                                  "`millrace fs trash --all` lists them"});
  }
  std::vector<Filled> filled;
  for (const dfs::QuotaState& state : quotas) {
    const Filled one{FractionOf(state.quota.bytes, state.use.bytes, state.reserved.bytes),
                     FractionOf(state.quota.entries, state.use.entries, state.reserved.entries), &state};
    if (one.most() >= kNearlyFull) filled.push_back(one);
  }
  std::ranges::stable_sort(filled, std::ranges::greater(), &Filled::most);
  for (std::size_t i = 0; i < std::min(filled.size(), kMostInFull); ++i) notes.push_back({"quota", TextOf(filled[i])});
  if (filled.size() > kMostInFull) {
    notes.push_back({"quota", Counted(filled.size() - kMostInFull, "more quota is", "more quotas are") +
                                  " nearly full or full; `millrace fs quota show` lists all"});
  }
  return notes;
}

}  // namespace millrace::cli
