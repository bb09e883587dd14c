// SPDX-License-Identifier: Apache-2.0
#include "schedulers/events/event_text.h"

#include <array>
#include <charconv>
#include <concepts>
#include <type_traits>
#include <utility>

#include "schedulers/events/text_fields.h"

namespace millrace::sched {
namespace {

constexpr std::array<std::string_view, 3> kMarks = {" decide", " woken", " restart"};  // by JournalMark

template <class E, class T>
concept Is = std::same_as<std::remove_const_t<E>, T>;

// The format of each event, written once for both the writer and the reader: its name and its fields.
template <class V, Is<NodeJoined> E>
void Fields(V& v, E& e) {
  v.Required("node", e.node), v.Optional("rack", e.rack), v.Optional("datacenter", e.datacenter);
  v.Optional("maps", e.slots.maps), v.Optional("reduces", e.slots.reduces);
  v.UnlessDefault("cores", e.cores), v.UnlessDefault("machine", e.machine);
}
template <class V, Is<NodeLost> E>
void Fields(V& v, E& e) {
  v.Required("node", e.node), v.Optional("died", e.died);
}
template <class V, Is<NodeDrained> E>
void Fields(V& v, E& e) {
  v.Required("node", e.node), v.Optional("drained", e.drained);
}
template <class V, Is<JobSubmitted> E>
void Fields(V& v, E& e) {
  v.Required("job", e.job), v.Optional("name", e.spec.name), v.Optional("priority", e.spec.priority),
      v.Optional("maps", e.spec.maps);
  v.Optional("reduces", e.spec.reduces), v.Optional("slow_start", e.spec.slow_start);
  v.Optional("max_attempts", e.spec.max_attempts), v.UnlessDefault("max_failed_maps", e.spec.max_failed_maps);
  v.UnlessDefault("skip_bad_records", e.spec.skip_bad_records);
  v.UnlessDefault("user", e.spec.user), v.UnlessDefault("pool", e.spec.pool),
      v.UnlessDefault("deadline", e.spec.deadline);
  v.UnlessDefault("map_time", e.spec.map_time), v.UnlessDefault("reduce_time", e.spec.reduce_time);
  v.UnlessDefault("locality_waits", e.spec.locality_waits), v.UnlessDefault("no_speculation", e.spec.no_speculation);
  v.UnlessDefault("program", e.spec.program), v.UnlessDefault("input_type", e.spec.input_type);
  v.UnlessDefault("profile_runs", e.spec.profile.runs), v.UnlessDefault("profile_map_time", e.spec.profile.map_time);
  v.UnlessDefault("profile_reduce_time", e.spec.profile.reduce_time),
      v.UnlessDefault("profile_ratio", e.spec.profile.output_ratio);
}
template <class V, class E>
requires Is<E, JobKilled> || Is<E, JobGivenUp>
void Fields(V& v, E& e) { v.Required("job", e.job), v.Optional("reason", e.reason); }
template <class V, Is<JobPrioritySet> E>
void Fields(V& v, E& e) {
  v.Required("job", e.job), v.Optional("priority", e.priority);
}
template <class V, Is<AttemptLaunched> E>
void Fields(V& v, E& e) {
  v.Required("attempt", e.attempt), v.Required("node", e.node);
}
template <class V, Is<AttemptSucceeded> E>
void Fields(V& v, E& e) {
  v.Required("attempt", e.attempt);
  v.UnlessDefault("input_bytes", e.input_bytes), v.UnlessDefault("output_bytes", e.output_bytes);
  v.UnlessDefault("cpu", e.use.cpu), v.UnlessDefault("waited", e.use.waited), v.UnlessDefault("start", e.use.start);
}
template <class V, Is<AttemptFailed> E>
void Fields(V& v, E& e) {
  v.Required("attempt", e.attempt), v.Optional("reason", e.reason), v.UnlessDefault("record", e.record);
  v.UnlessDefault("permanent", e.permanent);
}
template <class V, class E>
requires Is<E, AttemptLost> || Is<E, AttemptPreempted>
void Fields(V& v, E& e) { v.Required("attempt", e.attempt), v.Optional("reason", e.reason); }
template <class V, Is<FetchFailed> E>
void Fields(V& v, E& e) {
  v.Required("reduce", e.reduce), v.Required("map_attempt", e.map_attempt), v.UnlessDefault("report", e.report);
}
template <class V, Is<ReplicasMoved> E>
void Fields(V& v, E& e) {
  v.Required("map", e.map), v.Optional("replicas", e.replicas);
}

template <class V, Is<AttemptProgressed> E>
void Fields(V& v, E& e) {
  v.Required("attempt", e.attempt), v.Optional("per_mille", e.per_mille);
}
template <class V, class E>
requires Is<E, ReduceComputing> || Is<E, ReduceCopied> || Is<E, ComputeGranted>
void Fields(V& v, E& e) { v.Required("attempt", e.attempt); }
template <class V, Is<BandwidthMeasured> E>
void Fields(V& v, E& e) {
  v.Required("from", e.from), v.Required("to", e.to), v.Optional("bytes_per_second", e.bytes_per_second);
}
template <class V, Is<SchedulerSet> E>
void Fields(V& v, E& e) {
  v.Required("name", e.name), v.UnlessDefault("settings", e.settings);
}

template <class V, Is<NodeSpace> E>
void Fields(V& v, E& e) {
  v.Required("node", e.node), v.Optional("free_bytes", e.free_bytes);
}
template <class V, Is<JobEvicted> E>
void Fields(V& v, E& e) {
  v.Required("job", e.job);
}

template <class V, Is<NodeBlamed> E>
void Fields(V& v, E& e) {
  v.Required("node", e.node), v.Required("by", e.by), v.Optional("until", e.until);
}

template <class V, Is<OutputMoved> E>
void Fields(V& v, E& e) {
  v.Required("attempt", e.attempt), v.Required("to", e.to);
}

template <class V, Is<JobHeld> E>
void Fields(V& v, E& e) {
  v.Required("job", e.job), v.Optional("held", e.held);
}

template <class V, Is<PolicyAnswered> E>
void Fields(V& v, E& e) {
  v.Required("question", e.question), v.Optional("answer", e.answer);
}

// The index is that of the alternative in Event.
constexpr std::string_view kNames[] = {
    "NodeJoined",       "NodeLost",          "NodeDrained",     "JobSubmitted",      "JobKilled",    "JobPrioritySet",
    "AttemptLaunched",  "AttemptSucceeded",  "AttemptFailed",   "AttemptLost",       "FetchFailed",  "ReplicasMoved",
    "AttemptPreempted", "AttemptProgressed", "ReduceComputing", "BandwidthMeasured", "SchedulerSet", "NodeSpace",
    "JobEvicted",       "NodeBlamed",        "ReduceCopied",    "ComputeGranted",    "OutputMoved",  "JobGivenUp",
    "JobHeld",          "PolicyAnswered"};
static_assert(std::size(kNames) == std::variant_size_v<Event>);

template <std::size_t I = 0>
std::optional<Event> ParseKind(std::string_view kind, FieldReader& fields) {
  if constexpr (I == std::variant_size_v<Event>) {
    return std::nullopt;
  } else {
    if (kind != kNames[I]) return ParseKind<I + 1>(kind, fields);
    std::variant_alternative_t<I, Event> event;
    Fields(fields, event);
    return fields.ok() ? std::optional<Event>(std::move(event)) : std::nullopt;
  }
}

// Has the calls of FieldWriter, and keeps the values as they are.
class FieldLister {
 public:
  template <class T>
  void Required(std::string_view key, const T& value) {
    if constexpr (std::same_as<T, std::uint32_t>) {
      fields_.push_back({key, std::uint64_t{value}});
    } else {
      fields_.push_back({key, value});
    }
  }
  template <class T>
  void Optional(std::string_view key, const T& value) {
    Required(key, value);
  }
  template <class T>
  void UnlessDefault(std::string_view key, const T& value) {
    Required(key, value);
  }
  [[nodiscard]] std::vector<EventField> Take() { return std::move(fields_); }

