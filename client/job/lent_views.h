// LentViews finds views that a job keeps for longer than what they point to. Kept views are right as long as the bytes
// happen to stay where they were, on mapped files, and wrong where a buffer is used again: with compressed runs, say.
// So a sample of what Map and Reduce are given is lent to them as a copy on pages of its own, which are closed once its
// time is over. Who reads there then ends by SIGSEGV, and the crash report (client/process/crash_report.h) says why.
// The first kFirst of an attempt are lent so, and later one in kThenOneIn, so that it is the same on a laptop and on a
// cluster, and costs a thousandth of what it would.
// Thread rule: one thread; WhatWasLent: any, and signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {

// What a job is given for a time: a record lives until its Map returns, a key until its Reduce returns, a value until
// the next one is taken.
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
  // Ends the time of what was lent last.
  void Recall() {
    if (lent_bytes_ != 0) [[unlikely]]
      Close();
  }

 private:
  std::string_view LendPages(std::string_view bytes);
  void Close();
  // Returns room for so many bytes, on pages that nothing else is on; null if the system gives none.
  char* Room(std::size_t bytes);
  // Maps all pages anew. Returns false if that fails.
  bool MapPages();

  const Lent what_;
  std::uint32_t until_next_ = 1;  // calls of Lend until one has to be looked at
  std::uint32_t lent_ = 0;        // kFirst at most
  bool is_due_ = true;            // that one is to be lent as a copy
  char* pages_ = nullptr;
  std::size_t used_ = 0;  // bytes of the pages before which all are closed, but for those that are lent
  std::size_t lent_bytes_ = 0;
  std::size_t slot_ = 0;  // in the list of those that WhatWasLent knows
  bool is_refused_ = false;
};

// Returns what was lent at this address, by any LentViews that is alive.
[[nodiscard]] Lent WhatWasLent(const void* address);

}  // namespace millrace
