// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_trace.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/local_place.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/job_list.h"
#include "client/job_client/job_client.h"
#include "schedulers/events/event_text.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kReduceSlots = 100'000;  // their threads are numbered from here on

// What the journal tells of a reduce besides its launch and its end; 0: nothing.
struct Phases {
  Micros copied = 0, computing = 0;
};

std::map<AttemptId, Phases> PhasesOf(const std::map<std::uint64_t, std::string>& history) {
  std::map<AttemptId, Phases> phases;
  for (const auto& [number, line] : history) {
    const std::optional<sched::JournalLine> read = sched::ParseJournalLine(line);
    const auto* event = read ? std::get_if<sched::Event>(&read->content) : nullptr;
    if (event == nullptr) continue;
    if (const auto* copied = std::get_if<sched::ReduceCopied>(event)) phases[copied->attempt].copied = read->time;
    if (const auto* granted = std::get_if<sched::ComputeGranted>(event))
      phases[granted->attempt].computing = read->time;
    if (const auto* begun = std::get_if<sched::ReduceComputing>(event)) {
      Phases& of = phases[begun->attempt];
      if (of.computing == 0) of.computing = read->time;  // else it was granted a permit before
    }
  }
  return phases;
}

// An attempt where it is drawn.
struct Span {
  const AttemptStatus* attempt = nullptr;
  Micros begin = 0, end = 0;
  std::uint32_t thread = 0;
  bool second = false;  // it was launched while another attempt of its task ran
  Phases phases = {};
};

std::vector<Span> SpansOf(const std::vector<AttemptStatus>& attempts, const std::map<AttemptId, Phases>& phases,
                          Micros now) {
  std::vector<Span> spans;
  for (const AttemptStatus& attempt : attempts) {
    Span span{.attempt = &attempt, .begin = attempt.launched};
    span.end = std::max(attempt.launched, attempt.ended == 0 ? now : attempt.ended);
    if (const auto found = phases.find(attempt.attempt); found != phases.end()) span.phases = found->second;
    spans.push_back(span);
  }
  std::ranges::stable_sort(spans, {}, [](const Span& span) { return std::tuple(span.begin, span.attempt->attempt); });
  std::map<TaskId, Micros> busy;                                       // until when an attempt of the task runs
  std::map<std::pair<NodeId, TaskKind>, std::vector<Micros>> free_at;  // each slot
  for (Span& span : spans) {
    const TaskId& task = span.attempt->attempt.task;
    Micros& until = busy[task];
    span.second = until > span.begin;
    until = std::max(until, span.end);
    std::vector<Micros>& slots = free_at[{span.attempt->node, task.kind}];
    const auto slot = std::ranges::find_if(slots, [&](Micros free) { return free <= span.begin; });
    span.thread = static_cast<std::uint32_t>(slot - slots.begin()) + 1 + (task.reduce() ? kReduceSlots : 0);
    if (slot == slots.end()) {
      slots.push_back(span.end);
    } else {
      *slot = span.end;
    }
  }
  return spans;
}

std::string NameOf(const Span& span) {
  const AttemptId& attempt = span.attempt->attempt;
  std::string name = (attempt.task.reduce() ? "reduce " : "map ") + std::to_string(attempt.task.index);
  if (span.second) {
    name += ", second attempt";
  } else if (attempt.number > 0) {
    name += ", attempt " + std::to_string(attempt.number);
  }
  const AttemptState state = span.attempt->state;
  return state == AttemptState::kSucceeded ? name : name + ", " + std::string(ToString(state));
}

Json Event(const char* phase, const std::string& name, std::uint32_t process, std::uint32_t thread, Micros at) {
  return {{"ph", phase}, {"name", name}, {"pid", process}, {"tid", thread}, {"ts", at}};
}

Json SpanEvent(const std::string& name, const char* category, const Span& span, Micros begin, Micros end) {
  Json event = Event("X", name, span.attempt->node.value, span.thread, begin);
  event["cat"] = category;
  event["dur"] = end - begin;
  return event;
}

// The parts of a reduce: copying, waiting for a permit, computing. A reduce that ended before tells of fewer.
void AddParts(const Span& span, std::vector<Json>* events) {
  const auto within = [&](Micros at) { return std::clamp(at == 0 ? span.end : at, span.begin, span.end); };
  const Micros computing = within(span.phases.computing);
  const Micros copied = std::min(span.phases.copied == 0 ? computing : within(span.phases.copied), computing);
  events->push_back(SpanEvent("copy", "copy", span, span.begin, copied));
  if (computing > copied) events->push_back(SpanEvent("wait", "wait", span, copied, computing));
  if (span.end > computing) events->push_back(SpanEvent("compute", "compute", span, computing, span.end));
}

void AddMetadata(const JobStatus& job, const std::vector<Span>& spans, std::vector<Json>* events) {
  const auto add = [events](const char* what, std::uint32_t process, std::uint32_t thread, const std::string& name) {
    Json event = Event("M", what, process, thread, 0);
    event.erase("ts");
    event["args"]["name"] = name;
    events->push_back(std::move(event));
  };
  add("process_name", 0, 0, ToText(job.job) + " " + Printable(job.name));
  std::map<std::uint32_t, std::string> nodes;
  std::set<std::pair<std::uint32_t, std::uint32_t>> threads;
  for (const Span& span : spans) {
    nodes.try_emplace(span.attempt->node.value,
                      "node " + std::to_string(span.attempt->node.value) + " " + Printable(span.attempt->host));
    threads.emplace(span.attempt->node.value, span.thread);
  }
  for (const auto& [node, name] : nodes) add("process_name", node, 0, name);
  for (const auto& [node, thread] : threads) {
    add("thread_name", node, thread,
        thread > kReduceSlots ? "reduce slot " + std::to_string(thread - kReduceSlots)
                              : "map slot " + std::to_string(thread));
  }
}

