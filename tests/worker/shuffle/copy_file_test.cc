#include "worker/daemon/shuffle/copy_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace millrace::shuffle {
namespace {

class CopyFileTest : public testing::Test {
 protected:
  TempDir dir_ = std::move(*TempDir::Make("copy-file"));
  std::string path_ = dir_.path() + "/copy";
  CopyFile file_{path_};
};

TEST_F(CopyFileTest, GivesRoomOnceAndAgainWhenItIsReleased) {
  EXPECT_EQ(file_.Reserve(10).offset, 0u);
  const auto second = file_.Reserve(20);
  EXPECT_EQ(second.offset, 10u);
  EXPECT_EQ(file_.Reserve(5).offset, 30u);
  file_.Release(second);
  EXPECT_EQ(file_.Reserve(21).offset, 35u);  // does not fit
  EXPECT_EQ(file_.Reserve(15).offset, 10u);
  EXPECT_EQ(file_.Reserve(5).offset, 25u);
  EXPECT_EQ(file_.Reserve(1).offset, 56u);
}

TEST_F(CopyFileTest, TakesBackRoomAtTheEnd) {
  const auto first = file_.Reserve(std::uint64_t{1} << 40);
  file_.Release(first);
  EXPECT_EQ(file_.Reserve(1).offset, 0u);
}

TEST_F(CopyFileTest, IsCreatedByTheFirstWriteAndReplacesWhatWasThere) {
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
  ASSERT_TRUE(WriteFileDurably(path_, "something older and longer").ok());
  ASSERT_TRUE(file_.Write("", 0).ok());
  EXPECT_EQ(*ReadWholeFile(path_), "");
  ASSERT_TRUE(file_.Write("def", 3).ok());
  ASSERT_TRUE(file_.Write("abc", 0).ok());
  EXPECT_EQ(*ReadWholeFile(path_), "abcdef");
}

TEST_F(CopyFileTest, SaysWhichFileFailed) {
  CopyFile nowhere(dir_.path() + "/missing/copy");
  const Status status = nowhere.Write("x", 0);
  EXPECT_NE(status.message().find("missing/copy"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millrace::shuffle
