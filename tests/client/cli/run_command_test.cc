// SPDX-License-Identifier: Apache-2.0
#include "client/cli/run_command.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/cli/commands.h"
#include "client/cli/find.h"
#include "tests/client/cli/console_pipe.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

std::string WriteScript(const std::string& path, const std::string& body, mode_t mode = 0755) {
  EXPECT_TRUE(WriteFileDurably(path, "#!/bin/sh\n" + body + "\n").ok());
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return path;
}

constexpr const char* kJob = R"(echo '{"millrace_job":1,"name":"wc","split_by":"block","record_bytes":0}')";

TEST(ParseRunOptionsTest, ReadsWhatIsGiven) {
  const ConsolePipe console;
  RunOptions options;
  const Words words{"wc", "/a", "[b,c]", "-o", "/out", "--reducers", "7", "-D", "x=[1,2]", "-D", "y=-1", "--detach"};
  ASSERT_EQ(ParseRunOptions(console.Make(), words, "run", &options), std::nullopt) << console.err();
  EXPECT_EQ(options.job, "wc");
  EXPECT_EQ(options.inputs, (Words{"/a", "[b,c]"}));
  EXPECT_EQ(options.output, "/out");
  EXPECT_EQ(options.reducers, 7);
  EXPECT_EQ(options.parameters, (Words{"x=[1,2]", "y=-1"}));
  EXPECT_TRUE(options.detach);
}

// docs/use/terminal.md says it of all options without a value.
TEST(ParseRunOptionsTest, AFlagTakesYesAndNo) {
  const auto held = [](const std::string& flag) -> std::optional<bool> {
    const ConsolePipe console;
    RunOptions options;
    if (ParseRunOptions(console.Make(), {"wc", "/a", "-o", "/o", flag}, "run", &options)) return std::nullopt;
    return options.hold;
  };
  for (const char* yes : {"", "=yes", "=true", "=on", "=1"}) EXPECT_EQ(held(std::string("--hold") + yes), true) << yes;
  for (const char* no : {"=no", "=false", "=off", "=0"}) EXPECT_EQ(held(std::string("--hold") + no), false) << no;
  EXPECT_EQ(held("--hold=maybe"), std::nullopt);
}

TEST(ParseRunOptionsTest, HelpNamesTheLimitsOfOptions) {
  const ConsolePipe console;
  RunOptions options;
  EXPECT_EQ(ParseRunOptions(console.Make(), {"--help"}, "run", &options), kDone);
  std::string help;  // with one space between words
  std::istringstream words(console.out());
  for (std::string word; words >> word;) help += word + ' ';
  EXPECT_NE(help.find("at most 100"), std::string::npos) << help;
  EXPECT_NE(help.find("slash"), std::string::npos) << help;
}

TEST(ParseRunOptionsTest, WrongUsageIsOneLine) {
  for (const Words& words :
       {Words{}, Words{"wc"}, Words{"wc", "/a"}, Words{"wc", "/a", "-o", "/o", "--reducers", "1001"},
        Words{"wc", "/a", "-o", "/o", "--reducers", "-1"}, Words{"wc", "/a", "-o", "/o", "--reducers", "x"},
        Words{"wc", "/a", "-o", "/o", "--nonsense"}, Words{"wc", "/a", "-o"}}) {
    const ConsolePipe console;
    RunOptions options;
    EXPECT_EQ(ParseRunOptions(console.Make(), words, "run", &options), kWrongUsage);
    const std::string error = console.err();
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
    EXPECT_TRUE(error.starts_with("millrace: run: ")) << error;
  }
}

