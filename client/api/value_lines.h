// SPDX-License-Identifier: Apache-2.0
// How a job's values look in lines (client/export/record_lines.h), and whether the job reads and writes lines alone.
// Thread rule: pure functions.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "client/api/job_traits.h"
#include "client/format/codec.h"
#include "client/format/value_bytes.h"
#include "client/job/attempt.h"

namespace millrace::internal {

// An integer as decimal text. All other values are their bytes.
template <class V>
struct DecimalValue {
  using Wide = std::conditional_t<std::is_signed_v<V>, long long, unsigned long long>;

  static bool Text(std::string_view bytes, std::string* line) {
    V value{};
    if (!ValueBytes<V>::Decode(bytes, &value)) return false;
    AppendNumber(static_cast<Wide>(value), line);
    return true;
  }
  static bool Bytes(std::string_view text, std::string* bytes) {
    Wide wide = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wide);
    const auto value = static_cast<V>(wide);
    if (error != std::errc() || end != text.data() + text.size() || static_cast<Wide>(value) != wide) return false;
    std::string scratch;
    bytes->assign(ValueBytes<V>::Encode(value, &scratch));
    return true;
  }
};

template <Combines J>
bool CombineBytes(std::string_view sum, std::string_view value, std::string* bytes) {
  using V = typename J::Value;
  V a{}, b{};
  if (!ValueBytes<V>::Decode(sum, &a) || !ValueBytes<V>::Decode(value, &b)) return false;
  std::string scratch;
  bytes->assign(ValueBytes<V>::Encode(J::Combine(a, b), &scratch));
  return true;
}

template <HasIntermediate J>
ValueLines ValueLinesOf() {
  ValueLines lines;
  if constexpr (ValueBytes<typename J::Value>::kVarint) {
    lines.text = DecimalValue<typename J::Value>::Text;
    lines.bytes = DecimalValue<typename J::Value>::Bytes;
  }
  if constexpr (Combines<J>) lines.combine = CombineBytes<J>;
  return lines;
}

template <class Input>
constexpr const char* InputNotInLines() {
  if constexpr (Input::kSplitBy == SplitBy::kNumbers) return "it makes its data, and reads no input";
  if constexpr (Input::kSplitBy != SplitBy::kBlock || !ReadsText<Input>) return "its input is not lines of text";
  return "";
}

// Returns why the job cannot run where lines are all that it is given and all that is taken from it; empty if it can.
template <class J>
constexpr const char* NotInLines() {
  const char* reason = "";
  if constexpr (HasMappers<J>) {
    ForEachMapper(static_cast<typename J::Mappers*>(nullptr), [&reason]<class M>(M*) {
      if (*InputNotInLines<InputOf<M>>() != '\0') reason = InputNotInLines<InputOf<M>>();
    });
  } else {
    reason = InputNotInLines<InputOf<J>>();
  }
  if (*reason != '\0') return reason;
  if constexpr (HasOutputs<J>) return "it writes named outputs beside its part files";
  if constexpr (!std::same_as<OutputOf<J>, TextOutput>) return "its output is not lines of text";
  return "";
}

}  // namespace millrace::internal
