// SPDX-License-Identifier: Apache-2.0
// Tests copies between real servers on loopback.
#include "worker/daemon/shuffle/reduce_copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/worker/daemon/shuffle/shuffle_fixture.h"
#include "worker/daemon/shuffle/fetch_wire.h"

namespace millrace::shuffle {
namespace {

using net::Awaitable;
using net::Wire;
using testing::HasSubstr;

class ReduceCopyTest : public testing::Test {
 protected:
  void Start(std::uint32_t partition, std::uint32_t maps) {
    copy_.emplace(*here_.server, *here_.outputs, partition, maps, here_.directories, file_, options_, told_.Callbacks(),
                  MakeSilentLog());
  }
  static void ExpectContent(const CopiedSegment& segment, std::uint32_t partition) {
    const auto fd = OpenFile(segment.file, O_RDONLY);
    ASSERT_TRUE(fd.ok()) << fd.status().message();
    const auto mapped = MappedFile::Map(fd->get(), segment.segment.offset, segment.segment.length, segment.file);
    ASSERT_TRUE(mapped.ok()) << mapped.status().message();
    Require(run::VerifySegment(mapped->bytes(), segment.segment, "copied"));
    run::SegmentCursor cursor(mapped->bytes(), segment.segment.compressed, "copied");
    Records records;
    while (cursor.Next()) records.emplace_back(cursor.key(), cursor.value());
    Require(cursor.status());
    EXPECT_TRUE(records == Content(segment.map, partition)) << "map " << segment.map << " partition " << partition;
    EXPECT_EQ(segment.segment.records, records.size());
  }
  void ExpectAll(const std::vector<CopiedSegment>& segments, std::uint32_t partition, std::uint32_t maps) {
    ASSERT_EQ(segments.size(), maps);
    for (std::uint32_t map = 0; map < maps; ++map) {
      EXPECT_EQ(segments[map].map, map);
      ExpectContent(segments[map], partition);
    }
  }

