// SPDX-License-Identifier: Apache-2.0
// Tests that what was acknowledged is there after the machine has lost power at any call.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/kv/rocks_store.h"
#include "base/random.h"
#include "dfs/data/block_store.h"
#include "dfs/wire/chunks.h"
#include "tests/power/forgetful_files.h"
#include "worker/daemon/storage/storage_lock.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCuts = 40;  // a test
constexpr std::uint64_t kCallsPerCut = 12;

// A directory that is cut at random calls, and what had been acknowledged at each cut.
template <class Acknowledged>
class Cuts {
 public:
  explicit Cuts(std::uint64_t seed) : random_(seed) {
    fs::create_directory(directory());
    files_ = std::make_unique<power::ForgetfulFiles>(directory(), [this] {
      if (images_.size() >= kCuts || random_.Below(kCallsPerCut) != 0) return;
      images_.emplace_back(temp_.path() + "/image" + std::to_string(images_.size()), acknowledged);
      files_->Cut(images_.back().first, random_);
      done_ = images_.size() >= kCuts;
    });
  }
  [[nodiscard]] std::string directory() const { return temp_.path() + "/now"; }
  [[nodiscard]] const std::vector<std::pair<std::string, Acknowledged>>& images() const { return images_; }
  power::ForgetfulFiles& files() { return *files_; }
  [[nodiscard]] bool Done() const { return done_; }
  void Stop() { files_.reset(); }

  Acknowledged acknowledged{};  // changed after the call that acknowledges, before the next one

 private:
  TempDir temp_ = std::move(*TempDir::Make("power"));
  Random random_;
  std::atomic<bool> done_ = false;
  std::vector<std::pair<std::string, Acknowledged>> images_;
  std::unique_ptr<power::ForgetfulFiles> files_;
};

// Writes 0, 1, 2 and so on, some of them synced, and reopens the database now and then. What is acknowledged is how
// many there are.
void WriteNumbers(Cuts<std::uint64_t>& cuts, Random& random, const std::string& path) {
  std::uint64_t n = 0;
  while (!cuts.Done()) {
    auto store = OpenRocksStore(path);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (std::uint64_t left = 1 + random.Below(60); left > 0; --left, ++n) {
      WriteBatch batch;
      batch.Put(KeyNumber(n), std::string(random.Below(3000), static_cast<char>('a' + n % 26)));
      const bool synced = random.Below(3) == 0;
      ASSERT_TRUE((*store)->Write(batch, synced ? Durability::kSynced : Durability::kBuffered).ok());
      if (synced) cuts.acknowledged = n + 1;
    }
  }
}

// Checks that the numbers in the database are the first ones, and returns how many there are.
Result<std::uint64_t> CountNumbers(const std::string& path) {
  MILLRACE_ASSIGN(const auto store, OpenRocksStore(path));
  std::uint64_t count = 0;
  Status order;
  MILLRACE_TRY(store->Scan("", "", [&](std::string_view key, std::string_view value) {
    const bool right = ParseKeyNumber(key) == count &&
                       value.find_first_not_of(static_cast<char>('a' + count % 26)) == std::string_view::npos;
    if (!right) order = Internal("number " + std::to_string(count) + " is missing or wrong");
    ++count;
    return right;
  }));
  if (!order.ok()) return order;
  return count;
}

TEST(PowerTest, ADatabaseKeepsWhatItAcknowledged) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Cuts<std::uint64_t> cuts(seed);
  Random random(seed + 1);
  WriteNumbers(cuts, random, cuts.directory() + "/database");
  cuts.Stop();
  std::uint64_t most = 0;
  for (const auto& [image, acknowledged] : cuts.images()) {
    const auto count = CountNumbers(image + "/database");
    ASSERT_TRUE(count.ok()) << image << " after " << acknowledged << ": " << count.status().message();
    ASSERT_GE(*count, acknowledged) << image;
    most = std::max(most, acknowledged);
  }
  EXPECT_GT(most, 50u);
}

