// SPDX-License-Identifier: Apache-2.0
// Progress shows the user the progress of a transfer: a bar on a terminal, plain lines elsewhere. Thread rule: Add and
// Done from any thread; the rest from the thread that made it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/console/console.h"
#include "base/status.h"

namespace millrace::console {

enum class ProgressStyle {
  kSilent,
  kSummary,  // a line every few seconds and one at the end
  kPlain,    // kSummary, and a line when each file begins and ends
  kBar,
};

// Returns the style for "auto" (a bar if standard error is a terminal, else the summary), "bar", "plain" or "none".
[[nodiscard]] Result<ProgressStyle> ParseProgressStyle(std::string_view text, const Console& console);

// Returns "[=====>    ]", `width` bytes with the brackets.
[[nodiscard]] std::string Bar(double fraction, std::size_t width);
// The rate of fewer bytes says nothing, and is not told.
inline constexpr std::uint64_t kTellingBytes = std::uint64_t{1} << 20;
// Returns "12.3 MiB/s", or "-" while the rate is unknown.
[[nodiscard]] std::string FormatRate(std::uint64_t bytes, Micros time);

// One line of a terminal that is rewritten in place. Thread rule: one thread at a time.
class StatusLine {
 public:
  explicit StatusLine(const Console& console) : console_(console) {}
  void Show(const std::string& text);  // cut to the width of the terminal, which ".." shows
  void Clear();

 private:
  Console console_;
  bool shown_ = false;
};

class Progress {
 public:
  // `what` is the verb, as in "put". If `bytes` is 0, the total is unknown.
  Progress(const Console& console, ProgressStyle style, std::string what, std::uint64_t files, std::uint64_t bytes);
  ~Progress();
  void Begin(std::string_view verb, std::string_view name);  // "writing", path
  void Add(std::uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Done(std::string_view verb, std::string_view name, std::uint64_t bytes);  // "wrote", path
  // Ends the display, and prints the summary if the transfer succeeded (`ok`).
  void Finish(bool ok);

 private:
  void Run();
  [[nodiscard]] std::string Line() const;
  [[nodiscard]] Micros Elapsed() const;
  void Say(std::string_view line);

  Console console_;
  ProgressStyle style_;
  std::string what_;
  std::uint64_t files_total_, bytes_total_;
  std::chrono::steady_clock::time_point start_;
  std::atomic<std::uint64_t> bytes_ = 0, files_ = 0;
  std::mutex mutex_;  // the error descriptor, line_, stop_
  std::condition_variable wake_;
  StatusLine line_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace millrace::console
