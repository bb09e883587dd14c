// SPDX-License-Identifier: Apache-2.0
#include "lab/outside/program.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "base/line_child.h"
#include "base/text.h"
#include "schedulers/events/text_fields.h"

namespace millrace::outside {
namespace {

using Kind = sched::OutsideTerms::Kind;

constexpr std::string_view kVersion = "1";
constexpr std::size_t kMostHelloBytes = 4096;
constexpr std::size_t kMostAnswerBytes = std::size_t{4} << 20;
// Nothing else waits for a simulation: an interpreter on a busy machine may take its time. It still ends.
constexpr Micros kLeastPatience = 20 * kSecond;

// A script without the right to be executed is one of Python's.
std::vector<std::string> CommandOf(const std::string& program) {
  if (program.ends_with(".py") && ::access(program.c_str(), X_OK) != 0) return {"python3", program};
  return {program.find('/') == std::string::npos ? "./" + program : program};
}

struct Hello {
  Kind kind = Kind::kRanking;
};

Result<Hello> ReadHello(const std::string& program, std::string_view line) {
  const std::string what = Quote(program) + " began with " + Quote(line) + ": ";
  sched::FieldReader fields;
  std::string_view rest = line;
  std::vector<std::string_view> words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    words.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (words.size() < 2 || words[1] != kVersion)
    return Invalid(what + "it does not speak version 1 of the protocol (hello 1 name=NAME kind=ranking)");
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!fields.Add(words[i])) return Invalid(what + "after \"hello 1\" comes key=value, as often as needed");
  }
  std::string kind = "ranking";
  fields.Optional("kind", kind);
  if (!fields.ok() || (kind != "ranking" && kind != "assignment"))
    return Invalid(what + "kind is ranking or assignment");
  return Hello{kind == "ranking" ? Kind::kRanking : Kind::kAssignment};
}

struct Started {
  std::unique_ptr<LineChild> child;
  Hello hello;
};

Result<Started> Start(const std::string& program, std::string_view rest) {
  Started started;
  MILLRACE_ASSIGN(started.child, LineChild::Start(CommandOf(program)));
  std::string line;
  MILLRACE_ASSIGN(const std::string before,
                  started.child->Ask("hello " + std::string(kVersion) + " clock=simulated" + std::string(rest) + "\n",
                                     "hello", kLeastPatience, kMostHelloBytes, &line));
  if (!before.empty()) return Invalid(Quote(program) + " began with " + Quote(before) + " in place of hello");
  MILLRACE_ASSIGN(started.hello, ReadHello(program, line));
  return started;
}

class Program final : public sim::Adviser {
 public:
  Program(std::string name, Started started, Micros patience, Thinking thinking)
      : name_(std::move(name)),
        child_(std::move(started.child)),
        patience_(std::max(patience, kLeastPatience)),
        thinking_(thinking) {}

  Result<Reply> Ask(std::string_view question, std::uint64_t number) override {
    std::string end;
    const auto begin = std::chrono::steady_clock::now();
    MILLRACE_ASSIGN(std::string answer, child_->Ask(question, "seen", patience_, kMostAnswerBytes, &end));
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    if (end != "seen " + std::to_string(number))
      return Invalid(Quote(name_) + " answered " + Quote(end) + " to question " + std::to_string(number));
    return Reply{std::move(answer), thinking_.value_or(took.count())};
  }
  std::string Transcript() const override { return child_->Transcript(); }

 private:
  const std::string name_;
  const std::unique_ptr<LineChild> child_;
  const Micros patience_;
  const Thinking thinking_;
};

}  // namespace

std::function<Result<std::unique_ptr<sim::Adviser>>(const sched::OutsideTerms&)> Starter(Thinking thinking) {
  return [thinking](const sched::OutsideTerms& terms) -> Result<std::unique_ptr<sim::Adviser>> {
    const bool ranks = terms.kind == Kind::kRanking;
    MILLRACE_ASSIGN(Started started, Start(terms.program, ranks ? " interval=" + std::to_string(terms.interval)
                                                                : " limit=" + std::to_string(terms.limit)));
    if (started.hello.kind != terms.kind) {
      return Invalid(Quote(terms.program) + " is of kind " + (ranks ? "assignment" : "ranking") +
                     ", and external.kind says otherwise");
    }
    return std::unique_ptr<sim::Adviser>(
        std::make_unique<Program>(terms.program, std::move(started), terms.patience, thinking));
  };
}

Result<Kind> KindOf(const std::string& program) {
  MILLRACE_ASSIGN(const Started started, Start(program, ""));
  return started.hello.kind;
}

}  // namespace millrace::outside
