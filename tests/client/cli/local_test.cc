// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "client/local/guardian.h"
#include "client/local/local_command.h"
#include "client/local/local_inputs.h"
#include "tests/client/cli/console_pipe.h"

namespace millrace::local {
namespace {

using cli::ConsolePipe;
using cli::Words;

bool Contains(const std::vector<std::string>& list, const std::string& what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

TEST(LocalOptionsTest, OptionsEndAtTheCommand) {
  const ConsolePipe console;
  LocalOptions options;
  ASSERT_EQ(
      ParseLocalOptions(console.Make(),
                        {"--workers", "2", "--set=dfs.replication=1", "--set", "task.memory=1G", "--", "sh", "--racks"},
                        &options),
      std::nullopt)
      << console.err();
  EXPECT_FALSE(options.run);
  EXPECT_EQ(options.command, (Words{"sh", "--racks"}));
  EXPECT_EQ(options.cluster.workers, 2);
  EXPECT_EQ(options.cluster.master_settings, Words{"dfs.replication=1"});
  EXPECT_EQ(options.cluster.worker_settings, Words{"task.memory=1G"});
  LocalOptions run;
  ASSERT_EQ(ParseLocalOptions(console.Make(), {"run", "wc", "in", "-o", "out"}, &run), std::nullopt);
  EXPECT_TRUE(run.run);
  EXPECT_EQ(run.command, (Words{"wc", "in", "-o", "out"}));
}

TEST(LocalOptionsTest, ASettingGoesToThoseWhoHaveIt) {
  struct Case {
    const char* setting;
    bool master, workers;
  };
  for (const auto& [setting, master, workers] :
       {Case{"dfs.replication=1", true, false}, Case{"trace.collector=http://localhost:4318", true, false},
        Case{"audit.reads=yes", true, false}, Case{"access.file=/a", true, false}, Case{"worker.cores=2", false, true},
        Case{"spot.notice=off", false, true}, Case{"log.format=json", true, true},
        Case{"metrics.listen=9100", true, false}, Case{"metrics.listen=127.0.0.1:9100", true, false},
        Case{"metrics.listen=0", true, true}, Case{"health.listen=127.0.0.1:0", true, true}}) {
    ClusterOptions options;
    EXPECT_TRUE(SortSetting(setting, &options).ok()) << setting;
    EXPECT_EQ(options.master_settings, master ? Words{setting} : Words()) << setting;
    EXPECT_EQ(options.worker_settings, workers ? Words{setting} : Words()) << setting;
  }
  for (const auto& [setting, why] : {std::pair("tls.ca=/a", "has no TLS"), std::pair("log.file=/a", "--keep"),
                                     std::pair("job.pack=0", "-D"), std::pair("metrics=1", "names begin with")}) {
    ClusterOptions options;
    const Status refused = SortSetting(setting, &options);
    EXPECT_EQ(refused.code(), StatusCode::kInvalid) << setting;
    EXPECT_NE(refused.message().find(why), std::string::npos) << refused.message();
    EXPECT_TRUE(options.master_settings.empty() && options.worker_settings.empty());
  }
}

TEST(LocalOptionsTest, WrongUsage) {
  for (const Words& words :
       {Words{}, Words{"--"}, Words{"sh"}, Words{"--workers", "0", "--", "sh"}, Words{"--workers"},
        Words{"--set", "x=1", "--", "sh"}, Words{"--set", "dfs.x", "--", "sh"}, Words{"--nonsense", "1", "--", "sh"}}) {
    const ConsolePipe console;
    LocalOptions options;
    EXPECT_EQ(ParseLocalOptions(console.Make(), words, &options), cli::kWrongUsage);
    EXPECT_TRUE(console.err().starts_with("millrace: local: ")) << console.err();
  }
}

TEST(WorkerSettingsTest, WorkersAreSpreadOverRacksAndRacksOverDatacenters) {
  ClusterOptions options;
  options.racks = 3;
  options.datacenters = 2;
  options.worker_settings = {"worker.rack=mine"};
  const auto settings = WorkerSettings(options, 5, "/d", "h:1");
  EXPECT_TRUE(Contains(settings, "worker.rack=rack2"));
  EXPECT_TRUE(Contains(settings, "worker.datacenter=datacenter0"));
  EXPECT_TRUE(Contains(settings, "worker.master=h:1"));
  EXPECT_EQ(settings.back(), "worker.rack=mine");  // the user's settings come last and win
  // A rack is in only one datacenter.
  options.racks = 1;
  EXPECT_TRUE(Contains(WorkerSettings(options, 1, "/d", "h:1"), "worker.rack=rack1"));
}

class LocalInputsTest : public ::testing::Test {
 protected:
  std::string In(const std::string& name) const { return directory_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes = "text\n") {
    ASSERT_TRUE(WriteFileDurably(In(name), bytes).ok());
  }
  // Returns "local stored" of what is put, and the name of each INPUT.
  std::vector<std::string> Placed(const Words& words) {
    std::vector<std::string> all;
    const Result<std::vector<LocalInput>> inputs = LocalInputs(words);
    if (!inputs.ok()) return {"! " + inputs.status().message()};
    for (std::size_t i = 0; i < inputs->size(); ++i) {
      const PlacedInput placed = PlaceInput((*inputs)[i], i);
      for (const auto& [local, stored] : placed.files) all.push_back(local.substr(local.rfind('/') + 1) + " " + stored);
      all.push_back(placed.name);
    }
    return all;
  }

  const TempDir directory_ = TempDir::Make("inputs-test-").value();
};

TEST_F(LocalInputsTest, APatternIsOneInputOfAllThatItMatches) {
  for (const char* file : {"a*", "ab", "_a", "x"}) Write(file);
  EXPECT_EQ(Placed({In("x"), In("a*"), "-"}),
            (Words{"x /input/0/x", "/input/0/x", "a* /input/1/000000/a*", "ab /input/1/000001/ab",
                   "/input/1/*/{*,_*,.*}", "- /input/2/stdin", "/input/2/stdin"}));
  EXPECT_EQ(Placed({In("a\\*")}), (Words{"a* /input/0/a*", "/input/0/a\\*"}));
  EXPECT_EQ(Placed({In("_a")}), (Words{"_a /input/0/_a", "/input/0/_a"}));
  EXPECT_EQ(Placed({In("?a")}), (Words{"! there is no local file \"" + In("?a") + "\""})) << "a mark is not meant";
  EXPECT_EQ(Placed({In("none")}), (Words{"! there is no local file \"" + In("none") + "\""}));
  EXPECT_EQ(Placed({"-", "-"}), (Words{"! standard input (-) can be read once only"}));
  EXPECT_EQ(Placed({In("..")}).back(), "/input/0");
}

TEST_F(LocalInputsTest, FilesThatAreNoTextAreToldBeforeAnythingStarts) {
  Write("text");
  Write("x.xz", std::string("\xfd\x37zXZ\0", 6));
  ASSERT_TRUE(MakeDirectories(In("d/sub")).ok());
  Write("d/sub/b", "\xff\xfe");
  Write("d/_log", "PK\x03\x04");
  job::JobDescription job;
  job.decompresses = job.text = true;
  const auto check = [&](const Words& words) { return CheckLocalText(LocalInputs(words).value(), job).message(); };
  EXPECT_EQ(check({In("text"), "-"}), "");
  EXPECT_TRUE(check({In("text"), In("*.xz")}).starts_with("\"" + In("x.xz") + "\" is an xz file, "));
  EXPECT_TRUE(check({In("d")}).starts_with("\"" + In("d/sub/b") + "\" is text in UTF-16, "));
  job.text = false;
  EXPECT_EQ(check({In("d"), In("x.xz")}), "");
  job.text = true;
  job.decompresses = false;
  EXPECT_EQ(check({In("d"), In("x.xz")}), "") << "bytes are read as they are";
}

TEST(ProcessTest, ExitStatusAndEnvironment) {
  const TempDir directory = TempDir::Make("process-test-").value();
  const std::string log = directory.path() + "/log";
  Process process =
      Process::Start({.argv = {"sh", "-c", "echo $NAME; exit 7"}, .environment = {{"NAME", "value"}}, .log = log}, -1)
          .value();
  EXPECT_EQ(process.Reap().value(), 7);
  EXPECT_EQ(ReadWholeFile(log).value(), "value\n");
  Process killed = Process::Start({.argv = {"cat", "/dev/zero"}, .environment = {}, .log = "/dev/null"}, -1).value();
  killed.SignalGroup(SIGTERM);
  EXPECT_EQ(killed.Reap().value(), 128 + SIGTERM);
  EXPECT_EQ(Process::Start({.argv = {directory.path() + "/nowhere"}, .environment = {}, .log = {}}, -1).status().code(),
            StatusCode::kNotFound);
}

TEST(GuardianTest, KillsAndRemovesUnlessDismissed) {
  for (const bool dismissed : {false, true}) {
    TempDir directory = TempDir::Make("guardian-test-").value();
    Result<Guardian> guardian = Guardian::Start(directory.path());
    ASSERT_TRUE(guardian.ok());
    Process process =
        Process::Start({.argv = {"cat", "/dev/zero"}, .environment = {}, .log = "/dev/null"}, guardian->registry())
            .value();
    dismissed ? guardian->Dismiss() : guardian->CleanUp();
    EXPECT_EQ(::access(directory.path().c_str(), F_OK) == 0, dismissed);
    if (dismissed) process.SignalGroup(SIGTERM);
    EXPECT_EQ(process.Reap().value(), 128 + (dismissed ? SIGTERM : SIGKILL));
  }
}

}  // namespace
}  // namespace millrace::local
