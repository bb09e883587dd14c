// SPDX-License-Identifier: Apache-2.0
// Whole outputs, copied between real servers on loopback.
#include "worker/daemon/shuffle/output_copy.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>

#include "tests/worker/daemon/shuffle/shuffle_fixture.h"
#include "worker/daemon/shuffle/fetch_wire.h"

namespace millrace::shuffle {
namespace {

using net::Awaitable;
using net::Wire;
using testing::HasSubstr;

constexpr std::uint32_t kPartitions = 12;

TEST(OutputCopyTest, TheCopyIsTheFileByteForByteAndIsServed) {
  for (const bool compress : {false, true}) {
    const Worker there, here;
    for (std::uint32_t map = 0; map < 3; ++map) {
      there.AddRun(map, kPartitions, compress);
      const std::string path = here.PathOf(map);
      const auto copied = CopyOutput(there.Has(map), kPartitions, here.directories, path, {});
      ASSERT_TRUE(copied.ok()) << copied.status().message();
      const std::string original = *ReadWholeFile(there.PathOf(map));
      EXPECT_EQ(*copied, original.size());
      EXPECT_TRUE(*ReadWholeFile(path) == original) << map;
      Require(here.outputs->Add(MapAttemptId(kJob, map, 0), path, kPartitions));
      EXPECT_TRUE(here.outputs->Find(MapAttemptId(kJob, map, 0), kPartitions - 1).has_value());
    }
  }
}

TEST(OutputCopyTest, AnOutputThatIsNotThereIsNotFound) {
  const Worker there, here;
  EXPECT_EQ(CopyOutput(there.Has(1), kPartitions, here.directories, here.PathOf(1), {}).status().code(),
            StatusCode::kNotFound);
}

// A job may have more maps on a worker than that may have files open.
TEST(OutputCopyTest, OutputsThatAreServedTakeNoDescriptors) {
  const Worker there, here;
  const auto open = [] { return ListDirectory("/proc/self/fd")->size(); };
  const std::size_t before = open();
  for (std::uint32_t map = 0; map < 50; ++map) there.AddRun(map, kPartitions);
  EXPECT_LT(open(), before + 10);
  EXPECT_TRUE(CopyOutput(there.Has(49), kPartitions, here.directories, here.PathOf(49), {}).ok());
}

TEST(OutputCopyTest, AFileThatIsAnotherByNowIsNotSent) {
  const Worker there, here;
  there.AddRun(1, kPartitions);
  const std::string path = there.PathOf(1), bytes = *ReadWholeFile(path);
  ASSERT_TRUE(WriteFileDurably(path + "+", bytes).ok());
  ASSERT_EQ(std::rename((path + "+").c_str(), path.c_str()), 0);
  EXPECT_EQ(CopyOutput(there.Has(1), kPartitions, here.directories, here.PathOf(1), {}).status().code(),
            StatusCode::kNotFound);
  ASSERT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(CopyOutput(there.Has(1), kPartitions, here.directories, here.PathOf(2), {}).status().code(),
            StatusCode::kNotFound);
}

TEST(OutputCopyTest, AFileThatIsThereIsNotWrittenTo) {
  const Worker there, here;
  there.AddRun(1, kPartitions);
  ASSERT_TRUE(WriteFileDurably(here.PathOf(1), "somebody's").ok());
  EXPECT_EQ(CopyOutput(there.Has(1), kPartitions, here.directories, here.PathOf(1), {}).status().code(),
            StatusCode::kExists);
  EXPECT_EQ(*ReadWholeFile(here.PathOf(1)), "somebody's");
}

TEST(OutputCopyTest, BytesThatFailTheirChecksumAreRefused) {
  const FakeWorker there([](Wire& wire) -> Awaitable<bool> {
    SegmentHeader header;
    header.attempt = MapAttemptId(kJob, 1, 0);
    header.segment.length = header.segment.raw_length = 4;
    header.segment.records = 1;
    header.segment.crc = 1;
    co_await wire.WriteReply({});
    const std::string bytes = EncodeSegmentHeader(header) + "text";
    co_return (co_await wire.Write(bytes)).ok();
  });
  const Worker here;
  const auto copied = CopyOutput(there.Has(1), 1, here.directories, here.PathOf(1), {});
  EXPECT_EQ(copied.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(copied.status().message(), HasSubstr("fail their checksum"));
}

TEST(OutputCopyTest, AWorkerThatStopsGivesUp) {
  const Worker there, here;
  there.AddRun(1, kPartitions);
  const std::atomic<bool> stop = true;
  EXPECT_EQ(CopyOutput(there.Has(1), kPartitions, here.directories, here.PathOf(1), {.stop = &stop}).status().code(),
            StatusCode::kCancelled);
}

}  // namespace
}  // namespace millrace::shuffle
