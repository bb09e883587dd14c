// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/job_classes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "lab/workload/block_placer.h"
#include "lab/workload/job_draws.h"
#include "schedulers/events/limits.h"

namespace millrace::sim {
namespace {

using Unit = TomlSection::Unit;

constexpr std::uint32_t kMostJobs = 1'000'000;
constexpr double kMostCores = 10'000;
constexpr std::uint64_t kMostTasks = 100'000'000;  // the most in one workload

// Reads a number of users, who take turns: NAME-0, NAME-1 and so on.
void ReadUsers(TomlSection& section, const std::string& name, NameList* users) {
  if (!section.Has("users")) return;
  std::uint32_t count = 1;
  section.Integer("users", &count, 1, kMostJobs);
  if (section.Has("user")) section.Fail("users", "`user` is given too; leave one of them out");
  users->names.clear();
  for (std::uint32_t user = 0; user < count; ++user) users->names.push_back(name + "-" + std::to_string(user));
}

// Reads the order of the jobs of [arrival], which has those of several classes.
void ReadOrder(TomlSection& section, Arrival* arrival) {
  if (!section.Has("order")) return;
  std::string order;
  section.Text("order", &order);
  constexpr std::pair<std::string_view, Arrival::Order> kOrders[] = {
      {"listed", Arrival::Order::kListed}, {"random", Arrival::Order::kRandom}, {"johnson", Arrival::Order::kJohnson}};
  for (const auto& [name, value] : kOrders) {
    if (name == order) arrival->order = value;
  }
  if (arrival->order == Arrival::Order::kUsual)
    section.Fail("order", Quote(order) + " is not listed, random or johnson");
}

Arrival ReadArrival(TomlSection& section, bool of_classes) {
  Arrival arrival;
  section.Text("kind", &arrival.kind);
  section.Duration("at", &arrival.at);
  ReadUsers(section, "user", &arrival.users);
  section.Texts("pool", &arrival.pools.names);
  if (of_classes) ReadOrder(section, &arrival);
  if (arrival.kind == "poisson") {
    section.Duration("mean", &arrival.every);
  } else if (arrival.kind == "interval") {
    section.Duration("every", &arrival.every);
  } else if (arrival.kind == "renewal") {
    section.Draws("gap", Unit::kDuration, &arrival.gap);
    if (!section.Has("gap")) section.Fail("gap", "is missing: the time between two jobs, or its distribution");
  } else if (arrival.kind == "list") {
    section.Durations("times", &arrival.list);
  } else if (arrival.kind == "closed") {
    section.Integer("workers", &arrival.workers, 1, kMostJobs);
    section.Duration("think", &arrival.think);
    section.Text("after", &arrival.after);
  } else if (arrival.kind != "batch") {
    section.Fail("kind", Quote(arrival.kind) + " is not batch, poisson, renewal, interval, list or closed");
  }
  section.Finish();
  return arrival;
}

void ReadTaskKeys(TomlSection& section, JobClass* read) {
  section.Draws("maps", Unit::kNumber, &read->maps);
  if (!section.Name("input")) section.Draws("input", Unit::kBytes, &read->input);
  section.Draws("split", Unit::kBytes, &read->split);
  section.Draws("reduces", Unit::kNumber, &read->reduces);
  section.Draws("reduces_per_map", Unit::kNumber, &read->reduces_per_map);
  section.Draws("map_time", Unit::kDuration, &read->map_time);
  section.Draws("reduce_time", Unit::kDuration, &read->reduce_time);
  section.Draws("map_rate", Unit::kBytes, &read->map_rate);
  section.Draws("reduce_rate", Unit::kBytes, &read->reduce_rate);
  section.Draws("reduce_cost", Unit::kNumber, &read->reduce_cost);
  section.Draws("task_noise", Unit::kNumber, &read->task_noise);
  section.Bool("per_task", &read->per_task);
  section.Draws("map_output", Unit::kNumber, &read->map_output);
  section.Draws("reduce_output", Unit::kNumber, &read->reduce_output);
  section.Real("reduce_skew", &read->reduce_skew, 0, 100);
  if (read->maps && read->input && !section.Name("input"))
    section.Fail("input", "`maps` is given too; leave one of them out");
  constexpr std::pair<const char*, const char*> kEitherOr[] = {{"map_time", "map_rate"},
                                                               {"reduce_time", "reduce_rate"},
                                                               {"reduce_time", "reduce_cost"},
                                                               {"reduce_rate", "reduce_cost"},
                                                               {"reduces", "reduces_per_map"}};
  for (const auto& [one, other] : kEitherOr) {
    if (section.Has(one) && section.Has(other))
      section.Fail(other, '`' + std::string(one) + "` is given too; leave one of them out");
  }
}

// Reads what a live run needs of a class. `input` may name its data instead of saying how much it reads.
void ReadLiveKeys(TomlSection& section, const LiveParts& parts, JobClass* read, LiveClass* live) {
  SimJob& common = read->common;
  section.Text("program", &common.program);
  section.Text("data", &common.input);
  section.Pairs("options", &live->options);
  if (const auto name = section.Name("input")) {
    const DataSet* set = parts.Find(*name);
    if (set == nullptr) return section.Fail("input", "there is no [data." + *name + "]");
    if (section.Has("data")) section.Fail("data", "`input` names the data too; leave one of them out");
    if (!read->maps && set->size == 0)
      return section.Fail("input", "how much is read is not known; give `maps`, or a `size` in [data." + *name + "]");
    common.input = *name;
    if (!read->maps) read->input = Distribution::Constant(static_cast<double>(set->size) / read->size_factor);
  }
  live->name = read->name, live->program = common.program, live->data = common.input;
  live->place = section.Where();
}

// Notes a class with a program and without the times that a simulation needs.
void NoteUntimed(const TomlSection& section, const JobClass& read, LiveParts* parts) {
  if (read.common.program.empty()) return;
  const bool maps = section.Has("map_time") || section.Has("map_rate");
  const bool reduces = section.Has("reduce_time") || section.Has("reduce_rate") || section.Has("reduce_cost") ||
                       !(section.Has("reduces") || section.Has("reduces_per_map"));
  parts->classes.back().untimed[TaskKind::kMap] = !maps, parts->classes.back().untimed[TaskKind::kReduce] = !reduces;
  if ((maps && reduces) || !parts->untimed.empty()) return;
  const std::string key = maps ? "reduce_time" : "map_time";
  parts->untimed = section.Where(key) + ": is missing, so that " + Quote(read.common.program) +
                   " can be run and not simulated; say how long its " + (maps ? "reduces" : "maps") +
                   " take, such as " + key + " = \"5s\"";
}

JobClass ReadClass(TomlSection& section, const Scaling& scaling, LiveParts* parts) {
  JobClass read;
  read.size_factor = scaling.sizes;
  section.Text("name", &read.name);
  section.Integer("count", &read.count, 0, kMostJobs);
  ReadTaskKeys(section, &read);
  section.Names("user", &read.users);
  ReadUsers(section, read.name, &read.users);
  section.Names("pool", &read.pools);
  section.Names("priority", &read.priorities);
  for (const std::string& priority : read.priorities.names) {
    if (!Priorities().contains(priority))
      section.Fail("priority", Quote(priority) + " is not VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW");
  }
  section.Draws("deadline", Unit::kDuration, &read.deadline);
  section.Bool("tell_times", &read.tell_times);
  section.Draws("estimate_bias", Unit::kNumber, &read.estimate_bias);
  section.Draws("reduce_estimate_bias", Unit::kNumber, &read.reduce_estimate_bias);
  SimJob& common = read.common;
  section.Durations("locality_waits", &common.locality_waits);
  ReadLiveKeys(section, *parts, &read, &parts->classes.emplace_back());
  NoteUntimed(section, read, parts);
  section.Text("input_type", &common.input_type);
  section.Bool("located", &read.located);
  section.Nodes("places", &common.replicas);
  if (!read.located && !common.replicas.empty()) section.Fail("places", "`located = false` is given too");
  section.Real("map_cores", &common.map_cores, 0, kMostCores);
  section.Real("reduce_cores", &common.reduce_cores, 0, kMostCores);
  section.Real("slow_start", &common.slow_start, 0, 1);
  section.Integer("max_attempts", &common.max_attempts, 1, 1000);
  if (std::optional<TomlSection> arrival = section.Table("arrival")) read.arrival = ReadArrival(*arrival, false);
  section.Finish();
  return read;
}

void ReadData(TomlSection& root, const Scaling& scaling, LiveParts* live) {
  for (auto& [name, section] : root.Named("data")) {
    DataSet& set = live->data.emplace_back();
    set.name = name, set.kind = "text", set.place = section.Where();
    section.Text("kind", &set.kind);
    section.Bytes("size", &set.size, 1);
    set.size = static_cast<std::uint64_t>(std::llround(static_cast<double>(set.size) * scaling.sizes));
    section.Finish();
  }
}

// Returns the jobs that the first ones of a closed arrival follow, `order` being its jobs. Fails the section if the
// class is not there or has too few of them.
std::vector<std::size_t> Before(const Arrival& arrival, TomlSection& section, const std::vector<SimJob>& jobs,
                                const std::vector<std::size_t>& order) {
  std::vector<std::size_t> before;
  if (arrival.after.empty()) return before;
  std::vector<bool> themselves(jobs.size());
  for (const std::size_t job : order) themselves[job] = true;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].group == arrival.after && !themselves[i]) before.push_back(i);
  }
  const std::size_t first = std::min<std::size_t>(arrival.workers, order.size());
  if (before.size() < first)
    section.Fail("arrival", "`after` wants " + std::to_string(first) + " jobs of a class " + Quote(arrival.after) +
                                " above, and there are " + std::to_string(before.size()));
  before.resize(std::min(before.size(), first));
  return before;
}

