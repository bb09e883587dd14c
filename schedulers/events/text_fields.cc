// SPDX-License-Identifier: Apache-2.0
#include "schedulers/events/text_fields.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "schedulers/events/check.h"

namespace millrace::sched {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

bool IsPlain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("_.:/+,;-").find(c) != std::string_view::npos;
}

template <class T>
std::string FormatNumber(T value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <class T>
bool ParseNumber(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end && !text.empty();
}

template <class Id>
bool Keep(const std::optional<Id>& parsed, Id* value) {
  if (parsed) *value = *parsed;
  return parsed.has_value();
}

// Returns the text up to the separator, or all of it. *text keeps what comes after.
std::string_view Cut(std::string_view* text, char separator) {
  const std::size_t at = std::min(text->find(separator), text->size());
  const std::string_view head = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return head;
}

// "n1,n2" and "job7,job2"
template <class Id>
std::string EncodeList(const std::vector<Id>& ids) {
  std::string text;
  for (const Id id : ids) (text += text.empty() ? "" : ",") += ToText(id);
  return text;
}

template <class Id>
bool DecodeList(std::string_view text, std::vector<Id>* ids) {
  ids->clear();
  if (text.ends_with(',')) return false;
  while (!text.empty()) {
    if (!DecodeValue(Cut(&text, ','), &ids->emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::string EncodeValue(std::int64_t value) { return FormatNumber(value); }
std::string EncodeValue(std::uint32_t value) { return FormatNumber(value); }
std::string EncodeValue(std::uint64_t value) { return FormatNumber(value); }
std::string EncodeValue(double value) { return FormatNumber(value); }
std::string EncodeValue(bool value) { return value ? "1" : "0"; }

std::string EncodeValue(const std::string& value) {
  std::string text;
  text.reserve(value.size());
  for (const char c : value) {
    if (IsPlain(c)) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text;
}

std::string EncodeValue(Priority value) {
  const auto index = static_cast<std::size_t>(value);
  SCHED_CHECK(index < std::size(kPriorityNames), "priority " + std::to_string(index));
  return std::string(kPriorityNames[index]);
}

std::string EncodeValue(NodeId value) { return ToText(value); }
std::string EncodeValue(JobId value) { return ToText(value); }
std::string EncodeValue(const TaskId& value) { return ToText(value); }
std::string EncodeValue(const AttemptId& value) { return ToText(value); }

std::string EncodeValue(const std::optional<RecordPlace>& value) {
  return FormatNumber(value->input) + ':' + FormatNumber(value->offset) + ':' + FormatNumber(value->nth);
}

std::string EncodeValue(const std::vector<NodeId>& value) { return EncodeList(value); }
std::string EncodeValue(const std::vector<JobId>& value) { return EncodeList(value); }

std::string EncodeValue(const std::vector<Micros>& value) {
  std::string text;
  for (const Micros time : value) (text += text.empty() ? "" : ",") += FormatNumber(time);
  return text;
}

std::string EncodeValue(const std::vector<MapInput>& value) {
  std::string text;
  for (const MapInput& input : value) {
    ((text += text.empty() ? "" : ";") += FormatNumber(input.bytes)) += ':';
    text += EncodeValue(input.replicas);
  }
  return text;
}

bool DecodeValue(std::string_view text, std::int64_t* value) { return ParseNumber(text, value); }
bool DecodeValue(std::string_view text, std::uint32_t* value) { return ParseNumber(text, value); }
bool DecodeValue(std::string_view text, std::uint64_t* value) { return ParseNumber(text, value); }
bool DecodeValue(std::string_view text, double* value) { return ParseNumber(text, value); }

bool DecodeValue(std::string_view text, bool* value) {
  *value = text == "1";
  return text == "0" || text == "1";
}

bool DecodeValue(std::string_view text, std::string* value) {
  value->clear();
  while (!text.empty()) {
    if (IsPlain(text[0])) {
      *value += text[0];
      text.remove_prefix(1);
      continue;
    }
    if (text[0] != '%' || text.size() < 3) return false;
    const std::size_t high = kHex.find(text[1]);
    const std::size_t low = kHex.find(text[2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    *value += static_cast<char>(high << 4 | low);
    text.remove_prefix(3);
  }
  return true;
}

bool DecodeValue(std::string_view text, Priority* value) {
  const auto* at = std::find(std::begin(kPriorityNames), std::end(kPriorityNames), text);
  *value = static_cast<Priority>(at - std::begin(kPriorityNames));
  return at != std::end(kPriorityNames);
}

bool DecodeValue(std::string_view text, NodeId* value) { return Keep(ParseNode(text), value); }
bool DecodeValue(std::string_view text, JobId* value) { return Keep(ParseJob(text), value); }
bool DecodeValue(std::string_view text, TaskId* value) { return Keep(ParseTask(text), value); }
bool DecodeValue(std::string_view text, AttemptId* value) { return Keep(ParseAttempt(text), value); }

bool DecodeValue(std::string_view text, std::optional<RecordPlace>* value) {
  RecordPlace& record = value->emplace();
  return ParseNumber(Cut(&text, ':'), &record.input) && ParseNumber(Cut(&text, ':'), &record.offset) &&
         ParseNumber(text, &record.nth);
}

bool DecodeValue(std::string_view text, std::vector<NodeId>* value) { return DecodeList(text, value); }
bool DecodeValue(std::string_view text, std::vector<JobId>* value) { return DecodeList(text, value); }

bool DecodeValue(std::string_view text, std::vector<Micros>* value) {
  value->clear();
  if (text.ends_with(',')) return false;
  while (!text.empty()) {
    if (!ParseNumber(Cut(&text, ','), &value->emplace_back())) return false;
  }
  return true;
}

bool DecodeValue(std::string_view text, std::vector<MapInput>* value) {
  value->clear();
  if (text.ends_with(';')) return false;
  while (!text.empty()) {
    std::string_view split = Cut(&text, ';');
    if (split.find(':') == std::string_view::npos) return false;
    MapInput& input = value->emplace_back();
    if (!ParseNumber(Cut(&split, ':'), &input.bytes) || !DecodeValue(split, &input.replicas)) return false;
  }
  return true;
}

bool FieldReader::Add(std::string_view word) {
  if (word.empty()) return true;
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  fields_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  return true;
}

const std::string_view* FieldReader::Find(std::string_view key) const {
  const auto at = std::find_if(fields_.begin(), fields_.end(), [key](const auto& field) { return field.first == key; });
  return at == fields_.end() ? nullptr : &at->second;
}

}  // namespace millrace::sched
