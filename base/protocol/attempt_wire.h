// SPDX-License-Identifier: Apache-2.0
// The fields of what masters, workers and tasks tell each other of an attempt, each on one line, for both directions
// (base/protocol/wire_fields.h); FromWire and ToWire convert its id. Thread rule: constants and free functions, any
// thread.
#pragma once

#include "base/ids/ids.h"
#include "base/protocol/task.capnp.h"
#include "base/protocol/wire_fields.h"

namespace millrace {

inline constexpr auto kAttemptFields = [](auto& message, auto& attempt) {
  MILLRACE_WIRE(message, Job, attempt.task.job);
  MILLRACE_WIRE(message, Reduce, attempt.task.kind);
  MILLRACE_WIRE(message, Task, attempt.task.index);
  MILLRACE_WIRE(message, Number, attempt.number);
};

[[nodiscard]] inline AttemptId FromWire(task::wire::Attempt::Reader in) {
  return ReadMessage<AttemptId>(in, kAttemptFields);
}
inline void ToWire(const AttemptId& attempt, task::wire::Attempt::Builder out) {
  WriteMessage(attempt, out, kAttemptFields);
}

// Each part has types of its own for some of the following, with the same members.

// An input of a map, without the blocks.
inline constexpr auto kInputPieceFields = [](auto& message, auto& piece) {
  MILLRACE_WIRE(message, Path, piece.path);
  MILLRACE_WIRE(message, Name, piece.name);
  MILLRACE_WIRE(message, FileLength, piece.file_length);
  MILLRACE_WIRE(message, Offset, piece.offset);
  MILLRACE_WIRE(message, Length, piece.length);
  MILLRACE_WIRE(message, Input, piece.input);
};

inline constexpr auto kRecordPlaceFields = [](auto& message, auto& place) {
  MILLRACE_WIRE(message, Input, place.input);
  MILLRACE_WIRE(message, Offset, place.offset);
  MILLRACE_WIRE(message, Nth, place.nth);
};

// A segment for a reduce, without its file.
inline constexpr auto kSegmentFields = [](auto& message, auto& segment) {
  MILLRACE_WIRE(message, Offset, segment.offset);
  MILLRACE_WIRE(message, Length, segment.length);
  MILLRACE_WIRE(message, RawLength, segment.raw_length);
  MILLRACE_WIRE(message, Records, segment.records);
  MILLRACE_WIRE(message, Crc, segment.crc);
  MILLRACE_WIRE(message, Compressed, segment.compressed);
  MILLRACE_WIRE(message, AnyOrder, segment.order);  // a RecordOrder: kByKey or kAny
};

}  // namespace millrace
