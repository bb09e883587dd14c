// SPDX-License-Identifier: Apache-2.0
#include "client/job/side_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "client/solo/local_input.h"
#include "tests/client/api/memory_input.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class SideFilesTest : public ::testing::Test {
 protected:
  SideFilesTest() {
    input_.files["/a/one"] = std::string(3'000'000, 'x') + "end";
    input_.files["/a/two"] = "two";
    input_.files["/b"] = "b";
    input_.files["/nothing"] = "";
  }
  [[nodiscard]] std::string Space() const { return directory_.path() + "/shared"; }

  MemoryInput input_;
  TempDir directory_ = TempDir::Make("side-files-test-").value();
};

TEST_F(SideFilesTest, MapsWhatReadReads) {
  SideFiles files(input_, {Space()});
  for (const char* path : {"/a", "/a/one", "/b", "/nothing"}) {
    const auto mapped = files.Map(path);
    ASSERT_TRUE(mapped.ok()) << path << mapped.status().message();
    EXPECT_TRUE(*mapped == files.Read(path).value()) << path;
    EXPECT_EQ(mapped->data(), files.Map(path)->data()) << "one mapping";
  }
  EXPECT_EQ(*files.Map("/a"), input_.files["/a/one"] + "two");
  EXPECT_EQ(files.Map("/c").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(files.Read("/a", 3'000'005).status().message(), HasSubstr("MapFile"));
}

TEST_F(SideFilesTest, IsCopiedOnceForAllTasks) {
  Counter copied;
  SideFiles first(input_, {Space()});
  EXPECT_EQ(first.Map("/a/one", {&copied, nullptr})->size(), 3'000'003u);
  EXPECT_EQ(copied.value(), 3'000'003);
  EXPECT_EQ(input_.opened, 1);
  SideFiles second(input_, {Space()});
  EXPECT_EQ(second.Map("/a/one", {&copied, nullptr})->substr(3'000'000), "end");
  EXPECT_EQ(input_.opened, 1) << "the copy of the first is there";
  EXPECT_EQ(second.Map("/a/two").value(), "two");
  ASSERT_TRUE(RemoveTree(Space()).ok());
  EXPECT_EQ(first.Map("/a/one")->substr(3'000'000), "end") << "what is mapped stays";
}

TEST_F(SideFilesTest, TasksThatWantItAtOnceWait) {
  std::vector<std::thread> tasks;
  std::vector<MemoryInput> inputs(8, input_);
  for (MemoryInput& input : inputs) {
    tasks.emplace_back([&] {
      SideFiles files(input, {Space()});
      EXPECT_TRUE(files.Map("/a").value() == input_.files["/a/one"] + "two");
    });
  }
  for (std::thread& task : tasks) task.join();
  int opened = 0;
  for (const MemoryInput& input : inputs) opened += input.opened;
  EXPECT_EQ(opened, 2) << "two files, read by one task";
}

TEST_F(SideFilesTest, ACopyThatWasNotFinishedIsWrittenAnew) {
  ASSERT_TRUE(MakeDirectories(Space() + "/+a/+one").ok());
  ASSERT_TRUE(WriteFileDurably(Space() + "/+a/+one/part", std::string(5'000'000, '?')).ok());
  SideFiles files(input_, {Space()});
  EXPECT_TRUE(*files.Map("/a/one") == input_.files["/a/one"]);
}

TEST_F(SideFilesTest, RoomIsBounded) {
  SideFiles files(input_, {Space(), 3'000'010});
  ASSERT_TRUE(files.Map("/a/one").ok());
  ASSERT_TRUE(files.Map("/a/two").ok());
  input_.files["/more"] = "12345";
  const auto refused = files.Map("/more");
  EXPECT_EQ(refused.status().code(), StatusCode::kNoSpace);
  EXPECT_THAT(refused.status().message(), HasSubstr("task.mapped_files"));
  SideFiles greedy(input_, {Space() + "2", std::uint64_t{1} << 62, std::uint64_t{1} << 60});
  EXPECT_EQ(greedy.Map("/b").status().code(), StatusCode::kNoSpace);
  EXPECT_THAT(greedy.Map("/b").status().message(), HasSubstr("to stay free"));
}

TEST_F(SideFilesTest, AFileOfThisMachineIsMappedWhereItLies) {
  const std::string path = directory_.path() + "/local";
  ASSERT_TRUE(WriteFileDurably(path, "local bytes").ok());
  solo::LocalInput local({{"/named", path}});
  SideFiles files(local, {Space()});
  EXPECT_EQ(files.Map("/named").value(), "local bytes");
  EXPECT_EQ(files.Map(path).value(), "local bytes");
  struct stat entry {};
  EXPECT_NE(::stat(Space().c_str(), &entry), 0) << "nothing was copied";
}

}  // namespace
}  // namespace millrace
