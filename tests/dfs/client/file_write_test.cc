// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "tests/dfs/client/client_fixture.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class FileWriteTest : public ClientTest {
 protected:
  static std::uint64_t Length(const std::vector<WrittenBlock>& blocks) {
    return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const WrittenBlock& block) { return sum + block.length; });
  }
  [[nodiscard]] std::string IdOf(const std::string& path) {
    const std::lock_guard lock(master_.mutex);
    for (const auto& [id, file] : master_.open) {
      if (file.path == path) return std::to_string(id);
    }
    return "none";
  }
};

TEST_F(FileWriteTest, SizesAroundABlock) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, kBlockSize - 1, kBlockSize, kBlockSize + 1, 3 * kBlockSize + 7}) {
    SCOPED_TRACE(size);
    const std::string path = "/" + std::to_string(size), data = RandomBytes(size, size + 1);
    WriteFile(path, data);
    const std::vector<WrittenBlock> blocks = BlocksOf(path);
    EXPECT_EQ(blocks.size(), (size + kBlockSize - 1) / kBlockSize);
    EXPECT_EQ(Length(blocks), size);
    for (const WrittenBlock& block : blocks) EXPECT_THAT(block.nodes, UnorderedElementsAre(1_n, 2_n, 3_n));
    EXPECT_TRUE(ReadFile(path) == data);
  }
}

TEST_F(FileWriteTest, ManySmallWrites) {
  const std::string data = RandomBytes(2 * kBlockSize, 3);
  const auto writer = Create("/f");
  for (std::size_t at = 0; at < data.size(); at += 4097) Ok(writer->Write(std::string_view(data).substr(at, 4097)));
  EXPECT_EQ(writer->bytes(), data.size());
  Ok(writer->Close());
  EXPECT_TRUE(ReadFile("/f") == data);
}

TEST_F(FileWriteTest, OnANodesMachineItNeedsNoNetwork) {
  {
    const std::lock_guard lock(master_.mutex);
    ReplicaHost here = nodes_[0]->Local();
    here.port = 1;  // nothing listens there, so TCP would fail
    master_.places = {here};
  }
  const std::string data = RandomBytes(2 * kBlockSize + 7, 3);
  WriteFile("/f", data);
  EXPECT_THAT(BlocksOf("/f").at(0).nodes, UnorderedElementsAre(1_n));
  EXPECT_TRUE(ReadFile("/f") == data);
}

TEST_F(FileWriteTest, ItIsInvisibleUntilItIsClosed) {
  const auto writer = Create("/f");
  Ok(writer->Write(RandomBytes(kBlockSize + 5, 4)));
  EXPECT_EQ(client_->Stat("/f").status().code(), StatusCode::kNotFound);
  Ok(writer->Close());
  EXPECT_EQ(client_->Stat("/f").value().length, kBlockSize + 5);
}

TEST_F(FileWriteTest, DestroyedItIsGivenUp) {
  std::string id;
  {
    const auto writer = Create("/f");
    id = IdOf("/f");
    Ok(writer->Write("some"));
  }
  master_.AwaitCall("abandon " + id);
  EXPECT_EQ(client_->Stat("/f").status().code(), StatusCode::kNotFound);
}

TEST_F(FileWriteTest, WhatWasSyncedStaysWhenItIsGivenUp) {
  const std::string data = RandomBytes(kBlockSize + 100, 11);
  std::string id;
  {
    const auto writer = Create("/f");
    id = IdOf("/f");
    Ok(writer->Write(data));
    Ok(writer->Sync());
    EXPECT_EQ(client_->Stat("/f").status().code(), StatusCode::kNotFound);
    Ok(writer->Write("which is in no sync"));
  }
  master_.AwaitCall("abandon " + id);
  EXPECT_TRUE(ReadFile("/f") == data);
}

