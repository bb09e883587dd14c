#include "client/cli/completion.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "client/job_client/subprocess.h"

namespace millrace::cli {
namespace {

// Returns what bash itself makes of the script.
std::string Complete(const std::string& words, int at, const std::string& prelude = {}) {
  const TempDir directory = TempDir::Make("completion-test-").value();
  const std::vector<Verb> verbs{{"job", "", nullptr, {"list", "logs", "kill"}}, {"fs", "", nullptr, {"ls"}}};
  const std::string script = prelude + BashCompletion(verbs) + "COMP_WORDS=(" + words +
                             ")\nCOMP_CWORD=" + std::to_string(at) + "\n_millrace\necho \"${COMPREPLY[*]}\"\n";
  EXPECT_TRUE(WriteFileDurably(directory.path() + "/script", script).ok());
  const Result<job::Captured> captured = job::RunCaptured({"/bin/bash", directory.path() + "/script"}, {});
  EXPECT_TRUE(captured.ok() && captured->error.empty())
      << (captured.ok() ? captured->error : captured.status().message());
  return captured->output;
}

TEST(CompletionTest, WordsOfBothPlaces) {
  EXPECT_EQ(Complete("millrace jo", 1), "job\n");
  EXPECT_EQ(Complete("millrace job l", 2), "list logs\n");
  EXPECT_EQ(Complete("millrace job", 1), "job\n");
  EXPECT_EQ(Complete("millrace fs l", 2), "ls\n");
  EXPECT_EQ(Complete("millrace comp", 1), "completion\n");
  EXPECT_EQ(Complete("millrace job kill 3", 3), "\n");
}

// A program of that name that knows an option, three paths, two jobs and two nodes.
constexpr const char* kProgram = R"(
millrace() {
  case "$*" in
    "job kill --help") echo "  -h,--help   Print this"; echo "  --reason TEXT   the --reason" ;;
    "fs ls --names /a/") printf '/a/one\n/a/two/\n/a/onto\n' ;;
    "job list") printf 'JOB STATE\n3 running\n17 waiting\n' ;;
    "node list") printf 'NODE STATE\n1 alive\n2 lost\n' ;;
  esac
}
)";

TEST(CompletionTest, OptionsComeFromTheHelpOfTheCommand) {
  EXPECT_EQ(Complete("millrace job kill --", 3, kProgram), "--help --reason\n");
  EXPECT_EQ(Complete("millrace job kill 3 --r", 4, kProgram), "--reason\n");
}

TEST(CompletionTest, PathsJobsAndNodesComeFromTheCluster) {
  EXPECT_EQ(Complete("millrace fs ls /a/on", 3, kProgram), "/a/one /a/onto\n");
  EXPECT_EQ(Complete("millrace run wordcount /a/t", 3, kProgram), "/a/two/\n");
  EXPECT_EQ(Complete("millrace job kill 1", 3, kProgram), "17\n");
  EXPECT_EQ(Complete("millrace node decommission ''", 3, kProgram), "1 2\n");
}

}  // namespace
}  // namespace millrace::cli
