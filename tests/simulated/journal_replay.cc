#include "journal_replay.h"

#include <optional>
#include <variant>

#include "schedulers/config/make_scheduler.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/event_text.h"
#include "schedulers/core/policy.h"

namespace millrace {
namespace {

using sched::Event;
using sched::Time;

bool IsDecision(const Event& event) {
  return std::holds_alternative<sched::AttemptLaunched>(event) ||
         std::holds_alternative<sched::AttemptPreempted>(event) || std::holds_alternative<sched::JobEvicted>(event);
}

// The event that a driver journals for the effect, if it does.
std::optional<Event> Journaled(const sched::Effect& effect) {
  if (const auto* launch = std::get_if<sched::Launch>(&effect))
    return sched::AttemptLaunched{launch->attempt, launch->node};
  if (const auto* preempt = std::get_if<sched::Preempt>(&effect))
    return sched::AttemptPreempted{preempt->attempt, preempt->reason};
  if (const auto* evict = std::get_if<sched::Evict>(&effect)) return sched::JobEvicted{evict->job};
  return std::nullopt;
}

std::unique_ptr<sched::Policy> AnyPolicy() {
  std::string why;
  return sched::MakeScheduler({"fifo", ""}, false, &why);
}

class Replay {
 public:
  explicit Replay(const std::vector<std::string>& lines) : lines_(lines) {}

  ReplayedJournal Run() {
    while (at_ < lines_.size() && result_.difference.empty()) Step();
    return result_;
  }

 private:
  void Step() {
    const auto line = sched::ParseEvent(lines_[at_]);
    if (!line) return Differ("is no event");
    if (IsDecision(line->event)) return Decide(line->time, true);
    // The lines of one step have one time. What the live master decided before this line would stand before it.
    if (undecided_ && now_ < line->time) Decide(now_, false);
    while (result_.difference.empty()) {
      const std::optional<Time> wake = engine_.NextWake();
      if (!wake || *wake >= line->time || *wake < now_) break;
      Decide(*wake, false);
    }
    sched::Effects effects;
    if (!engine_.Apply(line->time, line->event, &effects)) return Differ("is refused");
    now_ = line->time;
    undecided_ = true;
    ++result_.events;
    ++at_;
  }

  void Decide(Time now, bool something) {
    sched::Effects effects;
    engine_.Decide(now, &effects);
    now_ = now;
    undecided_ = false;
    bool any = false;
    for (const sched::Effect& effect : effects) {
      const std::optional<Event> event = Journaled(effect);
      if (!event) continue;
      any = true;
      const std::string decided = sched::FormatEvent(now, *event);
      if (at_ == lines_.size() || lines_[at_] != decided) return Differ("is not " + decided);
      ++result_.decisions;
      ++at_;
    }
    if (something && !any) Differ("is not decided");
  }

  void Differ(const std::string& how) {
    result_.difference =
        "line " + std::to_string(at_) + " " + how + ": " + (at_ < lines_.size() ? lines_[at_].substr(0, 300) : "(end)");
  }

  const std::vector<std::string>& lines_;
  sched::Engine engine_{{.make_policy = sched::SchedulerMaker(false)}, AnyPolicy()};
  ReplayedJournal result_;
  std::size_t at_ = 0;
  Time now_ = 0;
  bool undecided_ = false;
};

}  // namespace

ReplayedJournal ReplayJournal(const std::vector<std::string>& lines) { return Replay(lines).Run(); }

}  // namespace millrace
