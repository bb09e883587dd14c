// SPDX-License-Identifier: Apache-2.0
// Tests the kinds of local paths, and the treatment of each by a command. The expectations are what cp(1) of coreutils
// does with the same places.
#include "base/local_place.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LocalPlaceTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string At(const std::string& name) const { return directory_.path() + "/" + name; }
  [[nodiscard]] std::vector<std::string> Names() const { return ListDirectory(directory_.path()).value(); }
  void Make(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const Fd fd = OpenFile(At(name), O_WRONLY | O_CREAT | O_EXCL).value();
    ASSERT_TRUE(WriteAll(fd.get(), text, name).ok());
    ASSERT_EQ(::fchmod(fd.get(), mode), 0);
  }
  void Link(const std::string& target, const std::string& name) const {
    ASSERT_EQ(::symlink(target.c_str(), At(name).c_str()), 0);
  }
  [[nodiscard]] struct stat Look(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::lstat(At(name).c_str(), &found), 0) << name;
    return found;
  }

  TempDir directory_ = TempDir::Make("local-place-test-").value();
};

TEST_F(LocalPlaceTest, WhatIsThere) {
  Make("file", "");
  ASSERT_EQ(::mkdir(At("directory").c_str(), 0755), 0);
  ASSERT_EQ(::mkfifo(At("fifo").c_str(), 0644), 0);
  Link("file", "to-file");
  Link("directory", "to-directory");
  Link("/dev/null", "to-device");
  Link("/dev/stdout", "to-descriptor");
  Link("nowhere", "dead");
  Link("loop", "loop");
  const Fd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(At("socket").size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, At("socket").c_str());
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::pair<const char*, LocalKind> table[] = {
      {"file", LocalKind::kFile},
      {"directory", LocalKind::kDirectory},
      {"fifo", LocalKind::kStream},
      {"to-file", LocalKind::kFile},
      {"to-directory", LocalKind::kDirectory},
      {"to-device", LocalKind::kStream},
      {"dead", LocalKind::kDeadLink},
      {"loop", LocalKind::kDeadLink},
      {"socket", LocalKind::kSocket},
      {"nothing", LocalKind::kNothing},
      {"no/thing", LocalKind::kNothing},
      {"file/below", LocalKind::kNothing},
      {"to-descriptor", LocalKind::kStream},
  };
  for (const auto& [name, kind] : table) EXPECT_EQ(LookAtLocal(At(name)), kind) << name;
  EXPECT_EQ(LookAtLocal("/dev/null"), LocalKind::kStream);
  // A file that is open here is taken by its descriptor, also where it has no name any more.
  const Fd file = OpenFile(At("open"), O_WRONLY | O_CREAT).value();
  EXPECT_EQ(LookAtLocal("/dev/fd/" + std::to_string(file.get())), LocalKind::kStream);
  ASSERT_EQ(::unlink(At("open").c_str()), 0);
  EXPECT_EQ(LookAtLocal("/proc/self/fd/" + std::to_string(file.get())), LocalKind::kStream);
}

TEST_F(LocalPlaceTest, AFileAppearsWhenItIsWhole) {
  {
    LocalFile file = LocalFile::Open(At("a"), {}).value();
    ASSERT_TRUE(WriteAll(file.fd(), "text", "a").ok());
    EXPECT_THAT(Names(), testing::Not(testing::Contains("a")));
    ASSERT_TRUE(file.Commit().ok());
    EXPECT_THAT(Names(), ElementsAre("a"));
  }
  EXPECT_EQ(ReadWholeFile(At("a")).value(), "text");
  { const LocalFile dropped = LocalFile::Open(At("b"), {}).value(); }
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(LocalFile::Open(At("a"), {}).status().code(), StatusCode::kExists);
  // Somebody else is faster.
  LocalFile late = LocalFile::Open(At("c"), {}).value();
  Make("c", "theirs");
  EXPECT_EQ(late.Commit().code(), StatusCode::kExists);
  EXPECT_EQ(ReadWholeFile(At("c")).value(), "theirs");
}

TEST_F(LocalPlaceTest, WhatReplacesAFileHasItsMode) {
  for (const mode_t mode : {0600, 0640, 0755, 0400}) {
    const std::string name = std::to_string(mode);
    Make(name, "old", mode);
    ASSERT_TRUE(WriteLocalFile(At(name), "new").ok());
    EXPECT_EQ(Look(name).st_mode & 07777, mode);
    EXPECT_EQ(ReadWholeFile(At(name)).value(), "new");
  }
}