  Worker here_;
  Told told_;
  std::string file_ = here_.dir.path() + "/copy";
  CopyOptions options_{.retries = 2, .first_back_off = kMillisecond};
  std::optional<ReduceCopy> copy_;
};

TEST_F(ReduceCopyTest, CopiesFromManyWorkers) {
  constexpr std::uint32_t kMaps = 150, kPartitions = 4;
  for (const bool compress : {false, true}) {
    std::vector<Worker> workers(3);
    std::vector<Source> sources;
    for (std::uint32_t map = 0; map < kMaps; ++map) {
      workers[map % 3].AddRun(map, kPartitions, compress);
      sources.push_back(workers[map % 3].Has(map));
    }
    for (std::uint32_t partition = 0; partition < kPartitions; ++partition) {
      Told told;
      ReduceCopy copy(*here_.server, *here_.outputs, partition, kMaps, here_.directories, file_, options_,
                      told.Callbacks(), MakeSilentLog());
      copy.Ready(sources);
      const auto segments = told.WaitComplete();
      ExpectAll(segments, partition, kMaps);
      std::uint64_t bytes = 0;
      for (const CopiedSegment& segment : segments) bytes += segment.segment.length;
      EXPECT_EQ(told.complete.front().second, bytes);
      EXPECT_EQ(copy.bytes_fetched(), bytes);
      EXPECT_EQ(copy.copied(), kMaps);
    }
  }
}

TEST_F(ReduceCopyTest, CompressedAndPlainSegmentsOfOneJobMix) {
  constexpr std::uint32_t kMaps = 60;
  std::vector<Worker> workers(2);
  std::vector<Source> sources;
  for (std::uint32_t map = 0; map < kMaps; ++map) {
    workers[map % 2].AddRun(map, 1, map % 3 == 0);
    sources.push_back(workers[map % 2].Has(map));
  }
  Start(0, kMaps);
  copy_->Ready(sources);
  const auto segments = told_.WaitComplete();
  ExpectAll(segments, 0, kMaps);
  for (std::uint32_t map = 0; map < kMaps; ++map) EXPECT_EQ(segments[map].segment.compressed, map % 3 == 0) << map;
}

TEST_F(ReduceCopyTest, TellsTheMeterWhatCame) {
  FetchMeter meter;
  options_.meter = &meter;
  constexpr std::uint32_t kMaps = 330;  // a few of more than a megabyte
  Worker other;
  std::vector<Source> sources;
  for (std::uint32_t map = 0; map < kMaps; ++map) {
    other.AddRun(map, 1, true);
    sources.push_back(other.Has(map));
  }
  Start(0, kMaps);
  copy_->Ready(sources);
  double stored = 0, raw = 0;
  for (const CopiedSegment& segment : told_.WaitComplete()) {
    stored += static_cast<double>(segment.segment.length);
    raw += static_cast<double>(segment.segment.raw_length);
  }
  const FetchMeter::Figures figures = meter.FiguresOf(kJob, std::chrono::steady_clock::now());
  EXPECT_NEAR(figures.ratio, raw / stored, 1e-6);
  ASSERT_GE(stored, FetchMeter::kWindowBytes);
  EXPECT_GT(figures.bytes_per_second, 0);
  EXPECT_GE(figures.waited, 0);
  EXPECT_LE(figures.waited, 1);
}

TEST_F(ReduceCopyTest, NoMoreFetchesThanTheBoundAreUnderWay) {
  options_.max_connections = 3;
  std::atomic<int> now = 0, most = 0;
  std::vector<std::unique_ptr<FakeWorker>> workers;
  std::vector<Source> sources;
  for (std::uint32_t map = 0; map < 12; ++map) {
    workers.push_back(std::make_unique<FakeWorker>([&now, &most, map](Wire& wire) -> Awaitable<bool> {
      const int inside = ++now;
      for (int seen = most; seen < inside && !most.compare_exchange_weak(seen, inside);) {
      }
      SegmentHeader header;
      header.attempt = MapAttemptId(kJob, map, 0);
      co_await wire.WriteReply({});
      const std::string bytes = EncodeSegmentHeader(header);
      --now;
      co_return (co_await wire.Write(bytes)).ok();
    }));
    sources.push_back(workers.back()->Has(map));
  }
  Start(0, 12);
  copy_->Ready(sources);
  EXPECT_EQ(told_.WaitComplete().size(), 12u);
  EXPECT_LE(most, 3);
}

TEST_F(ReduceCopyTest, ReadsLocalSegmentsInPlace) {
  here_.AddRun(0, 2);
  Source source = here_.Has(0);
  source.local = true;
  Start(1, 1);
  copy_->Ready({source});
  const auto segments = told_.WaitComplete();
  ExpectAll(segments, 1, 1);
  EXPECT_EQ(segments[0].file, here_.PathOf(0));
  EXPECT_EQ(copy_->bytes_fetched(), 0u);
  EXPECT_FALSE(ReadWholeFile(file_).ok());
}

TEST_F(ReduceCopyTest, SaysThatALocalOutputIsGone) {
  here_.AddRun(0, 2);
  here_.outputs->RemoveJob(kJob);
  Source source = here_.Has(0);
  source.local = true;
  Start(1, 1);
  copy_->Ready({source});
  EXPECT_EQ(told_.WaitFailed().second.code(), StatusCode::kNotFound);
}

TEST_F(ReduceCopyTest, TakesAnotherAttemptWhenAnOutputIsMissing) {
  Worker other;
  other.AddRun(0, 1);
  other.AddRun(1, 1);
  other.outputs->Remove(MapAttemptId(kJob, 1, 0));
  Start(0, 2);
  copy_->Ready({other.Has(0), other.Has(1)});
  const auto [map, why] = told_.WaitFailed();
  EXPECT_EQ(map, (MapAttemptId(kJob, 1, 0)));
  EXPECT_EQ(why.code(), StatusCode::kNotFound);
  other.AddRun(1, 1, false, 1);
  copy_->Ready({other.Has(1, 1)});
  ExpectAll(told_.WaitComplete(), 0, 2);
}

TEST_F(ReduceCopyTest, NoticesCorruptBytesAndTakesTheOutputThatIsMadeAgain) {
  Worker other;
  other.AddRun(1, 1);
  other.AddRun(2, 1);
  const Fd file = std::move(*OpenFile(other.PathOf(1), O_WRONLY));
  Require(WriteAllAt(file.get(), "?", 3, "run file"));
  Start(0, 3);
  copy_->Ready({other.Has(1), other.Has(2)});
  const auto [map, why] = told_.WaitFailed();
  EXPECT_EQ(map, (MapAttemptId(kJob, 1, 0)));
  EXPECT_EQ(why.code(), StatusCode::kCorrupt);
  EXPECT_THAT(why.message(), HasSubstr("job3.m.1.0"));
  other.AddRun(1, 1, false, 1);
  other.AddRun(0, 1);
  copy_->Ready({other.Has(1, 1), other.Has(0)});
  ExpectAll(told_.WaitComplete(), 0, 3);
}

TEST_F(ReduceCopyTest, GivesUpOnAWorkerThatIsDown) {
  Worker other;
  const Source down = other.Has(1);
  other.server->Stop();
  Start(0, 2);
  Source also = down;
  also.map.task.index = 0;
  copy_->Ready({down, also});
  EXPECT_EQ(told_.WaitFailed(2).second.code(), StatusCode::kUnavailable);
  Worker third;
  third.AddRun(0, 1);
  third.AddRun(1, 1);
  copy_->Ready({third.Has(0), third.Has(1)});
  ExpectAll(told_.WaitComplete(), 0, 2);
}

// Sends a correct beginning of map 1's segment, and nothing after it.
Awaitable<Status> SendHalf(Wire& wire) {
  SegmentHeader header;
  header.attempt = MapAttemptId(kJob, 1, 0);
  header.segment = {
      .offset = 0, .length = 1 << 20, .raw_length = 1 << 20, .records = 10, .crc = 1, .compressed = false};
  Status status = co_await wire.WriteReply({});
  const std::string bytes = EncodeSegmentHeader(header) + std::string(300000, 'x');
  if (status.ok()) status = co_await wire.Write(bytes);
  co_return status;
}

TEST_F(ReduceCopyTest, AConnectionThatEndsInTheMiddleIsTriedAgainThenGivenUp) {
  std::atomic<int> asked = 0;
  FakeWorker fake([&asked](Wire& wire) -> Awaitable<bool> {
    ++asked;
    co_await SendHalf(wire);
    co_return false;
  });
  Start(0, 2);
  copy_->Ready({fake.Has(1)});
  EXPECT_EQ(told_.WaitFailed().second.code(), StatusCode::kUnavailable);
  EXPECT_EQ(asked, 2);
  Worker third;
  third.AddRun(0, 1);
  third.AddRun(1, 1);
  copy_->Ready({third.Has(0), third.Has(1)});
  ExpectAll(told_.WaitComplete(), 0, 2);
}

TEST_F(ReduceCopyTest, AWorkerThatStallsIsGivenUp) {
  options_.stall = 20 * kMillisecond;
  FakeWorker fake([](Wire& wire) -> Awaitable<bool> {
    co_await SendHalf(wire);
    char byte = 0;
    co_return (co_await wire.Read(&byte, 1)).ok();
  });
  Start(0, 2);
  copy_->Ready({fake.Has(1)});
  EXPECT_EQ(told_.WaitFailed().second.code(), StatusCode::kTimeout);
}

TEST_F(ReduceCopyTest, NothingIsToldAfterItIsDestroyed) {
  std::promise<void> sent;
  FakeWorker fake([&sent](Wire& wire) -> Awaitable<bool> {
    co_await SendHalf(wire);
    sent.set_value();
    char byte = 0;
    co_return (co_await wire.Read(&byte, 1)).ok();
  });
  Worker other;
  other.AddRun(0, 1);
  Start(0, 2);
  copy_->Ready({fake.Has(1), other.Has(0)});
  sent.get_future().wait();
  copy_.reset();
  here_.server->Stop();  // all that was under way has ended now
  EXPECT_TRUE(told_.complete.empty());
  EXPECT_TRUE(told_.failed.empty());
  EXPECT_TRUE(told_.broken.empty());
}

TEST_F(ReduceCopyTest, CanBeDestroyedAfterTheServerStopped) {
  Start(0, 1);
  here_.server->Stop();
  copy_->Ready({here_.Has(0)});
  copy_.reset();
  EXPECT_TRUE(told_.failed.empty());
}

TEST_F(ReduceCopyTest, OfNoMapsIsCompleteAtOnce) {
  Start(0, 0);
  EXPECT_TRUE(told_.WaitComplete().empty());
}

TEST_F(ReduceCopyTest, AnnouncedAgainIsNotCopiedAgain) {
  Worker other, third;
  other.AddRun(0, 1);
  third.AddRun(0, 1, false, 1);
  Start(0, 2);
  std::vector<Source> sources(50, other.Has(0));
  sources.push_back(here_.Has(7));  // there is no such map
  copy_->Ready(sources);
  copy_->Ready({other.Has(1)});  // not there: a failure after map 0, since one worker is asked in order
  EXPECT_EQ(told_.WaitFailed().first.task.index, 1u);
  copy_->Ready({third.Has(0, 1), other.Has(0)});
  other.AddRun(1, 1);
  copy_->Ready({other.Has(1)});
  const auto segments = told_.WaitComplete();
  ExpectAll(segments, 0, 2);
  EXPECT_EQ(told_.complete.front().second, segments[0].segment.length + segments[1].segment.length);
}

TEST_F(ReduceCopyTest, WhatIsGoneIsTriedNoMoreAndNotReported) {
  FakeWorker fake([](Wire& wire) -> Awaitable<bool> {
    co_await SendHalf(wire);
    co_return false;
  });
  options_.first_back_off = 3600 * kSecond;  // the second try never comes by itself
  Worker other;
  other.AddRun(0, 1);
  other.AddRun(1, 1);
  Start(0, 2);
  copy_->Ready({fake.Has(1)});
  copy_->Gone({MapAttemptId(kJob, 1, 0)});
  copy_->Ready({other.Has(0), other.Has(1)});
  ExpectAll(told_.WaitComplete(), 0, 2);
  EXPECT_TRUE(told_.failed.empty());
}

// The only connection that the copy may have hangs at a worker whose output is no longer wanted.
TEST_F(ReduceCopyTest, WhatIsGoneKeepsNobodyWaiting) {
  options_.max_connections = 1;
  options_.stall = 3600 * kSecond;
  std::promise<void> hangs;
  FakeWorker fake([&hangs](Wire& wire) -> Awaitable<bool> {
    co_await SendHalf(wire);
    hangs.set_value();
    char byte = 0;
    co_return (co_await wire.Read(&byte, 1)).ok();
  });
  Worker other;
  other.AddRun(0, 1);
  other.AddRun(1, 1, false, 1);
  Start(0, 2);
  copy_->Ready({fake.Has(1)});
  hangs.get_future().wait();
  copy_->Gone({MapAttemptId(kJob, 1, 0)});
  copy_->Ready({other.Has(0), other.Has(1, 1)});
  ExpectAll(told_.WaitComplete(), 0, 2);
  EXPECT_TRUE(told_.failed.empty());
}

// The last output that is wanted hangs. Then its map is left out, and nothing more is wanted.
TEST_F(ReduceCopyTest, IsCompleteWithoutMapsThatAreLeftOut) {
  options_.stall = 3600 * kSecond;
  std::promise<void> hangs;
  FakeWorker fake([&hangs](Wire& wire) -> Awaitable<bool> {
    co_await SendHalf(wire);
    hangs.set_value();
    char byte = 0;
    co_return (co_await wire.Read(&byte, 1)).ok();
  });
  here_.AddRun(0, 1);
  Start(0, 3);
  copy_->Ready({here_.Has(0), fake.Has(1)});
  hangs.get_future().wait();
  copy_->LeaveOut({1, 2});
  ExpectAll(told_.WaitComplete(), 0, 1);
  EXPECT_TRUE(told_.failed.empty());
}

TEST_F(ReduceCopyTest, BreaksWhenItsOwnFileCannotBeWritten) {
  file_ = here_.dir.path() + "/missing/copy";
  Worker other;
  for (std::uint32_t map = 0; map < 20; ++map) other.AddRun(map, 1);
  Start(0, 20);
  for (std::uint32_t map = 0; map < 20; ++map) copy_->Ready({other.Has(map)});
  EXPECT_THAT(told_.WaitBroken().message(), HasSubstr("missing/copy"));
  copy_.reset();
  EXPECT_EQ(told_.broken.size(), 1u);
  EXPECT_TRUE(told_.failed.empty());
}

TEST_F(ReduceCopyTest, SurvivesAnswersThatMakeNoSense) {
  SegmentHeader other;  // an answer to another question
  other.attempt = MapAttemptId(kJob, 2, 0);
  std::string lengths = EncodeSegmentHeader({MapAttemptId(kJob, 1, 0), StatusCode::kOk, {}});
  lengths.replace(16, 8, 8, '\xff');
  const std::vector<std::string> answers = {
      net::EncodeReply(StatusCode::kOk, {}) + EncodeSegmentHeader(other),
      net::EncodeReply(StatusCode::kOk, {}) + lengths,
      net::EncodeReply(StatusCode::kOk, {}) + std::string(kSegmentHeaderBytes, '\xff'),
      std::string(100, '\xff'),
      net::EncodeFailure(Busy("later")),
      {},
  };
  for (const std::string& answer : answers) {
    FakeWorker fake([&answer](Wire& wire) -> Awaitable<bool> {
      co_await wire.Write(answer);
      co_return false;
    });
    Told told;
    ReduceCopy copy(*here_.server, *here_.outputs, 0, 2, here_.directories, file_, options_, told.Callbacks(),
                    MakeSilentLog());
    copy.Ready({fake.Has(1)});
    EXPECT_EQ(told.WaitFailed().first, (MapAttemptId(kJob, 1, 0)));
    EXPECT_EQ(copy.copied(), 0u);
  }
}

TEST_F(ReduceCopyTest, RefusesAFileThatIsNoRun) {
  const std::string path = here_.dir.path() + "/text";
  Require(WriteFileDurably(path, std::string(500, 't')));
  EXPECT_EQ(here_.outputs->Add(MapAttemptId(kJob, 0, 0), path, 1).code(), StatusCode::kCorrupt);
  EXPECT_EQ(here_.outputs->Add(MapAttemptId(kJob, 0, 0), path + "s", 1).code(), StatusCode::kNotFound);
  EXPECT_FALSE(here_.outputs->Find(MapAttemptId(kJob, 0, 0), 0).has_value());
}

// A task writes the file, so how many partitions it claims to have is not believed.
TEST_F(ReduceCopyTest, RefusesARunOfAnotherNumberOfPartitionsThanTheJobHas) {
  here_.AddRun(0, 3);
  for (const std::uint32_t partitions : {0u, 2u, 4u}) {
    const Status added = here_.outputs->Add(MapAttemptId(kJob, 1, 0), here_.PathOf(0), partitions);
    EXPECT_EQ(added.code(), StatusCode::kCorrupt) << partitions;
    EXPECT_FALSE(here_.outputs->Find(MapAttemptId(kJob, 1, 0), 0).has_value()) << partitions;
  }
  EXPECT_TRUE(here_.outputs->Add(MapAttemptId(kJob, 1, 0), here_.PathOf(0), 3).ok());
}

TEST_F(ReduceCopyTest, FindsUntilItIsRemoved) {
  for (const std::uint32_t map : {0u, 1u, 2u}) here_.AddRun(map, 2);
  ASSERT_TRUE(here_.outputs->Find(MapAttemptId(kJob, 1, 0), 1).has_value());
  EXPECT_FALSE(here_.outputs->Find(MapAttemptId(kJob, 1, 0), 2).has_value());
  here_.outputs->Remove(MapAttemptId(kJob, 1, 0));
  EXPECT_FALSE(here_.outputs->Find(MapAttemptId(kJob, 1, 0), 1).has_value());
  here_.outputs->RemoveJob(JobId{kJob.value + 1});
  EXPECT_TRUE(here_.outputs->Find(MapAttemptId(kJob, 2, 0), 1).has_value());
  here_.outputs->RemoveJob(kJob);
  EXPECT_FALSE(here_.outputs->Find(MapAttemptId(kJob, 2, 0), 1).has_value());
}

}  // namespace
}  // namespace millrace::shuffle