// The disk is full now and then: what is written goes into the spare log, also at a start that only reads the database,
// of which much may be in no file that was synced.
TEST(PowerTest, ADatabaseOnAFullDiskKeepsWhatItAcknowledged) {
  constexpr std::uint64_t kSpare = std::uint64_t{64} << 10, kRoom = std::uint64_t{1} << 40;
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Cuts<std::uint64_t> cuts(seed);
  Random random(seed + 1);
  const std::string path = cuts.directory() + "/database";
  std::uint64_t free = kRoom;
  const RoomProbe probe = [&free](const std::string&) -> Result<std::uint64_t> { return free; };
  for (std::uint64_t n = 0; !cuts.Done();) {
    const auto store = OpenRocksStore(path, probe, kSpare);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (std::uint64_t left = 1 + random.Below(20); left > 0; --left) {
      (*store)->UseSpare(free == 0);
      WriteBatch batch;
      batch.Put(KeyNumber(n), std::string(random.Below(1000), static_cast<char>('a' + n % 26)));
      const bool synced = random.Below(3) == 0;
      const Status written = (*store)->Write(batch, synced ? Durability::kSynced : Durability::kBuffered);
      if (written.code() == StatusCode::kNoSpace) {  // not even the spare log has room
        free = kRoom;
        break;
      }
      ASSERT_TRUE(written.ok()) << written.message();
      ++n;
      if (synced) cuts.acknowledged = n;
      if (random.Below(6) == 0) free = kRoom - free;
    }
  }
  cuts.Stop();
  for (const auto& [image, acknowledged] : cuts.images()) {
    const auto count = CountNumbers(image + "/database");
    ASSERT_TRUE(count.ok()) << image << " after " << acknowledged << ": " << count.status().message();
    ASSERT_GE(*count, acknowledged) << image;
  }
}

// A disk that refuses one call in `one_in`, and loses what a failed sync was to bring to it. Requires: the test ends
// before this does.
class RefusingDisk {
 public:
  RefusingDisk(power::ForgetfulFiles& files, std::uint64_t seed, std::uint64_t one_in) : random_(seed) {
    using Call = power::ForgetfulFiles::Call;
    const bool evicts = random_.Below(2) == 0;
    files.Refuse(
        [this, one_in](Call call, const std::string& path) {
          // RocksDB ends the process, by an assertion, where its log for people was refused before: that is an end,
          // too.
          const bool for_people = fs::path(path).filename().string().starts_with("LOG");
          if (call == Call::kRead || for_people || !on || random_.Below(one_in) != 0) return 0;
          ++refused;
          return random_.Below(4) == 0 ? ENOSPC : EIO;
        },
        evicts);
  }
  std::atomic<bool> on = true;
  std::atomic<std::uint64_t> refused = 0;

 private:
  Random random_;  // guarded by the files' lock
};

// Opens it as who starts a daemon again until that works.
template <class Open>
auto OpenAtLast(RefusingDisk& disk, const Open& open) {
  for (int tries = 0; tries < 3; ++tries) {
    auto opened = open();
    if (opened.ok()) return opened;
  }
  disk.on = false;
  auto opened = open();
  disk.on = true;
  return opened;
}

// As the master does it: the first write that fails is the end, and the database is opened again.
TEST(PowerTest, ADatabaseKeepsWhatItAcknowledgedOnADiskThatRefuses) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Cuts<std::uint64_t> cuts(seed);
  RefusingDisk disk(cuts.files(), seed + 2, 40);
  Random random(seed + 1);
  const std::string path = cuts.directory() + "/database";
  while (!cuts.Done()) {
    {
      const auto opened = OpenAtLast(disk, [&] { return OpenRocksStore(path); });
      ASSERT_TRUE(opened.ok()) << opened.status().message();
    }
    disk.on = false;
    const auto count = CountNumbers(path);
    disk.on = true;
    ASSERT_TRUE(count.ok()) << count.status().message();
    ASSERT_GE(*count, cuts.acknowledged);
    const auto store = OpenAtLast(disk, [&] { return OpenRocksStore(path); });
    ASSERT_TRUE(store.ok()) << store.status().message();
    std::uint64_t n = *count;
    for (std::uint64_t left = 1 + random.Below(60); left > 0; --left, ++n) {
      WriteBatch batch;
      batch.Put(KeyNumber(n), std::string(random.Below(3000), static_cast<char>('a' + n % 26)));
      const bool synced = random.Below(3) == 0;
      if (!(*store)->Write(batch, synced ? Durability::kSynced : Durability::kBuffered).ok()) break;
      if (synced) cuts.acknowledged = n + 1;
    }
  }
  cuts.Stop();
  for (const auto& [image, acknowledged] : cuts.images()) {
    const auto count = CountNumbers(image + "/database");
    ASSERT_TRUE(count.ok()) << image << " after " << acknowledged << ": " << count.status().message();
    ASSERT_GE(*count, acknowledged) << image;
  }
  EXPECT_GT(disk.refused, 0u);
}