TEST_F(LocalPlaceTest, AReplacedFileKeepsItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  Make("a", "old", 0604);
  ASSERT_EQ(::chown(At("a").c_str(), 1234, 4321), 0);
  ASSERT_TRUE(WriteLocalFile(At("a"), "new").ok());
  EXPECT_EQ(Look("a").st_uid, 1234u);
  EXPECT_EQ(Look("a").st_gid, 4321u);
  EXPECT_EQ(Look("a").st_mode & 07777, 0604u);
}

TEST_F(LocalPlaceTest, ALinkStaysAndWhatItNamesIsReplaced) {
  ASSERT_EQ(::mkdir(At("d").c_str(), 0755), 0);
  Make("d/file", "old");
  Link("d/file", "one");
  Link("one", "two");
  ASSERT_TRUE(WriteLocalFile(At("two"), "new").ok());
  EXPECT_TRUE(S_ISLNK(Look("one").st_mode));
  EXPECT_TRUE(S_ISLNK(Look("two").st_mode));
  EXPECT_EQ(ReadWholeFile(At("d/file")).value(), "new");
  EXPECT_THAT(Names(), ElementsAre("d", "one", "two"));
  EXPECT_EQ(LocalFile::Open(At("two"), {}).status().code(), StatusCode::kExists);
  Link("nowhere", "dead");
  const Status dead = LocalFile::Open(At("dead"), {.replace = true}).status();
  EXPECT_EQ(dead.code(), StatusCode::kExists);
  EXPECT_THAT(dead.message(), HasSubstr("\"nowhere\""));
}

