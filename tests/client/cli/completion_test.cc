#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "client/cli/commands.h"
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
  EXPECT_EQ(Complete("millrace fs quota s", 3), "show set\n");
  EXPECT_EQ(Complete("millrace comp", 1), "completion\n");
  EXPECT_EQ(Complete("millrace job kill 3", 3), "\n");
}

// A program of that name that knows an option, three paths, two jobs and two nodes.
constexpr const char* kProgram = R"(
millrace() {
  case "$*" in
    "job kill --help") echo "  -h,--help   Print this"; echo "  --reason TEXT   the --reason" ;;
    "fs ls --null /a/") printf '/a/one\0/a/two/\0/a/onto\0' ;;
    "job list") printf 'JOB STATE\n3 running\n17 waiting\n' ;;
    "node list") printf 'NODE STATE\n1 alive\n2 lost\n' ;;
  esac
}
)";

// What a user of the cluster may call a file, below a directory in which others press Tab.
const std::vector<std::string>& HostileNames() {
  static const std::vector<std::string> names{"$(touch ran)",
                                              "`touch ran`",
                                              "x$(touch ran)",
                                              "'; touch ran; '",
                                              "\"; touch ran; \"",
                                              "a\ntouch ran\n",
                                              "; touch ran #",
                                              "| touch ran",
                                              "& touch ran &",
                                              "> ran",
                                              "<(touch ran)",
                                              "${x:=$(touch ran)}",
                                              "$((x[$(touch ran)]))",
                                              "x[$(touch ran)]",
                                              "!touch ran",
                                              "*",
                                              "?",
                                              "[a-z]",
                                              "{a,b}",
                                              "~",
                                              "~root",
                                              "-rf",
                                              "--help",
                                              "two words",
                                              "  ",
                                              "a\tb",
                                              "\\",
                                              "\\n",
                                              "a\\",
                                              "\033[2J",
                                              "\x01",
                                              "\xff\xfe",
                                              "\xc3\xa9t\xc3\xa9",
                                              "%24%28id%29",
                                              "%s%n%d",
                                              "a:b",
                                              "a=b",
                                              "a@b",
                                              "$HOME",
                                              "$'\\x41'",
                                              "#x",
                                              "a#",
                                              "@(a|b)",
                                              "-n",
                                              "()",
                                              "\r",
                                              "last"};
  return names;
}

// Completes `word`, as it stands on the command line, where the cluster has the hostile names below /a/. Returns what
// each of the offered words means to the shell, in their order. Nothing that was named may have been run.
std::vector<std::string> CompleteHostile(const std::string& word) {
  const TempDir directory = TempDir::Make("completion-test-").value();
  std::string names;
  for (const std::string& name : HostileNames()) names += "/a/" + name + '\0';
  EXPECT_TRUE(WriteFileDurably(directory.path() + "/names", names).ok());
  const std::string script = "cd " + directory.path() +
                             "\nmillrace() { [ \"$*\" = 'fs ls --null /a/' ] && cat names; }\n" +
                             BashCompletion({{"fs", "", nullptr, {"ls"}}}) +
                             "IFS= read -r -d '' word <word\nCOMP_WORDS=(millrace fs ls \"$word\")\nCOMP_CWORD=3\n"
                             "_millrace\n[ -e ran ] && echo 'a name was run' >&2\n"
                             "for offered in \"${COMPREPLY[@]}\"; do\n"
                             "  case \"$word\" in [\\'\\\"]*) offered=\"${word:0:1}$offered${word:0:1}\" ;; esac\n"
                             "  eval \"meant=($offered)\"\n"
                             "  printf '%s\\0' \"${meant[@]}\"\ndone\n[ -e ran ] && echo 'an offer was run' >&2\n";
  EXPECT_TRUE(WriteFileDurably(directory.path() + "/word", word + '\0').ok());
  EXPECT_TRUE(WriteFileDurably(directory.path() + "/script", script).ok());
  const Result<job::Captured> captured = job::RunCaptured({"/bin/bash", directory.path() + "/script"}, {});
  EXPECT_TRUE(captured.ok() && captured->error.empty())
      << word << ": " << (captured.ok() ? captured->error : captured.status().message());
  std::vector<std::string> meant;
  if (!captured.ok()) return meant;
  for (std::size_t begin = 0, end; (end = captured->output.find('\0', begin)) != std::string::npos; begin = end + 1)
    meant.push_back(captured->output.substr(begin, end - begin));
  return meant;
}

std::vector<std::string> Below(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back("/a/" + name);
  return paths;
}

TEST(CompletionTest, NamesAreTextWhateverTheyAre) {
  EXPECT_EQ(CompleteHostile("/a/"), Below(HostileNames()));
  for (const std::string& name : HostileNames()) {
    const bool left_to_the_shell = std::string_view("$`'\"").find(name[0]) != std::string_view::npos;
    EXPECT_EQ(CompleteHostile("/a/" + name.substr(0, 1)).empty(), left_to_the_shell)
        << "what the shell would expand, or a mark that opens within the word: " << name;
  }
}

TEST(CompletionTest, WordsAreReadAsTheShellReadsThem) {
  EXPECT_EQ(CompleteHostile("/a/two\\ w"), Below({"two words"}));
  EXPECT_EQ(CompleteHostile("'/a/two w"), Below({"two words"}));
  EXPECT_EQ(CompleteHostile("\"/a/two w"), Below({"two words"}));
  EXPECT_EQ(CompleteHostile("/a/'two w'o"), Below({"two words"}));
  EXPECT_EQ(CompleteHostile("/a/\\$\\(t"), Below({"$(touch ran)"}));
  EXPECT_EQ(CompleteHostile("\"/a/\\x"), Below({})) << "in quotation marks a backslash before x is itself";
  EXPECT_EQ(CompleteHostile("/a/'two w"), Below({})) << "a mark that opens within the word";
  EXPECT_EQ(CompleteHostile("'/a/$"), Below({})) << "names that need escapes are not offered in quotation marks";
  EXPECT_EQ(CompleteHostile("/a/$(touch ran)"), Below({}));
}

TEST(CompletionTest, TabStartsNoCommandOfTheUser) {
  const std::string prelude =
      "millrace() { case \"$*\" in 'local --help') echo --workers ;; 'run --help') echo --reducers ;; "
      "*) echo \"ran $*\" >&2 ;; esac; }\n";
  EXPECT_EQ(Complete("millrace local -- --", 3, prelude), "--workers\n");
  EXPECT_EQ(Complete("millrace run ./mine --", 3, prelude), "--reducers\n");
}

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
