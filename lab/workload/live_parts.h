// SPDX-License-Identifier: Apache-2.0
// LiveParts: the parts of a workload that only a live run needs, beside its jobs (workload.h): the programs of the
// classes and the data that they read. Thread rule: a value.
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
  std::string kind;        // a kind of `generate`: text, records, ...
  std::uint64_t size = 0;  // bytes; 0: as much as the largest job reads
  std::string place;       // FILE:LINE: data.NAME, for messages
};

struct LiveClass {
  std::string name;
  // A bundled job by name, or the path of an executable. Empty: the job has only sizes and times, and `loadgen` or
  // `sleep` stands in for it.
  std::string program;
  std::string data;  // the name of a DataSet, or of undeclared data; empty: data of its own
  std::vector<std::pair<std::string, std::string>> options;  // -D NAME=VALUE
  std::string place;                                         // FILE:LINE: jobs[N], for messages
  // By kind: true if the file names a program but not the times of its tasks.
  PerKind<bool> untimed = {};
};

struct LiveParts {
  std::uint64_t block_size = 0;
  std::vector<DataSet> data;
  std::vector<LiveClass> classes;
  std::vector<std::uint32_t> class_of;  // by job: index in `classes`
  // The reason why the jobs can be run but not simulated: a class has a program without task times. Empty if they can
  // be simulated.
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
