// SPDX-License-Identifier: Apache-2.0
#include "lab/run/run_store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "base/local_place.h"
#include "base/text.h"

namespace millrace::compare {
namespace {

constexpr const char* kConditions = "conditions";
constexpr const char* kLock = "lock";

std::string NameOf(const PlannedRun& run) {
  std::string name = std::to_string(run.block) + "-" + std::to_string(run.order);
  if (run.again > 0) name += "-" + std::to_string(run.again);
  return name + ".run";
}

// Returns the names in a directory; none if it does not exist.
Result<std::vector<std::string>> NamesIn(const std::string& directory) {
  Result<std::vector<std::string>> names = ListDirectory(directory);
  if (names.status().code() == StatusCode::kNotFound) return std::vector<std::string>{};
  return names;
}

// Returns the first condition that differs, as a clause; empty if none does.
std::string Difference(const Conditions& there, const Conditions& here) {
  for (const auto& [name, value] : here) {
    const auto at = std::find_if(there.begin(), there.end(), [&](const auto& other) { return other.first == name; });
    if (at == there.end()) return "it does not say " + name;
    if (at->second != value) return name + " was " + Quote(at->second) + " and now is " + Quote(value);
  }
  return there.size() == here.size() ? "" : "it has conditions that this one lacks";
}

// Returns whether the facts are about nodes that there are.
bool FactsFit(const sim::JournalFacts& facts, std::size_t nodes) {
  const auto node_fits = [nodes](NodeId node) { return node.value < nodes; };
  const auto map_fits = [&](const sched::MapInput& map) { return std::ranges::all_of(map.replicas, node_fits); };
  return std::ranges::all_of(facts.jobs, [&](const auto& job) { return std::ranges::all_of(job.inputs, map_fits); }) &&
         std::ranges::all_of(facts.reads, [&](const auto& read) { return node_fits(read.from) && node_fits(read.to); });
}

// Checks a run against the plan and the cluster.
Status CheckRun(const RunRecord& record, const Design& design, std::size_t nodes, const std::string& path) {
  const std::vector<PlannedRun> planned = RunsOfBlock(design, record.run.block);
  if (record.run.order < planned.size() && record.run.again <= kMostAgain) {
    PlannedRun expected = planned[record.run.order];
    expected.again = record.run.again;
    const auto& tasks = record.outcome.result.tasks;
    const bool known = std::all_of(tasks.begin(), tasks.end(), [nodes](const auto& t) { return t.node.value < nodes; });
    if (expected == record.run && known && FactsFit(record.outcome.facts, nodes)) return Status::Ok();
  }
  return Corrupt(path + " is not of this comparison; remove the file, and its run is made again");
}

}  // namespace

Status RunStore::Lock(const std::string& directory) {
  const std::string path = below_ + "/" + kLock;
  MILLRACE_ASSIGN(lock_, OpenFile(path, O_RDWR | O_CREAT));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return Status::Ok();
  if (errno != EWOULDBLOCK) return FromErrno(errno, "lock " + path);
  return Invalid(directory + " is in use: another command compares into it");
}

Status RunStore::Settle(const std::string& directory, const Conditions& conditions, bool discard) {
  const std::string path = below_ + "/" + kConditions;
  const Result<std::string> bytes = ReadWholeFile(path);
  if (bytes.status().code() != StatusCode::kNotFound) {
    MILLRACE_TRY(bytes.status());
    const Result<Conditions> there = DecodeConditions(*bytes, path);
    if (!discard) MILLRACE_TRY(there.status());
    const std::string difference = there.ok() ? Difference(*there, conditions) : "damaged";
    if (difference.empty()) return Status::Ok();
    if (!discard) {
      return Invalid(directory + " holds another comparison: " + difference +
                     "; give another directory, or --force to discard the runs in it");
    }
    // The runs go first: without conditions they would be nobody's.
    MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(below_));
    for (const std::string& name : names) {
      if (name.ends_with(".run")) MILLRACE_TRY(RemoveTree(below_ + "/" + name));
    }
  }
  return WriteFileDurably(path, EncodeConditions(conditions));
}

Status RunStore::Read(const Design& design, std::size_t nodes) {
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(below_));
  for (const std::string& name : names) {
    if (name == kConditions || name == kLock || name.ends_with(".tmp")) continue;
    const std::string path = below_ + "/" + name;
    MILLRACE_ASSIGN(const std::string bytes, ReadWholeFile(path));
    MILLRACE_ASSIGN(RunRecord record, DecodeRun(bytes, path));
    MILLRACE_TRY(CheckRun(record, design, nodes, path));
    if (NameOf(record.run) != name) return Corrupt(path + " holds the run of " + NameOf(record.run) + "; remove it");
    runs_.push_back(std::move(record));
  }
  return Status::Ok();
}

Result<RunStore> RunStore::Open(const std::string& directory, const Conditions& conditions, const Design& design,
                                std::size_t nodes, bool discard) {
  RunStore store(directory + "/runs");
  MILLRACE_ASSIGN(const std::vector<std::string> names, NamesIn(directory));
  MILLRACE_ASSIGN(const std::vector<std::string> below, NamesIn(store.below_));
  const bool ours = std::find(below.begin(), below.end(), kConditions) != below.end();
  // These were left by a command that ended right after its start.
  const bool begun =
      names == std::vector<std::string>{"runs"} && std::all_of(below.begin(), below.end(), [](const std::string& name) {
        return name == kLock || name == std::string(kConditions) + ".tmp";
      });
  if (!names.empty() && !ours && !begun)
    return Invalid(directory + " is not empty, and does not hold a comparison; give another directory");
  MILLRACE_TRY(PrepareDirectory(directory));
  MILLRACE_TRY(MakeDirectories(store.below_));
  MILLRACE_TRY(store.Lock(directory));
  MILLRACE_TRY(store.Settle(directory, conditions, discard));
  MILLRACE_TRY(store.Read(design, nodes));
  return store;
}

Status RunStore::Add(RunRecord record) {
  MILLRACE_TRY(WriteFileDurably(below_ + "/" + NameOf(record.run), EncodeRun(record)));
  runs_.push_back(std::move(record));
  return Status::Ok();
}

std::vector<MadeRun> RunStore::Made() const {
  std::vector<MadeRun> made;
  for (const RunRecord& record : runs_) made.push_back(MadeOf(record));
  return made;
}

std::vector<const RunRecord*> RunStore::Counting(std::uint32_t blocks) const {
  std::vector<const RunRecord*> counting;
  for (const std::size_t index : RunsThatCount(Made())) {
    if (runs_[index].run.block < blocks) counting.push_back(&runs_[index]);
  }
  return counting;
}

}  // namespace millrace::compare
