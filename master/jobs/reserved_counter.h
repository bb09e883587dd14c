// SPDX-License-Identifier: Apache-2.0
// ReservedCounter issues numbers that never repeat, not even after a crash, without a write for each. It reserves runs
// of numbers in the store ahead of their use; after a restart it begins after the last reservation. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::master {

class ReservedCounter {
 public:
  // Counts from 1. The next run is reserved when half of the current one is used, so that the reservation is on disk
  // long before its first number is used.
  ReservedCounter(std::string key, std::uint64_t run) : key_(std::move(key)), run_(run) {}

  [[nodiscard]] Status Load(const KeyValueStore& store) {
    MILLRACE_ASSIGN(const std::optional<std::string> value, store.Get(key_));
    if (!value) return Status::Ok();
    Decoder in(*value);
    limit_ = in.U64();
    next_ = limit_;
    return in.Finish("the database's counter " + key_);
  }

  // Lets Next return `number` or a later one from now on. Requires: `number` is not below next().
  void SkipTo(std::uint64_t number, WriteBatch* batch) {
    next_ = limit_ = number;
    (void)Reserve(batch);
  }
  // After Load, and before anything else: returns the first number that may have been given after the state that was
  // read, or just before it. All numbers below were given before.
  [[nodiscard]] std::uint64_t UnsureFrom() const { return limit_ > run_ ? limit_ - run_ : 1; }
  // Returns the number that Next will return.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::uint64_t Next(WriteBatch* batch) {
    (void)Reserve(batch);
    return next_++;
  }
  // Reserves numbers as Next does, without using one. Returns the number below which all numbers are reserved once the
  // batch, and those before it, are on disk.
  [[nodiscard]] std::uint64_t Reserve(WriteBatch* batch) {
    if (next_ + run_ / 2 >= limit_) {
      limit_ = next_ + run_;
      Encoder out;
      out.U64(limit_);
      batch->Put(key_, out.Take());
    }
    return limit_;
  }

 private:
  std::string key_;
  std::uint64_t run_;
  std::uint64_t next_ = 1;
  std::uint64_t limit_ = 1;
};

}  // namespace millrace::master
