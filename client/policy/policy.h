// SPDX-License-Identifier: Apache-2.0
// A scheduler as a program in C++: a class that says in which order jobs get slots. The simulator and the master ask
// the program over lines of text, which docs/schedulers/external.md describes; this header keeps the state of the
// cluster from them. It stands on the standard library alone.
//
//   #include "client/policy/policy.h"
//   using namespace millrace::policy;
//
//   struct Shortest : Policy {
//     std::vector<std::string> Order(const Cluster& cluster, Slot slot) override {
//       std::vector<const Job*> jobs = cluster.Jobs();
//       std::stable_sort(jobs.begin(), jobs.end(),
//                        [&](auto* a, auto* b) { return a->Remaining(slot) < b->Remaining(slot); });
//       return IdsOf(jobs);
//     }
//   };
//   int main() { return Serve(Shortest(), "shortest"); }
//
// `millrace sim WORKLOAD --scheduler external:PROGRAM,fair` then compares it with fair. Times are in microseconds, of
// the cluster's clock; sizes in bytes. Thread rule: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::policy {

// What jobs get. A permit lets a reduce that has copied its input compute; there are fewer than reduces under +ccs
// alone.
enum class Slot : std::uint8_t { kMap, kReduce, kPermit };
inline constexpr std::array<Slot, 3> kSlots = {Slot::kMap, Slot::kReduce, Slot::kPermit};

// A live job.
struct Job {
  std::string id;  // "job7"
  std::string name, user, pool;
  std::string priority = "NORMAL";  // VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
  std::int64_t submitted = 0;
  std::int64_t order = 0;  // among all jobs, by submission
  std::int64_t maps = 0, reduces = 0;
  std::int64_t bytes = 0;                      // of its input
  std::int64_t deadline = 0;                   // 0: none
  std::int64_t map_time = 0, reduce_time = 0;  // the user's estimates; 0: none
  std::string program, input_type;
  // Earlier runs of the program over such input, and what they took.
  std::int64_t profile_runs = 0, profile_map_time = 0, profile_reduce_time = 0;
  double profile_ratio = 0;  // bytes that its maps wrote for reduces, over those that they read
  // How far it is. Running counts attempts, and so the slots that the job holds.
  std::int64_t maps_pending = 0, maps_running = 0, maps_done = 0;
  std::int64_t reduces_pending = 0, reduces_running = 0, reduces_done = 0;
  std::int64_t computing = 0;  // of the running reduces
  std::int64_t demand_maps = 0, demand_reduces = 0,
               demand_permits = 0;             // running, and pending as far as they may start
  std::string offered;                         // a letter for each slot it could take: m, r, p
  std::int64_t map_mean = 0, reduce_mean = 0;  // of its own finished attempts; 0: there are none
  std::int64_t failed = 0;                     // attempts

  // Returns the slots that the job holds.
  [[nodiscard]] std::int64_t Running(Slot slot) const {
    return slot == Slot::kMap ? maps_running : slot == Slot::kReduce ? reduces_running : computing;
  }
  // Returns the slots that the job holds or could use now.
  [[nodiscard]] std::int64_t Demand(Slot slot) const {
    return slot == Slot::kMap ? demand_maps : slot == Slot::kReduce ? demand_reduces : demand_permits;
  }
  // Returns how many of its tasks (of a permit: of its reduces) are not done.
  [[nodiscard]] std::int64_t Remaining(Slot slot) const {
    return slot == Slot::kMap ? maps - maps_done : reduces - reduces_done;
  }
  // Returns what a task takes: by its own finished ones, else by the user's estimate, else by earlier runs; nothing if
  // nothing is known.
  [[nodiscard]] std::optional<std::int64_t> TaskTime(Slot slot) const {
    const bool map = slot == Slot::kMap;
    for (const std::int64_t time :
         {map ? map_mean : reduce_mean, map ? map_time : reduce_time, map ? profile_map_time : profile_reduce_time}) {
      if (time > 0) return time;
    }
    return std::nullopt;
  }
  // Returns whether the job could take a slot now.
  [[nodiscard]] bool MayTake(Slot slot) const {
    return offered.find(slot == Slot::kMap ? 'm' : slot == Slot::kReduce ? 'r' : 'p') != std::string::npos;
  }
};

// A node that takes part.
struct Node {
  std::string id;  // "n3"
  std::string rack, datacenter;
  std::int64_t maps = 0, reduces = 0;  // slots
  std::int64_t free_maps = 0, free_reduces = 0;
};

// What a policy sees.
struct Cluster {
  std::int64_t now = 0;  // of a simulation: since its start
  std::map<std::string, Node> nodes;
  std::map<std::string, Job> jobs;
  std::int64_t map_slots = 0, reduce_slots = 0, permits = 0;
  std::vector<std::pair<std::string, std::string>> refused;  // what of the last answer was refused, and why

