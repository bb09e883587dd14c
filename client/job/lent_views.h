// SPDX-License-Identifier: Apache-2.0
// LentViews detects views that a job keeps for longer than the bytes to which they point. A kept view stays right as
// long as the bytes happen to stay in their place, as on mapped files, and becomes wrong if a buffer is reused, as with
// compressed runs. So a sample of the arguments of Map and Reduce is lent to them as copies on pages of their own,
// which are closed once the argument's time is over. A job that reads from such a page afterwards is killed by SIGSEGV,
// and the crash report (client/process/crash_report.h) gives the reason. The first kFirst arguments of an attempt are
// lent in this way, and later one in every kThenOneIn, so that a laptop and a cluster show the same faults, at a
// thousandth of the full cost.
// Thread rule: one thread; WhatWasLent: any thread, and signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {

// The kinds of things that are lent to a job: a record until its Map returns, a key until its Reduce returns, a value
// until the next one is taken.
enum class Lent : std::uint8_t { kNothing, kRecord, kKey, kValue };

class LentViews {
 public:
  static constexpr std::uint32_t kFirst = 256, kThenOneIn = 1024;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // longer ones are not lent as copies

  explicit LentViews(Lent what) : what_(what) {}
  LentViews(const LentViews&) = delete;
  LentViews& operator=(const LentViews&) = delete;
  ~LentViews();

  // Returns the bytes, or a copy of them that lives until the next call of Lend or Recall.
  [[nodiscard]] std::string_view Lend(std::string_view bytes) {
    if (--until_next_ != 0) [[likely]]
      return bytes;
    return LendPages(bytes);
  }
  // Ends the life of the bytes that were lent last.
  void Recall() {
    if (lent_bytes_ != 0) [[unlikely]]
      Close();
  }

 private:
  std::string_view LendPages(std::string_view bytes);
  void Close();
  // Returns room for this number of bytes, on pages that hold nothing else; null if the system gives none.
  char* Room(std::size_t bytes);
  // Maps all pages again. Returns false if that fails.
  bool MapPages();

  const Lent what_;
  std::uint32_t until_next_ = 1;  // calls of Lend until one has to be looked at
  std::uint32_t lent_ = 0;        // kFirst at most
  bool is_due_ = true;            // that call lends a copy; false: it only ends the life of the last copy
  char* pages_ = nullptr;
  std::size_t used_ = 0;  // the first bytes of the pages, all of which are closed or lent
  std::size_t lent_bytes_ = 0;
  std::size_t slot_ = 0;  // in the list that WhatWasLent searches
  bool is_refused_ = false;
};

// Returns the kind of thing that any live LentViews has lent at this address.
[[nodiscard]] Lent WhatWasLent(const void* address);

}  // namespace millrace
