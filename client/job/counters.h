// SPDX-License-Identifier: Apache-2.0
// Counters of an attempt: user code adds on the task's thread, the reporter reads on its own.
// Thread rule: one thread adds to a counter; Get and Snapshot may be called from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

class Counter {
 public:
  // One thread adds, so a plain load and store do: no locked instruction is needed.
  void Add(std::int64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void Set(std::int64_t n) { value_.store(n, std::memory_order_relaxed); }
  Counter& operator++() {
    Add(1);
    return *this;
  }
  Counter& operator+=(std::int64_t n) {
    Add(n);
    return *this;
  }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

struct CounterValue {
  std::string group;
  std::string name;
  std::int64_t value = 0;
};

class CounterSet {
 public:
  // Returns the counter of that name; the first call for a name makes it. It lives as long as the set. Only the first
  // 255 bytes of a group and of a name count.
  Counter& Get(std::string_view group, std::string_view name);
  // Returns all counters, sorted by group and name.
  [[nodiscard]] std::vector<CounterValue> Snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Counter> counters_;  // never move
  std::map<std::pair<std::string, std::string>, Counter*> by_name_;
};

}  // namespace millrace