// Sets the jobs' times of submission, in the order of the jobs. `before` is the result of Before.
void Arrive(const Arrival& arrival, Random random, std::vector<SimJob>& jobs, const std::vector<std::size_t>& order,
            const std::vector<std::size_t>& before) {
  Micros next = arrival.at;
  for (std::size_t i = 0; i < order.size(); ++i) {
    SimJob& job = jobs[order[i]];
    job.submit = next;
    const auto turn = [i](const NameList& list, std::string* name) {
      if (!list.names.empty()) *name = list.names[i % list.names.size()];
    };
    turn(arrival.users, &job.user), turn(arrival.pools, &job.pool);
    if (arrival.kind == "renewal") next += ToMicros(arrival.gap.Draw(random));
    if (arrival.kind == "interval") next += arrival.every;
    if (arrival.kind == "poisson") {
      next += ToMicros(-static_cast<double>(arrival.every) * std::log1p(-random.Unit()));
    } else if (arrival.kind == "list" && !arrival.list.empty()) {
      job.submit = arrival.list[std::min(i, arrival.list.size() - 1)];
    } else if (arrival.kind == "closed" && (i >= arrival.workers || i < before.size())) {
      job.after = static_cast<std::uint32_t>(i < before.size() ? before[i] : order[i - arrival.workers]);
      job.submit = arrival.think;
    }
  }
}

