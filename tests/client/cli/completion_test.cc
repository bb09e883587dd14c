// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "client/cli/commands.h"
#include "client/cli/completion_offers.h"
#include "client/job_client/subprocess.h"
#include "tests/client/cli/console_pipe.h"

namespace millrace::cli {
namespace {

// Returns what bash itself makes of the script. `line` is the command line up to the cursor, and `words` are its words
// as the line editor splits it, at = and : too.
std::string Complete(const std::string& line, const std::string& words, int at, const std::string& program) {
  const TempDir directory = TempDir::Make("completion-test-").value();
  const std::string script = program + BashCompletion() + "COMP_LINE='" + line +
                             "'\nCOMP_POINT=" + std::to_string(line.size()) + "\nCOMP_WORDS=(" + words +
                             ")\nCOMP_CWORD=" + std::to_string(at) + "\n_millrace\necho \"${COMPREPLY[*]}\"\n";
  EXPECT_TRUE(WriteFileDurably(directory.path() + "/script", script).ok());
  const Result<job::Captured> captured = job::RunCaptured({"/bin/bash", directory.path() + "/script"}, {});
  EXPECT_TRUE(captured.ok() && captured->error.empty())
      << (captured.ok() ? captured->error : captured.status().message());
  return captured->output;
}

// A program of that name that offers things, depending on the words.
constexpr const char* kProgram = R"(
millrace() {
  [[ "$1 $2 $3" == "completion offer --" ]] || echo "ran $*" >&2
  shift 3
  case "$*" in
    "jo" | "") printf 'job\0fs\0' ;;
    "job list --state="*) printf -- '--state=running\0--state=waiting\0' ;;
    "job kill "*) printf '3\0' ;;
    "--master host:7700 jo") printf 'job\0' ;;
    "run x -D s") printf 'sleep.time=\0sleep.bytes=\0' ;;
    "fs cat two words "*) printf '/a/one\0/a:b\0' ;;
  esac
}
)";

TEST(CompletionTest, TheProgramIsAskedWithTheWordsAsTheyAreMeant) {
  EXPECT_EQ(Complete("millrace jo", "millrace jo", 1, kProgram), "job\n");
  EXPECT_EQ(Complete("millrace ", "millrace ''", 1, kProgram), "job fs\n");
  EXPECT_EQ(Complete("millrace job kill ", "millrace job kill ''", 3, kProgram), "3\n");
  EXPECT_EQ(Complete("millrace fs cat two\\ words /a", "millrace fs cat 'two\\ words' /a", 4, kProgram),
            "/a/one /a\\:b\n");
  EXPECT_EQ(Complete("millrace run x -D s", "millrace run x -D s", 4, kProgram), "sleep.time= sleep.bytes=\n");
}

TEST(CompletionTest, WhatTheLineEditorSplitsIsPutTogether) {
  EXPECT_EQ(Complete("millrace --master host:7700 jo", "millrace --master host : 7700 jo", 5, kProgram), "job\n");
  EXPECT_EQ(Complete("millrace job list --state=ru", "millrace job list --state = ru", 5, kProgram), "running\n");
  EXPECT_EQ(Complete("millrace job list --state=", "millrace job list --state =", 4, kProgram), "running waiting\n");
}

// Names that a user of the cluster may give to files, below a directory in which others press Tab.
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
                             "\nmillrace() { [ \"$1 $2 $3\" = 'completion offer --' ] && cat names; }\n" +
                             BashCompletion() +
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

