// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/memory_store.h"

#include <map>
#include <mutex>

#include "base/check.h"

namespace millrace {
namespace {

class MemoryStore final : public KeyValueStore {
 public:
  Status Write(const WriteBatch& batch, Durability) override {
    const std::lock_guard lock(mutex_);
    for (const WriteBatch::Change& change : batch.changes()) {
      if (change.value) {
        map_.insert_or_assign(change.key, *change.value);
      } else {
        map_.erase(change.key);
      }
    }
    return Status::Ok();
  }

  Result<std::optional<std::string>> Get(std::string_view key) const override {
    const std::lock_guard lock(mutex_);
    const auto it = map_.find(key);
    if (it == map_.end()) return std::optional<std::string>();
    return std::optional(it->second);
  }

  // Visits a copy, so that the visitor may write to the store and still sees it as it was at the call.
  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    MILLRACE_CHECK(from.empty() || from.starts_with(prefix), "Scan from outside of the prefix");
    std::vector<std::pair<std::string, std::string>> found;
    {
      const std::lock_guard lock(mutex_);
      auto it = map_.lower_bound(from.empty() ? prefix : from);
      for (; it != map_.end() && it->first.starts_with(prefix); ++it) found.push_back(*it);
    }
    for (const auto& [key, value] : found) {
      if (!visit(key, value)) break;
    }
    return Status::Ok();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> map_;
};

}  // namespace

std::unique_ptr<KeyValueStore> MakeMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace millrace