TEST_F(FileWriteTest, ASyncOfNothingNewCostsNothing) {
  const auto writer = Create("/f");
  const std::string id = IdOf("/f");
  Ok(writer->Sync());
  EXPECT_FALSE(master_.WasCalled("sync " + id + " from 0"));
  Ok(writer->Write("one "));
  Ok(writer->Sync());
  Ok(writer->Sync());
  Ok(writer->Write("two"));
  Ok(writer->Sync());
  const std::vector<std::string> calls = master_.Calls();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "sync " + id + " from 0"), 1);
  EXPECT_TRUE(master_.WasCalled("sync " + id + " from 1"));
  Ok(writer->Close());
  EXPECT_EQ(ReadFile("/f"), "one two");
  EXPECT_EQ(writer->Sync().code(), StatusCode::kInvalid);
}

TEST_F(FileWriteTest, ASyncWhoseAnswerIsLostIsASync) {
  const auto writer = Create("/f");
  const std::string id = IdOf("/f");
  Ok(writer->Write("some"));
  master_.LoseAnswerOf("sync");
  Ok(writer->Sync());
  writer->Abandon();
  master_.AwaitCall("abandon " + id);
  EXPECT_EQ(ReadFile("/f"), "some");
}

TEST_F(FileWriteTest, HandedOverItIsNotGivenUp) {
  const std::string data = RandomBytes(kBlockSize + 100, 5);
  const auto writer = Create("/part");
  const std::string id = IdOf("/part");
  Ok(writer->Write(data));
  const auto handed = writer->HandOver("job3.r.1.0").value();
  EXPECT_EQ(std::to_string(handed.file), id);
  EXPECT_EQ(handed.bytes, data.size());
  EXPECT_EQ(Length(handed.blocks), data.size());
  EXPECT_TRUE(master_.WasCalled("handOver " + id + " to job3.r.1.0"));
  master_.AwaitCall("dropped " + id);
  EXPECT_FALSE(master_.WasCalled("abandon " + id));
}

TEST_F(FileWriteTest, ANodeThatDiesInTheMiddleOfABlock) {
  const std::string data = RandomBytes(2 * kBlockSize + 5000, 6);
  const auto writer = Create("/f");
  Ok(writer->Write(std::string_view(data).substr(0, kBlockSize / 2)));
  nodes_[1]->server->Stop();
  Ok(writer->Write(std::string_view(data).substr(kBlockSize / 2)));
  Ok(writer->Close());
  EXPECT_EQ(Length(BlocksOf("/f")), data.size());
  EXPECT_THAT(BlocksOf("/f").back().nodes, UnorderedElementsAre(1_n, 3_n));
  EXPECT_TRUE(ReadFile("/f") == data);
}

TEST_F(FileWriteTest, ANodeThatRefusesIsLeftOut) {
  nodes_[0]->server->Stop();
  WriteFile("/f", "data");
  EXPECT_THAT(BlocksOf("/f").at(0).nodes, UnorderedElementsAre(2_n, 3_n));
}

TEST_F(FileWriteTest, NodesThatFailedAreAskedAgainWhenNoOtherIsLeft) {
  {
    const std::lock_guard lock(master_.mutex);
    master_.places.resize(1);
    ReplicaHost gone = master_.places[0];
    gone.port = 1;  // as if the worker were just starting again
    master_.places_once = {gone};
  }
  WriteFile("/f", "data");
  EXPECT_THAT(BlocksOf("/f").at(0).nodes, UnorderedElementsAre(1_n));
  EXPECT_EQ(ReadFile("/f"), "data");
}

TEST_F(FileWriteTest, WithoutAWorkerItFailsAndStaysFailed) {
  {
    const std::lock_guard lock(master_.mutex);
    master_.places.clear();
  }
  const auto writer = Create("/f");
  const Status failed = writer->Write("data");
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed.message(), HasSubstr("no worker has room"));
  EXPECT_FALSE(writer->Write("more").ok());
  EXPECT_FALSE(writer->Close().ok());
}