// The first sync of the directory `now` fails: what was made there can be seen, and is not on the disk.
class RefusedOnceTest : public testing::Test {
 protected:
  RefusedOnceTest() {
    fs::create_directory(now_);
    files_ = std::make_unique<power::ForgetfulFiles>(now_, nullptr);
    files_->Refuse(
        [this](power::ForgetfulFiles::Call call, const std::string& path) {
          return call == power::ForgetfulFiles::Call::kSync && path == now_ && refused_++ == 0 ? EIO : 0;
        },
        false);
  }
  // Returns the store that the second try opened.
  template <class Open>
  auto OpenTwice(const Open& open) {
    EXPECT_FALSE(open().ok());
    EXPECT_EQ(refused_, 1);
    auto opened = open();
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened;
  }
  template <class Check>
  void CheckImages(const Check& check) {
    for (int i = 0; i < 120; ++i) {
      const std::string image = temp_.path() + "/image" + std::to_string(i);
      files_->Cut(image, random_);
      check(image);
    }
  }

  const std::uint64_t seed_ = SeedFromSystem();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
  Random random_{seed_};
  TempDir temp_ = std::move(*TempDir::Make("power"));
  const std::string now_ = fs::canonical(temp_.path()).string() + "/now";
  int refused_ = 0;
  std::unique_ptr<power::ForgetfulFiles> files_;
};

TEST_F(RefusedOnceTest, ADatabaseIsOnTheDiskOnceItIsOpen) {
  const auto store = OpenTwice([&] { return OpenRocksStore(now_ + "/database"); });
  ASSERT_TRUE(store.ok());
  WriteBatch batch;
  batch.Put(KeyNumber(0), "a");
  ASSERT_TRUE((*store)->Write(batch, Durability::kSynced).ok());
  CheckImages([](const std::string& image) {
    const auto count = CountNumbers(image + "/database");
    EXPECT_TRUE(count.ok()) << count.status().message();
    EXPECT_EQ(count.ok() ? *count : 0, 1u);
  });
}

TEST_F(RefusedOnceTest, AWorkersStorageKeepsItsId) {
  const auto lock = OpenTwice([&] { return worker::StorageLock::Acquire(now_, random_); });
  ASSERT_TRUE(lock.ok());
  CheckImages([&](const std::string& image) {
    const auto again = worker::StorageLock::Acquire(image, random_);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->id(), lock->id());
  });
}

TEST(PowerTest, ARepairedDatabaseIsThere) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const TempDir temp = std::move(*TempDir::Make("power"));
  const std::string now = fs::canonical(temp.path()).string() + "/now", path = now + "/database";
  fs::create_directory(now);
  power::ForgetfulFiles files(now, nullptr);
  for (std::uint64_t n = 0; n < 60;) {
    const auto store = std::move(*OpenRocksStore(path));
    for (int left = 20; left > 0; --left, ++n) {
      WriteBatch batch;
      batch.Put(KeyNumber(n), std::string(2000, static_cast<char>('a' + n % 26)));
      ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
    }
  }
  std::vector<std::string> logs;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".log") logs.push_back(entry.path().string());
  }
  for (const std::string& log : logs) fs::remove(log);  // with what was written last
  std::uint64_t repaired = 0;
  const auto look = [&repaired](const KeyValueStore& store, const RepairFacts&) {
    return store.Scan("", "", [&repaired](std::string_view, std::string_view) { return ++repaired > 0; });
  };
  const auto facts = RepairRocksStore(path, true, look);
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  ASSERT_FALSE(facts->problem.empty());
  ASSERT_GT(repaired, 0u);
  for (int i = 0; i < 20; ++i) {
    const std::string image = temp.path() + "/image" + std::to_string(i);
    files.Cut(image, random);
    const auto count = CountNumbers(image + "/database");
    ASSERT_TRUE(count.ok()) << count.status().message();
    EXPECT_EQ(*count, repaired);
  }
}

// Tests the check itself: on a disk that ignores syncs, what was acknowledged is lost, or the database is refused.
TEST(PowerTest, ADiskThatLiesIsFoundOut) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Cuts<std::uint64_t> cuts(seed);
  Random random(seed + 1);
  cuts.files().Lie();
  WriteNumbers(cuts, random, cuts.directory() + "/database");
  cuts.Stop();
  std::uint64_t lost = 0;
  for (const auto& [image, acknowledged] : cuts.images()) {
    const auto count = CountNumbers(image + "/database");
    lost += !count.ok() || *count < acknowledged ? 1 : 0;
  }
  EXPECT_GT(lost, kCuts / 4);
}

