// SPDX-License-Identifier: Apache-2.0
#include "client/job/job_options.h"

#include <algorithm>

namespace millrace {

JobOptions::JobOptions() { DeclareEngineOptions(&set_, &engine_); }

void JobOptions::Text(std::string name, std::string initial, std::string one_line) {
  std::string* field = Add<std::string>(name);
  set_.Text(std::move(name), field, std::move(initial), std::move(one_line));
}

void JobOptions::Choice(std::string name, std::string initial, std::vector<std::string> choices, std::string one_line) {
  std::string* field = Add<std::string>(name);
  set_.Choice(std::move(name), field, std::move(initial), std::move(choices), std::move(one_line));
}

void JobOptions::Bool(std::string name, bool initial, std::string one_line) {
  bool* field = Add<bool>(name);
  set_.Bool(std::move(name), field, initial, std::move(one_line));
}

void JobOptions::Integer(std::string name, std::int64_t initial, std::int64_t least, std::int64_t most,
                         std::string one_line) {
  std::int64_t* field = Add<std::int64_t>(name);
  set_.Integer(std::move(name), field, initial, least, most, std::move(one_line));
}

void JobOptions::Real(std::string name, double initial, double least, double most, std::string one_line) {
  double* field = Add<double>(name);
  set_.Real(std::move(name), field, initial, least, most, std::move(one_line));
}

void JobOptions::Bytes(std::string name, std::uint64_t initial, std::uint64_t least, std::uint64_t most,
                       std::string one_line) {
  std::uint64_t* field = Add<std::uint64_t>(name);
  set_.Bytes(std::move(name), field, initial, least, most, std::move(one_line));
}

void JobOptions::Duration(std::string name, Micros initial, Micros least, Micros most, std::string one_line) {
  Micros* field = &Add<DurationValue>(name)->value;
  set_.Duration(std::move(name), field, initial, least, most, std::move(one_line));
}

Status JobOptions::Set(std::string_view name, std::string_view value) {
  MILLRACE_TRY(set_.Set(name, value));
  given_.emplace(name);
  return Status::Ok();
}

Status JobOptions::SetPair(std::string_view pair) {
  MILLRACE_TRY(set_.SetPair(pair));
  given_.emplace(pair.substr(0, pair.find('=')));
  return Status::Ok();
}

Status JobOptions::Validate() const {
  for (const std::string& name : required_) {
    if (!given_.contains(name)) return Invalid("option " + name + " is not set; give -D " + name + "=VALUE");
  }
  MILLRACE_TRY(CheckEngineOptions(engine_));
  for (const auto& check : checks_) MILLRACE_TRY(check(*this));
  return Status::Ok();
}

const JobOptions::Field* JobOptions::Find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  return found == fields_.end() ? nullptr : &*found;
}

}  // namespace millrace
