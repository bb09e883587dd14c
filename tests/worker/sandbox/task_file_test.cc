#include "worker/sandbox/task_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::sandbox {
namespace {

class TaskFile : public testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  TempDir directory_ = TempDir::Make("task-file").value();
};

TEST_F(TaskFile, RegularFilesAreOpenedAndMade) {
  ASSERT_TRUE(OpenTaskFile(Path("file"), O_WRONLY | O_CREAT).ok());
  EXPECT_TRUE(OpenTaskFile(Path("file"), O_RDONLY).ok());
  EXPECT_EQ(OpenTaskFile(Path("none"), O_RDONLY).status().code(), StatusCode::kNotFound);
}

TEST_F(TaskFile, NothingElseIs) {
  ASSERT_TRUE(OpenTaskFile(Path("file"), O_WRONLY | O_CREAT).ok());
  ASSERT_EQ(symlink(Path("file").c_str(), Path("link").c_str()), 0);
  ASSERT_EQ(symlink(Path("new").c_str(), Path("to-new").c_str()), 0);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(Path("directory").c_str(), 0700), 0);
  for (const char* name : {"link", "pipe", "directory"})
    EXPECT_EQ(OpenTaskFile(Path(name), O_RDONLY).status().code(), StatusCode::kInvalid) << name;
  EXPECT_EQ(OpenTaskFile(Path("to-new"), O_WRONLY | O_CREAT).status().code(), StatusCode::kInvalid);
  EXPECT_NE(access(Path("new").c_str(), F_OK), 0) << "a link is not followed to make a file";
}

}  // namespace
}  // namespace millrace::sandbox
