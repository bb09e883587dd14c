// SPDX-License-Identifier: Apache-2.0
#include "client/support/daemon_settings.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/file.h"
#include "master/control/master_config.h"
#include "worker/daemon/agent/worker_config.h"

namespace millrace::support {
namespace {

using testing::HasSubstr;
using testing::Not;

// Whoever adds an option decides here whether its value may be sent to others: it is in kShown, or below.
TEST(MayBeShownTest, EachOptionOfADaemonIsDecidedAbout) {
  const std::set<std::string> hidden = {};
  master::MasterConfig master;
  worker::WorkerConfig worker;
  for (const auto& set : {master::DeclareMasterOptions(&master), worker::DeclareWorkerOptions(&worker)}) {
    for (const OptionInfo& option : set.List())
      EXPECT_NE(MayBeShown(option.name), hidden.contains(option.name)) << option.name;
  }
  EXPECT_FALSE(MayBeShown("tls.password"));
  EXPECT_FALSE(MayBeShown(""));
}

class DaemonSettingsTest : public testing::Test {
 protected:
  // A process as /proc shows it.
  void Run(const std::string& pid, std::string command) {
    std::ranges::replace(command, ' ', '\0');
    ASSERT_TRUE(MakeDirectories(proc_ + "/" + pid).ok());
    ASSERT_TRUE(WriteFileDurably(proc_ + "/" + pid + "/cmdline", command + '\0').ok());
  }
  void SetUp() override {
    for (const std::string& directory : {proc_, etc_}) ASSERT_TRUE(MakeDirectories(directory).ok());
  }

  TempDir dir_ = *TempDir::Make("support");
  const std::string proc_ = dir_.path() + "/proc", etc_ = dir_.path() + "/etc";
};

TEST_F(DaemonSettingsTest, DaemonsAreFoundWithTheirSettings) {
  ASSERT_TRUE(
      WriteFileDurably(etc_ + "/worker.toml", "[worker]\nname = \"file\"\nport = 1\n[s3]\npassword = \"hunter2\"\n")
          .ok());
  Run("10", "/usr/bin/millrace worker --config " + etc_ + "/worker.toml --set worker.name=two --set=odd.thing=hunter3");
  Run("11", "/usr/bin/millrace master --init --set master.directory=/m");
  Run("12", "/usr/bin/millrace node list --json");
  Run("13", "/usr/bin/other master --set a=b");
  Run("self", "/usr/bin/millrace master --set a=b");
  const std::vector<Daemon> daemons = FindDaemons(proc_, etc_);
  ASSERT_EQ(daemons.size(), 1u);
  EXPECT_EQ(daemons[0].name, "worker-1");
  EXPECT_EQ(daemons[0].origin, "process 10");
  EXPECT_EQ(daemons[0].Get("worker.name"), "two") << "the last one counts";
  const std::string text = SettingsText(daemons[0]);
  EXPECT_THAT(text, HasSubstr("worker.port = 1\n"));
  EXPECT_THAT(text, HasSubstr("s3.password = (not shown)\n"));
  EXPECT_THAT(text, HasSubstr("odd.thing = (not shown)\n"));
  EXPECT_THAT(text, Not(HasSubstr("hunter")));
  Redactor redactor;
  HideSecretsOf(daemons[0], &redactor);
  EXPECT_EQ(redactor.Clean("x hunter2 hunter3"), "x [hidden] [hidden]");
}

TEST_F(DaemonSettingsTest, OneThatDoesNotRunIsFoundByItsFile) {
  ASSERT_TRUE(WriteFileDurably(etc_ + "/master.toml", "[master]\ndirectory = \"/m\"\n").ok());
  const std::vector<Daemon> daemons = FindDaemons(proc_, etc_);
  ASSERT_EQ(daemons.size(), 1u);
  EXPECT_EQ(daemons[0].kind, "master");
  EXPECT_EQ(daemons[0].GetPath("master.directory"), "/m");
}

TEST_F(DaemonSettingsTest, AFileThatIsNoneIsNotQuoted) {
  ASSERT_TRUE(WriteFileDurably(etc_ + "/master.toml", "password = hunter2").ok());
  ASSERT_EQ(::mkfifo((etc_ + "/worker.toml").c_str(), 0600), 0);
  const std::vector<Daemon> daemons = DaemonsOf({etc_ + "/master.toml", etc_ + "/worker.toml", etc_ + "/none"});
  ASSERT_EQ(daemons.size(), 3u);
  EXPECT_THAT(daemons[0].problem, HasSubstr("is not TOML"));
  EXPECT_THAT(daemons[0].problem, Not(HasSubstr("hunter")));
  EXPECT_THAT(daemons[1].problem, HasSubstr("no regular file"));
  EXPECT_THAT(daemons[2].problem, Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace millrace::support
