// SPDX-License-Identifier: Apache-2.0
#include "tests/dfs/tools/fs_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

namespace millrace::dfs::testing {
namespace {

Fd Memory(const std::string& data = {}) {
  Fd fd(::memfd_create("console", MFD_CLOEXEC));
  EXPECT_TRUE(WriteAllAt(fd.get(), data, 0, "memory").ok());
  return fd;
}

std::string Contents(const Fd& fd) {
  std::string data(FileSize(fd.get(), "memory").value(), '\0');
  EXPECT_TRUE(ReadExactlyAt(fd.get(), data.data(), data.size(), 0, "memory").ok());
  return data;
}

}  // namespace

FsTest::FsTest() : dir_(TempDir::Make("fs-test-").value()) {}

Ran FsTest::Run(const std::vector<std::string>& args, const std::string& in) {
  const Fd input = Memory(in);
  return RunFrom(args, input.get());
}

Ran FsTest::RunFrom(const std::vector<std::string>& args, int in) {
  const Fd out = Memory(), err = Memory();
  FsContext context;
  context.console = {.in = in, .out = out.get(), .err = err.get(), .out_is_terminal = out_is_terminal_};
  context.connect = [this]() -> Result<std::unique_ptr<DfsClient>> {
    ++connects_;
    if (!reachable_) return Unavailable("cannot reach the master at nowhere:1: refused; is it running?");
    return MakeFakeClient(tree_);
  };
  Ran ran;
  ran.status = RunFsCommand(args, context);
  ran.out = Contents(out);
  ran.err = Contents(err);
  return ran;
}

void FsTest::Refuses(int status, const std::vector<std::string>& args, const std::vector<std::string>& mentions) {
  const Ran ran = Run(args);
  EXPECT_EQ(ran.status, status) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_TRUE(ran.err.starts_with("millrace: fs")) << ran.err;
  for (const std::string& mention : mentions) EXPECT_NE(ran.err.find(mention), std::string::npos) << ran.err;
}

std::string FsTest::MakeLocal(const std::string& name, const std::string& data) {
  const std::string path = Local(name);
  EXPECT_TRUE(MakeDirectories(path.substr(0, path.rfind('/'))).ok());
  const Fd fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC).value();
  EXPECT_TRUE(WriteAll(fd.get(), data, path).ok());
  return path;
}

std::vector<std::string> FsTest::LocalNames(const std::string& directory) const {
  return ListDirectory(Local(directory)).value();
}

}  // namespace millrace::dfs::testing