TEST(PowerTest, ABlockStoreKeepsWhatItAcknowledged) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  using Blocks = std::map<std::uint64_t, std::string>;
  Cuts<Blocks> cuts(seed);
  Random random(seed + 1);
  const std::string path = cuts.directory();
  std::uint64_t id = 0;
  while (!cuts.Done()) {
    const auto store = std::move(*dfs::OpenDiskBlockStore(path, 0));
    for (std::uint64_t left = 1 + random.Below(30); left > 0; --left) {
      const std::string data(1 + random.Below(200'000), static_cast<char>('a' + ++id % 26));
      auto file = std::move(*store->Create(id));
      for (std::size_t at = 0; at < data.size(); at += dfs::kPacketBytes) {
        const std::string_view piece = std::string_view(data).substr(at, dfs::kPacketBytes);
        ASSERT_TRUE(file->Append(piece, dfs::ChunkCrcs(piece)).ok());
      }
      if (random.Below(4) == 0) {
        file.reset();
        ASSERT_TRUE(store->FinishAt(id, data.size()).ok());
      } else {
        ASSERT_TRUE(file->Finish().ok());
      }
      cuts.acknowledged[id] = data;
      if (random.Below(4) == 0) {
        const std::uint64_t gone = 1 + random.Below(id);
        cuts.acknowledged.erase(gone);
        ASSERT_TRUE(store->Remove(gone).ok());
      }
    }
  }
  cuts.Stop();
  for (const auto& [image, acknowledged] : cuts.images()) {
    const auto store = dfs::OpenDiskBlockStore(image, 0);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (const auto& [block, data] : acknowledged) {
      const auto read = (*store)->Read(block, 0, data.size());
      ASSERT_TRUE(read.ok()) << image << ": " << read.status().message();
      ASSERT_EQ(*read, data) << image;
    }
    for (const dfs::StoredBlock& block : (*store)->List()) {
      EXPECT_TRUE((*store)->Verify(block.id, 0, block.length).ok()) << image << " lists a bad block " << block.id;
    }
  }
}

// As writers do it: what failed is closed at what was appended, and believed if that succeeds.
TEST(PowerTest, ABlockStoreKeepsWhatItAcknowledgedOnADiskThatRefuses) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  using Blocks = std::map<std::uint64_t, std::string>;
  Cuts<Blocks> cuts(seed);
  RefusingDisk disk(cuts.files(), seed + 2, 8);
  Random random(seed + 1);
  std::uint64_t id = 0;
  while (!cuts.Done()) {
    const auto opened = OpenAtLast(disk, [&] { return dfs::OpenDiskBlockStore(cuts.directory(), 0); });
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    dfs::BlockStore& store = **opened;
    for (std::uint64_t left = 1 + random.Below(30); left > 0 && !cuts.Done(); --left) {
      const std::string data(1 + random.Below(200'000), static_cast<char>('a' + ++id % 26));
      auto file = store.Create(id);
      if (!file.ok()) continue;
      std::size_t appended = 0;
      Status written;
      while (written.ok() && appended < data.size()) {
        const std::string_view piece = std::string_view(data).substr(appended, dfs::kPacketBytes);
        written = (*file)->Append(piece, dfs::ChunkCrcs(piece));
        if (written.ok()) appended += piece.size();
      }
      if (written.ok() && random.Below(2) == 0) written = (*file)->Sync();
      if (written.ok()) written = (*file)->Finish();
      file->reset();
      for (int tries = 0; !written.ok() && tries < 3 && appended > 0; ++tries) {
        written = store.FinishAt(id, appended).status();
      }
      if (!written.ok()) {
        store.Discard(id);
        continue;
      }
      cuts.acknowledged[id] = data.substr(0, appended);
      const auto read = store.Read(id, 0, appended);
      ASSERT_TRUE(read.ok()) << read.status().message();
    }
  }
  cuts.Stop();
  for (const auto& [image, acknowledged] : cuts.images()) {
    const auto store = dfs::OpenDiskBlockStore(image, 0);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (const auto& [block, data] : acknowledged) {
      const auto read = (*store)->Read(block, 0, data.size());
      ASSERT_TRUE(read.ok()) << image << ": " << read.status().message();
      ASSERT_EQ(*read, data) << image;
    }
    for (const dfs::StoredBlock& block : (*store)->List()) {
      EXPECT_TRUE((*store)->Verify(block.id, 0, block.length).ok()) << image << " lists a bad block " << block.id;
    }
  }
  EXPECT_GT(disk.refused, 0u);
}

}  // namespace
}  // namespace millrace
