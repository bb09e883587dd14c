// SPDX-License-Identifier: Apache-2.0
// JobOptions holds the options that -D name=value sets for a job: those that the job declares, and those of the engine.
// An undeclared name is refused; the message names the nearest one.
//   static void Options(millrace::JobOptions& options) {
//     options.Text("grep.pattern", "", "regular expression (RE2) that is looked for");
//     options.Require("grep.pattern");
//   }
//   millrace::Status Start(millrace::TaskContext& context) { pattern_ = context.options().text("grep.pattern"); ... }
// Thread rule: declare and set on one thread, then read from any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"
#include "client/job/engine_options.h"

namespace millrace {

class JobOptions {
 public:
  JobOptions();
  JobOptions(const JobOptions&) = delete;
  JobOptions& operator=(const JobOptions&) = delete;

  // These calls declare options, as OptionSet does (base/options.h). A name that exists already, or that is one of the
  // engine's, is a bug and aborts.
  void Text(std::string name, std::string initial, std::string one_line);
  void Choice(std::string name, std::string initial, std::vector<std::string> choices, std::string one_line);
  void Bool(std::string name, bool initial, std::string one_line);
  void Integer(std::string name, std::int64_t initial, std::int64_t least, std::int64_t most, std::string one_line);
  void Real(std::string name, double initial, double least, double most, std::string one_line);
  void Bytes(std::string name, std::uint64_t initial, std::uint64_t least, std::uint64_t most, std::string one_line);
  void Duration(std::string name, Micros initial, Micros least, Micros most, std::string one_line);
  // Makes the option required: a job that is run without it is refused.
  void Require(std::string name) { required_.insert(std::move(name)); }
  // Adds a check that runs once all values are set: before a job is submitted, and again in each of its tasks.
  void Check(std::function<Status(const JobOptions&)> check) { checks_.push_back(std::move(check)); }

  // These calls return values; text() also the one of a choice. A name that was not declared with the type is a bug and
  // aborts.
  [[nodiscard]] const std::string& text(std::string_view name) const { return Get<std::string>(name); }
  [[nodiscard]] bool boolean(std::string_view name) const { return Get<bool>(name); }
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return Get<std::int64_t>(name); }
  [[nodiscard]] double real(std::string_view name) const { return Get<double>(name); }
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const { return Get<std::uint64_t>(name); }
  [[nodiscard]] Micros duration(std::string_view name) const { return Get<DurationValue>(name).value; }
  [[nodiscard]] const EngineOptions& engine() const { return engine_; }

  // These set values as OptionSet::Set and SetPair do. The runtime calls them before the job sees the options.
  Status Set(std::string_view name, std::string_view value);
  Status SetPair(std::string_view pair);
  // Returns OK if all required options are set and every Check returns OK.
  [[nodiscard]] Status Validate() const;
  // Returns all options, the engine's first.
  [[nodiscard]] std::vector<OptionInfo> List() const { return set_.List(); }
  [[nodiscard]] bool required(const std::string& name) const { return required_.contains(name); }
  [[nodiscard]] bool of_engine(const std::string& name) const { return Find(name) == nullptr; }

 private:
  // Micros is an integer too; a struct of its own tells the two apart.
  struct DurationValue {
    Micros value = 0;
  };
  struct Field {
    std::string name;
    std::variant<std::string, bool, std::int64_t, double, std::uint64_t, DurationValue> value;
  };

  [[nodiscard]] const Field* Find(std::string_view name) const;
  template <class T>
  [[nodiscard]] const T& Get(std::string_view name) const {
    const Field* field = Find(name);
    MILLRACE_CHECK(field != nullptr && std::holds_alternative<T>(field->value),
                   "no option " + std::string(name) + " of this type is declared");
    return std::get<T>(field->value);
  }
  template <class T>
  T* Add(const std::string& name) {
    return &fields_.emplace_back(Field{name, T{}}).value.template emplace<T>();
  }

  OptionSet set_;
  EngineOptions engine_;
  std::deque<Field> fields_;  // set_ points into them
  std::set<std::string> required_, given_;
  std::vector<std::function<Status(const JobOptions&)>> checks_;
};

}  // namespace millrace
