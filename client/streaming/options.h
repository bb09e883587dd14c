// SPDX-License-Identifier: Apache-2.0
// The names of a streaming job's options, and texts that hold several NAME=VALUE, for the job and for the command that
// submits it. Names that Hadoop has are Hadoop's.
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace millrace::streaming {

inline constexpr const char* kMapper = "stream.mapper";
inline constexpr const char* kCombiner = "stream.combiner";
inline constexpr const char* kReducer = "stream.reducer";
inline constexpr const char* kIo = "stream.io";
inline constexpr const char* kOutput = "stream.output";
inline constexpr const char* kEnvironment = "stream.environment";
inline constexpr const char* kParameters = "stream.parameters";
inline constexpr const char* kPartitionRanges = "mapreduce.partition.keypartitioner.options";
inline constexpr const char* kSortRanges = "mapreduce.partition.keycomparator.options";
inline constexpr const char* kMapInputSeparator = "stream.map.input.field.separator";
inline constexpr const char* kMapOutputSeparator = "stream.map.output.field.separator";
inline constexpr const char* kMapOutputFields = "stream.num.map.output.key.fields";
inline constexpr const char* kReduceInputSeparator = "stream.reduce.input.field.separator";
inline constexpr const char* kReduceOutputSeparator = "stream.reduce.output.field.separator";
inline constexpr const char* kReduceOutputFields = "stream.num.reduce.output.key.fields";
inline constexpr const char* kIgnoreKey = "stream.map.input.ignoreKey";
inline constexpr const char* kKeySeparator = "mapreduce.map.output.key.field.separator";
inline constexpr const char* kOutputSeparator = "mapreduce.output.textoutputformat.separator";
inline constexpr const char* kFailure = "stream.non.zero.exit.is.failure";
// The command that passes its records as they are; no process is started for it.
inline constexpr const char* kPass = "cat";
// A setting of a pack (pack.h) that says what the job reads: "lines" (or none), "records", "files" or "tables"; or one
// of these for each INPUT, with commas between. -D does not know it, since it decides how files are cut.
inline constexpr const char* kInputForm = "stream.input";

// Several NAME=VALUE as one text, and back. A line is one of them; in it, \ stands before n for a line break, and
// before itself.
[[nodiscard]] std::string JoinPairs(const std::vector<std::pair<std::string, std::string>>& pairs);
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> SplitPairs(const std::string& text);

// Returns the name of a parameter as a name of the environment: what is not a letter of ASCII or a digit becomes '_'.
[[nodiscard]] std::string EnvironmentName(std::string_view parameter);

}  // namespace millrace::streaming