TEST_F(LocalPlaceTest, ADeviceOrAFifoIsWrittenIntoAndStays) {
  ASSERT_EQ(::mkfifo(At("fifo").c_str(), 0600), 0);
  Link("/dev/null", "null");
  const Fd reader(::open(At("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  for (const bool replace : {false, true}) {
    for (const std::string& place : {At("fifo"), At("null"), std::string("/dev/null")}) {
      LocalFile file = LocalFile::Open(place, {.replace = replace}).value();
      ASSERT_TRUE(WriteAll(file.fd(), "text", place).ok());
      ASSERT_TRUE(file.Commit().ok());
    }
    char bytes[8];
    EXPECT_EQ(::read(reader.get(), bytes, sizeof bytes), 4);
  }
  EXPECT_TRUE(S_ISFIFO(Look("fifo").st_mode));
  EXPECT_TRUE(S_ISLNK(Look("null").st_mode));
  struct stat null {};
  ASSERT_EQ(::stat("/dev/null", &null), 0);
  EXPECT_TRUE(S_ISCHR(null.st_mode));
  EXPECT_THAT(Names(), ElementsAre("fifo", "null"));
  EXPECT_EQ(WriteLocalFile("/dev/full", "text").code(), StatusCode::kNoSpace);
}

// `(echo first; command -o /dev/stdout) >file`: what is there stays.
TEST_F(LocalPlaceTest, ADescriptorGoesOnWhereItIs) {
  const Fd file = OpenFile(At("a"), O_WRONLY | O_CREAT).value();
  ASSERT_TRUE(WriteAll(file.get(), "first\n", "a").ok());
  ASSERT_TRUE(WriteLocalFile("/dev/fd/" + std::to_string(file.get()), "second\n").ok());
  EXPECT_EQ(ReadWholeFile(At("a")).value(), "first\nsecond\n");
  // A socket takes it, too, although it cannot be opened.
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd ours(ends[0]), theirs(ends[1]);
  ASSERT_TRUE(WriteLocalFile("/proc/self/fd/" + std::to_string(ours.get()), "text").ok());
  char bytes[8];
  EXPECT_EQ(::read(theirs.get(), bytes, sizeof bytes), 4);
}

TEST_F(LocalPlaceTest, WhatIsNoPlaceForAFile) {
  Make("file", "x");
  const std::string name_of_256(256, 'n');
  const std::pair<std::string, std::string> table[] = {
      {directory_.path(), "is a directory"}, {At("new/"), "names a directory"},
      {At("file/x"), "is not a directory"},  {At("no/such"), "does not exist"},
      {At(name_of_256), "name is too long"}, {"s3://bucket/x", "is a URL"},
      {"file:///tmp/x", "without file://"},
  };
  for (const auto& [path, why] : table)
    EXPECT_THAT(LocalFile::Open(path, {.replace = true}).status().message(), HasSubstr(why)) << path;
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(LocalPlaceTest, ADirectoryAppearsWhenItIsWhole) {
  LocalDirectory made = LocalDirectory::Make(At("out///")).value();
  ASSERT_TRUE(WriteLocalFile(made.path() + "/part", "text").ok());
  EXPECT_NE(::access(At("out").c_str(), F_OK), 0);
  ASSERT_TRUE(made.Commit().ok());
  EXPECT_EQ(ReadWholeFile(At("out/part")).value(), "text");
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_EQ(LocalDirectory::Make(At("out")).status().code(), StatusCode::kExists);
  { const LocalDirectory dropped = LocalDirectory::Make(At("other")).value(); }
  EXPECT_THAT(Names(), ElementsAre("out"));
  // Somebody else is faster: what cannot be made again may be kept.
  LocalDirectory late = LocalDirectory::Make(At("late")).value();
  ASSERT_EQ(::mkdir(At("late").c_str(), 0755), 0);
  EXPECT_EQ(late.Commit().code(), StatusCode::kExists) << "an empty directory, too";
  const std::string kept = late.Keep();
  { const LocalDirectory gone = std::move(late); }
  EXPECT_EQ(::access(kept.c_str(), F_OK), 0);
}

TEST_F(LocalPlaceTest, WhereNoDirectoryCanBeMade) {
  Make("file", "x");
  Link("nowhere", "dead");
  const std::string longest(255, 'n');
  for (const std::string& good : {At("new"), At("new/"), At("new//"), At(longest)})
    EXPECT_TRUE(CheckNewDirectory(good).ok()) << CheckNewDirectory(good).message();
  const std::pair<std::string, std::string> table[] = {
      {At("file"), "exists already"},         {At("dead/"), "exists already"},
      {directory_.path(), "exists already"},  {At("."), "exists already"},
      {At("file/out"), "is not a directory"}, {At("no/such/out"), "no/such\" does not exist"},
      {At("new/."), "does not exist"},        {At(longest + "n"), "name is too long"},
      {"s3://bucket/out", "is a URL"},        {"file:///tmp/out", "without file://"},
  };
  for (const auto& [path, why] : table) {
    EXPECT_THAT(CheckNewDirectory(path).message(), HasSubstr(why)) << path;
    EXPECT_THAT(LocalDirectory::Make(path).status().message(), HasSubstr(why)) << path;
  }
  EXPECT_THAT(Names(), ElementsAre("dead", "file"));
}

// Runs the body as somebody who may write nowhere, since nothing is closed to root.
int AsNobody(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(LocalPlaceTest, WhatOneMayNotWriteIsSaidBefore) {
  ASSERT_EQ(::mkdir(At("closed").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(At("closed").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  EXPECT_EQ(AsNobody([&] {
              const std::string place = At("closed/out");
              return CheckNewDirectory(place).code() == StatusCode::kDenied &&
                     LocalDirectory::Make(place).status().code() == StatusCode::kDenied &&
                     LocalFile::Open(place, {}).status().code() == StatusCode::kDenied &&
                     !PrepareDirectory(At("closed")).ok();
            }),
            0);
  EXPECT_THAT(CheckNewDirectory("/proc/out").message(), HasSubstr("\"/proc/out\" cannot be made"));
}

TEST_F(LocalPlaceTest, ADirectoryIsPreparedWithItsParents) {
  EXPECT_TRUE(PrepareDirectory(At("a/b/")).ok());
  EXPECT_TRUE(PrepareDirectory(At("a/b")).ok());
  EXPECT_THAT(ListDirectory(At("a/b")).value(), IsEmpty());
  Make("file", "x");
  EXPECT_FALSE(PrepareDirectory(At("file")).ok());
  EXPECT_FALSE(PrepareDirectory(At("file/below")).ok());
  EXPECT_THAT(PrepareDirectory("s3://bucket/reports").message(), HasSubstr("is a URL"));
}

}  // namespace
}  // namespace millrace