// Returns how long all maps, or all reduces, take one after another: by the user's estimate of a task, if there is one.
template <class Tasks>
double WorkOf(const Tasks& tasks, Micros estimate) {
  if (estimate > 0) return static_cast<double>(tasks.size()) * static_cast<double>(estimate);
  double work = 0;
  for (const auto& task : tasks) work += static_cast<double>(task.cpu);
  return work;
}

// Johnson's rule for two machines: the jobs with less work in their maps than in their reduces come first, by rising
// work of the maps; the others follow by falling work of the reduces.
bool JohnsonBefore(const SimJob& a, const SimJob& b) {
  const double maps_a = WorkOf(a.maps, a.map_time), reduces_a = WorkOf(a.reduces, a.reduce_time);
  const double maps_b = WorkOf(b.maps, b.map_time), reduces_b = WorkOf(b.reduces, b.reduce_time);
  if ((maps_a < reduces_a) != (maps_b < reduces_b)) return maps_a < reduces_a;
  return maps_a < reduces_a ? maps_a < maps_b : reduces_a > reduces_b;
}

// Gives these jobs each other's numbers, so that they rise in the order given: of jobs that come at the same moment the
// one with the lower number is the first.
void Renumber(const std::vector<std::size_t>& order, std::vector<SimJob>* jobs, std::vector<std::uint32_t>* class_of) {
  std::vector<std::size_t> places = order;
  std::sort(places.begin(), places.end());
  const std::vector<SimJob> old = *jobs;
  const std::vector<std::uint32_t> old_class = *class_of;
  std::vector<std::uint32_t> number(jobs->size());
  for (std::uint32_t i = 0; i < number.size(); ++i) number[i] = i;
  for (std::size_t i = 0; i < order.size(); ++i) {
    (*jobs)[places[i]] = old[order[i]], (*class_of)[places[i]] = old_class[order[i]];
    number[order[i]] = static_cast<std::uint32_t>(places[i]);
  }
  for (SimJob& job : *jobs) {
    if (job.after) job.after = number[*job.after];
  }
}

}  // namespace

