// SPDX-License-Identifier: Apache-2.0
#include "client/process/dfs_source.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_dfs.h"

namespace millrace {
namespace {

TEST(DfsSourceTest, AFileThatWasReplacedIsRefusedOutsideOfTheSplit) {
  const auto tree = std::make_shared<dfs::testing::FakeTree>();
  tree->MakeFile("/x", "0123456789");
  tree->entries["/x"].options.block_size = 4;  // the fake numbers blocks from 7 on
  StorageAccess access;
  access.connect = [&tree](const dfs::ClientOptions&) { return dfs::testing::MakeFakeClient(tree); };
  access.map_local = [](const dfs::LocatedBlock&, const dfs::BadReplica&) -> Result<MappedFile> {
    return NotFound("not here");
  };
  Storage storage(access, {});
  // Reads from byte 6 on a split whose only block is this one.
  const auto read = [&](std::vector<dfs::LocatedBlock> blocks, std::string* out) {
    Counter local, remote, wait;
    DfsSource source(storage, "/x", 10, std::move(blocks), local, remote, wait);
    return source.ReadAt(6, 9, out);
  };
  const auto block = [](std::uint64_t id, std::uint64_t offset) {
    dfs::LocatedBlock made;
    made.id = id, made.length = 4, made.offset = offset;
    return std::vector<dfs::LocatedBlock>{made};
  };
  for (const auto& blocks : {block(8, 4), block(7, 0), std::vector<dfs::LocatedBlock>()}) {
    std::string out;
    EXPECT_TRUE(read(blocks, &out).ok());
    EXPECT_EQ(out, "6789");
  }
  for (const auto& blocks : {block(8, 0), block(90, 4)}) {
    std::string out;
    const Status refused = read(blocks, &out);
    EXPECT_EQ(refused.code(), StatusCode::kInvalid);
    EXPECT_EQ(refused.message(), "\"/x\" was replaced after the job was submitted; submit the job again");
    EXPECT_EQ(out, "");
  }
}

}  // namespace
}  // namespace millrace
