// SPDX-License-Identifier: Apache-2.0
// Tests a pipeline's requests to the runner of its steps, and the reading of words and reports. Whole pipelines run in
// tests/cluster/test_pipelines.py.
#include "client/api/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "client/process/command_steps.h"

namespace millrace::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Lines {
  using Key = std::string_view;
  using Value = Nothing;
  void Map(std::string_view line, auto& emit) { emit(line); }
};
struct Copy {
  void Map(std::string_view line, auto& emit) { emit(line); }
};

struct Loop {
  using Pipeline = millrace::Pipeline<Lines, Copy>;
  static void Options(JobOptions& options) {
    options.Integer("loop.most", 10, 0, 100, "rounds");
    options.Require("loop.most");
  }
  static Status Drive(Pipeline& pipeline) {
    std::vector<std::string> inputs = pipeline.inputs();
    for (std::int64_t left = pipeline.options().integer("loop.most"); left > 0;) {
      MILLRACE_ASSIGN(const StepResult round,
                      pipeline.Run<Lines>("round", inputs, pipeline.Temporary("round" + std::to_string(left))));
      left = round.counter("loop", "left");
      if (round.counter("no", "such") != 0) throw std::runtime_error("a counter of nobody");
      inputs = {round.output};
    }
    return pipeline.Run<Copy>("copy", inputs, pipeline.output() + "/copy", {.parameters = {{"a", "b"}}}).status();
  }
};

// Says of each step what it was asked for. `left` are the values of the counter loop.left.
class FakeRunner final : public StepRunner {
 public:
  Result<StepResult> Run(const Step& step) override {
    std::string call = step.name + " of job " + std::to_string(step.job) + ":";
    for (const std::string& input : step.inputs) call += " " + input;
    call += " -> " + step.output;
    if (step.options.reduces) call += " by " + std::to_string(*step.options.reduces);
    for (const auto& [name, value] : step.options.parameters) call += " " + name + "=" + value;
    calls.push_back(call);
    if (step.name == failing) return Invalid("job7: failed: too bad");
    StepResult result{step.output, 7, {}};
    if (!left.empty()) {
      result.counters.push_back({"loop", "left", left.front()});
      left.erase(left.begin());
    }
    return result;
  }
  [[nodiscard]] Result<std::string> Read(const std::string& path) override { return "bytes of " + path; }
  Status MakeDirectory(const std::string& path) override { return Note("mkdir " + path); }
  Status Move(const std::string& from, const std::string& to) override { return Note("mv " + from + " " + to); }
  Status Remove(const std::string& path) override { return Note("rm " + path); }

  std::vector<std::string> calls;
  std::vector<std::int64_t> left;
  std::string failing;

 private:
  Status Note(std::string call) {
    calls.push_back(std::move(call));
    return Status::Ok();
  }
};

Status DriveLoop(FakeRunner& runner, const std::string& most, bool stays = true) {
  const PipelineBinding binding = BindPipeline<Loop>();
  JobOptions options;
  binding.declare(options);
  EXPECT_TRUE(options.Set("loop.most", most).ok());
  return DriveSteps(binding, {{"/in", "/more"}, "/out", 3, "/_out.steps"}, options, runner, stays);
}

TEST(PipelineTest, StepsFollowFromCounters) {
  FakeRunner runner;
  runner.left = {4, 0};
  EXPECT_TRUE(DriveLoop(runner, "9").ok());
  EXPECT_THAT(runner.calls, ElementsAre("round of job 0: /in /more -> /_out.steps/round9 by 3",
                                        "round of job 0: /_out.steps/round9 -> /_out.steps/round4 by 3",
                                        "mkdir /out",  // the first that is written below it
                                        "copy of job 1: /_out.steps/round4 -> /out/copy a=b", "rm /_out.steps"));
}

TEST(PipelineTest, WhatAFailedStepLeavesIsKept) {
  FakeRunner runner;
  runner.failing = "copy";
  const Status failed = DriveLoop(runner, "0");
  EXPECT_EQ(failed.message(), "step copy: job7: failed: too bad; the output of its steps is in /_out.steps");
  EXPECT_EQ(runner.calls.size(), 2u) << "nothing is removed";
  EXPECT_EQ(DriveLoop(runner, "0", false).message(), "step copy: job7: failed: too bad");
}

