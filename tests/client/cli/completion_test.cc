#include "client/cli/completion.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "client/job_client/subprocess.h"

namespace millrace::cli {
namespace {

// Returns what bash itself makes of the script.
std::string Complete(const std::string& words, int at) {
  const TempDir directory = TempDir::Make("completion-test-").value();
  const std::vector<Verb> verbs{{"job", "", nullptr, {"list", "logs", "kill"}}, {"fs", "", nullptr, {"ls"}}};
  const std::string script = BashCompletion(verbs) + "COMP_WORDS=(" + words + ")\nCOMP_CWORD=" + std::to_string(at) +
                             "\n_millrace\necho \"${COMPREPLY[*]}\"\n";
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

}  // namespace
}  // namespace millrace::cli
