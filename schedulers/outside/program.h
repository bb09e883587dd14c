// SPDX-License-Identifier: Apache-2.0
// A program that orders jobs (docs/schedulers/external.md has the lines), for the drivers of the engine: the simulator
// and the master. A program is started, says hello, and then answers questions (schedulers/core/outside.h). Thread
// rule: a program is started, asked and ended on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids/time.h"
#include "base/line_child.h"
#include "base/sandbox/alone.h"
#include "base/status.h"
#include "schedulers/core/outside.h"

namespace millrace::outside {

using Kind = sched::OutsideTerms::Kind;

class Adviser {
 public:
  virtual ~Adviser() = default;
  struct Reply {
    std::string answer;
    Micros took = 0;
  };
  // Returns the kind that the program is of, as it said.
  [[nodiscard]] virtual Kind kind() const = 0;
  // `question` is what Outside::Describe returned for question `number`. Fails if there is no answer within
  // `patience`, and then there will be none to other questions.
  virtual Result<Reply> Ask(std::string_view question, std::uint64_t number, Micros patience) = 0;
  // Returns what was said last, in both directions, for people.
  [[nodiscard]] virtual std::string Transcript() const = 0;
};

// Starts the process of a program.
using Launch = std::function<Result<std::unique_ptr<LineChild>>(const std::string& program)>;
// With the rights, the directory and the environment of this process. A program without a slash lies in the working
// directory. A file that ends with .py and is not executable is run by python3.
[[nodiscard]] Result<std::unique_ptr<LineChild>> LaunchHere(const std::string& program);
// Confined; the program itself may be read.
[[nodiscard]] Result<std::unique_ptr<LineChild>> LaunchAlone(const sandbox::Alone& alone, const std::string& program);

// Starts the program of that name, wherever it lies.
using Starter = std::function<Result<std::unique_ptr<Adviser>>(const std::string& program)>;

// Programs take a while to start: an interpreter on a busy machine.
inline constexpr Micros kHelloPatience = 20 * kSecond;
// Starts the program and exchanges hellos with it; `clock` tells it which time it will see: "simulated" or "live".
// Fails if it says something else, or nothing.
[[nodiscard]] Result<std::unique_ptr<Adviser>> Start(const Launch& launch, const std::string& program,
                                                     std::string_view clock, Micros patience = kHelloPatience);

}  // namespace millrace::outside