TEST(OptionsInHelpTest, NamesAndWhetherTheyTakeAValue) {
  const std::vector<ListedOption> options = OptionsInHelp(
      "Lists the jobs.\nUsage: millrace job list [OPTIONS]\n\nOptions:\n"
      "  -h,--help                   Print this help message and exit\n"
      "  -o,--output TEXT            Directory\n"
      "  --json                      JSON, for --output\n"
      "  -D TEXT ...                 an option\n"
      "  --last N                    only so many\n"
      "Examples:\n  millrace job list --live\n");
  ASSERT_EQ(options.size(), 5u);
  EXPECT_EQ(options[1].names, (std::vector<std::string>{"-o", "--output"}));
  EXPECT_EQ((std::vector<bool>{options[0].takes_value, options[1].takes_value, options[2].takes_value,
                               options[3].takes_value, options[4].takes_value}),
            (std::vector<bool>{false, true, false, true, true}));
}

class OffersTest : public ::testing::Test {
 protected:
  // Returns the offers that begin as typed.
  std::vector<std::string> Offers(const Words& words) {
    std::vector<std::string> offers = OffersFor(console_.Make(console_.directory() + "/millrace"), words, AllVerbs({}));
    std::erase_if(offers, [&](const std::string& offer) { return !offer.starts_with(words.back()); });
    return offers;
  }
  ConsolePipe console_;
};

using List = std::vector<std::string>;

TEST_F(OffersTest, CommandsWhereverTheOptionsBeforeThemEnd) {
  EXPECT_EQ(Offers({"jo"}), List{"job"});
  EXPECT_EQ(Offers({"--master", "a:1", "--wait=3s", "jo"}), List{"job"});
  EXPECT_EQ(Offers({"--m"}), List{"--master"});
  EXPECT_EQ(Offers({"--master", ""}), List{});
  EXPECT_EQ(Offers({"job", "l"}), (List{"list", "logs"}));
  EXPECT_EQ(Offers({"help", "job", "l"}), (List{"list", "logs"}));
  EXPECT_EQ(Offers({"nonsense", ""}), List{});
}

TEST_F(OffersTest, OptionsAndTheirValues) {
  EXPECT_EQ(Offers({"job", "list", "--sta"}), (List{"--start", "--state"}));
  EXPECT_EQ(Offers({"job", "list", "--state", "f"}), List{"failed"});
  EXPECT_EQ(Offers({"job", "list", "--state=f"}), List{"--state=failed"});
  EXPECT_EQ(Offers({"job", "tasks", "--state", "p"}), List{"preempted"});
  EXPECT_EQ(Offers({"run", "x", "--priority", "VERY"}), (List{"VERY_HIGH", "VERY_LOW"}));
  EXPECT_EQ(Offers({"job", "priority", "3", "VERY_H"}), List{"VERY_HIGH"});
  EXPECT_EQ(Offers({"fs", "get", "--progress", "b"}), List{"bar"});
  EXPECT_EQ(Offers({"fs", "quota", "s"}), (List{"show", "set"}));
  EXPECT_EQ(Offers({"run", "./mine", "-D", "job.max_failed"}), List{"job.max_failed_maps="})
      << "of a program of the user, which is not started";
}

TEST_F(OffersTest, SchedulersWithTheirParts) {
  EXPECT_EQ(Offers({"scheduler", "set", "fai"}), List{"fair"});
  const List parts = Offers({"scheduler", "set", "fair+"});
  EXPECT_EQ(parts, (List{"fair+memory", "fair+delay", "fair+ccs", "fair+preempt"}));
  EXPECT_EQ(Offers({"scheduler", "set", "fair+delay+c"}), List{"fair+delay+ccs"});
  EXPECT_EQ(Offers({"scheduler", "set", "fair+delay+d"}), List{}) << "each part once";
  EXPECT_EQ(Offers({"scheduler", "set", "fair", ""}), List{});
}

TEST_F(OffersTest, NothingIsOfferedBehindTheMarkOrWithoutACluster) {
  EXPECT_EQ(Offers({"run", "--", "-"}), List{});
  EXPECT_EQ(Offers({"fs", "cat", "/"}), List{});
  EXPECT_EQ(Offers({"job", "kill", ""}), List{});
}

}  // namespace
}  // namespace millrace::cli
