// SPDX-License-Identifier: Apache-2.0
// The header for authors of jobs. A job is a struct; its executable is the struct and a main of one line:
//
//   struct WordCount {
//     using Key = std::string_view;      // between map and reduce: text, numbers, bool, enums, millrace::Nothing,
//     using Value = std::uint64_t;       // compounds and structs of them (compound_codec.h), types with a
//                                        // millrace::Codec (codec.h)
//     void Map(std::string_view line, auto& emit) { ForEachWord(line, [&](std::string_view word) { emit(word, 1); }); }
//     static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
//     void Reduce(std::string_view word, auto& counts, auto& emit) {
//       std::uint64_t sum = 0;
//       for (const std::uint64_t count : counts) sum += count;
//       emit(word, sum);
//     }
//   };
//   int main(int argc, char** argv) { return millrace::Run<WordCount>(argc, argv); }
//
// Members of the struct (each attempt has one object, on one thread):
//   using Input     TextLines (default), TextChunks, KeyValueText, FixedRecords<N>, WholeFiles, RecordFiles,
//                   TypedRecordFiles<K, V>; Numbers, for a job that makes its data (input_formats.h)
//   using Output    TextOutput (default), FixedOutput<N>, RecordOutput (output_formats.h)
//   using Key, Value   the types between map and reduce; without them the job has only maps, and emits to its Output
//   void Map(record, auto& emit)
//                   small files share a map: TaskContext::input_number() tells them apart, and input_index() is the
//                   INPUT argument that a record comes from
//   void Reduce(key, auto& values, auto& emit)
//                   keys come in order of their bytes, the values of a key in order of map tasks; Descending<T>
//                   sorts the other way round (client/format/descending.h)
//                   `for (const Value& value : values)`, once at most; it may end early (values.h)
//                   may be left out: the output is then the combined value if there is Combine, else every record
//   static G Group(const Key&)
//                   a part of the key, of any type with a Codec: keys of one group go to one call of Reduce, in order
//                   of the whole key, and to one reduce unless there is a Partition. Reduce gets the first key, and
//                   values.key() is the key of the current value. The key begins with its group (group.h)
//   void FinishMap(auto& emit), void FinishReduce(auto& emit)
//                   called after the last record of a map, and after the last key of a reduce
//   static Value Combine(Value, Value)
//                   folds values while they are emitted. It is associative; Value has a fixed length, and is taken and
//                   returned without conversion, by value or const&
//   std::uint32_t Partition(const Key&, std::uint32_t n) const
//                   the reduce of a key, below n; may be static. Without it, the reduce is the HashPartition
//                   (partition.h) of the key, or of its Group
//   using Partition = millrace::TotalOrder
//                   instead of the function: the keys of part-r-00000 are below those of part-r-00001, and so on, and
//                   each reduce gets about the same number of records (partition.h)
//   using Outputs   NamedOutputs<kOne, kOther>: files beside the part files, `one-r-00000` and so on, for Reduce, and
//                   for the Map of a job without Key and Value; emit.To(kOne, key, value) (named_outputs.h)
//   using Mappers   Mappers<First, Second>: a struct for each INPUT argument, with its own Input, Map, FinishMap, Start
//                   and Options, in place of the job's (mappers.h)
//   static void Options(millrace::JobOptions&)
//                   declares what -D may set (client/job/job_options.h)
//   static millrace::Status Prepare(millrace::Preparation&)
//                   called before the job is submitted: looks at the input and sets options (client/job/preparation.h)
//   millrace::Status Start(millrace::TaskContext&), or a constructor from TaskContext&
//                   called at the attempt's beginning. The context has options, counters, the record's input, and side
//                   files, which are read or, if they are large, mapped (client/job/task_context.h)
// A program that runs several jobs one after the other is a pipeline (pipeline.h).
// The arguments of Map and Reduce, and views of them, live for the call, but a value that is a std::string_view lives
// only until the next one is taken. Emitted keys and values are copied at once. They have the types Key and Value, or
// are text for text, or numbers that fit (emitted.h). An integer that does not fit fails the attempt, as does an
// exception, whose text is shown.
//
// This header also includes other things that a job's code may use: Status, Result, MILLRACE_TRY and MILLRACE_ASSIGN,
// for the results of Prepare and Start (base/status.h); Quote, for names in messages (base/text.h); the seeded Random
// (base/random.h) and Crc32c (base/crc32c.h), for data that is made or checked; and ByteSource, Split and the readers
// of client/format, for an Input of the job's own. A map that folds or sorts by itself may include KeyTable
// (key_table.h), OrderOfKeys (key_order.h) and LargeArray (large_array.h). All other headers are internal and may
// change.
// Thread rule: main's; a job's code runs on one thread.
#pragma once

#include "base/crc32c.h"
#include "base/random.h"
#include "base/status.h"
#include "base/text.h"
#include "client/api/bind_job.h"
#include "client/api/partition.h"
#include "client/process/run.h"

namespace millrace {

// Returns the exit status for main (client/process/run.h).
template <class J>
[[nodiscard]] int Run(int argc, char** argv) {
  return internal::RunJob(internal::BindJob<J>(), argc, argv);
}

}  // namespace millrace
