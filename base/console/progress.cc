// SPDX-License-Identifier: Apache-2.0
#include "base/console/progress.h"

#include <algorithm>
#include <cstdio>

#include "base/console/table.h"
#include "base/file.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/units.h"

namespace millrace::console {
namespace {

constexpr std::chrono::milliseconds kBarPause{200};
constexpr std::chrono::seconds kLinePause{5};
constexpr Micros kEnoughTime = 3 * kSecond;

}  // namespace

Result<ProgressStyle> ParseProgressStyle(std::string_view text, const Console& console) {
  if (text == "auto") return console.err_is_terminal ? ProgressStyle::kBar : ProgressStyle::kSummary;
  if (text == "bar") return ProgressStyle::kBar;
  if (text == "plain") return ProgressStyle::kPlain;
  if (text == "none") return ProgressStyle::kSilent;
  return Invalid("--progress: " + Quote(text) + " is not one of auto, bar, plain, none");
}

std::string Bar(double fraction, std::size_t width) {
  const std::size_t inside = width - 2;
  const auto full = static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(inside));
  std::string bar(full, '=');
  if (full < inside) bar += '>';
  return "[" + Left(bar, inside) + "]";
}

std::string FormatRate(std::uint64_t bytes, Micros time) {
  if (time <= 0) return "-";
  return FormatBytes(static_cast<std::uint64_t>(static_cast<double>(bytes) * kSecond / static_cast<double>(time))) +
         "/s";
}

void StatusLine::Show(const std::string& text) {
  (void)WriteAll(console_.err, "\r" + Fit(Printable(text), TerminalWidth(console_.err) - 1) + "\x1b[K",
                 "standard error");
  shown_ = true;
}

void StatusLine::Clear() {
  if (shown_) (void)WriteAll(console_.err, "\r\x1b[K", "standard error");
  shown_ = false;
}

Progress::Progress(const Console& console, ProgressStyle style, std::string what, std::uint64_t files,
                   std::uint64_t bytes)
    : console_(console),
      style_(style),
      what_(std::move(what)),
      files_total_(files),
      bytes_total_(bytes),
      start_(std::chrono::steady_clock::now()),
      line_(console) {
  if (style_ != ProgressStyle::kSilent) thread_ = std::thread([this] { Run(); });
}

Progress::~Progress() { Finish(false); }

Micros Progress::Elapsed() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_).count();
}

std::string Progress::Line() const {
  const std::uint64_t bytes = bytes_, files = files_;
  const Micros elapsed = Elapsed();
  std::string line = what_ + " ";
  if (style_ == ProgressStyle::kBar && bytes_total_ > 0) {
    line += Bar(static_cast<double>(bytes) / static_cast<double>(bytes_total_), 24) + " ";
  }
  line += FormatBytes(bytes) + (bytes_total_ > 0 ? " of " + FormatBytes(bytes_total_) : "");
  if (files_total_ > 1) line += ", " + std::to_string(files) + " of " + std::to_string(files_total_) + " files";
  if (bytes >= kTellingBytes) line += ", " + FormatRate(bytes, elapsed);
  // What the first bytes took says too little of the others.
  if (bytes >= kTellingBytes && bytes_total_ > bytes && elapsed >= kEnoughTime) {
    const double left =
        static_cast<double>(elapsed) * static_cast<double>(bytes_total_ - bytes) / static_cast<double>(bytes);
    line += ", " + FormatDuration(static_cast<Micros>(left)) + " left";
  }
  return line;
}

void Progress::Run() {
  NameThread("progress");
  const bool bar = style_ == ProgressStyle::kBar;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto pause = bar ? std::chrono::duration_cast<std::chrono::milliseconds>(kBarPause) : kLinePause;
    if (wake_.wait_for(lock, pause, [this] { return stop_; })) return;
    if (bar) {
      line_.Show(Line());
    } else {
      SayLine(console_, Line());
    }
  }
}

void Progress::Say(std::string_view line) {
  const std::lock_guard lock(mutex_);
  line_.Clear();
  SayLine(console_, line);
}

void Progress::Begin(std::string_view verb, std::string_view name) {
  if (style_ == ProgressStyle::kPlain) Say(std::string(verb) + " " + Quote(name));
}

void Progress::Done(std::string_view verb, std::string_view name, std::uint64_t bytes) {
  ++files_;
  if (style_ == ProgressStyle::kPlain) Say(std::string(verb) + " " + Quote(name) + ", " + FormatBytes(bytes));
}

void Progress::Finish(bool ok) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  line_.Clear();
  if (!ok) return;
  const std::uint64_t files = files_;
  const std::string rate = bytes_ < kTellingBytes ? "" : " (" + FormatRate(bytes_, Elapsed()) + ")";
  SayLine(console_, what_ + ": " + Counted(files, "file") + ", " + FormatBytes(bytes_) + " in " +
                        FormatDuration(Elapsed()) + rate);
}

}  // namespace millrace::console
