// SPDX-License-Identifier: Apache-2.0
// The bytes of the namespace in the master's database, written out by hand from the page in namespace_codec.h: a
// database outlives the program that wrote it.
#include "dfs/name/namespace_codec.h"

#include <gtest/gtest.h>

#include "tests/hex.h"

namespace millrace::dfs {
namespace {

// version 3, kind, id 300, modified 5, owner, group, mode 0750
const char kNodeOfDirectory[] = "03 00 ac02 0500000000000000 03'ann' 03'dev' e803";
const char kFile[] =
    "03 01 ac02 0500000000000000 03'ann' 03'dev' e803"
    "  02 808040 02"                       // replication 2, blocks of 1 MiB, of which there are 2
    "  0700000000000000 808040 04030201"   // block 7, whole
    "  0800000000000000 05     00000000";  // block 8
const StoredNode kNode{300, 5, "ann", "dev", 0750};

TEST(NamespaceCodecTest, ADirectory) {
  EXPECT_EQ(EncodeDirectory(kNode), Hex(kNodeOfDirectory));
  const std::string bytes = Hex(kNodeOfDirectory);
  const Result<StoredEntry> read = DecodeEntry(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->directory);
  EXPECT_EQ(read->node.owner, "ann");
  EXPECT_EQ(read->node.mode, 0750);
}

TEST(NamespaceCodecTest, AFile) {
  const std::vector<Block> blocks = {{7, 1 << 20, 0x01020304}, {8, 5, 0}};
  EXPECT_EQ(EncodeFile(kNode, 2, 1 << 20, blocks), Hex(kFile));
  const std::string bytes = Hex(kFile);
  const Result<StoredEntry> read = DecodeEntry(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_FALSE(read->directory);
  EXPECT_EQ(EncodeFile(read->node, read->replication, read->block_size, read->blocks), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(DecodeEntry(std::string_view(bytes).substr(0, size)).status().code(), StatusCode::kCorrupt) << size;
}

TEST(NamespaceCodecTest, Version2HasNoGroupAndTheModeOfNewEntries) {
  const std::string directory = Hex("02 00 07 0500000000000000 00"),
                    file = Hex("02 01 07 0500000000000000 00 01 808040 00");
  EXPECT_EQ(DecodeEntry(directory)->node.mode, kDirectoryMode);
  EXPECT_EQ(DecodeEntry(file)->node.mode, kFileMode);
}

TEST(NamespaceCodecTest, AnEntryThatCannotBeIsRefusedWithTheReason) {
  const auto why = [](std::string_view hex) { return DecodeEntry(Hex(hex)).status().message(); };
  const std::string head = "03 01 07 0500000000000000 00 00 00";
  EXPECT_EQ(why("04 00"), "format version 4, this program knows 2 and 3");
  EXPECT_EQ(why("03 02"), "neither a directory nor a file");
  EXPECT_EQ(why("03 01 07 0500000000000000 00 00 8020"), "a mode of 4096");
  EXPECT_EQ(why(head + "00 808040 00"), "replication 0");
  EXPECT_EQ(why(head + "01 01 00"), "block size 1");
  EXPECT_EQ(why(head + "01 808040 01 0700000000000000 818040 00000000"), "a block longer than the block size");
  EXPECT_EQ(why(head + "01 808040 00 00"), "value: 1 bytes too many");
  EXPECT_NE(why(head + "01 808040 ffffffffff3f 0700000000000000 818040 00000000"), "") << "more blocks than bytes";
}

TEST(NamespaceCodecTest, AnOpenFile) {
  const StoredOpenFile open{"/a", "ann", "w", 5, 2, 1 << 20, true, false, 0640};
  const std::string bytes = Hex("03 01 02'/a' 03'ann' 01'w' 0500000000000000 02 808040 a003");
  EXPECT_EQ(EncodeOpenFile(open), bytes);
  const Result<StoredOpenFile> read = DecodeOpenFile(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(EncodeOpenFile(*read), bytes);
  EXPECT_TRUE(read->overwrite && !read->orphaned);
  StoredOpenFile orphan = open;
  orphan.orphaned = true;
  EXPECT_EQ(EncodeOpenFile(orphan)[1], 3);
  EXPECT_TRUE(DecodeOpenFile(EncodeOpenFile(orphan))->orphaned);

  const auto why = [](const std::string& of) { return DecodeOpenFile(of).status().message(); };
  EXPECT_NE(why(Hex("03 04 02'/a' 00 00 0500000000000000 02 808040 a003")), "") << "unknown flags";
  EXPECT_EQ(why(Hex("03 00 01'a' 00 00 0500000000000000 02 808040 a003")), "its path is not canonical");
  EXPECT_EQ(why(Hex("03 00 02'/a' 00 00 0500000000000000 00 808040 a003")), "replication 0");
  EXPECT_EQ(DecodeOpenFile(Hex("02 00 02'/a' 00 00 0500000000000000 02 808040"))->mode, kFileMode);
}

TEST(NamespaceCodecTest, ASyncedBlockAndTheLimitOfIds) {
  EXPECT_EQ(EncodeSynced({2, 300, 0x01020304}), Hex("03 02 ac02 04030201"));
  EXPECT_EQ(DecodeSynced(Hex("02 02 ac02 04030201"))->length, 300u);
  EXPECT_NE(DecodeSynced(Hex("03 02 ffffffffffff3f 04030201")).status().message(), "") << "longer than any block";
  EXPECT_EQ(EncodeIdLimit(258), Hex("03 0201000000000000"));
  EXPECT_EQ(*DecodeIdLimit(Hex("03 0201000000000000")), 258u);
  EXPECT_EQ(DecodeIdLimit(Hex("03 02010000000000")).status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::dfs
