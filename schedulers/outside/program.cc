// SPDX-License-Identifier: Apache-2.0
#include "schedulers/outside/program.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "schedulers/events/text_fields.h"

namespace millrace::outside {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kMostHelloBytes = 4096;
constexpr std::size_t kMostAnswerBytes = std::size_t{4} << 20;

// A script without the right to be executed is one of Python's.
std::vector<std::string> CommandOf(const std::string& program) {
  if (program.ends_with(".py") && ::access(program.c_str(), X_OK) != 0) return {"python3", program};
  return {program.find('/') == std::string::npos ? "./" + program : program};
}

// Says what to do where the system's words about a program that does not start mislead.
Result<std::unique_ptr<LineChild>> Advised(Result<std::unique_ptr<LineChild>> child, const std::string& path) {
  if (child.ok() || ::access(path.c_str(), F_OK) != 0) return child;
  struct stat what {};
  if (::stat(path.c_str(), &what) == 0 && S_ISDIR(what.st_mode))
    return Invalid("start " + Quote(path) + ": it is a directory");
  const Status& failed = child.status();
  if (::access(path.c_str(), X_OK) != 0 && !path.ends_with(".py"))
    return Status(failed.code(), failed.message() + "; it is not executable: chmod +x makes it so");
  if (failed.message().find(std::strerror(ENOEXEC)) != std::string::npos)
    return Status(failed.code(), failed.message() + "; a script begins with #! and its interpreter");
  if (failed.message().find(std::strerror(ENOENT)) == std::string::npos) return child;
  return Status(failed.code(), failed.message() +
                                   "; the file is there, but not the interpreter that its first line names (with line "
                                   "ends of Windows the name has one more character)");
}

Result<Kind> ReadHello(const std::string& program, std::string_view line) {
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
  return kind == "ranking" ? Kind::kRanking : Kind::kAssignment;
}

class Program final : public Adviser {
 public:
  Program(std::string name, std::unique_ptr<LineChild> child, Kind kind)
      : name_(std::move(name)), child_(std::move(child)), kind_(kind) {}

  Kind kind() const override { return kind_; }
  Result<Reply> Ask(std::string_view question, std::uint64_t number, Micros patience) override {
    std::string end;
    const auto begin = std::chrono::steady_clock::now();
    MILLRACE_ASSIGN(std::string answer, child_->Ask(question, "seen", patience, kMostAnswerBytes, &end));
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    if (end != "seen " + std::to_string(number))
      return Invalid(Quote(name_) + " answered " + Quote(end) + " to question " + std::to_string(number));
    return Reply{std::move(answer), took.count()};
  }
  std::string Transcript() const override { return child_->Transcript(); }

 private:
  const std::string name_;
  const std::unique_ptr<LineChild> child_;
  const Kind kind_;
};

}  // namespace

Result<std::unique_ptr<LineChild>> LaunchHere(const std::string& program) {
  return Advised(LineChild::Start(LineCommand{.argv = CommandOf(program), .name = program}), program);
}

Result<std::unique_ptr<LineChild>> LaunchAlone(const sandbox::Alone& alone, const std::string& program) {
  // Its working directory is another.
  const std::unique_ptr<char, decltype(&::free)> path(::realpath(program.c_str(), nullptr), ::free);
  if (path == nullptr) return FromErrno(errno, "start " + Quote(program));
  return Advised(alone.Start(program, CommandOf(path.get()), {path.get()}), path.get());
}

Result<std::unique_ptr<Adviser>> Start(const Launch& launch, const std::string& program, std::string_view clock,
                                       Micros patience) {
  MILLRACE_ASSIGN(std::unique_ptr<LineChild> child, launch(program));
  const std::string hello = "hello " + std::string(kVersion) + " clock=" + std::string(clock) + "\n";
  std::string line;
  const Result<std::string> before = child->Ask(hello, "hello", patience, kMostHelloBytes, &line);
  if (!before.ok()) return Status(StatusCode::kIo, "before it said hello, " + before.status().message());
  if (!before->empty()) return Invalid(Quote(program) + " began with " + Quote(*before) + " in place of hello");
  MILLRACE_ASSIGN(const Kind kind, ReadHello(program, line));
  return std::unique_ptr<Adviser>(std::make_unique<Program>(program, std::move(child), kind));
}

}  // namespace millrace::outside
