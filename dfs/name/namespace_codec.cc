// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/namespace_codec.h"

#include <optional>

#include "base/archive.h"
#include "base/text.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kWithoutModes = 2;
constexpr std::size_t kNumberBytes = 8;
enum EntryKind : std::uint8_t { kDirectory = 0, kFile = 1 };

void AppendNumber(std::uint64_t n, std::string* key) {
  for (int shift = 56; shift >= 0; shift -= 8) *key += static_cast<char>(n >> shift);
}

std::uint64_t ReadNumber(std::string_view eight) {
  std::uint64_t n = 0;
  for (const char c : eight) n = n << 8 | static_cast<unsigned char>(c);
  return n;
}

std::string BeginKey(std::string_view prefix, std::uint64_t n) {
  std::string key(prefix);
  AppendNumber(n, &key);
  return key;
}

void VersionField(auto& archive) {
  archive.Version(kWithoutModes, kVersion, [](int version) {
    return Corrupt("format version " + std::to_string(version) + ", this program knows " +
                   std::to_string(kWithoutModes) + " and " + std::to_string(kVersion));
  });
}

void ModeField(auto& archive, auto& mode) {
  archive.Varint(mode);
  archive.Check(mode <= kAllModeBits, [&] { return Corrupt("a mode of " + std::to_string(mode)); });
}

void ShapeFields(auto& archive, auto& replication, auto& block_size) {
  archive.Varint(replication, block_size);
  archive.Check(replication >= 1 && replication <= kMaxReplication,
                [&] { return Corrupt("replication " + std::to_string(replication)); });
  archive.Check(block_size >= kMinBlockSize && block_size <= kMaxBlockSize,
                [&] { return Corrupt("block size " + std::to_string(block_size)); });
}

// A StoredEntry that is written, of parts that the caller has.
struct EntryParts {
  const StoredNode& node;
  std::uint32_t replication = 0;
  std::uint64_t block_size = 0;
  const std::vector<Block>& blocks = {};
};

bool IsValidName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

constexpr auto kEntryFields = [](auto& archive, auto& kind, auto& entry) {
  VersionField(archive);
  archive.U8(kind);
  archive.Check(kind <= kFile, [] { return Corrupt("neither a directory nor a file"); });
  archive.Varint(entry.node.id);
  archive.U64(entry.node.modified);
  archive.Text(entry.node.owner);
  if (archive.Has(kVersion)) {
    archive.Text(entry.node.group);
    ModeField(archive, entry.node.mode);
  }
  if (kind != kFile) return;
  ShapeFields(archive, entry.replication, entry.block_size);
  archive.List(entry.blocks, [&](auto& in, auto& block) {
    in.U64(block.id);
    in.Varint(block.length);
    in.U32(block.crc);
    in.Check(block.length <= entry.block_size, [] { return Corrupt("a block longer than the block size"); });
  });
};

constexpr auto kOpenFileFields = [](auto& archive, auto& file) {
  VersionField(archive);
  archive.Bits(file.overwrite, file.orphaned);
  archive.Text(file.path, file.owner, file.writer);
  archive.U64(file.created);
  ShapeFields(archive, file.replication, file.block_size);
  if (archive.Has(kVersion)) ModeField(archive, file.mode);
};

constexpr auto kSyncedFields = [](auto& archive, auto& synced) {
  VersionField(archive);
  archive.Varint(synced.position, synced.length);
  archive.U32(synced.crc);
  archive.Check(synced.length <= kMaxBlockSize,
                [&] { return Corrupt("a block of " + std::to_string(synced.length) + " bytes"); });
};

constexpr auto kQuotaFields = [](auto& archive, auto& quota) {
  VersionField(archive);
  archive.U64(quota.bytes, quota.entries);
};

constexpr auto kIdLimitFields = [](auto& archive, auto& limit) {
  VersionField(archive);
  archive.U64(limit);
};

std::string Encode(std::uint8_t kind, const EntryParts& entry) {
  Writing archive;
  kEntryFields(archive, kind, entry);
  return archive.Take();
}

}  // namespace

std::string EncodeEntryKey(FileId parent, std::string_view name) { return BeginKey(kEntryPrefix, parent).append(name); }

std::string EncodeOpenKey(FileId file) { return BeginKey(kOpenPrefix, file); }

std::string EncodeOpenBlockKey(FileId file, BlockId block) {
  std::string key = BeginKey(kOpenPrefix, file);
  AppendNumber(block, &key);
  return key;
}

