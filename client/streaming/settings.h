// SPDX-License-Identifier: Apache-2.0
// The settings of a streaming job, as -D sets them. Those that Hadoop Streaming has go by its names.
// Thread rule: values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job/job_options.h"
#include "client/streaming/key_fields.h"
#include "client/streaming/options.h"

namespace millrace::streaming {

// What goes between a task and its child.
enum class Io {
  kText,        // lines, which are key, separator and value
  kTypedBytes,  // Hadoop's typed bytes: a key and a value, again and again
  kRawBytes,    // 32 bits of length (big-endian) and a key, the same of its value, again and again
  kFrames,      // the protocol of frame_child.h, with a child that lives for many attempts
};

// Where a line of text is cut into key and value.
struct LineCut {
  std::string separator = "\t";
  std::size_t fields = 1;  // of the key
};

struct Settings {
  std::string mapper, combiner, reducer;  // commands; empty: records pass as they are
  Io io = Io::kText;
  bool offset_as_key = false;  // lines of input are preceded by their offset and the separator
  std::string map_input_separator = "\t", reduce_input_separator = "\t", output_separator = "\t";
  LineCut map_output, reduce_output;
  std::string key_separator = "\t";       // of the fields of a key
  std::vector<KeyRange> partition, sort;  // empty: the whole key, as bytes
  bool records_out = false;               // the output is record files, not text
  bool failure_counts = true;             // a child that ends with another status than 0 fails its task
  // Besides what every child has: first the job's parameters, then those asked for by name.
  std::vector<std::pair<std::string, std::string>> environment;
};

void DeclareSettings(JobOptions& options);
// Requires: the options are valid.
[[nodiscard]] Settings SettingsOf(const JobOptions& options);

}  // namespace millrace::streaming
