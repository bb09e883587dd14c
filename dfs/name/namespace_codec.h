// SPDX-License-Identifier: Apache-2.0
// The stored form of the namespace: the keys and values of dfs/name/namespace.h. Thread rule: free functions, any
// thread.
//   "f"                       the root, once its owner, group or mode was changed
//   "f/" parent:8 name        an entry of the directory with this id (0 is the root), a directory or a file
//   "o/" file:8               an open file
//   "o/" file:8 block:8       a block allocated to it; sorts after its file. It has no value until it is synced
//   "q/d" directory:8         the quota of a directory
//   "q/u" name                the quota of a user
//   "i"                       the first id that is not reserved
// Numbers in keys are big-endian, so that byte order is numeric order. Every value begins with a version byte. Version
// 3 has groups and modes; version 2, which is still read, means no group and the default modes of new entries. Programs
// that do not know version 3 refuse it. Programs that do not know quotas skip them, and leave that of a directory which
// they remove; it belongs to nobody, since ids do not come again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "dfs/name/types.h"
#include "dfs/wire/quota.h"

namespace millrace::dfs {

inline constexpr std::string_view kRootKey = "f";
inline constexpr std::string_view kEntryPrefix = "f/";
inline constexpr std::string_view kOpenPrefix = "o/";
inline constexpr std::string_view kQuotaPrefix = "q/";
inline constexpr std::string_view kIdKey = "i";

struct EntryKey {
  FileId parent = 0;
  std::string_view name;
};

struct OpenKey {
  FileId file = 0;
  BlockId block = 0;  // 0: the key of the file itself
};

// The fields that are stored for directories and files alike.
struct StoredNode {
  FileId id = 0;
  Micros modified = 0;
  std::string_view owner;
  std::string_view group;
  Mode mode = 0;
};

struct StoredEntry {
  bool directory = false;
  StoredNode node;
  std::uint32_t replication = 0;  // for a file only, like all below
  std::uint64_t block_size = 0;
  std::vector<Block> blocks;
};

struct StoredOpenFile {
  std::string_view path;
  std::string_view owner;
  std::string_view writer;
  Micros created = 0;
  std::uint32_t replication = 0;
  std::uint64_t block_size = 0;
  bool overwrite = false;
  bool orphaned = false;
  Mode mode = kFileMode;
};

[[nodiscard]] std::string EncodeEntryKey(FileId parent, std::string_view name);
[[nodiscard]] std::string EncodeOpenKey(FileId file);
[[nodiscard]] std::string EncodeOpenBlockKey(FileId file, BlockId block);
// The Decode functions return kCorrupt, without the name of the key, if they fail. Views in their results point into
// the argument.
[[nodiscard]] Result<EntryKey> DecodeEntryKey(std::string_view key);
[[nodiscard]] Result<OpenKey> DecodeOpenKey(std::string_view key);

[[nodiscard]] std::string EncodeDirectory(const StoredNode& node);
[[nodiscard]] std::string EncodeFile(const StoredNode& node, std::uint32_t replication, std::uint64_t block_size,
                                     const std::vector<Block>& blocks);
[[nodiscard]] Result<StoredEntry> DecodeEntry(std::string_view value);
[[nodiscard]] std::string EncodeOpenFile(const StoredOpenFile& file);
[[nodiscard]] Result<StoredOpenFile> DecodeOpenFile(std::string_view value);
// A synced block: its position in its file (from 0), and the block without its number, which is in the key.
struct StoredSynced {
  std::uint64_t position = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
};
[[nodiscard]] std::string EncodeSynced(const StoredSynced& synced);
[[nodiscard]] Result<StoredSynced> DecodeSynced(std::string_view value);
[[nodiscard]] std::string EncodeQuotaKey(FileId directory);
[[nodiscard]] std::string EncodeQuotaKey(std::string_view user);
struct QuotaKey {
  FileId directory = 0;
  std::string_view user;  // empty: the quota is that of the directory
};
[[nodiscard]] Result<QuotaKey> DecodeQuotaKey(std::string_view key);
[[nodiscard]] std::string EncodeQuota(const Quota& quota);
[[nodiscard]] Result<Quota> DecodeQuota(std::string_view value);
[[nodiscard]] std::string EncodeIdLimit(std::uint64_t limit);
[[nodiscard]] Result<std::uint64_t> DecodeIdLimit(std::string_view value);

// Returns a stored key in the form for messages: its numbers in decimal, except for block numbers, which are written as
// everywhere (dfs/wire/blocks.h), and its name quoted.
[[nodiscard]] std::string DescribeKey(std::string_view key);

}  // namespace millrace::dfs