TEST_F(FileWriteTest, WhenEveryNodeKeepsFailingItGivesUp) {
  for (const auto& node : nodes_) node->server->Stop();
  const auto writer = Create("/f");
  EXPECT_FALSE(writer->Write("data").ok());
}

TEST_F(FileWriteTest, ARestartOfTheMasterInBetween) {
  const std::string data = RandomBytes(3 * kBlockSize, 7);
  const auto writer = Create("/f");
  const std::string id = IdOf("/f");
  Ok(writer->Write(std::string_view(data).substr(0, kBlockSize + 10)));
  master_.Stop();
  master_.Start();
  Ok(writer->Write(std::string_view(data).substr(kBlockSize + 10)));
  Ok(writer->Close());
  EXPECT_TRUE(master_.WasCalled("resume " + id));
  EXPECT_TRUE(ReadFile("/f") == data);
}

TEST_F(FileWriteTest, AnIdleWriterTakesItsFileUpAgain) {
  const auto writer = Create("/f");
  const std::string id = IdOf("/f");
  Ok(writer->Write("before"));
  master_.Stop();
  master_.Start();
  master_.AwaitCall("resume " + id);  // by itself: the master waits for dfs.lease_grace only
  Ok(writer->Write(" and after"));
  Ok(writer->Close());
  EXPECT_EQ(ReadFile("/f"), "before and after");
}

// This also works if the connection over which the file was opened is gone.
TEST_F(FileWriteTest, AnIdleWriterRenewsItsLease) {
  master_.renew_millis = 5;
  const auto writer = Create("/f");
  const std::string id = IdOf("/f");
  master_.AwaitCall("renew " + id);
  master_.Stop();
  master_.Start();
  master_.AwaitCall("resume " + id);
  master_.AwaitCall("renew " + id);
  Ok(writer->Close());
}

TEST_F(FileWriteTest, ACloseWhoseAnswerIsLostIsAClose) {
  const auto writer = Create("/f");
  Ok(writer->Write("data"));
  master_.LoseAnswerOf("complete");
  Ok(writer->Close());
  EXPECT_EQ(ReadFile("/f"), "data");
}

// The master that answered may have died before its disk had the file.
TEST_F(FileWriteTest, AFileWithoutBlocksIsCreatedAgainByAMasterThatForgotIt) {
  const auto writer = Create("/f"), empty = Create("/empty");
  master_.Stop();
  master_.open.clear();
  master_.Start();
  Ok(writer->Write("data"));
  Ok(writer->Close());
  Ok(empty->Close());
  EXPECT_EQ(ReadFile("/f"), "data");
  EXPECT_EQ(ReadFile("/empty"), "");
}

TEST_F(FileWriteTest, AFileWhosePathIsAnothersByNowIsSaidToBeLost) {
  const auto writer = Create("/f"), empty = Create("/empty");
  {
    const std::lock_guard lock(master_.mutex);
    master_.open.clear();
    master_.files["/f"] = master_.files["/empty"] = {100, {}};
  }
  EXPECT_EQ(writer->Write("data").code(), StatusCode::kNotFound);
  EXPECT_EQ(empty->Close().code(), StatusCode::kNotFound);
}

TEST_F(FileWriteTest, AFileThatLostABlockIsNotCreatedAgain) {
  const auto writer = Create("/f");
  Ok(writer->Write(std::string(kBlockSize, 'x')));  // a whole block, which the writer no longer has
  {
    const std::lock_guard lock(master_.mutex);
    master_.open.clear();
  }
  EXPECT_EQ(writer->Write("y").code(), StatusCode::kNotFound);
  EXPECT_FALSE(master_.files.contains("/f"));
}

TEST_F(FileWriteTest, AFileThatWasGivenUpMeanwhileIsSaidToBe) {
  const auto writer = Create("/f");
  Ok(writer->Write("data"));
  {
    const std::lock_guard lock(master_.mutex);
    master_.open.clear();
  }
  EXPECT_EQ(writer->Close().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace millrace::dfs
