// SPDX-License-Identifier: Apache-2.0
// Tests the archive of logs: what goes in comes out, and a damaged one is refused or found to be damaged, without more
// being taken out of it than its index says.
#include "dfs/wire/log_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/random.h"
#include "dfs/wire/job_logs.h"

namespace millrace::dfs {
namespace {

using LogTexts = std::map<std::pair<AttemptId, bool>, std::string>;

AttemptId ArchivedMap(std::uint32_t index) { return {{JobId{3}, TaskKind::kMap, index}, 0}; }

std::string WriteLogs(const LogTexts& logs) {
  std::string file;
  LogArchiveWriter writer([&](std::string_view bytes) {
    file += bytes;
    return Status::Ok();
  });
  for (const auto& [name, text] : logs) {
    EXPECT_TRUE(writer.Begin(name.first, name.second).ok());
    for (std::size_t at = 0; at < text.size(); at += 1000) EXPECT_TRUE(writer.Add(text.substr(at, 1000)).ok());
    EXPECT_TRUE(writer.End(text.size() + 7).ok());
  }
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.bytes(), file.size());
  return file;
}

Result<LogArchiveReader> OpenLogs(const std::string& file) {
  return LogArchiveReader::Open(file.size(), [&file](std::uint64_t offset, std::uint64_t size) -> Result<std::string> {
    EXPECT_LE(offset, file.size());
    EXPECT_LE(size, file.size() - offset);
    return file.substr(offset, size);
  });
}

LogTexts DrawLogs(Random& random) {
  LogTexts logs;
  const std::uint64_t count = random.Below(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text(random.Below(5) == 0 ? random.Below(600'000) : random.Below(300), 'x');
    for (char& c : text) c = static_cast<char>(random.Below(3) == 0 ? random.Below(256) : 'a');
    logs[{ArchivedMap(static_cast<std::uint32_t>(random.Below(1000))), random.Below(2) == 0}] = text;
  }
  return logs;
}

TEST(LogArchive, WhatGoesInComesOut) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const LogTexts logs = DrawLogs(random);
    const std::string file = WriteLogs(logs);
    const Result<LogArchiveReader> reader = OpenLogs(file);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    ASSERT_EQ(reader->streams().size(), logs.size());
    for (const auto& [name, text] : logs) {
      const ArchivedStream* stream = reader->Find(name.first, name.second);
      ASSERT_NE(stream, nullptr);
      EXPECT_EQ(stream->kept, text.size());
      EXPECT_EQ(stream->printed, text.size() + 7);
      std::string got;
      ASSERT_TRUE(reader->Read(*stream, [&](std::string_view piece) { got += piece; }).ok());
      EXPECT_EQ(got, text);
    }
    EXPECT_EQ(reader->Find(ArchivedMap(5000), false), nullptr);
  }
}

TEST(LogArchive, ADamagedOneGivesWhatItHadOrAFailure) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    LogTexts logs = DrawLogs(random);
    for (auto& [name, text] : logs) text.resize(std::min<std::size_t>(text.size(), 3000));
    std::string file = WriteLogs(logs);
    const std::uint64_t times = 1 + random.Below(4);
    for (std::uint64_t i = 0; i < times && !file.empty(); ++i) {
      const std::size_t at =
          random.Below(2) == 0 && file.size() > 80 ? file.size() - 1 - random.Below(80) : random.Below(file.size());
      switch (random.Below(4)) {
        case 0:
          file[at] = static_cast<char>(random.Below(256));
          break;
        case 1:
          file.resize(at);
          break;
        case 2:
          file.insert(at, std::string(1 + random.Below(40), static_cast<char>(random.Below(256))));
          break;
        default:
          file.erase(at, 1 + random.Below(40));
      }
    }
    const Result<LogArchiveReader> reader = OpenLogs(file);
    if (!reader.ok()) {
      EXPECT_EQ(reader.status().code(), StatusCode::kCorrupt);
      continue;
    }
    for (const ArchivedStream& stream : reader->streams()) {
      std::string got;
      const Status read = reader->Read(stream, [&](std::string_view piece) { got += piece; });
      EXPECT_LE(got.size(), stream.kept);
      if (read.ok()) {
        EXPECT_EQ(got, logs.at({stream.attempt, stream.standard_error}));
      }
      if (!read.ok()) {
        EXPECT_EQ(read.code(), StatusCode::kCorrupt) << read.message();
      }
    }
  }
}