void ScaleTimes(double factor, SimJob* job) {
  const auto scale = [factor](Micros* time) {
    if (*time > 0) *time = std::max<Micros>(1, ToMicros(static_cast<double>(*time) * factor));
  };
  scale(&job->submit), scale(&job->deadline), scale(&job->map_time), scale(&job->reduce_time);
  for (SimMap& map : job->maps) scale(&map.cpu);
  for (SimReduce& reduce : job->reduces) scale(&reduce.cpu);
  for (Micros& wait : job->locality_waits) scale(&wait);
}

std::vector<SimJob> ReadJobs(TomlSection& root, std::uint64_t seed, const Scaling& scaling, LiveParts* live) {
  ReadData(root, scaling, live);
  std::optional<Arrival> common;
  if (std::optional<TomlSection> section = root.Table("arrival")) common = ReadArrival(*section, true);
  std::vector<SimJob> jobs;
  std::vector<std::size_t> shared;  // the jobs that share one stream of arrivals
  std::uint64_t tasks = 0;
  std::uint32_t number_of_class = 0;
  for (TomlSection& section : root.Tables("jobs")) {
    const JobClass read = ReadClass(section, scaling, live);
    const std::optional<Arrival>& arrives = read.arrival ? read.arrival : common;
    for (const char* key : {"user", "users", "pool"}) {
      const bool is_pool = std::string_view(key) == "pool";
      if (section.Has(key) && arrives && !(is_pool ? arrives->pools : arrives->users).names.empty())
        section.Fail(key, std::string("the arrivals of these jobs have `") + (is_pool ? "pool" : "users") +
                              "` too; leave one of them out");
    }
    if (!section.ok()) return {};
    std::vector<std::size_t> own;
    for (std::uint32_t i = 0; i < read.count; ++i) {
      (read.arrival ? own : shared).push_back(jobs.size());
      jobs.push_back(DrawJob(read, i, live->block_size, Random(MixSeeds(seed, number_of_class, i, 1))));
      live->class_of.push_back(number_of_class);
      tasks += jobs.back().maps.size() + jobs.back().reduces.size();
      if (tasks > kMostTasks || jobs.size() > kMostJobs) {
        section.Fail("count", "the workload has more than 1000000 jobs or 100000000 tasks");
        return {};
      }
    }
    if (read.arrival) {
      const std::vector<std::size_t> before = Before(*read.arrival, section, jobs, own);
      Arrive(*read.arrival, Random(MixSeeds(seed, number_of_class, 0, 2)), jobs, own, before);
    }
    ++number_of_class;
  }
  Random random(MixSeeds(seed, 0, 0, 3));
  const Arrival arrival = common.value_or(Arrival{});
  using Order = Arrival::Order;
  if (arrival.order == Order::kRandom || (arrival.order == Order::kUsual && arrival.kind != "batch")) {
    for (std::size_t i = shared.size(); i > 1; --i) std::swap(shared[i - 1], shared[random.Below(i)]);
  }
  if (arrival.order == Order::kJohnson) {
    std::stable_sort(shared.begin(), shared.end(),
                     [&](std::size_t a, std::size_t b) { return JohnsonBefore(jobs[a], jobs[b]); });
  }
  Arrive(arrival, random, jobs, shared, Before(arrival, root, jobs, shared));
  if (arrival.order != Order::kUsual) Renumber(shared, &jobs, &live->class_of);
  if (scaling.times != 1) std::ranges::for_each(jobs, [&](SimJob& job) { ScaleTimes(scaling.times, &job); });
  return jobs;
}

}  // namespace millrace::sim
