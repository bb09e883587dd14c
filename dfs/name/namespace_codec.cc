#include "dfs/name/namespace_codec.h"

#include <optional>

#include "base/bytes.h"
#include "base/text.h"
#include "dfs/wire/block_name.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kWithoutModes = 2;
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kLeastBlockBytes = 13;  // the least that a stored block takes
enum EntryKind : std::uint8_t { kDirectory = 0, kFile = 1 };
enum OpenFileFlag : std::uint8_t { kOverwrite = 1, kOrphaned = 2 };

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

Result<std::uint8_t> ReadVersion(Decoder* in) {
  const std::uint8_t version = in->U8();
  if (version == kVersion || version == kWithoutModes) return version;
  return Corrupt("format version " + std::to_string(version) + ", this program knows " + std::to_string(kWithoutModes) +
                 " and " + std::to_string(kVersion));
}

Status CheckVersion(Decoder* in) { return ReadVersion(in).status(); }

Result<Mode> ReadMode(Decoder* in) {
  const std::uint64_t mode = in->Varint();
  if (mode > kAllModeBits) return Corrupt("a mode of " + std::to_string(mode));
  return static_cast<Mode>(mode);
}

bool IsValidName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

Status CheckShape(std::uint64_t replication, std::uint64_t block_size) {
  if (replication < 1 || replication > kMaxReplication) return Corrupt("replication " + std::to_string(replication));
  if (block_size < kMinBlockSize || block_size > kMaxBlockSize)
    return Corrupt("block size " + std::to_string(block_size));
  return Status::Ok();
}

Encoder BeginEntry(EntryKind kind, const StoredNode& node) {
  Encoder out;
  out.U8(kVersion);
  out.U8(kind);
  out.Varint(node.id);
  out.U64(static_cast<std::uint64_t>(node.modified));
  out.Text(node.owner);
  out.Text(node.group);
  out.Varint(node.mode);
  return out;
}

Status DecodeFile(Decoder* in, StoredEntry* entry) {
  const std::uint64_t replication = in->Varint();
  entry->block_size = in->Varint();
  const std::uint64_t count = in->Varint();
  if (in->failed() || count > in->left() / kLeastBlockBytes) return Corrupt("ends too early");
  MILLRACE_TRY(CheckShape(replication, entry->block_size));
  entry->replication = static_cast<std::uint32_t>(replication);
  entry->blocks.resize(count);
  for (Block& block : entry->blocks) {
    block.id = in->U64();
    block.length = in->Varint();
    block.crc = in->U32();
    if (block.length > entry->block_size) return Corrupt("a block longer than the block size");
  }
  return Status::Ok();
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

std::string EncodeDirectory(const StoredNode& node) { return BeginEntry(kDirectory, node).Take(); }

std::string EncodeFile(const StoredNode& node, std::uint32_t replication, std::uint64_t block_size,
                       const std::vector<Block>& blocks) {
  Encoder out = BeginEntry(kFile, node);
  out.Varint(replication);
  out.Varint(block_size);
  out.Varint(blocks.size());
  for (const Block& block : blocks) {
    out.U64(block.id);
    out.Varint(block.length);
    out.U32(block.crc);
  }
  return out.Take();
}

Result<StoredEntry> DecodeEntry(std::string_view value) {
  Decoder in(value);
  MILLRACE_ASSIGN(const std::uint8_t version, ReadVersion(&in));
  const std::uint8_t kind = in.U8();
  if (kind > kFile) return Corrupt("neither a directory nor a file");
  StoredEntry entry;
  entry.directory = kind == kDirectory;
  entry.node.id = in.Varint();
  entry.node.modified = static_cast<Micros>(in.U64());
  entry.node.owner = in.Text();
  entry.node.mode = entry.directory ? kDirectoryMode : kFileMode;
  if (version != kWithoutModes) {
    entry.node.group = in.Text();
    MILLRACE_ASSIGN(entry.node.mode, ReadMode(&in));
  }
  if (!entry.directory) MILLRACE_TRY(DecodeFile(&in, &entry));
  MILLRACE_TRY(in.Finish("value"));
  return entry;
}

std::string EncodeOpenFile(const StoredOpenFile& file) {
  Encoder out;
  out.U8(kVersion);
  out.U8(static_cast<std::uint8_t>((file.overwrite ? kOverwrite : 0) | (file.orphaned ? kOrphaned : 0)));
  out.Text(file.path);
  out.Text(file.owner);
  out.Text(file.writer);
  out.U64(static_cast<std::uint64_t>(file.created));
  out.Varint(file.replication);
  out.Varint(file.block_size);
  out.Varint(file.mode);
  return out.Take();
}

Result<StoredOpenFile> DecodeOpenFile(std::string_view value) {
  Decoder in(value);
  MILLRACE_ASSIGN(const std::uint8_t version, ReadVersion(&in));
  StoredOpenFile file;
  const std::uint8_t flags = in.U8();
  file.overwrite = (flags & kOverwrite) != 0;
  file.orphaned = (flags & kOrphaned) != 0;
  file.path = in.Text();
  file.owner = in.Text();
  file.writer = in.Text();
  file.created = static_cast<Micros>(in.U64());
  const std::uint64_t replication = in.Varint();
  file.block_size = in.Varint();
  if (version != kWithoutModes) {
    MILLRACE_ASSIGN(file.mode, ReadMode(&in));
  }
  MILLRACE_TRY(in.Finish("value"));
  MILLRACE_TRY(CheckShape(replication, file.block_size));
  file.replication = static_cast<std::uint32_t>(replication);
  if (flags > (kOverwrite | kOrphaned)) return Corrupt("unknown flags");
  const Result<std::string> canonical = CanonicalPath(file.path);
  if (!canonical.ok() || *canonical != file.path) return Corrupt("its path is not canonical");
  return file;
}

std::string EncodeSynced(const StoredSynced& synced) {
  Encoder out;
  out.U8(kVersion);
  out.Varint(synced.position);
  out.Varint(synced.length);
  out.U32(synced.crc);
  return out.Take();
}

Result<StoredSynced> DecodeSynced(std::string_view value) {
  Decoder in(value);
  MILLRACE_TRY(CheckVersion(&in));
  StoredSynced synced;
  synced.position = in.Varint();
  synced.length = in.Varint();
  synced.crc = in.U32();
  MILLRACE_TRY(in.Finish("value"));
  if (synced.length > kMaxBlockSize) return Corrupt("a block of " + std::to_string(synced.length) + " bytes");
  return synced;
}

std::string EncodeIdLimit(std::uint64_t limit) {
  Encoder out;
  out.U8(kVersion);
  out.U64(limit);
  return out.Take();
}

Result<std::uint64_t> DecodeIdLimit(std::string_view value) {
  Decoder in(value);
  MILLRACE_TRY(CheckVersion(&in));
  const std::uint64_t limit = in.U64();
  MILLRACE_TRY(in.Finish("value"));
  return limit;
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
