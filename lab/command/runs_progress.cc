// SPDX-License-Identifier: Apache-2.0
#include "lab/command/runs_progress.h"

#include <chrono>
#include <utility>

namespace millrace::compare {
namespace {

constexpr Micros kBetweenLines = 5 * kSecond, kBetweenShows = 100 * kMillisecond;

}  // namespace

Micros SteadyMicros() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

RunsProgress::RunsProgress(const console::Console& console, std::vector<std::string> schedulers, Now now)
    : console_(console),
      schedulers_(std::move(schedulers)),
      now_(std::move(now)),
      line_(console),
      counts_(schedulers_.size()),
      told_(now_()) {}

void RunsProgress::Start(const Design& design, const RunStore& store) {
  for (Count& count : counts_) count.done = count.all = 0;
  for (std::uint32_t block = 0; block < design.blocks; ++block) {
    for (const PlannedRun& run : RunsOfBlock(design, block)) ++counts_[run.scheduler].all;
  }
  for (const RunRecord* record : store.Counting(design.blocks)) ++counts_[record->run.scheduler].done;
}

void RunsProgress::Begun(const PlannedRun& run, bool warm_up) {
  begun_ = now_();
  if (warm_up && !console_.err_is_terminal) console::SayLine(console_, "a run to warm up, which does not count");
  if (!console_.err_is_terminal || (told_ > 0 && begun_ - told_ < kBetweenShows)) return;
  told_ = begun_;
  line_.Show(warm_up ? "warming up" : LineOf(run.scheduler));
}

void RunsProgress::Ended(const RunRecord& record) {
  Count& count = counts_[record.run.scheduler];
  count.took += now_() - begun_;
  const std::string& disturbed = record.outcome.disturbed;
  disturbed_ = disturbed.empty() ? 0 : disturbed_ + 1;
  disturbance_ = disturbed;
  const bool again = !disturbed.empty() && record.run.again < kMostAgain;
  if (again) {
    line_.Clear();
    console::SayLine(console_, schedulers_[record.run.scheduler] + ": the run is made again: " + disturbed);
    return;
  }
  ++count.done;
  ++count.finished;
  if (console_.err_is_terminal || now_() - told_ < kBetweenLines) return;
  told_ = now_();
  console::SayLine(console_, LineOf(record.run.scheduler));
}

std::string RunsProgress::LineOf(std::uint32_t scheduler) const {
  const Count& count = counts_[scheduler];
  return schedulers_[scheduler] + ": " + std::to_string(count.done) + " of " + std::to_string(count.all) + " runs" +
         TimeLeft();
}

// What is left is taken to need as many repetitions as what is done. The runs of a scheduler that has none yet are
// taken to last as long as those of the others.
std::string RunsProgress::TimeLeft() const {
  Micros took = 0;
  std::size_t finished = 0;
  for (const Count& count : counts_) took += count.took, finished += count.finished;
  if (finished == 0) return {};
  double left = 0;
  for (const Count& count : counts_) {
    const auto [sum, runs] = count.finished > 0 ? std::pair(count.took, count.finished) : std::pair(took, finished);
    left += static_cast<double>(count.all - count.done) * static_cast<double>(sum) / static_cast<double>(runs);
  }
  if (left < 1) return {};
  return "; " + FormatDuration(static_cast<Micros>(left)) + " left in all";
}

}  // namespace millrace::compare