TEST(PrepareRunTest, FillsTheRequest) {
  const ConsolePipe console;
  const std::string job = WriteScript(console.directory() + "/job", kJob);
  RunOptions options;
  options.output = "out";
  options.job = job;
  options.inputs = {"in"};
  options.pool = "p";
  options.priority = "LOW";
  options.deadline = "10m";
  options.reducers = 3;
  options.parameters = {"x=1",
                        "job.slow_start=0.5",
                        "job.max_attempts=2",
                        "job.pack=1MiB",
                        "job.speculation=false",
                        "job.max_failed_maps=3",
                        "job.skip_bad_records=4"};
  const Result<Prepared> prepared = PrepareRun(console.Make(), options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  const JobRequest& request = prepared->request;
  EXPECT_EQ(prepared->executable, job);
  EXPECT_EQ(request.name, "wc");
  EXPECT_EQ(request.owner, "tester");
  EXPECT_EQ(request.inputs, Words{"/in"});
  EXPECT_EQ(request.output, "/out");
  EXPECT_EQ(request.reduces, 3u);
  EXPECT_EQ(request.priority, 3);
  EXPECT_EQ(request.deadline, 600 * kSecond);
  EXPECT_EQ(request.slow_start, 0.5);
  EXPECT_EQ(request.max_attempts, 2u);
  EXPECT_EQ(request.pack, std::uint64_t{1} << 20);
  EXPECT_TRUE(request.no_speculation);
  EXPECT_EQ(request.max_failed_maps, 3u);
  EXPECT_EQ(request.skip_bad_records, 4u);
  EXPECT_EQ(request.parameters.size(), 7u);
  EXPECT_EQ(request.token.size(), 32u);
  EXPECT_NE(request.token, PrepareRun(console.Make(), options)->request.token);
}

TEST(PrepareRunTest, AFlagOfTheEngineGoesBeforeTheParameter) {
  const ConsolePipe console;
  const std::string job = WriteScript(console.directory() + "/job", kJob);
  RunOptions options;
  const Words words{job,
                    "in",
                    "-o",
                    "out",
                    "--max-failed-maps",
                    "7",
                    "-D",
                    "job.max_failed_maps=3",
                    "-D",
                    "x=1",
                    "--skip-bad-records",
                    "8"};
  ASSERT_EQ(ParseRunOptions(console.Make(), words, "run", &options), std::nullopt) << console.err();
  const Result<Prepared> prepared = PrepareRun(console.Make(), options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->request.max_failed_maps, 7u);
  EXPECT_EQ(prepared->request.skip_bad_records, 8u);
  EXPECT_EQ(prepared->request.max_attempts, 4u) << "as always";
}

TEST(PrepareRunTest, WhatSchedulersAreToldComesFromOptionsAndParameters) {
  const ConsolePipe console;
  RunOptions options;
  options.output = "out";
  options.job = WriteScript(console.directory() + "/job", kJob);
  options.inputs = {"in"};
  options.user = "somebody";
  options.map_time = "30s";
  options.parameters = {"x=1",
                        "scheduler.locality_wait=0s,5s,1m",
                        "scheduler.reduce_time=2s",
                        "scheduler.map_time=7s",
                        "scheduler.pool=ads",
                        "scheduler.priority=HIGH"};
  const Result<Prepared> prepared = PrepareRun(console.Make(), options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  const JobRequest& request = prepared->request;
  EXPECT_EQ(request.owner, "somebody");
  EXPECT_EQ(request.map_time, 30 * kSecond) << "the option goes before the parameter";
  EXPECT_EQ(request.reduce_time, 2 * kSecond);
  EXPECT_EQ(request.locality_waits, (std::vector<Micros>{0, 5 * kSecond, 60 * kSecond}));
  EXPECT_EQ(request.pool, "ads");
  EXPECT_EQ(request.priority, 1);
  EXPECT_EQ(request.parameters, (Parameters{{"x", "1"}})) << "the job does not see them";
}

TEST(PrepareRunTest, WrongWordsForSchedulersAreRefused) {
  const ConsolePipe console;
  RunOptions good;
  good.output = "out";
  good.job = WriteScript(console.directory() + "/job", kJob);
  good.inputs = {"in"};
  for (const char* parameter :
       {"scheduler.locality_wait=1s,2s,3s,4s", "scheduler.locality_wait=1s,", "scheduler.locality_wait=25h",
        "scheduler.map_time=0", "scheduler.map_time=x", "scheduler.deadline=0s", "scheduler.pol=a"}) {
    RunOptions wrong = good;
    wrong.parameters = {parameter};
    EXPECT_FALSE(PrepareRun(console.Make(), wrong).ok()) << parameter;
  }
}

TEST(PrepareRunTest, RefusesWhatCannotRun) {
  const ConsolePipe console;
  const std::string job = WriteScript(console.directory() + "/job", kJob);
  RunOptions good;
  good.output = "out";
  good.job = job;
  good.inputs = {"in"};
  ASSERT_TRUE(PrepareRun(console.Make(), good).ok());
  RunOptions priority = good, deadline = good, parameter = good, program = good;
  priority.priority = "URGENT";
  deadline.deadline = "soon";
  parameter.parameters = {"x"};
  program.job = "/bin/true";
  for (const RunOptions& wrong : {priority, deadline, parameter, program})
    EXPECT_FALSE(PrepareRun(console.Make(), wrong).ok());
}

// The paths are those of issues of users who came from Hadoop and Spark: each was taken for a name of ours.
TEST(PrepareRunTest, PlacesAreCheckedBeforeAnythingIsDone) {
  const ConsolePipe console;
  RunOptions good;
  good.output = "out/";
  good.job = WriteScript(console.directory() + "/job", kJob);
  good.inputs = {"in/", "s3:/in", "a//b", "/x://y"};
  const Result<Prepared> prepared = PrepareRun(console.Make(), good);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->request.output, "/out");
  EXPECT_EQ(prepared->request.inputs, (Words{"/in", "/s3:/in", "/a/b", "/x:/y"}));
  for (const char* wrong : {"s3://bucket/out", "hdfs://one/x", "gs://b/c", "s3a://b", "wasbs://c@a.net/x",
                            "file:///tmp/x", "abfs+x.y-z://a", "../out", "a/../../b", ""}) {
    RunOptions output = good, input = good, local = good;
    output.output = wrong;
    input.inputs = {"/in", wrong};
    local.output = wrong;
    local.inputs = {wrong};
    local.local = true;  // then they are names of this machine
    for (const RunOptions& options : {output, input})
      EXPECT_THAT(PrepareRun(console.Make(), options).status().message(), HasSubstr('"' + std::string(wrong) + '"'));
    EXPECT_TRUE(PrepareRun(console.Make(), local).ok());
  }
}

TEST(PrepareRunTest, OptionsThatTheFileSystemRefusesAreRefused) {
  const ConsolePipe console;
  RunOptions options;
  options.output = "out";
  options.job = WriteScript(console.directory() + "/job", kJob);
  options.inputs = {"in"};
  for (const char* wrong : {"1000", "1", "1048575", "2G"}) {
    options.parameters = {std::string("output.block_size=") + wrong};
    EXPECT_THAT(PrepareRun(console.Make(), options).status().message(), HasSubstr("output.block_size")) << wrong;
  }
  for (const char* right : {"0", "1M", "1048577", "1G"}) {
    options.parameters = {std::string("output.block_size=") + right};
    EXPECT_TRUE(PrepareRun(console.Make(), options).ok()) << right;
  }
}

TEST(PrepareRunTest, InputIsNamedWhereItIsRead) {
  const ConsolePipe console;
  RunOptions options;
  options.output = "out";
  options.job = WriteScript(console.directory() + "/reads", kJob);
  EXPECT_EQ(PrepareRun(console.Make(), options).status().message(),
            "the job reads input, but none is given; give INPUT...");
  options.job = WriteScript(
      console.directory() + "/makes",
      R"(echo '{"millrace_job":1,"name":"gen","split_by":"numbers","record_bytes":0,"maps":3,"records":9}')");
  const Result<Prepared> prepared = PrepareRun(console.Make(), options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->request.maps, 3u);
  options.inputs = {"in"};
  EXPECT_NE(PrepareRun(console.Make(), options).status().message().find("leave out the input \"in\""),
            std::string::npos);
}

TEST(PrepareRunTest, AJobWithMappersHasAnInputForEach) {
  const ConsolePipe console;
  RunOptions options;
  options.output = "out";
  options.job = WriteScript(console.directory() + "/join",
                            R"(echo '{"millrace_job":2,"name":"join","split_by":"file","record_bytes":0,)"
                            R"("mappers":[{"split_by":"block"},{"split_by":"file"}]}')");
  options.inputs = {"users"};
  EXPECT_EQ(PrepareRun(console.Make(), options).status().message(),
            "the job has 2 mappers, one for each INPUT, and 1 INPUTs are given; give as many, in the order of the "
            "mappers");
  options.inputs = {"users", "orders"};
  const Result<Prepared> prepared = PrepareRun(console.Make(), options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->request.cuts.size(), 2U);
  options.inputs = {"users", "orders", "more"};
  EXPECT_FALSE(PrepareRun(console.Make(), options).ok());
}

TEST(PrepareRunTest, HowManyReducesThereAreUnlessItIsSaid) {
  const ConsolePipe console;
  RunOptions options;
  options.output = "out";
  options.job = WriteScript(console.directory() + "/job", kJob);
  options.inputs = {"in"};
  EXPECT_EQ(PrepareRun(console.Make(), options)->request.reduces, 1u);
  options.job =
      WriteScript(console.directory() + "/maps",
                  R"(echo '{"millrace_job":1,"name":"m","split_by":"block","record_bytes":0,"map_only":true}')");
  EXPECT_EQ(PrepareRun(console.Make(), options)->request.reduces, 0u);
  options.reducers = 1;
  EXPECT_NE(PrepareRun(console.Make(), options).status().message().find("no reduces"), std::string::npos);
}

TEST(FindJobTest, BundledJobsLieBesideTheProgram) {
  const ConsolePipe console;
  const std::string& directory = console.directory();
  WriteScript(directory + "/wordcount", "");
  WriteScript(directory + "/data", "", 0644);
  WriteScript(directory + "/millrace", "");
  EXPECT_EQ(FindJob("wordcount", directory).value(), directory + "/wordcount");
  EXPECT_EQ(FindJob(directory + "/wordcount", "/nowhere").value(), directory + "/wordcount");
  EXPECT_NE(FindJob("wordcuont", directory).status().message().find("did you mean wordcount?"), std::string::npos);
  for (const std::string wrong : {"data", "millrace", "", ".", "..", "nowhere"})
    EXPECT_FALSE(FindJob(wrong, directory).ok()) << wrong;
  EXPECT_FALSE(FindJob(directory, "/nowhere").ok());
  EXPECT_FALSE(FindJob(directory + "/nowhere", directory).ok());
  EXPECT_FALSE(FindJob(directory + "/data", directory).ok());
}

TEST(RunCliTest, TheMasterComesBeforeTheVerb) {
  std::string seen;
  const std::vector<Verb> more{{"probe",
                                "",
                                [&seen](const Invocation& invocation, const Words& args) {
                                  seen = invocation.master + " " + (args.empty() ? "" : args[0]);
                                  return 5;
                                },
                                {}}};
  const ConsolePipe console;
  EXPECT_EQ(RunCli(console.Make(), {"probe", "x"}, more), 5);
  EXPECT_EQ(seen, "127.0.0.1:1 x");
  EXPECT_EQ(RunCli(console.Make(), {"--master", "h:2", "probe", "x"}, more), 5);
  EXPECT_EQ(seen, "h:2 x");
  EXPECT_EQ(RunCli(console.Make(), {"--master=h:3", "probe", "x"}, more), 5);
  EXPECT_EQ(seen, "h:3 x");
  for (const Words& wrong : {Words{"--master"}, Words{"--master", "h", "probe"}, Words{"--master=h:", "probe"},
                             Words{"--masterful"}, Words{"prob"}}) {
    EXPECT_EQ(RunCli(console.Make(), wrong, more), kWrongUsage);
  }
}

TEST(RunCliTest, AMasterThatIsNotThereIsExitStatus3) {
  const ConsolePipe console;
  for (const Words& words :
       {Words{"job", "list"}, Words{"job", "wait", "3"}, Words{"node", "list"}, Words{"scheduler", "show"}}) {
    EXPECT_EQ(RunCli(console.Make(), words, {}), kUnreachable) << words[0];
  }
  EXPECT_NE(console.err().find("127.0.0.1:1"), std::string::npos);
}

TEST(RunCliTest, TheSchedulersAreListedWithoutACluster) {
  const ConsolePipe console;
  EXPECT_EQ(RunCli(console.Make(), {"scheduler", "list"}, {}), kDone);
  EXPECT_THAT(console.out(), HasSubstr("fair           memory delay ccs preempt  pools with weights"));
  EXPECT_EQ(console.err(), "");
  const ConsolePipe listed;
  EXPECT_EQ(RunCli(listed.Make(), {"scheduler", "list", "--json"}, {}), kDone);
  const auto json = nlohmann::json::parse(listed.out());
  ASSERT_FALSE(json.empty());
  EXPECT_EQ(json[0]["name"], "fifo");
  EXPECT_EQ(json[0]["parts"], (std::vector<std::string>{"delay", "ccs"}));
  EXPECT_THAT(json[0]["refused_parts"]["preempt"].get<std::string>(), HasSubstr("use fair+preempt"));
}

TEST(RunCliTest, HowLongToWaitIsATime) {
  const ConsolePipe console;
  EXPECT_EQ(RunCli(console.Make(), {"--wait", "soon", "job", "list"}, {}), kWrongUsage);
  EXPECT_EQ(RunCli(console.Make(), {"--wait"}, {}), kWrongUsage);
  EXPECT_EQ(RunCli(console.Make(), {"--wait", "10ms", "--master=127.0.0.1:1", "job", "list"}, {}), kUnreachable);
  EXPECT_NE(console.err().find("waiting up to 10ms"), std::string::npos);
}

TEST(VerbsTest, TablesShowHostileCellsOnOneLine) {
  EXPECT_EQ(FormatTable({{"a\nb", "\x1b[31m"}, {"c", "d"}}), "a\\nb  \\x1b[31m\nc     d\n");
}

TEST(VerbsTest, TablesAreAligned) { EXPECT_EQ(FormatTable({{"A", "BB"}, {"long", "x"}}), "A     BB\nlong  x\n"); }

}  // namespace
}  // namespace millrace::cli
