// LiveParts: what a live run needs of a workload beside its jobs (workload.h): the programs of the classes and the data
// that they read. A simulation does without. Thread rule: a value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::sim {

// Data that is generated before the jobs run ([data.NAME]).
struct DataSet {
  std::string name;
  std::string kind;        // as `generate` has it: text, records, ...
  std::uint64_t size = 0;  // bytes; 0: as much as the largest job reads
  std::string place;       // FILE:LINE: data.NAME, for messages
};

struct LiveClass {
  std::string name;
  // A bundled job by name or the path of an executable. Empty: a job that only has sizes and times, so that `loadgen`
  // or `sleep` stand in for it.
  std::string program;
  std::string data;  // the name of a DataSet, or of data that nobody declares; empty: data of its own
  std::vector<std::pair<std::string, std::string>> options;  // -D NAME=VALUE
  std::string place;                                         // FILE:LINE: jobs[N], for messages
  // Whether the file does not say what its maps and reduces take, though it names a program.
  PerKind<bool> untimed = {};
};

struct LiveParts {
  std::uint64_t block_size = 0;
  std::vector<DataSet> data;
  std::vector<LiveClass> classes;
  std::vector<std::uint32_t> class_of;  // by job: index in `classes`
  // Why the jobs can be run and not simulated: a class has a program, and nothing says how long its tasks take. Empty
  // if nothing speaks against it.
  std::string untimed;

  // Returns the data of this name; null if it is not declared.
  [[nodiscard]] const DataSet* Find(const std::string& name) const {
    for (const DataSet& set : data) {
      if (set.name == name) return &set;
    }
    return nullptr;
  }
};

}  // namespace millrace::sim
