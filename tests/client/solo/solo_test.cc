// SPDX-License-Identifier: Apache-2.0
// Tests the reading of the words of JOB --millrace-solo, and of local files as the input of maps. Whole runs are
// compared with a cluster's in tests/cluster/test_local.py.
#include "client/solo/solo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "client/api/job.h"
#include "client/solo/local_input.h"

namespace millrace::solo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SoloRunTest, ItsWordsAreReadInOrder) {
  const Result<SoloRun> run = ParseSoloRun({"out", "3", "a.b=c=d", "--file=x=y=/p", "e=", "--", "in", "--", "x=y"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->output, "out");
  EXPECT_EQ(run->reduces, 3U);
  EXPECT_THAT(run->parameters, ElementsAre("a.b=c=d", "e="));
  EXPECT_THAT(run->files, ElementsAre(std::pair<std::string, std::string>("/p", "x=y")));
  EXPECT_THAT(run->inputs, ElementsAre("in", "--", "x=y"));
}

TEST(SoloRunTest, WrongWordsAreNamed) {
  EXPECT_THAT(ParseSoloRun({"out"}).status().message(), HasSubstr("OUTPUT REDUCES"));
  for (const char* reduces : {"", "-1", "1001", "3x", "99999999999"})
    EXPECT_THAT(ParseSoloRun({"out", reduces, "--", "in"}).status().message(), HasSubstr("the number of reduces"))
        << reduces;
  EXPECT_THAT(ParseSoloRun({"out", "1", "in"}).status().message(), HasSubstr("there is no --"));
  EXPECT_THAT(ParseSoloRun({"out", "1", "--file=x", "--", "in"}).status().message(), HasSubstr("--file=x"));
}

// Its output is the input as its Prepare saw it.
struct Looks {
  static void Options(JobOptions& options) { options.Text("looks.seen", "", "names, lengths and first bytes"); }
  static Status Prepare(Preparation& job) {
    MILLRACE_ASSIGN(const std::vector<InputFile> files, job.Inputs());
    std::string seen = std::to_string(job.reduces());
    for (const InputFile& file : files) {
      MILLRACE_ASSIGN(const std::string bytes, job.Read(file, 1, 2));
      seen += " " + file.name + " " + std::to_string(file.length) + " " + bytes;
    }
    return job.Set("looks.seen", seen);
  }
  explicit Looks(TaskContext& context) : seen_(context.options().text("looks.seen")) {}
  void Map(std::string_view, auto&) {}
  void FinishMap(auto& emit) { emit(seen_); }

 private:
  std::string seen_;
};

class LocalInputTest : public testing::Test {
 protected:
  LocalInputTest() {
    EXPECT_TRUE(MakeDirectories(In("d/sub")).ok());
    EXPECT_TRUE(MakeDirectories(In("d/_logs")).ok());
    for (const char* file : {"d/b", "d/sub/a", "d/.hidden", "d/_logs/x"}) Write(file, "0123456789");
  }
  std::string In(const std::string& name) { return directory_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) { EXPECT_TRUE(WriteFileDurably(In(name), bytes).ok()); }
  // Returns "index name offset+length" of each piece.
  std::vector<std::string> Pieces(const std::vector<std::string>& inputs, SplitBy by, bool decompress = true) {
    std::vector<std::string> found;
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      const auto pieces = PiecesOf(inputs[i], i, by, decompress, 4);
      EXPECT_TRUE(pieces.ok()) << pieces.status().message();
      if (!pieces.ok()) return found;
      for (const Piece& piece : *pieces)
        found.push_back(std::to_string(piece.index) + " " + piece.name + " " + std::to_string(piece.split.offset) +
                        "+" + std::to_string(piece.split.length));
    }
    return found;
  }

  TempDir directory_ = TempDir::Make("solo-test-").value();
};

TEST_F(LocalInputTest, FilesAreCutAndHiddenOnesLeftOut) {
  EXPECT_THAT(Pieces({In("d"), In("d/sub/a")}, SplitBy::kBlock),
              ElementsAre("0 b 0+4", "0 b 4+4", "0 b 8+2", "0 sub/a 0+4", "0 sub/a 4+4", "0 sub/a 8+2", "1 a 0+4",
                          "1 a 4+4", "1 a 8+2"));
  EXPECT_THAT(Pieces({In("d")}, SplitBy::kFile), ElementsAre("0 b 0+10", "0 sub/a 0+10"));
  EXPECT_EQ(PiecesOf(In("none"), 0, SplitBy::kBlock, true, 4).status().code(), StatusCode::kNotFound);
}

TEST_F(LocalInputTest, APatternIsAllThatItMatches) {
  for (const char* file : {"d/a*", "d/ab", "d/_ab", "e1", "e2"}) Write(file, "01");
  EXPECT_THAT(Pieces({In("d/a*"), In("d/a\\*"), In("{e2,e1}")}, SplitBy::kFile),
              ElementsAre("0 a* 0+2", "0 ab 0+2", "1 a* 0+2", "2 e1 0+2", "2 e2 0+2"));
  EXPECT_THAT(Pieces({In("d/_*")}, SplitBy::kFile), ElementsAre("0 _ab 0+2", "0 x 0+10"));
  EXPECT_EQ(PiecesOf(In("d/c*"), 0, SplitBy::kBlock, true, 4).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(LocalInput().List(In("d/a*")).value().size(), 2U);
  LocalInput named({{"/named*", In("d/a*")}});
  EXPECT_EQ(named.List("/named*").value().size(), 1U) << "a file that is named by --file is that one";
}

TEST_F(LocalInputTest, APrepareLooksAtLocalFiles) {
  SoloRun run;
  run.output = In("out");
  run.inputs = {In("d/sub"), In("d/b")};
  const auto counters = RunSolo(internal::BindJob<Looks>(), "looks", run);
  ASSERT_TRUE(counters.ok()) << counters.status().message();
  EXPECT_EQ(ReadWholeFile(In("out/part-m-00000")).value(), "0 a 10 12 b 10 12\n");
  run.output = In("out2");
  run.inputs = {In("none")};
  EXPECT_EQ(RunSolo(internal::BindJob<Looks>(), "looks", run).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(ReadWholeFile(In("out2/part-m-00000")).ok());
}

TEST_F(LocalInputTest, CompressedFilesAreNotCut) {
  Write("named.gz", "0123456789");
  Write("looks", "\x1f\x8b\x08\x00\x01\x02\x03\x04\x05\x06 and more");
  EXPECT_THAT(Pieces({In("named.gz")}, SplitBy::kBlock), ElementsAre("0 named.gz 0+10"));
  EXPECT_EQ(Pieces({In("looks")}, SplitBy::kBlock).size(), 1U);
  EXPECT_EQ(Pieces({In("named.gz")}, SplitBy::kBlock, false).size(), 3U);
}

TEST_F(LocalInputTest, EmptyFiles) {
  Write("empty", "");
  EXPECT_THAT(Pieces({In("empty")}, SplitBy::kBlock), ElementsAre());
  EXPECT_THAT(Pieces({In("empty")}, SplitBy::kFile), ElementsAre("0 empty 0+0"));
}

TEST(NumbersTest, PiecesDifferByOneAtMost) {
  std::vector<std::uint64_t> lengths;
  for (const Piece& piece : PiecesOf(NumberRange{3, 8})) lengths.push_back(piece.split.length);
  EXPECT_THAT(lengths, ElementsAre(3, 3, 2));
}

}  // namespace
}  // namespace millrace::solo
