// SPDX-License-Identifier: Apache-2.0
#include "client/top/keys.h"

#include <gmock/gmock.h>

#include <random>

#include "client/top/screen.h"
#include "client/top/watch.h"

namespace millrace::top {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Key Letter(char letter) { return {KeyKind::kLetter, letter}; }
Key Of(KeyKind kind) { return {kind}; }

Picture WithJobs(std::initializer_list<std::uint32_t> numbers) {
  Picture picture;
  for (const std::uint32_t number : numbers) {
    picture.jobs.emplace_back();
    picture.jobs.back().job = JobId{number};
  }
  return picture;
}

State After(const std::vector<Key>& keys, const Picture& picture, State state = {}) {
  for (const Key& key : keys) Press(key, picture, 10, &state);
  return state;
}

TEST(KeyReaderTest, LettersAndSequences) {
  KeyReader reader;
  EXPECT_THAT(reader.Take("q\x1b[A\x1bOB\x1b[5~\x1b[6~\r\x7f"),
              ElementsAre(Letter('q'), Of(KeyKind::kUp), Of(KeyKind::kDown), Of(KeyKind::kPageUp),
                          Of(KeyKind::kPageDown), Of(KeyKind::kEnter), Of(KeyKind::kEscape)));
  EXPECT_FALSE(reader.waits());
}

TEST(KeyReaderTest, ASequenceInPiecesIsOneKeyAndALoneEscapeIsEscape) {
  KeyReader reader;
  EXPECT_THAT(reader.Take("\x1b"), IsEmpty());
  EXPECT_TRUE(reader.waits());
  EXPECT_THAT(reader.Take("["), IsEmpty());
  EXPECT_THAT(reader.Take("A"), ElementsAre(Of(KeyKind::kUp)));
  EXPECT_THAT(reader.Take("\x1b"), IsEmpty());
  EXPECT_THAT(reader.Pause(), ElementsAre(Of(KeyKind::kEscape)));
  EXPECT_THAT(reader.Pause(), IsEmpty());
}

// A sequence that means nothing here must not become the letters of which it is made: "q" would quit.
TEST(KeyReaderTest, UnknownSequencesAreNoKeys) {
  KeyReader reader;
  EXPECT_THAT(reader.Take("\x1b[1;5q\x1b[200~\x1bq"), IsEmpty());
  EXPECT_THAT(reader.Take("x"), ElementsAre(Letter('x')));
}

TEST(KeyReaderTest, AnyBytesKeepItBounded) {
  for (unsigned seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    KeyReader reader;
    std::size_t keys = 0, bytes = 0;
    for (int i = 0; i < 20; ++i) {
      std::string piece;
      for (unsigned n = random() % 20; n > 0; --n) piece += "\x1b[O5~Aqz0;"[random() % 10];
      bytes += piece.size();
      keys += reader.Take(piece).size();
    }
    ASSERT_LE(keys, bytes);
    (void)reader.Pause();
    ASSERT_FALSE(reader.waits());
    ASSERT_THAT(reader.Take("x"), ElementsAre(Letter('x')));
  }
}

TEST(PressTest, ViewsHelpAndQuit) {
  const Picture picture = WithJobs({1});
  EXPECT_EQ(After({Letter('p')}, picture).view, View::kPools);
  EXPECT_EQ(After({Letter('n')}, picture).view, View::kNodes);
  EXPECT_TRUE(After({Letter('n')}, picture).ask);
  EXPECT_EQ(After({Letter('n'), Letter('j')}, picture).view, View::kJobs);
  EXPECT_TRUE(After({Letter('h')}, picture).help);
  EXPECT_FALSE(After({Letter('h'), Of(KeyKind::kEscape)}, picture).help);
  EXPECT_TRUE(After({Letter('q')}, picture).quit);
  EXPECT_FALSE(After({Letter('x'), Letter('\0'), Letter('\xff')}, picture).quit);
}

TEST(PressTest, AMarkedJobStaysMarkedWhereverItMoves) {
  const State marked = After({Of(KeyKind::kDown)}, WithJobs({1, 2, 3}));
  EXPECT_EQ(marked.marked, JobId{2});
  EXPECT_EQ(After({Of(KeyKind::kDown)}, WithJobs({2, 3}), marked).marked, JobId{3});
  // A job that is gone leaves the mark at its row.
  EXPECT_EQ(After({Of(KeyKind::kEnter)}, WithJobs({1, 3}), marked).opened, JobId{3});
}

TEST(PressTest, EnterOpensTheMarkedJobAndEscapeGoesBack) {
  const Picture picture = WithJobs({4, 9});
  const State opened = After({Of(KeyKind::kEnd), Of(KeyKind::kEnter)}, picture);
  EXPECT_EQ(opened.view, View::kTasks);
  EXPECT_EQ(opened.opened, JobId{9});
  const State back = After({Of(KeyKind::kEscape)}, picture, opened);
  EXPECT_EQ(back.view, View::kJobs);
  EXPECT_FALSE(back.opened.has_value());
  EXPECT_EQ(back.marked, JobId{9});
  EXPECT_FALSE(After({Of(KeyKind::kEnter)}, WithJobs({})).opened.has_value());
}

TEST(PressTest, SortingGoesRoundTheColumns) {
  const Picture picture = WithJobs({1});
  for (const View view : {View::kJobs, View::kPools, View::kNodes, View::kTasks}) {
    State state;
    state.view = view;
    const std::size_t begin = state.here().column;
    state = After({Letter('s'), Letter('s'), Letter('S'), Letter('r')}, picture, state);
    EXPECT_EQ(state.here().column, (begin + 1) % ColumnsOf(view));
    for (std::size_t i = 1; i < ColumnsOf(view); ++i) Press(Letter('s'), picture, 10, &state);
    EXPECT_EQ(state.here().column, begin);
  }
}

TEST(PauseAfterTest, OneUserTakesATwentiethOfTheMastersTimeAtMost) {
  EXPECT_EQ(PauseAfter(1'000, 2 * kSecond), 2 * kSecond);
  for (const Micros took : {200'000, 500'000, 3'000'000}) {
    const Micros pause = PauseAfter(took, 2 * kSecond);
    EXPECT_LE(took * 20, took + pause) << took;
  }
  EXPECT_EQ(PauseAfter(1'000 * kSecond, 2 * kSecond), 60 * kSecond);
}

}  // namespace
}  // namespace millrace::top
