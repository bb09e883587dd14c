// SPDX-License-Identifier: Apache-2.0
// KeyArena keeps copies of keys at fixed addresses until Clear. Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace::map {

class KeyArena {
 public:
  // `chunk_bytes` is the number of bytes taken from the heap at a time (more for a longer key).
  explicit KeyArena(std::size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}

  const char* Copy(std::string_view key) {
    if (key.size() > left_) Grow(key.size());
    char* const at = next_;
    std::memcpy(at, key.data(), key.size());
    next_ += key.size();
    left_ -= key.size();
    return at;
  }
  void Clear() {
    chunks_.clear();
    next_ = nullptr;
    left_ = bytes_ = 0;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // taken from the heap

 private:
  void Grow(std::size_t size) {
    const std::size_t chunk = std::max(size, chunk_bytes_);
    chunks_.emplace_back(new char[chunk]);
    next_ = chunks_.back().get();
    left_ = chunk;
    bytes_ += chunk;
  }

  const std::size_t chunk_bytes_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace millrace::map