// The whole job is process 0, which no node is.
void AddJob(const JobStatus& job, Micros now, std::vector<Json>* events) {
  const auto add = [events](const char* name, Micros begin, Micros end) {
    if (end <= begin) return;
    Json event = Event("X", name, 0, 0, begin);
    event["cat"] = "job";
    event["dur"] = end - begin;
    events->push_back(std::move(event));
  };
  const Micros end = job.ended == 0 ? now : job.ended;
  const Micros first = job.first_launch == 0 ? end : job.first_launch;
  add("waits", job.submitted, first);
  add("runs", first, end);
}

void AddArrows(const std::vector<Span>& spans, std::vector<Json>* events) {
  std::vector<const Span*> maps, reduces;
  for (const Span& span : spans) {
    if (span.attempt->attempt.task.reduce()) {
      if (span.end > span.begin) reduces.push_back(&span);
    } else if (span.attempt->state == AttemptState::kSucceeded) {
      maps.push_back(&span);
    }
  }
  if (maps.empty() || reduces.empty()) return;
  std::ranges::stable_sort(maps, {}, &Span::end);
  const std::size_t each = std::max<std::size_t>(1, kMostArrows / reduces.size());
  std::uint64_t number = 0;
  for (const Span* reduce : reduces) {
    const Micros had = reduce->phases.copied != 0 ? reduce->phases.copied : reduce->phases.computing;
    const Micros limit = had == 0 ? reduce->end : std::min(had, reduce->end);
    const auto last = std::ranges::upper_bound(maps, limit, {}, &Span::end);
    const auto count = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(each), last - maps.begin());
    for (auto map = last - count; map != last; ++map) {
      if (number == kMostArrows) return;
      const Span& from = **map;
      ++number;
      // An arrow is bound to the span around its end, so it must lie within.
      const auto add = [&](const char* phase, const Span& span, Micros at) {
        Json event = Event(phase, "map output", span.attempt->node.value, span.thread, at);
        event["cat"] = "shuffle";
        event["id"] = number;
        if (phase[0] == 'f') event["bp"] = "e";
        events->push_back(std::move(event));
      };
      add("s", from, std::max(from.begin, from.end - 1));
      add("f", *reduce, std::clamp(from.end, reduce->begin, std::max(reduce->begin, reduce->end - 1)));
    }
  }
}

Status WriteTrace(const Invocation& invocation, const std::string& path, const JobStatus& job,
                  const std::vector<Json>& events) {
  std::string text =
      "{\"displayTimeUnit\": \"ms\", \"otherData\": " +
      console::Dump({{"job", job.job.value}, {"name", Printable(job.name)}, {"owner", Printable(job.owner)}}) +
      ", \"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + console::Dump(events[i]);
  text += "\n]}\n";
  if (path != "-") return WriteLocalFile(path, text);
  console::Printer out(invocation.console);
  out << text;
  return out.Flush();
}

}  // namespace

std::vector<Json> TraceEvents(const JobStatus& job, const std::vector<AttemptStatus>& attempts,
                              const std::map<std::uint64_t, std::string>& history, Micros now) {
  const std::vector<Span> spans = SpansOf(attempts, PhasesOf(history), now);
  std::vector<Json> events;
  AddMetadata(job, spans, &events);
  AddJob(job, now, &events);
  for (const Span& span : spans) {
    const AttemptStatus& attempt = *span.attempt;
    const bool reduce = attempt.attempt.task.reduce();
    Json event = SpanEvent(NameOf(span), reduce ? "reduce" : "map", span, span.begin, span.end);
    event["args"] = {{"attempt", ToText(attempt.attempt)}, {"state", ToString(attempt.state)}};
    if (!attempt.reason.empty()) event["args"]["reason"] = Printable(attempt.reason);
    events.push_back(std::move(event));
    if (reduce) AddParts(span, &events);
  }
  AddArrows(spans, &events);
  return events;
}

int TraceJob(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("job trace", "JOB",
                               "Writes a job as a trace, which ui.perfetto.dev and chrome://tracing show: a track for "
                               "each slot, a span for each attempt, and arrows from maps to reduces.");
  arguments.Example("12 -o trace.json");
  std::string output = "-";
  arguments.Text("-o,--output", &output, "the file to write; - is standard output (default: -)");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
  if (!job.ok()) return invocation.Fail("job trace", job.status(), kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job trace", files.status(), kUnreachable);
  job::JobClient client(**files);
  // The status comes last: whatever has ended in it has its end in the others, or ends at the status' time.
  const auto history = job::ReadJournal(client, *job);
  if (!history.ok()) return invocation.Fail("job trace", history.status());
  const Result<std::vector<AttemptStatus>> attempts = client.Attempts(*job);
  if (!attempts.ok()) return invocation.Fail("job trace", attempts.status());
  const Result<JobStatus> status = client.GetStatus(*job);
  if (!status.ok()) return invocation.Fail("job trace", status.status());
  const Micros now = status->ended != 0 ? status->ended : MasterTime(client);
  const Status written = WriteTrace(invocation, output, *status, TraceEvents(*status, *attempts, *history, now));
  return written.ok() ? kDone : invocation.Fail("job trace", written);
}

}  // namespace millrace::cli
