// SPDX-License-Identifier: Apache-2.0
// Tests the contract of KeyValueStore on both implementations, and on RocksDB's while its spare log takes the writes,
// all of them or some, and with a second copy.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <thread>

#include "base/file.h"
#include "base/kv/mirrored_store.h"
#include "base/kv/rocks_store.h"
#include "base/random.h"
#include "tests/fakes/memory_store.h"

namespace millrace {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

enum class Kind : std::uint8_t { kMemory, kRocks, kSpare, kSometimesSpare, kMirrored, kMirroredSometimesSpare };

std::string NameOf(Kind kind) {
  constexpr std::array kNames = {"Memory", "Rocks", "Spare", "SometimesSpare", "Mirrored", "MirroredSometimesSpare"};
  return kNames.at(static_cast<std::size_t>(kind));
}

// Exchanges the database and its spare log before every third write.
class SometimesSpare final : public KeyValueStore {
 public:
  explicit SometimesSpare(std::unique_ptr<RocksStore> store) : store_(std::move(store)) {}
  Status Write(const WriteBatch& batch, Durability durability) override {
    store_->UseSpare(++writes_ % 6 < 3);
    return store_->Write(batch, durability);
  }
  Result<std::optional<std::string>> Get(std::string_view key) const override { return store_->Get(key); }
  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    return store_->Scan(prefix, from, visit);
  }

 private:
  std::unique_ptr<RocksStore> store_;
  int writes_ = 0;
};

class KeyValueStoreTest : public testing::TestWithParam<Kind> {
 protected:
  KeyValueStoreTest() {
    if (GetParam() == Kind::kMemory) {
      store_ = MakeMemoryStore();
      return;
    }
    constexpr std::uint64_t kSpareBytes = std::uint64_t{8} << 20;
    auto opened = OpenRocksStore(directory_->path() + "/db", FreeBytes, GetParam() == Kind::kRocks ? 0 : kSpareBytes);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ((*opened)->spare_left(), GetParam() == Kind::kRocks ? 0 : kSpareBytes);
    if (GetParam() == Kind::kSpare) (*opened)->UseSpare(true);
    if (GetParam() == Kind::kMirrored || GetParam() == Kind::kMirroredSometimesSpare) {
      auto mirrored = OpenMirror(std::move(*opened), directory_->path() + "/copy", FreeBytes,
                                 [](const std::string& line) { ADD_FAILURE() << line; });
      EXPECT_TRUE(mirrored.ok()) << mirrored.status().message();
      *opened = std::move(*mirrored);
    }
    if (GetParam() == Kind::kSometimesSpare || GetParam() == Kind::kMirroredSometimesSpare) {
      store_ = std::make_unique<SometimesSpare>(std::move(*opened));
    } else {
      store_ = std::move(*opened);
    }
  }

  void Put(std::string key, std::string value, Durability durability = Durability::kBuffered) {
    WriteBatch batch;
    batch.Put(std::move(key), std::move(value));
    EXPECT_TRUE(store_->Write(batch, durability).ok());
  }