 private:
  std::vector<EventField> fields_;
};

std::string_view CutWord(std::string_view* line) {
  const std::size_t space = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, space);
  line->remove_prefix(std::min(space + 1, line->size()));
  return word;
}

}  // namespace

std::string FormatEvent(Micros time, const Event& event) {
  std::string line = std::to_string(time) + ' ' + std::string(kNames[event.index()]);
  FieldWriter fields(&line);
  std::visit([&fields](const auto& e) { Fields(fields, e); }, event);
  return line;
}

std::string_view KindOf(const Event& event) { return kNames[event.index()]; }

std::vector<EventField> FieldsOf(const Event& event) {
  FieldLister fields;
  std::visit([&fields](const auto& e) { Fields(fields, e); }, event);
  return fields.Take();
}

std::optional<TimedEvent> ParseEvent(std::string_view line) {
  TimedEvent timed;
  if (!DecodeValue(CutWord(&line), &timed.time)) return std::nullopt;
  const std::string_view kind = CutWord(&line);
  FieldReader fields;
  while (!line.empty()) {
    if (!fields.Add(CutWord(&line))) return std::nullopt;
  }
  std::optional<Event> event = ParseKind(kind, fields);
  if (!event) return std::nullopt;
  timed.event = std::move(*event);
  return timed;
}

std::string_view NameOf(JournalMark mark) { return kMarks[static_cast<std::size_t>(mark)].substr(1); }

std::string FormatMark(Micros time, JournalMark mark) {
  return std::to_string(time).append(kMarks[static_cast<std::size_t>(mark)]);
}

std::optional<JournalLine> ParseJournalLine(std::string_view line) {
  Micros time = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), time);
  const std::string_view rest(end, static_cast<std::size_t>(line.data() + line.size() - end));
  for (std::size_t mark = 0; error == std::errc() && mark < kMarks.size(); ++mark) {
    if (rest == kMarks[mark]) return JournalLine{time, static_cast<JournalMark>(mark)};
  }
  auto event = ParseEvent(line);
  if (!event) return std::nullopt;
  return JournalLine{event->time, std::move(event->event)};
}

}  // namespace millrace::sched
