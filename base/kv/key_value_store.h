// SPDX-License-Identifier: Apache-2.0
// KeyValueStore: ordered keys and values that survive a crash. The real one is RocksDB; tests and simulated
// clusters have one in memory (tests/fakes/memory_store.h). Both pass one contract suite. A batch is applied whole or
// not at all. Thread rule: any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace {

// Changes that take effect together. It is plain data, so that pure logic can return changes without storing them.
class WriteBatch {
 public:
  struct Change {
    std::string key;
    std::optional<std::string> value;  // nothing if the key is removed
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
  kSynced,    // it is on disk when Write returns
  kBuffered,  // it precedes every later write, and survives a crash of the process but not of the machine
};

class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual Status Write(const WriteBatch& batch, Durability durability) = 0;
  [[nodiscard]] virtual Result<std::optional<std::string>> Get(std::string_view key) const = 0;
  // Calls `visit` for every key with this prefix from `from` on, in byte order, until `visit` returns false. It sees
  // the store as it was at the call. The views live until `visit` returns. Requires: `from` has the prefix, or is empty
  // for all keys.
  [[nodiscard]] virtual Status Scan(
      std::string_view prefix, std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const = 0;
};

// Returns the number in big-endian form for use in keys, so that byte order is numeric order.
[[nodiscard]] inline std::string KeyNumber(std::uint64_t n) {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t big_endian = __builtin_bswap64(n);
  std::string key(sizeof big_endian, '\0');
  std::memcpy(key.data(), &big_endian, sizeof big_endian);
  return key;
}
[[nodiscard]] inline std::optional<std::uint64_t> ParseKeyNumber(std::string_view eight_bytes) {
  std::uint64_t big_endian = 0;
  if (eight_bytes.size() != sizeof big_endian) return std::nullopt;
  std::memcpy(&big_endian, eight_bytes.data(), sizeof big_endian);
  return __builtin_bswap64(big_endian);
}

}  // namespace millrace
