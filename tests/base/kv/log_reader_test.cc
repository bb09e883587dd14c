// SPDX-License-Identifier: Apache-2.0
// Tests that what is whole in a log of RocksDB is read, wherever it is damaged.
#include "base/kv/log_reader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/kv/rocks_store.h"
#include "base/random.h"

namespace millrace {
namespace {

// A database whose only log has batches of all sizes, also ones that span blocks of the log.
class LogReaderTest : public testing::Test {
 protected:
  void Make(std::uint64_t seed, std::size_t batches, std::size_t most_bytes) {
    Random random(seed);
    const std::string path = directory_->path() + "/db" + std::to_string(seed);
    {
      auto store = OpenRocksStore(path);
      ASSERT_TRUE(store.ok());
      std::uint64_t next = 1;
      for (std::size_t n = 0; n < batches; ++n) {
        LoggedBatch logged{next, {}};
        for (std::uint64_t changes = 1 + random.Below(5); changes > 0; --changes) {
          std::string key = "key" + std::to_string(random.Below(100));
          if (random.Below(4) == 0) {
            logged.batch.Remove(std::move(key));
          } else {
            std::string value(random.Below(most_bytes), ' ');
            for (char& c : value) c = static_cast<char>(random.Below(256));
            logged.batch.Put(std::move(key), std::move(value));
          }
        }
        next += logged.batch.changes().size();
        ASSERT_TRUE((*store)->Write(logged.batch, Durability::kSynced).ok());
        written_.push_back(std::move(logged));
      }
    }
    const auto names = ListDirectory(path);
    for (const std::string& name : *names) {
      if (name.ends_with(".log")) log_ += *ReadWholeFile(path + "/" + name);
    }
  }
  // Checks that the batches read are among those written, in order. Returns the number of missing batches.
  std::size_t Missing(const LogContent& content) {
    std::size_t at = 0;
    for (const LoggedBatch& batch : content.batches) {
      while (at < written_.size() && written_[at].first != batch.first) ++at;
      EXPECT_LT(at, written_.size()) << "a batch that was never written, or out of order";
      if (at >= written_.size()) break;
      EXPECT_EQ(batch.batch.changes(), written_[at++].batch.changes());
    }
    EXPECT_EQ(content.damage.size(), content.before.size());
    return written_.size() - content.batches.size();
  }

  Result<TempDir> directory_ = TempDir::Make("log");
  std::vector<LoggedBatch> written_;
  std::string log_;
};

TEST_F(LogReaderTest, AWholeLogIsReadAsItWasWritten) {
  Make(1, 300, 2000);
  const LogContent content = ReadLog(log_, "log");
  EXPECT_EQ(Missing(content), 0u);
  EXPECT_TRUE(content.damage.empty());
  EXPECT_EQ(Missing(ReadLog("", "log")), written_.size());
}

TEST_F(LogReaderTest, BatchesOfManyBlocksToo) {
  Make(2, 30, 100'000);
  EXPECT_EQ(Missing(ReadLog(log_, "log")), 0u);
}

// A damaged byte costs the batch in which it lies.
TEST_F(LogReaderTest, ADamagedByteCostsOneBatch) {
  Make(3, 200, 3000);
  constexpr std::uint64_t kSeed = 20261126;
  Random random(kSeed);
  for (int n = 0; n < 2000; ++n) {
    const std::uint64_t at = random.Below(log_.size());
    std::string damaged = log_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + random.Below(255)));
    const LogContent content = ReadLog(damaged, "log");
    ASSERT_LE(Missing(content), 1u) << "byte " << at << " of seed " << kSeed;
    if (Missing(content) == 0) continue;  // it fills up a block
    ASSERT_EQ(content.damage.size(), 1u) << "byte " << at;
    EXPECT_LE(content.damage[0].offset, at);
  }
}

TEST_F(LogReaderTest, ALostSectorCostsTheBatchesInIt) {
  Make(4, 200, 3000);
  constexpr std::size_t kSector = 512;
  for (std::size_t at = 0; at + kSector <= log_.size(); at += 7 * kSector) {
    std::string damaged = log_;
    damaged.replace(at, kSector, kSector, '\0');
    EXPECT_LE(Missing(ReadLog(damaged, "log")), 30u) << at;
    EXPECT_GE(ReadLog(damaged, "log").damage.size(), 1u) << at;
  }
}

TEST_F(LogReaderTest, TheKeysOfADamagedBatchAreGuessed) {
  const std::string path = directory_->path() + "/db";
  WriteBatch batch;
  batch.Put("first", "1");
  batch.Remove("second");
  batch.Put("third", "3");
  ASSERT_TRUE((*OpenRocksStore(path))->Write(batch, Durability::kSynced).ok());
  std::string damaged;
  const auto names = ListDirectory(path);
  for (const std::string& name : *names) {
    if (name.ends_with(".log")) damaged += *ReadWholeFile(path + "/" + name);
  }
  damaged.back() ^= 1;  // its last value
  const LogContent content = ReadLog(damaged, "log");
  ASSERT_EQ(content.damage.size(), 1u);
  EXPECT_EQ(content.damage[0].keys, (std::vector<std::string>{"first", "second", "third"}));
}

TEST_F(LogReaderTest, AnyBytesAreTaken) {
  Random random(6);
  for (int n = 0; n < 300; ++n) {
    std::string bytes(random.Below(100'000), ' ');
    for (char& c : bytes) c = static_cast<char>(random.Below(n % 2 == 0 ? 256 : 3));
    EXPECT_TRUE(ReadLog(bytes, "log").batches.empty());
  }
}

}  // namespace
}  // namespace millrace
