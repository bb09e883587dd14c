// KeyValueStore: ordered keys and values that survive a crash. The real one is RocksDB; the in-memory twin serves tests
// and the simulated cluster. Both pass one contract suite.
// Thread rule: any thread; a batch is applied whole or not at all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace {

// Changes that take effect together. Plain data, so that pure logic can say what it wants stored without storing it.
class WriteBatch {
 public:
  struct Change {
    std::string key;
    std::optional<std::string> value;  // none: the key is removed
    bool operator==(const Change&) const = default;
  };

  void Put(std::string key, std::string value) { changes_.push_back({std::move(key), std::move(value)}); }
  void Remove(std::string key) { changes_.push_back({std::move(key), std::nullopt}); }
  void Append(WriteBatch&& other) {
    for (Change& c : other.changes_) changes_.push_back(std::move(c));
    other.changes_.clear();
  }

  [[nodiscard]] bool empty() const { return changes_.empty(); }
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }

 private:
  std::vector<Change> changes_;
};

enum class Durability {
  kSynced,    // on disk when Write returns
  kBuffered,  // ordered before every later write, survives the death of the process, not of the machine
};

class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual Status Write(const WriteBatch& batch, Durability durability) = 0;
  [[nodiscard]] virtual Result<std::optional<std::string>> Get(std::string_view key) const = 0;
  // Every key with this prefix from `from` on (which has the prefix, or is empty for all), in order of bytes, as of the
  // call, until `visit` returns false. The views live until visit returns.
  [[nodiscard]] virtual Status Scan(
      std::string_view prefix, std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const = 0;
};

[[nodiscard]] std::unique_ptr<KeyValueStore> MakeMemoryStore();

// A big-endian number for use in keys, so that order of bytes is order of numbers.
[[nodiscard]] std::string KeyNumber(std::uint64_t n);
[[nodiscard]] std::optional<std::uint64_t> ParseKeyNumber(std::string_view eight_bytes);

}  // namespace millrace