TEST(PipelineTest, NamesOfStepsAndExceptions) {
  struct Wrong {
    using Pipeline = millrace::Pipeline<Copy>;
    static Status Drive(Pipeline& pipeline) {
      EXPECT_EQ(pipeline.ReadFile("/x").value(), "bytes of /x");
      EXPECT_TRUE(pipeline.Keep("/t", pipeline.output() + "/kept").ok());
      EXPECT_FALSE(pipeline.Run<Copy>("a b", {"/in"}, "/x").ok());
      EXPECT_FALSE(pipeline.Run<Copy>("", {"/in"}, "/x").ok());
      throw std::runtime_error("thrown");
    }
  };
  FakeRunner runner;
  const PipelineBinding binding = BindPipeline<Wrong>();
  EXPECT_THAT(DriveSteps(binding, {{}, "/out", {}, "/t"}, JobOptions(), runner, true).message(),
              HasSubstr("the pipeline threw an exception: thrown"));
  EXPECT_THAT(runner.calls, ElementsAre("mkdir /out", "mv /t /out/kept"));
}

TEST(PipelineTest, ItsWordsAreReadInOrder) {
  const PipelineBinding binding = BindPipeline<Loop>();
  const auto parse = [&](std::vector<std::string> words) {
    JobOptions options;
    binding.declare(options);
    return ParsePipelineRun(words, &options);
  };
  const Result<PipelineRun> run = parse({"/bin/m", "name", "/d/out", "-1", "json", "here", "loop.most=3",
                                         "task.memory=8MiB", "scheduler.pool=a=b", "--", "/in", "--", "x=y"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->millrace, "/bin/m");
  EXPECT_EQ(run->name, "name");
  EXPECT_EQ(run->shown, "here");
  EXPECT_TRUE(run->json);
  EXPECT_FALSE(run->facts.reduces.has_value());
  EXPECT_THAT(run->facts.inputs, ElementsAre("/in", "--", "x=y"));
  EXPECT_THAT(run->of_steps, ElementsAre("task.memory=8MiB", "scheduler.pool=a=b"));
  EXPECT_EQ(run->facts.temporary.find("/d/_out.steps-"), 0u);
  EXPECT_EQ(parse({"m", "n", "/o", "4", "text", "", "loop.most=1", "--"})->facts.reduces, 4u);
  EXPECT_THAT(parse({"m", "n"}).status().message(), HasSubstr("MILLRACE NAME OUTPUT"));
  EXPECT_THAT(parse({"m", "n", "/o", "x", "text", "", "--"}).status().message(), HasSubstr("the number of reduces"));
  EXPECT_THAT(parse({"m", "n", "/o", "1", "text", "", "loop.mst=1", "--"}).status().message(), HasSubstr("loop.most"));
  EXPECT_THAT(parse({"m", "n", "/o", "1", "text", "", "--"}).status().message(), HasSubstr("loop.most"));
  EXPECT_THAT(parse({"m", "n", "/o", "1", "text", "", "loop.most=1"}).status().message(), HasSubstr("no --"));
}

TEST(PipelineTest, ReportsOfStepsAreRead) {
  const Result<StepResult> done = ReadStepReport(
      R"({"job":3,"state":"succeeded","counters":[{"group":"a","name":"b","value":-5},{"group":1}]})", 0);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->job, 3u);
  EXPECT_EQ(done->counter("a", "b"), -5);
  EXPECT_EQ(done->counter("a", "c"), 0);
  EXPECT_EQ(ReadStepReport(R"({"job":3,"state":"failed","reason":"task x"})", 1).status().message(),
            "job3: failed: task x");
  EXPECT_EQ(ReadStepReport(R"({"job":3,"state":"killed","reason":null})", 1).status().message(),
            "job3: killed: no reason was given");
  for (const char* json : {"", "[]", "{}", R"({"job":"x"})", R"({"job":-1})"})
    EXPECT_EQ(ReadStepReport(json, 2).status().message(), "it could not be run (exit status 2)") << json;
}

}  // namespace
}  // namespace millrace::internal