Result<EntryKey> DecodeEntryKey(std::string_view key) {
  if (!key.starts_with(kEntryPrefix) || key.size() < kEntryPrefix.size() + kNumberBytes)
    return Corrupt("key too short");
  key.remove_prefix(kEntryPrefix.size());
  const EntryKey decoded{ReadNumber(key.substr(0, kNumberBytes)), key.substr(kNumberBytes)};
  if (!IsValidName(decoded.name)) return Corrupt("not the name of an entry");
  return decoded;
}

Result<OpenKey> DecodeOpenKey(std::string_view key) {
  if (!key.starts_with(kOpenPrefix)) return Corrupt("not the key of an open file");
  key.remove_prefix(kOpenPrefix.size());
  if (key.size() == kNumberBytes) return OpenKey{ReadNumber(key), 0};
  if (key.size() != 2 * kNumberBytes) return Corrupt("key of a wrong length");
  const OpenKey decoded{ReadNumber(key.substr(0, kNumberBytes)), ReadNumber(key.substr(kNumberBytes))};
  if (decoded.block == 0) return Corrupt("block 0 does not exist");
  return decoded;
}

std::string EncodeDirectory(const StoredNode& node) { return Encode(kDirectory, {.node = node}); }

std::string EncodeFile(const StoredNode& node, std::uint32_t replication, std::uint64_t block_size,
                       const std::vector<Block>& blocks) {
  return Encode(kFile, {node, replication, block_size, blocks});
}

Result<StoredEntry> DecodeEntry(std::string_view value) {
  Reading archive(value);
  std::uint8_t kind = kDirectory;
  StoredEntry entry;
  kEntryFields(archive, kind, entry);
  MILLRACE_TRY(archive.Finish("value"));
  entry.directory = kind == kDirectory;
  if (!archive.Has(kVersion)) entry.node.mode = entry.directory ? kDirectoryMode : kFileMode;
  return entry;
}

std::string EncodeOpenFile(const StoredOpenFile& file) { return WriteFields(file, kOpenFileFields); }

Result<StoredOpenFile> DecodeOpenFile(std::string_view value) {
  MILLRACE_ASSIGN(const StoredOpenFile file, ReadFields<StoredOpenFile>(value, "value", kOpenFileFields));
  const Result<std::string> canonical = CanonicalPath(file.path);
  if (!canonical.ok() || *canonical != file.path) return Corrupt("its path is not canonical");
  return file;
}

std::string EncodeSynced(const StoredSynced& synced) { return WriteFields(synced, kSyncedFields); }

Result<StoredSynced> DecodeSynced(std::string_view value) {
  return ReadFields<StoredSynced>(value, "value", kSyncedFields);
}

std::string EncodeQuotaKey(FileId directory) { return BeginKey(std::string(kQuotaPrefix) + "d", directory); }

std::string EncodeQuotaKey(std::string_view user) { return (std::string(kQuotaPrefix) + "u").append(user); }

Result<QuotaKey> DecodeQuotaKey(std::string_view key) {
  if (!key.starts_with(kQuotaPrefix) || key.size() <= kQuotaPrefix.size() + 1) return Corrupt("key too short");
  key.remove_prefix(kQuotaPrefix.size());
  const char kind = key[0];
  key.remove_prefix(1);
  if (kind == 'u') return QuotaKey{.directory = 0, .user = key};
  if (kind != 'd' || key.size() != kNumberBytes) return Corrupt("not the key of a quota");
  return QuotaKey{.directory = ReadNumber(key), .user = {}};
}

std::string EncodeQuota(const Quota& quota) { return WriteFields(quota, kQuotaFields); }

Result<Quota> DecodeQuota(std::string_view value) { return ReadFields<Quota>(value, "value", kQuotaFields); }

std::string EncodeIdLimit(std::uint64_t limit) { return WriteFields(limit, kIdLimitFields); }

Result<std::uint64_t> DecodeIdLimit(std::string_view value) {
  return ReadFields<std::uint64_t>(value, "value", kIdLimitFields);
}

std::string DescribeKey(std::string_view key) {
  const std::size_t begin = kEntryPrefix.size();  // both prefixes have this length
  if (key.size() < begin + kNumberBytes) return Quote(key);
  const std::string head =
      std::string(key.substr(0, begin)) + std::to_string(ReadNumber(key.substr(begin, kNumberBytes)));
  key.remove_prefix(begin + kNumberBytes);
  if (key.empty()) return head;
  const bool is_block = head.starts_with(kOpenPrefix) && key.size() == kNumberBytes;
  return head + "/" + (is_block ? BlockText(ReadNumber(key)) : Quote(key));
}

}  // namespace millrace::dfs
