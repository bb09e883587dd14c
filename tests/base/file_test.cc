// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace {
namespace {

class FileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return directory_->path() + "/" + name; }
  Result<TempDir> directory_ = TempDir::Make("file");
};

bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST_F(FileTest, FdIsClosedOnce) {
  int raw = -1;
  {
    Fd fd = *OpenFile("/dev/null", O_RDONLY);
    raw = fd.get();
    EXPECT_EQ(::fcntl(raw, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    Fd moved = std::move(fd);
    EXPECT_FALSE(fd.valid());  // NOLINT: the state after a move is defined here
    EXPECT_EQ(moved.get(), raw);
    EXPECT_TRUE(IsOpen(raw));
  }
  EXPECT_FALSE(IsOpen(raw));
  Fd kept = *OpenFile("/dev/null", O_RDONLY);
  const Fd owner(kept.Release());
  EXPECT_FALSE(kept.valid());
  EXPECT_TRUE(IsOpen(owner.get()));
}

TEST_F(FileTest, OpenSaysWhichFileAndWhy) {
  const auto absent = OpenFile(Path("absent"), O_RDONLY);
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  EXPECT_NE(absent.status().message().find(Path("absent")), std::string::npos);
  EXPECT_EQ(OpenFile(directory_->path(), O_CREAT | O_EXCL | O_RDWR).status().code(), StatusCode::kExists);
}

TEST_F(FileTest, WritesAndReadsAtOffsets) {
  const Fd fd = *OpenFile(Path("f"), O_RDWR | O_CREAT);
  ASSERT_TRUE(WriteAll(fd.get(), "0123456789", "f").ok());
  ASSERT_TRUE(WriteAllAt(fd.get(), "abc", 8, "f").ok());
  EXPECT_EQ(*FileSize(fd.get(), "f"), 11u);
  EXPECT_EQ(*ReadWholeFile(Path("f")), "01234567abc");
  char part[4];
  ASSERT_TRUE(ReadExactlyAt(fd.get(), part, 4, 7, "f").ok());
  EXPECT_EQ(std::string_view(part, 4), "7abc");
  EXPECT_EQ(ReadExactlyAt(fd.get(), part, 4, 8, "f").code(), StatusCode::kCorrupt);
  EXPECT_EQ(WriteAll(-1, "x", "f").code(), StatusCode::kIo);
}

TEST_F(FileTest, DurableWriteReplacesAndLeavesNothingAside) {
  ASSERT_TRUE(WriteFileDurably(Path("f"), "old").ok());
  ASSERT_TRUE(WriteFileDurably(Path("f"), std::string(300'000, 'n')).ok());
  EXPECT_EQ(ReadWholeFile(Path("f"))->size(), 300'000u);
  EXPECT_EQ(*ListDirectory(directory_->path()), std::vector<std::string>{"f"});
  EXPECT_FALSE(WriteFileDurably(Path("absent/f"), "x").ok());
}

TEST_F(FileTest, Directories) {
  ASSERT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(WriteFileDurably(Path("a/z"), "").ok());
  ASSERT_TRUE(WriteFileDurably(Path("a/k"), "").ok());
  EXPECT_EQ(*ListDirectory(Path("a")), (std::vector<std::string>{"b", "k", "z"}));
  EXPECT_FALSE(MakeDirectories(Path("a/z/c")).ok());
  EXPECT_EQ(ListDirectory(Path("absent")).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(SyncDirectory(Path("a")).ok());
  ASSERT_TRUE(RemoveTree(Path("a")).ok());
  ASSERT_TRUE(RemoveTree(Path("a")).ok());
  EXPECT_EQ(ListDirectory(directory_->path())->size(), 0u);
}

TEST_F(FileTest, MapsAnyRange) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += static_cast<char>('a' + i % 23);
  ASSERT_TRUE(WriteFileDurably(Path("f"), text).ok());
  Fd fd = *OpenFile(Path("f"), O_RDONLY);
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{0, 20'000},
                                     {1, 5},
                                     {4096, 4096},
                                     {4095, 2},
                                     {19'999, 1},
                                     {20'000, 0},
                                     {0, 0}}) {
    const auto mapped = MappedFile::Map(fd.get(), offset, size, "f");
    ASSERT_TRUE(mapped.ok()) << offset;
    EXPECT_EQ(mapped->bytes(), std::string_view(text).substr(offset, size)) << offset;
  }
  EXPECT_EQ(MappedFile::Map(fd.get(), 1, 20'000, "f").status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(MappedFile::Map(fd.get(), ~std::uint64_t{0}, 2, "f").status().code(), StatusCode::kCorrupt);
  MappedFile first = *MappedFile::Map(fd.get(), 0, 10, "f");
  MappedFile second = std::move(first);
  fd.Close();
  EXPECT_EQ(second.bytes(), text.substr(0, 10));
}

// A page that is not there any more is to a mapping as one that the disk cannot read: who looks at it is killed.
TEST_F(FileTest, MappedBytesThatCannotBeReadAreAnError) {
  ASSERT_TRUE(WriteFileDurably(Path("f"), std::string(50'000, 'x')).ok());
  const Fd fd = *OpenFile(Path("f"), O_RDWR);
  const MappedFile mapped = *MappedFile::Map(fd.get(), 100, 49'900, "f");
  EXPECT_TRUE(mapped.Fetch(0, 49'900, "f").ok());
  EXPECT_TRUE(mapped.Fetch(49'899, 1, "f").ok());
  EXPECT_TRUE(mapped.Fetch(49'900, 10, "f").ok()) << "nothing is there to be read";
  ASSERT_EQ(::ftruncate(fd.get(), 30'000), 0);
  EXPECT_TRUE(mapped.Fetch(0, 20'000, "f").ok());
  const Status lost = mapped.Fetch(0, 49'900, "f");
  if (lost.ok()) GTEST_SKIP() << "this kernel cannot tell";
  EXPECT_EQ(lost.code(), StatusCode::kIo);
  EXPECT_EQ(mapped.Fetch(40'000, 1, "f").code(), StatusCode::kIo);
}

TEST_F(FileTest, WhatAnEarlierTryLeftIsNotWrittenOver) {
  ASSERT_TRUE(WriteFileDurably(Path("f"), "old").ok());
  const Fd left = *OpenFile(Path("f.tmp"), O_RDWR | O_CREAT);
  ASSERT_TRUE(WriteFileDurably(Path("f"), "new").ok());
  EXPECT_EQ(*FileSize(left.get(), "f.tmp"), 0u) << "it was another file";
  EXPECT_EQ(*ReadWholeFile(Path("f")), "new");
}

TEST_F(FileTest, SyncsWholeTrees) {
  ASSERT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(WriteFileDurably(Path("a/b/f"), "x").ok());
  EXPECT_TRUE(SyncTree(Path("a")).ok());
  EXPECT_EQ(SyncTree(Path("absent")).code(), StatusCode::kNotFound);
}

TEST(TempDirTest, IsRemovedUnlessKept) {
  std::string path;
  {
    Result<TempDir> directory = TempDir::Make("temp");
    path = directory->path();
    ASSERT_TRUE(WriteFileDurably(path + "/f", "x").ok());
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  {
    Result<TempDir> directory = TempDir::Make("temp");
    path = directory->Keep();
  }
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  EXPECT_TRUE(RemoveTree(path).ok());
}

}  // namespace
}  // namespace millrace
