// SPDX-License-Identifier: Apache-2.0
// The values and fields of event lines (event_text.h), private to the core.
//
// EncodeValue returns text that contains no space, newline or '='. DecodeValue reads such text back, and returns false
// for any other text, whatever the bytes. FieldWriter and FieldReader have the same calls, so that one list of fields
// serves for writing and for reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

std::string EncodeValue(std::int64_t value);
std::string EncodeValue(std::uint32_t value);
std::string EncodeValue(std::uint64_t value);
std::string EncodeValue(double value);              // the shortest text that reads back as the same number
std::string EncodeValue(bool value);                // 0, 1
std::string EncodeValue(const std::string& value);  // percent-encoded
std::string EncodeValue(Priority value);            // VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW
std::string EncodeValue(NodeId value);              // n7
std::string EncodeValue(JobId value);               // job3
std::string EncodeValue(const TaskId& value);       // job3.m.17
std::string EncodeValue(const AttemptId& value);    // job3.m.17.0
std::string EncodeValue(const std::optional<RecordPlace>& value);  // 2:4096:0; requires a value
std::string EncodeValue(const std::vector<NodeId>& value);         // n1,n2
std::string EncodeValue(const std::vector<JobId>& value);          // job7,job2
std::string EncodeValue(const std::vector<Micros>& value);         // 5000000,0
std::string EncodeValue(const std::vector<MapInput>& value);       // 100:n1,n2;50:n4;0:

// When these return false, *value is unspecified.
[[nodiscard]] bool DecodeValue(std::string_view text, std::int64_t* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::uint32_t* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::uint64_t* value);
[[nodiscard]] bool DecodeValue(std::string_view text, double* value);
[[nodiscard]] bool DecodeValue(std::string_view text, bool* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::string* value);
[[nodiscard]] bool DecodeValue(std::string_view text, Priority* value);
[[nodiscard]] bool DecodeValue(std::string_view text, NodeId* value);
[[nodiscard]] bool DecodeValue(std::string_view text, JobId* value);
[[nodiscard]] bool DecodeValue(std::string_view text, TaskId* value);
[[nodiscard]] bool DecodeValue(std::string_view text, AttemptId* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::optional<RecordPlace>* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::vector<NodeId>* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::vector<JobId>* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::vector<Micros>* value);
[[nodiscard]] bool DecodeValue(std::string_view text, std::vector<MapInput>* value);

// Appends " key=value" for each field.
class FieldWriter {
 public:
  explicit FieldWriter(std::string* line) : line_(line) {}
  template <class T>
  void Required(std::string_view key, const T& value) {
    ((line_->append(1, ' ') += key) += '=') += EncodeValue(value);
  }
  template <class T>
  void Optional(std::string_view key, const T& value) {
    Required(key, value);
  }
  // Leaves the field out if its value is the default of its type. Requires: this is also the default of the field.
  template <class T>
  void UnlessDefault(std::string_view key, const T& value) {
    if (value != T{}) Required(key, value);
  }

 private:
  std::string* line_;
};

class FieldReader {
 public:
  // Adds one "key=value". Returns false if the word is not of that form. An empty word (two spaces in a row) is
  // skipped.
  [[nodiscard]] bool Add(std::string_view word);
  // Required reads a field that must be present. Optional reads a field that keeps its default if it is absent. If a
  // key occurs twice, the first one counts.
  template <class T>
  void Required(std::string_view key, T& value) {
    const std::string_view* text = Find(key);
    ok_ = ok_ && text != nullptr && DecodeValue(*text, &value);
  }
  template <class T>
  void Optional(std::string_view key, T& value) {
    const std::string_view* text = Find(key);
    ok_ = ok_ && (text == nullptr || DecodeValue(*text, &value));
  }
  template <class T>
  void UnlessDefault(std::string_view key, T& value) {
    Optional(key, value);
  }
  [[nodiscard]] bool Has(std::string_view key) const { return Find(key) != nullptr; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  [[nodiscard]] const std::string_view* Find(std::string_view key) const;

  std::vector<std::pair<std::string_view, std::string_view>> fields_;
  bool ok_ = true;
};

}  // namespace millrace::sched
