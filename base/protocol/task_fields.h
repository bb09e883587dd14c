// The fields of the values about an attempt that masters, workers and tasks exchange, each on one line, for both
// directions (base/protocol/wire_fields.h). Each part has types of its own for some of them, with the same members.
// Thread rule: constants.
#pragma once

#include "base/protocol/task.capnp.h"
#include "base/protocol/wire_fields.h"

namespace millrace {

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
