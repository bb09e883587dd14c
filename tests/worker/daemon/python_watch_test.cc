// SPDX-License-Identifier: Apache-2.0
// Which Python a PATH leads to, over real links, and the watch under driven time.
#include "worker/daemon/python_watch.h"

#include <gtest/gtest.h>
#include <kj/async.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/local_place.h"
#include "tests/fakes/inline_background.h"

namespace millrace::worker {
namespace {

class FindPythonTest : public testing::Test {
 protected:
  std::string Place(const std::string& name) const { return directory_.path() + "/" + name; }
  void MakeProgram(const std::string& name, unsigned mode = 0755) {
    ASSERT_TRUE(MakeDirectories(Place(name.substr(0, name.find('/')))).ok());
    // Whoever ran it would leave a file behind.
    ASSERT_TRUE(WriteLocalFile(Place(name), "#!/bin/sh\ntouch " + Place("was_run") + "\n").ok());
    ASSERT_EQ(::chmod(Place(name).c_str(), mode), 0);
  }
  void Link(const std::string& name, const std::string& to) {
    ASSERT_TRUE(MakeDirectories(Place(name.substr(0, name.find('/')))).ok());
    ::unlink(Place(name).c_str());
    ASSERT_EQ(::symlink(to.c_str(), Place(name).c_str()), 0);
  }
  void TearDown() override { EXPECT_NE(::access(Place("was_run").c_str(), F_OK), 0) << "a Python was run"; }

  const TempDir directory_ = TempDir::Make("millrace-python").value();
};

TEST_F(FindPythonTest, LinksAreFollowedToTheFirstNameWithAVersion) {
  MakeProgram("bin/python3.11");
  Link("bin/python3", "python3.11");
  EXPECT_EQ(FindPython(Place("bin")), Place("bin/python3.11"));
  Link("venv/python3", Place("bin/python3"));
  EXPECT_EQ(FindPython("/nowhere:" + Place("venv") + ":" + Place("bin")), Place("bin/python3.11"));
  Link("alternatives/python", "../bin/python3.11");
  Link("up/python3", "../alternatives/python");
  EXPECT_EQ(FindPython(Place("up")), Place("up/../alternatives/../bin/python3.11"));
}

TEST_F(FindPythonTest, TheFirstOfThePathCounts) {
  MakeProgram("old/python3.9");
  Link("old/python3", "python3.9");
  MakeProgram("new/python3.13");
  Link("new/python3", "python3.13");
  EXPECT_EQ(FindPython(Place("new") + ":" + Place("old")), Place("new/python3.13"));
  MakeProgram("shims/python3");
  EXPECT_EQ(FindPython(Place("shims") + ":" + Place("new")), "") << "tasks get the script, whose version is not known";
}

TEST_F(FindPythonTest, WhatIsNoProgramIsPassedOver) {
  MakeProgram("data/python3.9", 0644);
  Link("data/python3", "python3.9");
  ASSERT_TRUE(MakeDirectories(Place("folder/python3")).ok());
  Link("dangling/python3", "python3.7");
  Link("circle/python3", "python3");
  MakeProgram("good/python3.12");
  Link("good/python3", "python3.12");
  std::string path = ":.:relative";
  for (const char* name : {"data", "folder", "dangling", "circle", "good"}) path += ":" + Place(name);
  EXPECT_EQ(FindPython(path), Place("good/python3.12"));
}

TEST_F(FindPythonTest, TasksWithUsersOfTheirOwnRunWhatOthersMay) {
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0711), 0);
  MakeProgram("mine/python3.9", 0700);
  Link("mine/python3", "python3.9");
  MakeProgram("closed/python3.10");
  Link("closed/python3", "python3.10");
  Link("into/python3", "../closed/python3.10");
  MakeProgram("good/python3.12");
  Link("good/python3", "python3.12");
  ASSERT_EQ(::chmod(Place("closed").c_str(), 0700), 0);
  const std::string path = Place("mine") + ":" + Place("closed") + ":" + Place("into") + ":" + Place("good");
  EXPECT_EQ(FindPython(path, {.places = {}, .own_users = true}), Place("good/python3.12"));
  EXPECT_EQ(FindPython(path), Place("mine/python3.9")) << "the worker's user, as whom tasks run else, may";
}

TEST_F(FindPythonTest, WhatTasksDoNotSeeIsPassedOver) {
  MakeProgram("home/python3.13");
  Link("home/python3", "python3.13");
  Link("usr/python3", "../home/python3.13");
  MakeProgram("usr2/python3.11");
  Link("usr2/python3", "python3.11");
  const std::string path = Place("home") + ":" + Place("usr") + ":" + Place("usr2");
  const auto found = [&path](std::vector<std::string> places) {
    return FindPython(path, {.places = std::move(places), .own_users = false});
  };
  EXPECT_EQ(found({Place("usr"), Place("usr2")}), Place("usr2/python3.11"))
      << "a link to what they do not see leads nowhere";
  EXPECT_EQ(found({Place("us"), Place("hom")}), "") << "a name that begins so is another place";
  EXPECT_EQ(found({Place("home")}), Place("home/python3.13"));
  EXPECT_EQ(found({}), "");
  EXPECT_EQ(FindPython(path), Place("home/python3.13"));
}

TEST_F(FindPythonTest, ANameThatIsNoVersionOrTooLongSaysNothing) {
  for (const char* name : {"python3.x", "python3.1111", "python3.", "python3.11d", "python4", "pypy3"}) {
    MakeProgram(std::string("odd/") + name);
    Link("odd/python3", name);
    EXPECT_EQ(FindPython(Place("odd")), "") << name;
  }
  std::string deep = "deep";
  for (int i = 0; i < 30; ++i) deep += "/directory";
  ASSERT_TRUE(MakeDirectories(Place(deep)).ok());
  ASSERT_TRUE(WriteLocalFile(Place(deep + "/python3.11"), "").ok());
  ASSERT_EQ(::chmod(Place(deep + "/python3.11").c_str(), 0755), 0);
  Link("long/python3", Place(deep) + "/python3.11");
  EXPECT_EQ(FindPython(Place("long")), "");
  EXPECT_EQ(FindPython(""), "");
}

TEST_F(FindPythonTest, TheWatchLooksAgain) {
  MakeProgram("bin/python3.11");
  MakeProgram("bin/python3.13");
  Link("bin/python3", "python3.11");
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  rpc::InlineBackground background;
  const PythonWatch watch(timer, background, Place("bin"));
  EXPECT_EQ(watch.found(), "") << "nobody waits for the first look";
  scope.poll();
  EXPECT_EQ(watch.found(), Place("bin/python3.11"));
  Link("bin/python3", "python3.13");
  timer.advanceTo(kj::origin<kj::TimePoint>() + 4 * kj::MINUTES);
  scope.poll();
  EXPECT_EQ(watch.found(), Place("bin/python3.11"));
  timer.advanceTo(kj::origin<kj::TimePoint>() + 6 * kj::MINUTES);
  scope.poll();
  EXPECT_EQ(watch.found(), Place("bin/python3.13"));
}

}  // namespace
}  // namespace millrace::worker