  Pairs Scan(std::string_view prefix, std::string_view from = {}, std::size_t most = 1000000) {
    Pairs found;
    const Status status = store_->Scan(prefix, from, [&](std::string_view key, std::string_view value) {
      found.emplace_back(key, value);
      return found.size() < most;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return found;
  }

  Result<TempDir> directory_ = TempDir::Make("kv");
  std::unique_ptr<KeyValueStore> store_;
};

TEST_P(KeyValueStoreTest, GetFindsWhatWasPutLast) {
  EXPECT_EQ(*store_->Get("a"), std::nullopt);
  Put("a", "1");
  EXPECT_EQ(*store_->Get("a"), "1");
  Put("a", "2", Durability::kSynced);
  EXPECT_EQ(*store_->Get("a"), "2");
  Put("a", "");
  EXPECT_EQ(*store_->Get("a"), "");
  const std::string binary("\0\xff\n", 3);
  Put(binary, binary);
  EXPECT_EQ(*store_->Get(binary), binary);
}

TEST_P(KeyValueStoreTest, ABatchIsAppliedInItsOrder) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Remove("a");
  batch.Put("b", "1");
  batch.Put("b", "2");
  WriteBatch more;
  more.Remove("absent");
  more.Put("c", "3");
  batch.Append(std::move(more));
  EXPECT_TRUE(more.empty());
  ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  EXPECT_EQ(Scan(""), (Pairs{{"b", "2"}, {"c", "3"}}));
  EXPECT_TRUE(store_->Write(WriteBatch(), Durability::kSynced).ok());
  EXPECT_TRUE(store_->Write(WriteBatch(), Durability::kBuffered).ok());
}

TEST_P(KeyValueStoreTest, ScanIsOrderedAndBoundedByPrefixFromAndVisitor) {
  for (const char* key : {"b\xff", "b", "a", "ba", "b\x01", "c", "b\x7f"}) Put(key, "v");
  EXPECT_EQ(Scan("b"), (Pairs{{"b", "v"}, {"b\x01", "v"}, {"ba", "v"}, {"b\x7f", "v"}, {"b\xff", "v"}}));
  EXPECT_EQ(Scan("b", "ba"), (Pairs{{"ba", "v"}, {"b\x7f", "v"}, {"b\xff", "v"}}));
  EXPECT_EQ(Scan("b", "bb"), (Pairs{{"b\x7f", "v"}, {"b\xff", "v"}}));
  EXPECT_EQ(Scan("b", {}, 2), (Pairs{{"b", "v"}, {"b\x01", "v"}}));
  EXPECT_EQ(Scan("").size(), 7u);
  EXPECT_EQ(Scan("", "ba").size(), 4u);
  EXPECT_EQ(Scan("bx"), Pairs{});
  EXPECT_EQ(Scan("\xff"), Pairs{});
}

TEST_P(KeyValueStoreTest, ScanSeesTheStoreAsOfTheCall) {
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  Pairs found;
  ASSERT_TRUE(store_
                  ->Scan("", "",
                         [&](std::string_view key, std::string_view value) {
                           found.emplace_back(key, value);
                           WriteBatch batch;
                           batch.Remove("b");
                           batch.Put("c", "new");
                           batch.Put("d", "new");
                           EXPECT_TRUE(store_->Write(batch, Durability::kBuffered).ok());
                           return true;
                         })
                  .ok());
  EXPECT_EQ(found, (Pairs{{"a", "old"}, {"b", "old"}, {"c", "old"}}));
  EXPECT_EQ(Scan(""), (Pairs{{"a", "old"}, {"c", "new"}, {"d", "new"}}));
}

TEST_P(KeyValueStoreTest, AgreesWithAMap) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::map<std::string, std::string> model;
  for (int round = 0; round < 200; ++round) {
    WriteBatch batch;
    for (std::uint64_t n = random.Below(20); n > 0; --n) {
      const std::string key = KeyNumber(random.Below(50));
      if (random.Below(3) == 0) {
        batch.Remove(key);
        model.erase(key);
      } else {
        const std::string value(random.Below(5000), 'v');
        batch.Put(key, value);
        model[key] = value;
      }
    }
    ASSERT_TRUE(store_->Write(batch, Durability::kBuffered).ok());
  }
  EXPECT_EQ(Scan(""), Pairs(model.begin(), model.end()));
}

TEST_P(KeyValueStoreTest, ABatchIsNeverSeenInPart) {
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 500; ++i) {
      WriteBatch batch;
      for (const char* key : {"x", "y", "z"}) batch.Put(key, std::to_string(i));
      EXPECT_TRUE(store_->Write(batch, Durability::kBuffered).ok());
    }
    done = true;
  });
  while (!done) {
    const Pairs found = Scan("");
    if (found.empty()) continue;
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].second, found[1].second);
    EXPECT_EQ(found[0].second, found[2].second);
  }
  writer.join();
}

INSTANTIATE_TEST_SUITE_P(Stores, KeyValueStoreTest,
                         testing::Values(Kind::kMemory, Kind::kRocks, Kind::kSpare, Kind::kSometimesSpare,
                                         Kind::kMirrored, Kind::kMirroredSometimesSpare),
                         [](const auto& store) { return NameOf(store.param); });

TEST(KeyNumberTest, OrderOfBytesIsOrderOfNumbers) {
  const std::uint64_t rising[] = {0, 1, 255, 256, 65535, 1u << 31, std::uint64_t{1} << 40, ~std::uint64_t{0}};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    EXPECT_EQ(ParseKeyNumber(KeyNumber(rising[i])), rising[i]);
    if (i == 0) continue;
    EXPECT_LT(KeyNumber(rising[i - 1]), KeyNumber(rising[i]));
  }
  EXPECT_EQ(KeyNumber(0x0102030405060708), "\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_EQ(ParseKeyNumber("1234567"), std::nullopt);
  EXPECT_EQ(ParseKeyNumber("123456789"), std::nullopt);
}

}  // namespace
}  // namespace millrace