  // Returns the live jobs, in the order of their submission. They are valid until the policy returns.
  [[nodiscard]] std::vector<const Job*> Jobs() const {
    std::vector<const Job*> all;
    for (const auto& [id, job] : jobs) all.push_back(&job);
    std::sort(all.begin(), all.end(), [](const Job* a, const Job* b) { return a->order < b->order; });
    return all;
  }
  [[nodiscard]] std::int64_t Slots(Slot slot) const {
    return slot == Slot::kMap ? map_slots : slot == Slot::kReduce ? reduce_slots : permits;
  }
};

[[nodiscard]] inline std::vector<std::string> IdsOf(const std::vector<const Job*>& jobs) {
  std::vector<std::string> ids;
  for (const Job* job : jobs) ids.push_back(job->id);
  return ids;
}

// The job gets the slot on the node, with the map whose data is closest.
struct Launch {
  std::string job, node;
  Slot slot = Slot::kMap;  // a map or a reduce
};
// So many attempts of the job are killed, the newest first.
struct Kill {
  std::string job;
  Slot slot = Slot::kMap;
  std::int64_t tasks = 1;
  std::string reason = {};
};

// A ranking is asked when something has changed, at most every half second, and nobody waits for it; an assignment is
// asked for each slot, about the present state.
enum class Kind : std::uint8_t { kRanking, kAssignment };

// A subclass overrides what it wants to decide.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual Kind kind() const { return Kind::kRanking; }
  // Returns the jobs in the order in which they get slots. Those that it leaves out come after these, in the order of
  // the fallback.
  [[nodiscard]] virtual std::vector<std::string> Order(const Cluster&, Slot) { return {}; }
  // Returns launches. What remains free goes by Order.
  [[nodiscard]] virtual std::vector<Launch> Place(const Cluster&) { return {}; }
  // Returns what is killed to make room.
  [[nodiscard]] virtual std::vector<Kill> Preempt(const Cluster&) { return {}; }
  // Returns when to ask even if nothing has changed, as Cluster::now; nothing: never.
  [[nodiscard]] virtual std::optional<std::int64_t> Wake(const Cluster&) { return std::nullopt; }
};

// ---- lines ----

// Bytes other than letters, digits and some signs are written as % and two hexadecimal digits.
[[nodiscard]] inline std::string Quoted(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/+,;-";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string quoted;
  for (const char byte : text) {
    if (kPlain.find(byte) != std::string_view::npos) {
      quoted += byte;
    } else {
      const auto value = static_cast<unsigned char>(byte);
      quoted += {'%', kDigits[value >> 4], kDigits[value & 15]};
    }
  }
  return quoted;
}

[[nodiscard]] inline std::string Unquoted(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      plain += static_cast<char>(value);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Keeps a Cluster by the lines that tell of it.
class Mirror {
 public:
  // Takes one line. Returns the number of the question if the line asks for a decision. Words and keys that a later
  // release may have are passed over. Throws std::runtime_error for a line that this version cannot have.
  std::optional<std::uint64_t> Read(std::string_view line) {
    const std::string_view word = line.substr(0, line.find(' '));
    Values values(line);
    if (word == "whole") {
      cluster_ = {};
    } else if (word == "at") {
      cluster_.now = values.Number("now", 0);
      cluster_.refused.clear();
    } else if (word == "node") {
      Node& node = cluster_.nodes[values.Text("id")] = {};
      Take(values, node);
    } else if (word == "lost") {
      cluster_.nodes.erase(values.Text("id"));
    } else if (word == "slots") {
      cluster_.map_slots = values.Number("maps", 0);
      cluster_.reduce_slots = values.Number("reduces", 0);
      cluster_.permits = values.Number("permits", 0);
    } else if (word == "job") {
      Take(values, cluster_.jobs[values.Text("id")]);
    } else if (word == "tasks") {
      const auto job = cluster_.jobs.find(values.Text("job"));
      if (job == cluster_.jobs.end()) throw std::runtime_error("unknown job in: " + std::string(line));
      job->second.map_mean = job->second.reduce_mean = job->second.failed = 0;  // they are left out where they are 0
      TakeTasks(values, job->second);
    } else if (word == "ended") {
      cluster_.jobs.erase(values.Text("job"));
    } else if (word == "refused") {
      cluster_.refused.emplace_back(values.Text("what"), values.Text("why"));
    } else if (word == "decide") {
      return static_cast<std::uint64_t>(values.Number("question", 0));
    }
    return std::nullopt;
  }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }

 private:
  // The values of a line, by key.
  class Values {
   public:
    explicit Values(std::string_view line) : line_(line) {
      for (std::size_t at = line.find(' '); at != std::string_view::npos;) {
        const std::size_t end = line.find(' ', at + 1);
        const std::string_view word = line.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
        const std::size_t equals = word.find('=');
        if (equals != std::string_view::npos) values_[word.substr(0, equals)] = word.substr(equals + 1);
        at = end;
      }
    }
    void Set(std::string_view key, std::string& text) const {
      if (const auto value = values_.find(key); value != values_.end()) text = Unquoted(value->second);
    }
    template <class Value>
    void Set(std::string_view key, Value& number) const {
      const auto value = values_.find(key);
      if (value == values_.end()) return;
      const char* const end = value->second.data() + value->second.size();
      const auto read = std::from_chars(value->second.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end)
        throw std::runtime_error(std::string(key) + " is no number in: " + std::string(line_));
    }
    [[nodiscard]] std::string Text(std::string_view key) const {
      std::string text;
      Set(key, text);
      return text;
    }
    [[nodiscard]] std::int64_t Number(std::string_view key, std::int64_t absent) const {
      Set(key, absent);
      return absent;
    }

   private:
    std::string_view line_;
    std::map<std::string_view, std::string_view> values_;
  };

  static void Take(const Values& from, Node& node) {
    from.Set("id", node.id);
    from.Set("rack", node.rack);
    from.Set("datacenter", node.datacenter);
    from.Set("maps", node.maps);
    from.Set("reduces", node.reduces);
    from.Set("free_maps", node.free_maps);
    from.Set("free_reduces", node.free_reduces);
  }
  static void Take(const Values& from, Job& job) {
    from.Set("id", job.id);
    from.Set("name", job.name);
    from.Set("user", job.user);
    from.Set("pool", job.pool);
    from.Set("priority", job.priority);
    from.Set("submitted", job.submitted);
    from.Set("order", job.order);
    from.Set("maps", job.maps);
    from.Set("reduces", job.reduces);
    from.Set("bytes", job.bytes);
    from.Set("deadline", job.deadline);
    from.Set("map_time", job.map_time);
    from.Set("reduce_time", job.reduce_time);
    from.Set("program", job.program);
    from.Set("input_type", job.input_type);
    from.Set("profile_runs", job.profile_runs);
    from.Set("profile_map_time", job.profile_map_time);
    from.Set("profile_reduce_time", job.profile_reduce_time);
    from.Set("profile_ratio", job.profile_ratio);
  }
  static void TakeTasks(const Values& from, Job& job) {
    from.Set("maps_pending", job.maps_pending);
    from.Set("maps_running", job.maps_running);
    from.Set("maps_done", job.maps_done);
    from.Set("reduces_pending", job.reduces_pending);
    from.Set("reduces_running", job.reduces_running);
    from.Set("reduces_done", job.reduces_done);
    from.Set("computing", job.computing);
    from.Set("demand_maps", job.demand_maps);
    from.Set("demand_reduces", job.demand_reduces);
    from.Set("demand_permits", job.demand_permits);
    job.offered.clear();
    from.Set("offered", job.offered);
    from.Set("map_mean", job.map_mean);
    from.Set("reduce_mean", job.reduce_mean);
    from.Set("failed", job.failed);
  }

  Cluster cluster_;
};