// An index that fits its checksum, but is not what a writer writes.
TEST(LogArchive, AnIndexThatLiesIsRefused) {
  const std::string good = WriteLogs({{{ArchivedMap(1), false}, "one"}, {{ArchivedMap(2), true}, "two"}});
  const std::size_t index = good.find("job3.m.1.0 out");
  ASSERT_NE(index, std::string::npos);
  const std::string lines = good.substr(index, good.size() - 32 - index);
  const auto with_index = [&](const std::string& text) {
    std::string file = good.substr(0, index) + text;
    const std::uint64_t offset = index, size = text.size();
    const std::uint32_t crc = Crc32c(text), zero = 0;
    file.append(reinterpret_cast<const char*>(&offset), 8).append(reinterpret_cast<const char*>(&size), 8);
    file.append(reinterpret_cast<const char*>(&crc), 4).append(reinterpret_cast<const char*>(&zero), 4);
    return file + "MRLOGEND";
  };
  EXPECT_TRUE(OpenLogs(with_index(lines)).ok());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"out 8 ", "out 9 "},
                                                        {"out 8 ", "out 08 "},
                                                        {"job3.m.2.0 err", "job3.m.1.0 out"},
                                                        {" out ", " log "},
                                                        {"job3.m.1.0", "job3.m.1"},
                                                        {"\n", "\n\n"},
                                                        {"out 8 ", "out 18446744073709551615 "}}) {
    std::string text = lines;
    text.replace(text.find(from), from.size(), to);
    EXPECT_EQ(OpenLogs(with_index(text)).status().code(), StatusCode::kCorrupt) << from << " -> " << to;
  }
}

TEST(LogArchive, AFailedWriteEndsIt) {
  int calls = 0;
  LogArchiveWriter writer([&](std::string_view) {
    ++calls;
    return NoSpace("full");
  });
  ASSERT_TRUE(writer.Begin(ArchivedMap(1), false).ok());
  Random random(1);
  std::string noise(300'000, '\0');
  for (char& c : noise) c = static_cast<char>(random.Below(256));
  EXPECT_EQ(writer.Add(noise).code(), StatusCode::kNoSpace);
  EXPECT_EQ(writer.Finish().code(), StatusCode::kNoSpace);
  EXPECT_EQ(calls, 1);
}

TEST(ShareRoom, GivesTheShortOnesAllAndTheOthersTheSame) {
  EXPECT_THAT(ShareRoom({10, 1000, 30, 1000}, 440), testing::ElementsAre(10, 200, 30, 200));
  EXPECT_THAT(ShareRoom({10, 20}, 30), testing::ElementsAre(10, 20));
  EXPECT_THAT(ShareRoom({}, 30), testing::IsEmpty());
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<std::uint64_t> sizes(random.Below(8));
    for (std::uint64_t& size : sizes) size = random.Below(100);
    const std::uint64_t room = random.Below(400);
    const std::vector<std::uint64_t> kept = ShareRoom(sizes, room);
    const std::uint64_t all = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    const std::uint64_t sum = std::accumulate(kept.begin(), kept.end(), std::uint64_t{0});
    EXPECT_LE(sum, room);
    EXPECT_GE(sum + sizes.size(), std::min(all, room));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_LE(kept[i], sizes[i]);
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        if (kept[i] < sizes[i]) {
          EXPECT_LE(kept[k], kept[i]) << "a longer one has no more than one that is cut";
        }
      }
    }
  }
}

TEST(JobLogsPath, IsParsedBackAndNothingElseIs) {
  const JobLogsPlace place{JobId{12}, NodeId{7}};
  EXPECT_EQ(PathOf(place), "/.millrace/logs/job12/node7");
  EXPECT_EQ(ParseJobLogsPath(PathOf(place)), place);
  for (const char* path :
       {"/.millrace/logs/job12/node07", "/.millrace/logs/job12/node", "/.millrace/logs/job12/node7/x",
        "/.millrace/logs/job12", "/.millrace/logs/job012/node7", "/.millrace/logs/node7", "/", "/.millrace/job12/node7",
        "/.millrace/logs/job12/node-7", "/x/.millrace/logs/job12/node7", "/.millrace/logs/job12/node99999999999"})
    EXPECT_EQ(ParseJobLogsPath(path), std::nullopt) << path;
}

}  // namespace
}  // namespace millrace::dfs
