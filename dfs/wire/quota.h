// SPDX-License-Identifier: Apache-2.0
// Quotas limit what a directory or a user may hold: bytes as they are stored, so that every replica counts, and
// entries, which are files and directories. A directory's own entry does not count against its quota. What a user has
// is what the user owns, wherever it is. Pure. Thread rule: values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace millrace::dfs {

struct Use {
  std::uint64_t bytes = 0;    // with all replicas
  std::uint64_t entries = 0;  // files and directories
  bool operator==(const Use&) const = default;

  Use& operator+=(const Use& other) {
    bytes += other.bytes;
    entries += other.entries;
    return *this;
  }
  Use& operator-=(const Use& other) {
    bytes -= other.bytes;
    entries -= other.entries;
    return *this;
  }
};

inline constexpr std::uint64_t kNoQuota = std::numeric_limits<std::uint64_t>::max();

struct Quota {
  std::uint64_t bytes = kNoQuota;
  std::uint64_t entries = kNoQuota;
  bool operator==(const Quota&) const = default;

  [[nodiscard]] bool none() const { return bytes == kNoQuota && entries == kNoQuota; }
};

// The quota of a directory or of a user, with what counts against it.
struct QuotaState {
  std::string directory = {};  // its path; empty for a user
  std::string user = {};       // empty for a directory
  Quota quota = {};
  Use use = {};       // of files and directories that exist
  Use reserved = {};  // for files that are being written
};

}  // namespace millrace::dfs
