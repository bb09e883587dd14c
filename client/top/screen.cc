// SPDX-License-Identifier: Apache-2.0
#include "client/top/screen.h"

#include <algorithm>
#include <utility>

#include "base/console/progress.h"
#include "base/console/table.h"
#include "base/ids/counted.h"
#include "base/notice.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/foretold.h"
#include "client/cli/job_list.h"
#include "client/cli/listing.h"
#include "client/cli/report.h"
#include "schedulers/core/wait_view.h"

namespace millrace::top {
namespace {

using cli::Field;
using cli::SortKey;
using console::kAlwaysShown;

constexpr std::size_t kBar = 12, kShortBar = 8;
constexpr std::size_t kNarrow = 110;  // on fewer columns, what is told of a job is told in short

SortKey NumberKey(double value) { return {value, ""}; }

std::string Cut(const std::string& text, std::size_t columns) {
  std::string line = console::LayOut({{"", kAlwaysShown, 1}}, {{text}}, columns, false);
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

// Cuts the text into lines between words; a word that is too long is cut.
std::vector<std::string> Wrap(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines(1);
  const std::string shown = Printable(text);
  for (std::size_t begin = 0; begin < shown.size();) {
    const std::size_t end = std::min(shown.find(' ', begin), shown.size());
    const std::string word = shown.substr(begin, end - begin);
    if (!lines.back().empty() && console::PlacesOf(lines.back()) + 1 + console::PlacesOf(word) > columns)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  for (std::string& line : lines) line = Cut(line, columns);
  return lines;
}

std::string Of(std::uint64_t part, std::uint64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

double Share(double part, double whole) { return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0; }

// "waiting", "held", "map 45%", "copy 20%", "reduce 5%"
std::string PhaseOf(const JobStatus& job) {
  if (job.state != JobState::kRunning) return cli::StateWord(job);
  if (job.maps.done < job.maps.total) return "map " + cli::Percent(job.maps.fraction);
  if (job.reduces.total > 0 && job.copy_fraction < 1) return "copy " + cli::Percent(job.copy_fraction);
  return "reduce " + cli::Percent(job.reduces.fraction);
}

std::string WhyItWaits(const JobStatus& job, const job::SchedulerView& scheduler) {
  const auto wait = std::ranges::find(scheduler.waits, job.job, &job::SchedulerView::Wait::job);
  if (job.state == JobState::kWaiting && !job.reason.empty()) return job.reason;  // the scheduler may not know the job
  return wait == scheduler.waits.end() ? "" : wait->reason;
}

// "starts 14:02 (13:58-14:11)", "done 14:20", in short without the interval; "-" if nothing is known.
std::string Likely(const JobStatus& job, const std::vector<job::Foretold>& foretold, bool in_short) {
  const auto said = std::ranges::lower_bound(foretold, job.job, {}, &job::Foretold::job);
  if (said == foretold.end() || said->job != job.job) return "-";
  const job::ForetoldTime& time = said->start ? *said->start : said->end;
  if (!time.at) return "-";
  return (said->start ? "starts " : "done ") +
         (in_short ? cli::ClockTime(*time.at, said->made) : cli::ForetoldTime(time, said->made));
}

// Where there is little room, the likely time of a job and why it waits stay, and who has it and its slots do not.
std::vector<Field<JobStatus>> JobFields(const Picture& picture, std::size_t columns) {
  using Status = const JobStatus&;
  const job::SchedulerView& scheduler = picture.scheduler;
  const Micros now = scheduler.now;
  const bool narrow = columns < kNarrow;
  const std::size_t bar = narrow ? kShortBar : kBar;
  const bool any = std::ranges::any_of(
      picture.foretold, [](const job::Foretold& said) { return said.end.at || (said.start && said.start->at); });
  return {
      {"job",
       {"JOB", kAlwaysShown},
       [](Status job) { return std::to_string(job.job.value); },
       [](Status job) { return NumberKey(job.job.value); }},
      {"done",
       {"DONE", 9},
       [bar](Status job) { return console::Bar(cli::OverallFraction(job), bar); },
       [](Status job) { return NumberKey(cli::OverallFraction(job)); }},
      {"phase", {"PHASE", kAlwaysShown}, PhaseOf, {}},
      {"ran",
       {"RAN", 8},
       [now](Status job) {
         const Micros ran = cli::TimeRun(job, now) / kSecond * kSecond;
         return ran == 0 ? std::string("-") : FormatDuration(ran);
       },
       [now](Status job) { return NumberKey(static_cast<double>(cli::TimeRun(job, now))); }},
      {"likely",
       {"LIKELY (UTC)", 10},
       [&picture, narrow, any](Status job) { return any ? Likely(job, picture.foretold, narrow) : ""; },
       {}},
      {"slots",
       {"SLOTS", 6},
       [](Status job) { return std::to_string(job.maps.running + job.reduces.running); },
       [](Status job) { return NumberKey(job.maps.running + job.reduces.running); }},
      {"owner", {"OWNER", 4, 6}, [](Status job) { return job.owner; }, {}},
      {"pool", {"POOL", 5, 6}, [](Status job) { return job.pool; }, {}},
      {"name", {"NAME", kAlwaysShown, 8}, [](Status job) { return job.name; }, {}},
      {"why", {"WHY IT WAITS", 7, 12}, [&scheduler](Status job) { return WhyItWaits(job, scheduler); }, {}},
  };
}

using Pool = job::SchedulerView::Group;

std::vector<Field<Pool>> PoolFields(const std::string& noun) {
  using One = const Pool&;
  std::string head = noun.empty() ? "pool" : noun;
  for (char& c : head) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const auto used = [](job::SchedulerView::GroupSlots Pool::*kind) {
    return [kind](One pool) {
      return std::to_string((pool.*kind).running) + " of " + sched::SlotsInWords((pool.*kind).share);
    };
  };
  const auto running = [](job::SchedulerView::GroupSlots Pool::*kind) {
    return [kind](One pool) { return NumberKey((pool.*kind).running); };
  };
  // Its demand holds the tasks that run.
  const auto wants = [](job::SchedulerView::GroupSlots Pool::*kind) {
    return [kind](One pool) {
      const auto& slots = pool.*kind;
      return std::to_string(slots.demand - std::min(slots.demand, slots.running));
    };
  };
  return {
      {"pool", {head, kAlwaysShown, 8}, [](One pool) { return pool.name; }, {}},
      {"jobs",
       {"JOBS", kAlwaysShown},
       [](One pool) { return std::to_string(pool.jobs); },
       [](One pool) { return NumberKey(pool.jobs); }},
      {"use",
       {"USE OF SHARE", 6},
       [](One pool) {
         return console::Bar(Share(pool.maps.running + pool.reduces.running, pool.maps.share + pool.reduces.share),
                             kBar);
       },
       [](One pool) {
         return NumberKey(Share(pool.maps.running + pool.reduces.running, pool.maps.share + pool.reduces.share));
       }},
      {"maps", {"MAPS OF SHARE", kAlwaysShown}, used(&Pool::maps), running(&Pool::maps)},
      {"reduces", {"REDUCES OF SHARE", kAlwaysShown}, used(&Pool::reduces), running(&Pool::reduces)},
      {"wants", {"MAPS WANTED", 4}, wants(&Pool::maps), {}},
      {"wants-reduces", {"REDUCES WANTED", 3}, wants(&Pool::reduces), {}},
      {"weight",
       {"WEIGHT", 2},
       [](One pool) { return sched::SlotsInWords(pool.weight); },
       [](One pool) { return NumberKey(pool.weight); }},
  };
}

std::vector<Field<job::Node>> NodeFields() {
  using Node = const job::Node&;
  return {
      {"node",
       {"NODE", kAlwaysShown},
       [](Node node) { return std::to_string(node.node.value); },
       [](Node node) { return NumberKey(node.node.value); }},
      {"name", {"NAME", 8, 8}, [](Node node) { return node.name.empty() ? node.host : node.name; }, {}},
      {"state", {"STATE", kAlwaysShown, 12}, cli::NodeState, {}},
      {"maps",
       {"MAPS", 9},
       [](Node node) { return Of(node.maps_running, node.map_slots); },
       [](Node node) { return NumberKey(node.maps_running); }},
      {"reduces",
       {"REDUCES", 9},
       [](Node node) { return Of(node.reduces_running, node.reduce_slots); },
       [](Node node) { return NumberKey(node.reduces_running); }},
      {"disk",
       {"DISK", 6},
       [](Node node) {
         const auto taken = static_cast<double>(node.capacity - std::min(node.capacity, node.free));
         return node.capacity == 0 ? std::string("-")
                                   : console::Bar(Share(taken, static_cast<double>(node.capacity)), kBar);
       },
       [](Node node) {
         return NumberKey(Share(static_cast<double>(node.capacity - std::min(node.capacity, node.free)),
                                static_cast<double>(node.capacity)));
       }},
      {"free",
       {"FREE", 7},
       [](Node node) { return FormatBytes(node.free); },
       [](Node node) { return NumberKey(static_cast<double>(node.free)); }},
      {"blocks",
       {"BLOCKS", 3},
       [](Node node) { return std::to_string(node.blocks); },
       [](Node node) { return NumberKey(static_cast<double>(node.blocks)); }},
      {"heard",
       {"HEARD", 4},
       [](Node node) { return FormatDuration(node.since_heartbeat / 100'000 * 100'000) + " ago"; },
       [](Node node) { return NumberKey(static_cast<double>(node.since_heartbeat)); }},
      {"rack", {"RACK", 2, 6}, [](Node node) { return node.rack; }, {}},
  };
}

std::vector<Field<AttemptStatus>> TaskFields(Micros now) {
  using One = const AttemptStatus&;
  const auto took = [now](One one) { return std::max<Micros>(0, (one.ended == 0 ? now : one.ended) - one.launched); };
  return {
      {"attempt",
       {"ATTEMPT", kAlwaysShown},
       [](One one) { return ToText(one.attempt); },
       [](One one) { return NumberKey(static_cast<double>(one.launched)); }},
      {"state", {"STATE", kAlwaysShown}, [](One one) { return std::string(ToString(one.state)); }, {}},
      {"node",
       {"NODE", 5},
       [](One one) { return std::to_string(one.node.value); },
       [](One one) { return NumberKey(one.node.value); }},
      {"host", {"HOST", 3, 8}, [](One one) { return one.host; }, {}},
      {"took",
       {"TOOK", kAlwaysShown},
       [took](One one) { return FormatDuration(took(one) / 1'000 * 1'000); },
       [took](One one) { return NumberKey(static_cast<double>(took(one))); }},
      {"reason", {"REASON", kAlwaysShown, 12}, [](One one) { return one.reason; }, {}},
  };
}

template <class T>
std::vector<const T*> InOrder(const std::vector<Field<T>>& fields, const Order& order, const std::vector<T>& elements) {
  std::vector<std::pair<SortKey, const T*>> keyed;
  keyed.reserve(elements.size());
  const Field<T>& by = fields[std::min(order.column, fields.size() - 1)];
  for (const T& one : elements) keyed.emplace_back(by.key ? by.key(one) : SortKey(0, by.text(one)), &one);
  std::ranges::stable_sort(keyed, {}, [](const auto& one) -> const SortKey& { return one.first; });
  if (order.reverse) std::ranges::reverse(keyed);
  std::vector<const T*> ordered;
  ordered.reserve(keyed.size());
  for (const auto& [key, one] : keyed) ordered.push_back(one);
  return ordered;
}

// Returns the lines of a table: its head, and `rows` rows of the page on which the row `at` is. `marked` gets the line
// of that row.
template <class T>
std::vector<std::string> TableLines(const std::vector<Field<T>>& fields, const Order& order,
                                    const std::vector<T>& elements, std::size_t at, std::size_t rows,
                                    std::size_t columns, std::size_t* marked = nullptr) {
  const std::vector<const T*> ordered = InOrder(fields, order, elements);
  const std::size_t row = ordered.empty() ? 0 : std::min(at, ordered.size() - 1);
  const std::size_t first = rows == 0 ? 0 : row / rows * rows;
  std::vector<console::Column> heads;
  for (const Field<T>& field : fields) heads.push_back(field.column);
  if (marked != nullptr) {
    console::Column& sorted = heads[std::min(order.column, heads.size() - 1)];
    sorted.head += order.reverse ? " v" : " ^";
    sorted.worth = kAlwaysShown;
    *marked = 1 + row - first;
  }
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = first; i < ordered.size() && i < first + rows; ++i) {
    cells.emplace_back();
    for (const Field<T>& field : fields) cells.back().push_back(field.text(*ordered[i]));
  }
  const std::string text = console::LayOut(heads, cells, columns);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(Cut(text.substr(begin, end - begin), columns));
    begin = end + 1;
  }
  return lines;
}

std::string Title(const Picture& picture) {
  const job::ClusterStatus& cluster = picture.cluster;
  return "millrace top: " + picture.master + ", " + cluster.scheduler + ", up " +
         FormatDuration(cluster.up / kSecond * kSecond) + ", " + console::FormatTime(picture.scheduler.now) + " UTC";
}

std::string InWords(const job::ClusterStatus& cluster) {
  std::string text = Of(cluster.maps_running, cluster.map_slots) + " map and " +
                     Of(cluster.reduces_running, cluster.reduce_slots) + " reduce slots busy; " +
                     Counted(cluster.jobs_running, "job runs", "jobs run") + ", " +
                     Counted(cluster.jobs_waiting, "waits", "wait") + cli::AmongWaiting(cluster) + "; " +
                     Counted(cluster.live, "node live", "nodes live");
  const auto add = [&text](std::uint32_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(cluster.lost, "lost");
  add(cluster.awaited, "awaited");
  add(cluster.maintained, "in maintenance");
  return text;
}

// Returns the gravest notice, and how many more there are; empty if there are none.
std::string FirstNotice(const job::ClusterStatus& cluster) {
  const std::size_t all = cluster.faults.size() + cluster.warnings.size();
  if (all == 0) return {};
  const job::ClusterStatus::Notice* first = nullptr;
  std::string word = "warning: ";
  if (!cluster.faults.empty()) {
    first = &cluster.faults[0];
    word = "FAULT: ";
  } else {
    const auto risk =
        std::ranges::find(cluster.warnings, NameOf(NoticeLevel::kRisk), &job::ClusterStatus::Notice::level);
    if (risk != cluster.warnings.end()) word = "RISK: ";
    first = risk != cluster.warnings.end() ? &*risk : &cluster.warnings[0];
  }
  const std::string more = all == 1 ? "" : " (and " + std::to_string(all - 1) + " more: `millrace cluster status`)";
  return word + first->line + more;
}

// Returns how old the picture is, in whole seconds.
std::string Age(const Picture& picture, Micros now) {
  return FormatDuration(picture.heard == 0 ? 0 : std::max<Micros>(0, now - picture.heard) / kSecond * kSecond);
}

std::vector<Line> Top(const Picture& picture, std::size_t columns, Micros now) {
  std::vector<Line> lines{{Cut(Title(picture), columns), Style::kBold}};
  for (std::string& text : Wrap(InWords(picture.cluster), columns)) lines.push_back({std::move(text), Style::kPlain});
  if (picture.lost) {
    const std::string since = "The master has not answered since " + console::FormatTime(picture.lost->since) +
                              " UTC by this machine's clock, for " +
                              FormatDuration(std::max<Micros>(0, now - picture.lost->since) / kSecond * kSecond) +
                              "; below is what it said last. It is asked again and again: " + picture.lost->why;
    for (std::string& text : Wrap(since, columns)) lines.push_back({std::move(text), Style::kReverse});
  } else if (picture.awaits) {
    const std::string late = "The master has not answered for " +
                             FormatDuration(std::max<Micros>(0, now - *picture.awaits) / kSecond * kSecond) +
                             "; below is what it said " + Age(picture, now) + " ago";
    for (std::string& text : Wrap(late, columns)) lines.push_back({std::move(text), Style::kReverse});
  } else if (const std::string notice = FirstNotice(picture.cluster); !notice.empty()) {
    lines.push_back({Cut(notice, columns), Style::kBold});
  }
  return lines;
}

// The age is told on a line that is short, since the title may be cut.
std::string Tabs(const Picture& picture, const State& state, Micros now) {
  const auto tab = [&state](View view, const std::string& name) {
    return state.view == view ? "[" + name + "]" : " " + name + " ";
  };
  const std::string noun = picture.scheduler.group_noun.empty() ? "pool" : picture.scheduler.group_noun;
  return tab(View::kJobs, "j jobs " + std::to_string(picture.jobs.size())) + " " +
         tab(View::kPools, "p " + noun + "s " + std::to_string(picture.scheduler.groups.size())) + " " +
         tab(View::kNodes, "n nodes " + std::to_string(picture.cluster.live)) +
         (state.view == View::kTasks && state.opened ? " [" + ToText(*state.opened) + "]" : "") + "  h help  q quit" +
         (picture.heard != 0 && now - picture.heard >= kSecond ? "  " + Age(picture, now) + " old" : "");
}

std::vector<std::string> JobHead(const Picture& picture, std::size_t columns) {
  if (!picture.opened) return {"The master is being asked."};
  const Picture::Opened& opened = *picture.opened;
  std::vector<std::string> texts;
  if (!opened.problem.empty()) return Wrap(opened.problem, columns);
  const JobStatus& job = opened.status;
  texts.push_back(ToText(job.job) + " " + Quote(job.name) + " of " + job.owner + ": " +
                  std::string(ToString(job.state)) + (job.reason.empty() ? "" : ", " + job.reason) + ", priority " +
                  job::PriorityName(job.priority) + (job.pool.empty() ? "" : ", pool " + Quote(job.pool)));
  texts.push_back(cli::BarLine(job, {}, std::min<std::size_t>(columns, 100)));
  texts.push_back("maps " + Of(job.maps.done, job.maps.total) + " done, " + std::to_string(job.maps.running) +
                  " running; reduces " + Of(job.reduces.done, job.reduces.total) + " done, " +
                  std::to_string(job.reduces.running) + " running; failed " + std::to_string(job.failed_attempts) +
                  ", killed " + std::to_string(job.killed_attempts) + ", second " +
                  std::to_string(job.speculative_attempts));
  texts.push_back("read " + FormatBytes(job.bytes_read) + ", shuffled " + FormatBytes(job.bytes_shuffled) +
                  ", written " + FormatBytes(job.bytes_written));
  for (const job::SchedulerView::Wait& wait : picture.scheduler.waits) {
    if (wait.job == job.job)
      texts.push_back("waits for " + cli::WhatItWaitsFor(wait) + " (has " + std::to_string(wait.running) + ", wants " +
                      std::to_string(wait.pending) + " more): " + wait.reason);
  }
  for (std::string& text : texts) text = Cut(text, columns);
  return texts;
}

std::size_t MarkedRow(const Picture& picture, const State& state) {
  if (state.view != View::kJobs || !state.marked) return state.here().at;
  const std::vector<JobId> jobs = JobsInOrder(picture, state);
  const auto found = std::ranges::find(jobs, *state.marked);
  return found == jobs.end() ? state.here().at : static_cast<std::size_t>(found - jobs.begin());
}

constexpr const char* kHelp[] = {
    "j  jobs that have not ended      p  pools or queues      n  nodes",
    "arrows, Page Up, Page Down, Home, End  mark another row",
    "Enter  opens the marked job: its tasks, the slowest first; Escape  goes back",
    "s, S  sort by the next column, or the one before it; r  in the opposite order",
    "Space  asks the master now",
    "h  shows or hides this help; q  quits",
    "",
    "DONE is of the whole job. WHY IT WAITS says why it has no more slots. USE OF SHARE",
    "is full when a pool has its share or more. DISK is what is taken of the disk.",
};

std::vector<std::string> Body(const Picture& picture, const State& state, std::size_t rows, std::size_t columns,
                              std::size_t* marked) {
  const Order& order = state.here();
  const std::size_t at = MarkedRow(picture, state);
  switch (state.view) {
    case View::kJobs:
      if (picture.jobs.empty()) return {"no jobs run or wait"};
      return TableLines(JobFields(picture, columns), order, picture.jobs, at, rows, columns, marked);
    case View::kPools:
      if (picture.scheduler.groups.empty()) return {Cut(picture.cluster.scheduler + " has no pools in use", columns)};
      return TableLines(PoolFields(picture.scheduler.group_noun), order, picture.scheduler.groups, at, rows, columns,
                        marked);
    case View::kNodes:
      if (!picture.nodes_known) return {"The master is being asked."};
      if (picture.nodes.empty()) return {"no node has registered"};
      return TableLines(NodeFields(), order, picture.nodes, at, rows, columns, marked);
    case View::kTasks:
      if (!picture.opened || picture.opened->attempts.empty()) return {"no attempt has been launched"};
      return TableLines(TaskFields(picture.scheduler.now), order, picture.opened->attempts, at, rows, columns, marked);
  }
  return {};
}

}  // namespace

std::vector<JobId> JobsInOrder(const Picture& picture, const State& state) {
  std::vector<JobId> jobs;
  const Order& order = state.order.at(static_cast<std::size_t>(View::kJobs));
  for (const JobStatus* job : InOrder(JobFields(picture, kNarrow), order, picture.jobs)) jobs.push_back(job->job);
  return jobs;
}

std::size_t RowsOf(const Picture& picture, View view) {
  switch (view) {
    case View::kJobs:
      return picture.jobs.size();
    case View::kPools:
      return picture.scheduler.groups.size();
    case View::kNodes:
      return picture.nodes.size();
    case View::kTasks:
      return picture.opened ? picture.opened->attempts.size() : 0;
  }
  return 0;
}

std::size_t ColumnsOf(View view) {
  switch (view) {
    case View::kJobs:
      return JobFields(Picture(), kNarrow).size();
    case View::kPools:
      return PoolFields("").size();
    case View::kNodes:
      return NodeFields().size();
    case View::kTasks:
      return TaskFields(0).size();
  }
  return 1;
}

std::vector<Line> Draw(const Picture& picture, const State& state, Size size, Micros now) {
  std::vector<Line> lines = Top(picture, size.columns, now);
  const Style body_style = picture.lost ? Style::kDim : Style::kPlain;
  lines.push_back({Cut(Tabs(picture, state, now), size.columns), Style::kPlain});
  if (state.help) {
    for (const char* text : kHelp) lines.push_back({Cut(text, size.columns), Style::kPlain});
  } else {
    if (state.view == View::kTasks) {
      for (std::string& text : JobHead(picture, size.columns)) lines.push_back({std::move(text), body_style});
    }
    const std::size_t left = size.rows - std::min(size.rows, lines.size() + 1);  // a line is the head of the table
    std::size_t marked = 0;
    std::vector<std::string> body = Body(picture, state, std::max<std::size_t>(left, 1), size.columns, &marked);
    for (std::size_t i = 0; i < body.size(); ++i) {
      const bool here = marked > 0 && i == marked;
      lines.push_back({std::move(body[i]), here ? Style::kReverse : marked > 0 && i == 0 ? Style::kBold : body_style});
    }
  }
  if (lines.size() > size.rows) lines.resize(size.rows);
  return lines;
}

std::string Paint(const std::vector<Line>& lines, Size size) {
  const auto code = [](Style style) {
    switch (style) {
      case Style::kPlain:
        return "";
      case Style::kBold:
        return "\x1b[1m";
      case Style::kReverse:
        return "\x1b[7m";
      case Style::kDim:
        return "\x1b[2m";
    }
    return "";
  };
  std::string out;
  for (std::size_t i = 0; i < lines.size() && i < size.rows; ++i) {
    out += "\x1b[" + std::to_string(i + 1) + ";1H\x1b[0m" + code(lines[i].style) + lines[i].text + "\x1b[0m\x1b[K";
  }
  return out + (lines.size() < size.rows ? "\x1b[" + std::to_string(lines.size() + 1) + ";1H\x1b[J" : "");
}

std::string Whole(const Picture& picture, std::size_t columns) {
  std::string out;
  for (const Line& line : Top(picture, columns, picture.scheduler.now)) out += line.text + "\n";
  const auto add = [&out](const std::vector<std::string>& table) {
    out += "\n";
    for (const std::string& line : table) out += line + "\n";
  };
  const State state;
  if (picture.jobs.empty()) {
    add({"no jobs run or wait"});
  } else {
    add(TableLines(JobFields(picture, columns), state.order[0], picture.jobs, 0, picture.jobs.size(), columns));
  }
  const auto& pools = picture.scheduler.groups;
  if (!pools.empty())
    add(TableLines(PoolFields(picture.scheduler.group_noun), state.order[1], pools, 0, pools.size(), columns));
  if (!picture.nodes.empty())
    add(TableLines(NodeFields(), state.order[2], picture.nodes, 0, picture.nodes.size(), columns));
  return out;
}

}  // namespace millrace::top
