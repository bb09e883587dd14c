// How records, keys and values are lent to a job's code (client/job/lent_views.h). Thread rule: the task's thread.
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

// Says whether a T that was decoded may hold views of its bytes: text as a view, and a type with a Codec of its own.
template <class T>
inline constexpr bool kMayBeView = !std::is_arithmetic_v<T> && !std::is_enum_v<T> && !std::is_same_v<T, std::string> &&
                                   !std::is_same_v<T, Nothing> && !IsCompound<T> && !PlainBytes<T>;

// Returns the bytes of a T, as the job may have what they decode to.
template <class T>
std::string_view LendBytes(LentViews& lent, std::string_view bytes) {
  if constexpr (kMayBeView<T>) {
    return lent.Lend(bytes);
  } else {
    return bytes;
  }
}

// Returns the record as Map may have it. Records of other types, as an Input of a job's own may make them, are what
// they are.
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
