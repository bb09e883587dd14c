// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/job_description.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>

#include "base/file.h"
#include "client/cli/job_help.h"

namespace millrace::job {
namespace {

class DescriptionTest : public testing::Test {
 protected:
  DescriptionTest() : directory_(TempDir::Make("description-test-").value()) {}

  std::string Script(const std::string& body) {
    const std::string path = directory_.path() + "/job";
    EXPECT_TRUE(WriteFileDurably(path, "#!/bin/sh\n" + body + "\n").ok());
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path;
  }

  TempDir directory_;
};

TEST_F(DescriptionTest, AJobTellsWhatItIs) {
  const std::string job =
      Script(R"(echo '{"millrace_job":1,"name":"'"$1 $2 $3"'","split_by":"fixed","record_bytes":100,"options":[]}')");
  const Result<JobDescription> description = DescribeJob(job, {{"a.b", "c d"}}, {});
  ASSERT_TRUE(description.ok()) << description.status().message();
  EXPECT_EQ(description->name, "--millrace-describe -- a.b=c d");
  EXPECT_EQ(description->split_by, SplitBy::kFixed);
  EXPECT_EQ(description->record_bytes, 100u);
}

TEST_F(DescriptionTest, AJobTellsItsOptions) {
  const std::string job =
      Script(R"(echo '{"millrace_job":1,"name":"'"$#"'","split_by":"block","record_bytes":0,"options":[)"
             R"({"name":"a.b","type":"text","default":"","range":"","help":"what","required":true,"engine":false},)"
             R"({"name":"task.memory","type":"bytes","default":"1MiB","range":"1 to 2","help":"m","engine":true}]}')");
  const Result<std::vector<JobOption>> options = OptionsOfJob(job, {});
  ASSERT_TRUE(options.ok()) << options.status().message();
  ASSERT_EQ(options->size(), 2U);
  const JobOption &own = (*options)[0], &of_engine = (*options)[1];
  EXPECT_EQ(own.name + "|" + own.type + "|" + own.default_text + "|" + own.help, "a.b|text||what");
  EXPECT_TRUE(own.required && !own.of_engine);
  EXPECT_EQ(of_engine.default_text + "|" + of_engine.range, "1MiB|1 to 2");
  EXPECT_TRUE(!of_engine.required && of_engine.of_engine);
  EXPECT_EQ(cli::OptionLines("j", *options),
            "Options of the job \"j\":\n  -D a.b=text\n        what (must be given)\n\nOptions of every job:\n"
            "  -D task.memory=bytes\n        m; 1 to 2 (default 1MiB)\n");
}

TEST_F(DescriptionTest, OptionsThatLackSomethingAreRefused) {
  for (const char* line : {"", "[]", "{}", R"({"options":7})", R"({"options":[7]})", R"({"options":[{"name":"a"}]})",
                           R"({"options":[{"name":1,"type":"text","default":"","range":"","help":""}]})"}) {
    EXPECT_EQ(ParseOptions("job", line).status().code(), StatusCode::kInvalid) << line;
  }
}

TEST_F(DescriptionTest, AJobTellsWhetherItOpensCompressedFiles) {
  const auto decompresses = [&](const std::string& field) {
    return ParseDescription("job", R"({"millrace_job":1,"name":"x","split_by":"block","record_bytes":0)" + field + "}")
        ->decompresses;
  };
  EXPECT_TRUE(decompresses(R"(,"decompresses":true)"));
  EXPECT_FALSE(decompresses(R"(,"decompresses":false)"));
  EXPECT_FALSE(decompresses("")) << "a job that was built before there was this";
  const auto text = [&](const std::string& field) {
    return CutOf(*ParseDescription("j",
                                   R"({"millrace_job":1,"name":"n","split_by":"block","record_bytes":0)" + field + "}"),
                 0)
        .text;
  };
  EXPECT_TRUE(text(R"(,"text":true)"));
  EXPECT_FALSE(text(""));
}

TEST_F(DescriptionTest, AJobTellsTheMapperOfEachInput) {
  const auto parse = [](const std::string& mappers) {
    return ParseDescription(
        "job", R"({"millrace_job":2,"name":"x","split_by":"file","record_bytes":0,"mappers":)" + mappers + "}");
  };
  const auto job = parse(R"([{"split_by":"block","decompresses":true},{"split_by":"file"},{"split_by":"fixed"}])");
  ASSERT_TRUE(job.ok()) << job.status().message();
  const std::vector<DescribedInput> cuts = {{{SplitBy::kBlock, true}}, {{SplitBy::kFile}}, {{SplitBy::kFixed}}};
  EXPECT_EQ(job->mappers, cuts);
  EXPECT_EQ(CutOf(*job, 0), cuts[0]);
  EXPECT_EQ(CutOf(*parse("[]"), 7), DescribedInput{{SplitBy::kFile}}) << "one Map for all";
  for (const char* wrong : {"7", "[7]", "[{}]", R"([{"split_by":"numbers"}])", R"([{"split_by":7}])"})
    EXPECT_EQ(parse(wrong).status().code(), StatusCode::kInvalid) << wrong;
}

TEST_F(DescriptionTest, AJobThatMakesItsData) {
  const std::string job = Script(
      R"(echo '{"millrace_job":1,"name":"x","split_by":"numbers","record_bytes":0,"maps":3,"records":10000000000}')");
  const Result<JobDescription> description = DescribeJob(job, {}, {});
  ASSERT_TRUE(description.ok()) << description.status().message();
  EXPECT_EQ(description->split_by, SplitBy::kNumbers);
  EXPECT_EQ(description->maps, 3u);
  EXPECT_EQ(description->records, 10'000'000'000u);
}

TEST_F(DescriptionTest, AJobIsPrepared) {
  const auto prepare = [&](const std::string& body) {
    return PrepareJob(Script(body), {"m:1", "c", "5s"}, 4, {{"a", "b c"}}, {"/in", "/x y"}, {});
  };
  const Result<Parameters> set = prepare(R"(echo '{"millrace_prepared":{"all":"'"$*"'","n":"'"$#"'"}}')");
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(*set, (Parameters{{"all", "--millrace-prepare m:1 c 5s 4 a=b c -- /in /x y"}, {"n", "9"}}));
  EXPECT_EQ(prepare("echo 'job: no input' >&2; exit 1").status().message(), "no input")
      << "whoever reports it names the job";
  for (const char* body : {"true", "exit 3", "echo '{}'", R"(echo '{"millrace_prepared":{"n":1}}')"})
    EXPECT_FALSE(prepare(body).ok()) << body;
  EXPECT_NE(prepare("kill -SEGV $$").status().message().find("was killed by signal 11 while it looked at its input"),
            std::string::npos);
}

TEST_F(DescriptionTest, APipelineSaysThatItIsOne) {
  const std::string job = R"({"millrace_job":1,"name":"x","split_by":"block","record_bytes":0)";
  EXPECT_TRUE(ParseDescription("job", job + R"(,"pipeline":true})")->pipeline);
  EXPECT_FALSE(ParseDescription("job", job + "}")->pipeline);
}

TEST_F(DescriptionTest, ARefusedParameterIsTheLineThatTheJobPrinted) {
  const std::string job = Script("echo 'job: option \"x\": no such option' >&2; echo more >&2; exit 2");
  const Result<JobDescription> description = DescribeJob(job, {{"x", "1"}}, {});
  EXPECT_EQ(description.status().code(), StatusCode::kInvalid);
  EXPECT_EQ(description.status().message(), "option \"x\": no such option") << "whoever reports it names the job";
}

TEST_F(DescriptionTest, AProgramThatDoesNotKnowTheOptionIsNoJob) {
  const std::string other = Script("echo \"$0: unrecognized option '$1'\" >&2; exit 2");
  const std::string message = DescribeJob(other, {}, {}).status().message();
  EXPECT_NE(message.find(other), std::string::npos) << message;
  EXPECT_NE(message.find("when asked for its description, it ended with exit status 2 and said"), std::string::npos)
      << message;
}

TEST_F(DescriptionTest, OtherProgramsAreNoJobs) {
  for (const std::string body :
       {"true", "echo hello", "echo '{}'", "echo '[1]'", "echo '{\"millrace_job\":1}'", "exit 1", "kill -9 $$",
        R"(echo '{"millrace_job":3,"name":"x","split_by":"block","record_bytes":0}')",
        R"(echo '{"millrace_job":1,"name":7,"split_by":"block","record_bytes":0}')",
        R"(echo '{"millrace_job":1,"name":"x","split_by":"odd","record_bytes":0}')",
        R"(echo '{"millrace_job":1,"name":"x","split_by":"fixed","record_bytes":-1}')",
        R"(echo '{"millrace_job":1,"name":"x","split_by":"numbers","record_bytes":0,"maps":3}')",
        R"(echo '{"millrace_job":1,"name":"x","split_by":"fixed","record_bytes":4294967296}')"}) {
    const Result<JobDescription> description = DescribeJob(Script(body), {}, {});
    EXPECT_EQ(description.status().code(), StatusCode::kInvalid) << body;
    EXPECT_NE(description.status().message().find("is not a Millrace job"), std::string::npos)
        << description.status().message();
    EXPECT_EQ(description.status().message().find('\n'), std::string::npos);
  }
  EXPECT_FALSE(DescribeJob("/bin/true", {}, {}).ok());
  EXPECT_FALSE(DescribeJob(directory_.path() + "/nowhere", {}, {}).ok());
}

// The words are those of glibc 2.36, as `LC_ALL=C` prints them.
TEST_F(DescriptionTest, WhatTheLoaderMissesIsNamed) {
  const std::string missing = Script(
      R"(echo "$0: error while loading shared libraries: libgreet.so: cannot open shared object file: No such file or directory" >&2; exit 127)");
  EXPECT_EQ(
      DescribeJob(missing, {}, {}).status().message(),
      "\"" + missing +
          "\" cannot be started: error while loading shared libraries: libgreet.so: cannot open shared "
          "object file: No such file or directory; link it statically, or have the library on this machine and on "
          "every worker");
  for (const char* said : {"symbol lookup error: /lib/libgreet.so: undefined symbol: Greet",
                           "/lib/x86_64-linux-gnu/libc.so.6: version \\`GLIBC_2.38' not found (required by job)"}) {
    const Status refused = DescribeJob(Script("echo \"$0: " + std::string(said) + "\" >&2; exit 1"), {}, {}).status();
    EXPECT_NE(refused.message().find("cannot be started: "), std::string::npos) << refused.message();
  }
}

TEST_F(DescriptionTest, WhatAProgramSaidIsPassedOn) {
  const Status said =
      DescribeJob(Script("echo \"$0: line 7: sed: command not found\" >&2; echo more >&2; exit 127"), {}, {}).status();
  EXPECT_NE(said.message().find("exit status 127 and said \"line 7: sed: command not found\""), std::string::npos)
      << said.message();
}

TEST_F(DescriptionTest, AProgramWhoseInterpreterIsNotThere) {
  const std::string path = directory_.path() + "/job";
  ASSERT_TRUE(WriteFileDurably(path, "#!/nowhere/python3\n").ok());
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  const Status refused = DescribeJob(path, {}, {}).status();
  EXPECT_NE(refused.message().find("the interpreter or the dynamic loader that it names"), std::string::npos)
      << refused.message();
}

TEST_F(DescriptionTest, AProgramThatHangsIsKilledWithItsChildren) {
  // The child holds the pipe open as well, so its end comes only when both are gone.
  const Result<JobDescription> description =
      DescribeJob(Script("cat /dev/zero > /dev/null & wait"), {}, {.timeout = 50 * kMillisecond});
  EXPECT_NE(description.status().message().find("no answer within 50 ms"), std::string::npos)
      << description.status().message();
}

TEST_F(DescriptionTest, AProgramThatClosesItsOutputAndHangsIsKilled) {
  const Result<JobDescription> description =
      DescribeJob(Script("exec >/dev/null 2>&1; exec cat /dev/zero"), {}, {.timeout = 50 * kMillisecond});
  EXPECT_NE(description.status().message().find("did not end within"), std::string::npos)
      << description.status().message();
}

TEST_F(DescriptionTest, AProgramThatFloodsIsKilled) {
  const Result<JobDescription> description = DescribeJob(Script("exec cat /dev/zero"), {}, {});
  EXPECT_NE(description.status().message().find("more than 1 MiB"), std::string::npos)
      << description.status().message();
}

TEST(ParseParameterTest, NameAndValue) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(ParseParameter("a=b").value(), Pair("a", "b"));
  EXPECT_EQ(ParseParameter("a=b=c").value(), Pair("a", "b=c"));
  EXPECT_EQ(ParseParameter("a=").value(), Pair("a", ""));
  for (const char* wrong : {"", "a", "=b"})
    EXPECT_EQ(ParseParameter(wrong).status().code(), StatusCode::kInvalid) << wrong;
}

}  // namespace
}  // namespace millrace::job
