// SPDX-License-Identifier: Apache-2.0
// The interface between the runtime and a job's code. A job's code is instantiated from templates; the rest of the task
// process is not.
// Thread rule: the task's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "client/format/byte_source.h"
#include "client/format/opened_source.h"
#include "client/job/group_place.h"
#include "client/job/job_options.h"
#include "client/job/lent_views.h"
#include "client/job/output_files.h"
#include "client/job/preparation.h"
#include "client/job/record_watch.h"
#include "client/job/segments.h"
#include "client/job/task_context.h"
#include "worker/task/collect/collector.h"

namespace millrace {

// A source throws this through its reader if the map is to read no more of the input. The map continues with the next
// input.
struct EnoughRead {};

struct MapInput {
  Split split;
  std::string name;
  std::uint32_t index = 0;  // of the INPUT argument that named it
  std::unique_ptr<ByteSource> source;
};

struct MapAttempt {
  TaskContext& context;
  std::vector<MapInput>& inputs;
  map::CollectorOptions collector;
  OutputFiles* output = nullptr;  // instead of a collector, when the job runs without reduces
  Random random;
  RecordWatch* watch = nullptr;                            // null: every record is mapped, and none is noted
  map::CollectorFigures figures;                           // result
  LentViews lent{Lent::kRecord}, lent_too{Lent::kRecord};  // for records; lent_too: for the second part of a record
};

struct ReduceAttempt {
  TaskContext& context;
  const MappedSegments& segments;  // in the order of map tasks
  std::uint64_t memory;            // bytes for its buffers
  OutputFiles& output;
  Random random;
  std::uint64_t groups = 0;  // result
  GroupPlace place = {};     // the key that is being reduced
  LentViews lent_keys{Lent::kKey}, lent_values{Lent::kValue};
  LentViews lent_value_keys{Lent::kValue};  // in a job with Group
};

// The maps and records of a job that makes its data from numbers (SplitBy::kNumbers).
struct NumberRange {
  std::uint32_t maps = 0;
  std::uint64_t records = 0;  // of all maps together
};

// The rules of an input's format for cutting and reading it.
struct InputRules {
  SplitBy split_by = SplitBy::kBlock;
  std::uint32_t record_bytes = 0;  // 0 with kFixed: -D input.record_bytes sets it
  bool decompresses = true;        // compressed files are opened, unless -D input.decompress=false is given
  bool text = false;               // files known not to be text are refused, unless that option is given

  [[nodiscard]] InputKind kind() const { return text ? InputKind::kText : InputKind::kBytes; }
};

// The values between map and reduce as texts of lines (client/export/record_lines.h). Each returns false if what it is
// given is none of the job's.
struct ValueLines {
  bool (*text)(std::string_view bytes, std::string* line) = nullptr;   // appends; null: the text is the bytes, escaped
  bool (*bytes)(std::string_view text, std::string* bytes) = nullptr;  // null likewise
  bool (*combine)(std::string_view sum, std::string_view value, std::string* bytes) = nullptr;  // null: no Combine
};

// A job as the runtime sees it. `map` and `reduce` may throw whatever user code throws.
struct JobBinding {
  InputRules input;
  std::vector<InputRules> mappers;  // one for each INPUT, if the job has mappers; `input` is then unused
  bool has_reduce = false;          // the job has its own Reduce; it gets one reduce if none are asked for
  bool combines = false;
  bool map_only = false;     // the job emits nothing for reduces
  bool pipeline = false;     // not a job, but a program that drives jobs (client/process)
  bool total_order = false;  // its reduces have ranges of keys, which are made from a sample (key_sample.h)
  ValueLines value_lines;
  std::string not_in_lines = {};  // why the job cannot read and write lines alone, as other engines carry them
  std::function<void(JobOptions&)> declare;
  std::function<NumberRange(const JobOptions&)> numbers;  // null unless split_by is kNumbers
  std::function<Status(Preparation&)> prepare;            // null: there is nothing to prepare
  std::function<Status(MapAttempt&)> map;
  std::function<Status(ReduceAttempt&)> reduce;

  // Returns the rules of an INPUT. Requires: there is a mapper for it, if there are mappers.
  [[nodiscard]] const InputRules& RulesOf(std::uint32_t index) const {
    return mappers.empty() ? input : mappers[index];
  }
};

}  // namespace millrace