// Returns the lines of the policy's answer about the present state, each with its newline.
[[nodiscard]] inline std::string AnswerOf(Policy& policy, const Cluster& cluster) {
  const auto word = [](Slot slot) { return slot == Slot::kMap ? "map" : slot == Slot::kReduce ? "reduce" : "permit"; };
  std::string text;
  for (const Kill& kill : policy.Preempt(cluster)) {
    text += std::string("preempt kind=") + word(kill.slot) + " job=" + kill.job +
            " tasks=" + std::to_string(kill.tasks) + " reason=" + Quoted(kill.reason) + "\n";
  }
  for (const Launch& launch : policy.Place(cluster))
    text += std::string("launch kind=") + word(launch.slot) + " job=" + launch.job + " node=" + launch.node + "\n";
  text += "order";
  for (const Slot slot : kSlots) {
    text += std::string(" ") + word(slot) + "s=";
    bool first = true;
    for (const std::string& job : policy.Order(cluster, slot)) {
      text += (first ? "" : ",") + job;
      first = false;
    }
  }
  text += "\n";
  if (const auto at = policy.Wake(cluster)) text += "wake at=" + std::to_string(*at) + "\n";
  return text;
}

// Answers on `sink` what comes from `source` until that ends. Returns the exit status of the program: 1, with a line on
// standard error, if it is not spoken to in version 1 of the protocol, or the policy throws. `name` is for people.
// What a policy prints has to go to standard error: on standard output it would be taken for an answer.
inline int Serve(Policy& policy, const std::string& name, std::istream& source = std::cin,
                 std::ostream& sink = std::cout) {
  std::ios::sync_with_stdio(false);
  try {
    Mirror mirror;
    for (std::string line; std::getline(source, line);) {
      if (line.starts_with("hello ")) {
        if (!line.starts_with("hello 1 ") && line != "hello 1")
          throw std::runtime_error("this program speaks version 1 of the protocol, and was greeted with: " + line);
        sink << "hello 1 name=" << Quoted(name)
             << " kind=" << (policy.kind() == Kind::kRanking ? "ranking" : "assignment") << std::endl;
      } else if (const auto question = mirror.Read(line)) {
        sink << AnswerOf(policy, mirror.cluster()) << "seen " << *question << std::endl;
      }
    }
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << name << ": " << failure.what() << std::endl;
    return 1;
  }
}
inline int Serve(Policy&& policy, const std::string& name) { return Serve(policy, name); }

}  // namespace millrace::policy
