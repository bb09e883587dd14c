// SPDX-License-Identifier: Apache-2.0
// Lends records, keys and values to a job's code (client/job/lent_views.h). Thread rule: the task's thread.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "client/api/input_formats.h"
#include "client/format/codec.h"
#include "client/format/compound_codec.h"
#include "client/format/value_bytes.h"
#include "client/job/attempt.h"
#include "client/job/lent_views.h"

namespace millrace::internal {

// Says whether a decoded T may hold views of its bytes: a std::string_view does, and a type with a Codec of its own
// may.
template <class T>
inline constexpr bool kMayBeView = !std::is_arithmetic_v<T> && !std::is_enum_v<T> && !std::is_same_v<T, std::string> &&
                                   !std::is_same_v<T, Nothing> && !IsCompound<T> && !PlainBytes<T>;

// Returns the bytes from which a T is to be decoded for the job: lent ones if the T may hold views of them.
template <class T>
std::string_view LendBytes(LentViews& lent, std::string_view bytes) {
  if constexpr (kMayBeView<T>) {
    return lent.Lend(bytes);
  } else {
    return bytes;
  }
}

// Returns the record as it is lent to Map. Records of other types, which an Input of the job's own may make, are passed
// as they are.
inline std::string_view LendRecord(MapAttempt& attempt, std::string_view record) { return attempt.lent.Lend(record); }
inline KeyValue LendRecord(MapAttempt& attempt, const KeyValue& record) {
  return {attempt.lent.Lend(record.key), attempt.lent_too.Lend(record.value)};
}
inline WholeFile LendRecord(MapAttempt& attempt, const WholeFile& record) {
  return {record.name, attempt.lent.Lend(record.bytes)};
}
template <class Record>
const Record& LendRecord(MapAttempt&, const Record& record) {
  return record;
}

}  // namespace millrace::internal
