// SPDX-License-Identifier: Apache-2.0
// Keys and values of the namespace in the master's database; the first byte says which.
#include "dfs/name/namespace_codec.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  const dfs::StoredOpenFile open{"/a/b", "me", "writer", 17, 3, 1 << 20, true, false, 0640};
  return {std::string(1, 0) + dfs::EncodeEntryKey(7, "name"),
          std::string(1, 1) + dfs::EncodeOpenKey(7),
          std::string(1, 1) + dfs::EncodeOpenBlockKey(7, 9),
          std::string(1, 2) + dfs::EncodeDirectory({7, 123456, "me", "us", 01777}),
          std::string(1, 2) + dfs::EncodeFile({7, 123456, "me", "us", 0640}, 3, 1 << 20, {{1, 100}, {2, 50}}),
          std::string(1, 3) + dfs::EncodeOpenFile(open),
          std::string(1, 4) + dfs::EncodeIdLimit(1000),
          std::string(1, 5) + dfs::EncodeSynced({2, 1 << 20, 0xfeedf00d})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const std::uint8_t which = draw.Byte() % 6;
  const std::string_view bytes = draw.rest();
  (void)dfs::DescribeKey(bytes);
  switch (which) {
    case 0:
      fuzz::RoundTrip(
          bytes, dfs::DecodeEntryKey, [](const dfs::EntryKey& k) { return dfs::EncodeEntryKey(k.parent, k.name); },
          "an entry's key");
      break;
    case 1:
      fuzz::RoundTrip(
          bytes, dfs::DecodeOpenKey,
          [](const dfs::OpenKey& k) {
            return k.block == 0 ? dfs::EncodeOpenKey(k.file) : dfs::EncodeOpenBlockKey(k.file, k.block);
          },
          "an open file's key");
      break;
    case 2:
      fuzz::RoundTrip(
          bytes, dfs::DecodeEntry,
          [](const dfs::StoredEntry& e) {
            return e.directory ? dfs::EncodeDirectory(e.node)
                               : dfs::EncodeFile(e.node, e.replication, e.block_size, e.blocks);
          },
          "an entry");
      break;
    case 3:
      fuzz::RoundTrip(bytes, dfs::DecodeOpenFile, dfs::EncodeOpenFile, "an open file");
      break;
    case 5:
      fuzz::RoundTrip(bytes, dfs::DecodeSynced, dfs::EncodeSynced, "a synced block");
      break;
    default:
      fuzz::RoundTrip(bytes, dfs::DecodeIdLimit, dfs::EncodeIdLimit, "the limit of ids");
  }
  return 0;
}
