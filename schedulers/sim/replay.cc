#include "schedulers/sim/replay.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "schedulers/config/make_scheduler.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/event_text.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sim {
namespace {

using sched::Event;

// In force until the journal names a scheduler: decides nothing.
class NoPolicy : public sched::Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "none"; }
  std::optional<sched::Decision> Next(const sched::ClusterState&, sched::Time) override { return std::nullopt; }
};

struct Line {
  std::uint64_t number = 0;
  sched::Time time = 0;
  std::optional<Event> event;  // none: "decide"
};

bool IsDecision(const Event& event) {
  return std::holds_alternative<sched::AttemptLaunched>(event) ||
         std::holds_alternative<sched::AttemptPreempted>(event) || std::holds_alternative<sched::JobEvicted>(event);
}

std::optional<Event> AsDecision(const sched::Effect& effect) {
  if (const auto* launch = std::get_if<sched::Launch>(&effect))
    return sched::AttemptLaunched{launch->attempt, launch->node};
  if (const auto* preempt = std::get_if<sched::Preempt>(&effect))
    return sched::AttemptPreempted{preempt->attempt, preempt->reason};
  if (const auto* evict = std::get_if<sched::Evict>(&effect)) return sched::JobEvicted{evict->job};
  return std::nullopt;
}

// Gives the next line that counts; false at the end.
bool NextLine(std::string_view* rest, std::string_view* line, std::uint64_t* number) {
  while (!rest->empty()) {
    const std::size_t end = std::min(rest->find('\n'), rest->size());
    *line = rest->substr(0, end);
    rest->remove_prefix(std::min(end + 1, rest->size()));
    ++*number;
    if (line->ends_with('\r')) line->remove_suffix(1);
    if (!line->empty() && !line->starts_with('#')) return true;
  }
  return false;
}

std::optional<Line> ParseLine(std::string_view text, std::uint64_t number) {
  Line line{number, 0, std::nullopt};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line.time);
  if (error == std::errc() && std::string_view(end, text.data() + text.size()) == " decide") return line;
  auto event = sched::ParseEvent(text);
  if (!event) return std::nullopt;
  line.time = event->time;
  line.event = std::move(event->event);
  return line;
}

Result<std::vector<Line>> ParseJournal(std::string_view journal, const std::string& file_name) {
  std::vector<Line> lines;
  std::string_view text;
  std::uint64_t number = 0;
  while (NextLine(&journal, &text, &number)) {
    std::optional<Line> line = ParseLine(text, number);
    if (!line) return Invalid(file_name + ":" + std::to_string(number) + ": " + Quote(text) + " is not an event");
    lines.push_back(std::move(*line));
  }
  return lines;
}

// Before the first line of another time, or the first decision.
std::vector<Line> WithDecisions(std::vector<Line> lines) {
  if (std::any_of(lines.begin(), lines.end(), [](const Line& line) { return !line.event; })) return lines;
  std::vector<Line> with;
  bool due = false;  // an event has come since the last decision
  for (Line& line : lines) {
    const bool decision = IsDecision(*line.event);
    if (due && (decision || line.time != with.back().time)) {
      with.push_back({line.number, decision ? line.time : with.back().time, std::nullopt});
      due = false;
    }
    due = due || !decision;
    with.push_back(std::move(line));
  }
  if (due) with.push_back({with.back().number, with.back().time, std::nullopt});
  return with;
}

class Replayer {
 public:
  Replayer(const std::vector<Line>& lines, std::unique_ptr<sched::Policy> policy)
      : lines_(lines), engine_(Options(), std::move(policy)) {}

  ReplayResult Run() {
    for (std::size_t at = 0; at < lines_.size() && result_.differs_at == 0;) {
      const Line& line = lines_[at++];
      if (!line.event) {
        at = Compare(at);
        continue;
      }
      // A decision that no "decide" announced (a journal that begins in the middle of one) is taken as it is.
      sched::Effects effects;
      (void)engine_.Apply(line.time, *line.event, &effects);
      ++result_.events;
    }
    result_.scheduler = engine_.policy().name();
    return std::move(result_);
  }

 private:
  static sched::EngineOptions Options() {
    sched::EngineOptions options;
    options.make_policy = sched::SchedulerMaker(false);
    return options;
  }

  // The decisions of lines_[at - 1] against the lines that follow; returns the one after them.
  std::size_t Compare(std::size_t at) {
    const Line& decide = lines_[at - 1];
    sched::Effects effects;
    engine_.Decide(decide.time, &effects);
    ++result_.decisions;
    for (const sched::Effect& effect : effects) {
      const std::optional<Event> decided = AsDecision(effect);
      if (!decided) continue;
      const bool there = at < lines_.size() && lines_[at].event && IsDecision(*lines_[at].event);
      const std::string line = sched::FormatEvent(decide.time, *decided);
      const std::string expected = there ? sched::FormatEvent(decide.time, *lines_[at].event) : "nothing";
      if (line != expected) {
        Differ(there ? lines_[at].number : decide.number, expected, line);
        return at;
      }
      ++at;
      ++result_.launches;
    }
    if (at < lines_.size() && lines_[at].time == decide.time && IsMissing(lines_[at]))
      Differ(lines_[at].number, sched::FormatEvent(decide.time, *lines_[at].event), "nothing");
    return at;
  }

  // A decision that should have been made. A second attempt of a task that runs may have come from elsewhere.
  bool IsMissing(const Line& line) const {
    if (!line.event || !IsDecision(*line.event)) return false;
    const auto* launched = std::get_if<sched::AttemptLaunched>(&*line.event);
    if (launched == nullptr) return true;
    const sched::TaskId& task = launched->attempt.task;
    const sched::JobState* job = engine_.state().FindJob(task.job);
    return job != nullptr && job->Pending(task.kind).Contains(task.index);
  }

  void Differ(std::uint64_t number, std::string expected, std::string decided) {
    result_.differs_at = number;
    result_.expected = std::move(expected), result_.decided = std::move(decided);
  }

  const std::vector<Line>& lines_;
  sched::Engine engine_;
  ReplayResult result_;
};

}  // namespace

Result<ReplayResult> ReplayJournal(std::string_view journal, const std::string& file_name, const std::string& scheduler,
                                   const sched::Settings& settings) {
  MILLRACE_ASSIGN(std::vector<Line> lines, ParseJournal(journal, file_name));
  std::unique_ptr<sched::Policy> policy = std::make_unique<NoPolicy>();
  if (!scheduler.empty()) {
    std::string why;
    policy = sched::MakePolicy(scheduler, settings, &why);
    if (policy == nullptr) return Invalid(why);
  } else if (std::none_of(lines.begin(), lines.end(), [](const Line& line) {
               return line.event && std::holds_alternative<sched::SchedulerSet>(*line.event);
             })) {
    return Invalid(file_name + ": the journal names no scheduler; say which one it was");
  }
  const std::vector<Line> with = WithDecisions(std::move(lines));
  return Replayer(with, std::move(policy)).Run();
}

bool LooksLikeJournal(std::string_view text) {
  std::string_view line;
  std::uint64_t number = 0;
  return NextLine(&text, &line, &number) && ParseLine(line, number).has_value();
}

}  // namespace millrace::sim
