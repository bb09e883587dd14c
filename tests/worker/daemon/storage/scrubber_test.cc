// SPDX-License-Identifier: Apache-2.0
// Tests the scrubber under driven time, over blocks on a real disk.
#include "worker/daemon/storage/scrubber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/timer.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "dfs/wire/chunks.h"
#include "tests/fakes/inline_background.h"

namespace millrace::worker {
namespace {

using dfs::wire::ReplicaState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class ScrubberTest : public testing::Test {
 protected:
  static constexpr Micros kPeriod = 3600 * kSecond;
  static constexpr std::uint64_t kRate = std::uint64_t{4} << 20;

  ScrubberTest() {
    for (std::uint64_t id = 1; id <= 4; ++id) {
      const std::string data(kRate, static_cast<char>('a' + id));
      const auto file = std::move(*blocks_->Create(id));
      EXPECT_TRUE(file->Append(data, dfs::ChunkCrcs(data)).ok());
      EXPECT_TRUE(file->Finish().ok());
    }
  }
  ~ScrubberTest() noexcept override = default;

  void Start() {
    scrubber_ = std::make_unique<Scrubber>(
        timer_, clock_, *blocks_, background_, ScrubOptions{kPeriod, kRate, directory_.path() + "/scrubbed"},
        [this](const CheckedBlock& checked) { found_.emplace_back(checked.block.id, checked.state); });
    scrubber_->Start();
    Advance(0);
  }
  void Advance(Micros by) {
    const kj::TimePoint end = timer_.now() + by * kj::MICROSECONDS;
    do {
      const kj::TimePoint next = kj::min(timer_.now() + 250 * kj::MILLISECONDS, end);
      clock_.Advance((next - timer_.now()) / kj::MICROSECONDS);
      timer_.advanceTo(next);
      scope_.poll();
    } while (timer_.now() < end);
  }
  [[nodiscard]] std::string DataPath(int id) const {
    const std::string digit = std::to_string(id);
    return directory_.path() + "/blocks/0" + digit + "/000000000000000" + digit;
  }
  void Flip(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('!');
    ASSERT_TRUE(file.good());
  }

  static constexpr Micros kEpoch = 1000 * kSecond;
  TempDir directory_ = std::move(*TempDir::Make("scrubber"));
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  DrivenClock clock_{kEpoch};
  rpc::InlineBackground background_;
  std::unique_ptr<dfs::BlockStore> blocks_ = std::move(*dfs::OpenDiskBlockStore(directory_.path(), 0));
  std::vector<std::pair<std::uint64_t, ReplicaState>> found_;
  std::unique_ptr<Scrubber> scrubber_;
};

TEST_F(ScrubberTest, FindsAllKindsOfRotThatNoReaderMetWithinThePeriod) {
  Flip(DataPath(1));
  std::filesystem::resize_file(DataPath(2), 1000);
  std::filesystem::remove(DataPath(3));
  std::filesystem::remove(DataPath(4) + ".crc");
  Start();
  Advance(kPeriod);
  EXPECT_THAT(found_, testing::IsSupersetOf({Pair(1, ReplicaState::CORRUPT), Pair(2, ReplicaState::CORRUPT),
                                             Pair(3, ReplicaState::ABSENT), Pair(4, ReplicaState::CORRUPT)}));
}

TEST_F(ScrubberTest, SoundBlocksAreNotSpokenOf) {
  Start();
  Advance(kPeriod);
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(ScrubberTest, DoesNotReadFasterThanItsRate) {
  // All blocks are overdue, so that only the rate holds the scrubber back, at one second for each block.
  ASSERT_TRUE(WriteFileDurably(directory_.path() + "/scrubbed", "1 0\n2 0\n3 0\n4 0\n").ok());
  Flip(DataPath(4));
  clock_.Set(kEpoch + 2 * kPeriod);
  timer_.advanceTo(kj::origin<kj::TimePoint>() + 2 * kPeriod * kj::MICROSECONDS);
  Start();
  Advance(2900 * kMillisecond);
  EXPECT_THAT(found_, IsEmpty()) << "three blocks of a second each stand before it";
  Advance(3 * kSecond);
  EXPECT_THAT(found_, ElementsAre(Pair(4, ReplicaState::CORRUPT)));
}

TEST_F(ScrubberTest, AClockThatIsSetBackDoesNotStopIt) {
  Start();
  clock_.Advance(-1000 * kPeriod);
  Flip(DataPath(4));
  Advance(kPeriod);
  EXPECT_THAT(found_, testing::Contains(Pair(4, ReplicaState::CORRUPT)));
}

TEST_F(ScrubberTest, AClockThatIsSetForwardDoesNotHurryIt) {
  Start();
  Flip(DataPath(4));  // the last of four
  clock_.Advance(1000 * kPeriod);
  Advance(kPeriod / 10);
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(ScrubberTest, GoesOnAfterARestartWhereItWas) {
  Start();
  Advance(kPeriod / 2);  // three are read, each at its fourth of nine tenths of the period
  scrubber_.reset();
  for (int id = 1; id <= 4; ++id) Flip(DataPath(id));
  Start();
  Advance(kSecond);
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].first, 4u) << *ReadWholeFile(directory_.path() + "/scrubbed");
}

TEST_F(ScrubberTest, ABlockThatIsRemovedIsNotMissed) {
  Start();
  ASSERT_TRUE(blocks_->Remove(2).ok());
  Advance(kPeriod);
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace millrace::worker
