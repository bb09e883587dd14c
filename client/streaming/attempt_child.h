// SPDX-License-Identifier: Apache-2.0
// AttemptChild is a child at work for an attempt: started where its files are, with the attempt's facts in its
// environment, its reports taken, and its end told in a sentence.
// Thread rule: the task's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job/task_context.h"
#include "client/streaming/child.h"
#include "client/streaming/child_log.h"
#include "client/streaming/pack.h"
#include "client/streaming/settings.h"

namespace millrace::streaming {

// What all children of a process have in common.
struct ProcessFacts {
  std::string executable;  // of this process
  Pack pack;               // of the executable
};

// The input of a map that a child reads.
struct ChildInput {
  std::string path, name;
  std::uint32_t index = 0;
  std::uint64_t offset = 0, length = 0;
};

// Returns the environment of a child: this process's without PYTHONUNBUFFERED, which makes Python write every line by
// itself and is set by many images; `directory` first in PATH; the attempt's facts under the names that Hadoop has for
// them; and the settings' own, which come last and prevail. `input` is null in a reduce.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> EnvironmentOf(const TaskContext& context,
                                                                             const Settings& settings,
                                                                             const std::string& directory,
                                                                             const ChildInput* input);

// Makes a directory of the attempt's own for its children, which has the packed files, and returns its path.
[[nodiscard]] Result<std::string> MakeChildDirectory(const TaskContext& context, const ProcessFacts& facts);

// Makes a log that counts in the context and writes to this process's standard error.
[[nodiscard]] ChildLog LogOf(TaskContext& context);

class AttemptChild {
 public:
  struct Role {
    std::string name;  // "mapper"
    std::string command;
    bool failure_counts = true;
  };
  // Starts the child, in an attempt's directory. Requires: `context` outlives this.
  AttemptChild(TaskContext& context, Role role) : role_(std::move(role)), log_(LogOf(context)) {}
  AttemptChild(const AttemptChild&) = delete;
  AttemptChild& operator=(const AttemptChild&) = delete;

  [[nodiscard]] Status Start(const std::string& directory, std::vector<std::pair<std::string, std::string>> environment,
                             Child::Take output);
  [[nodiscard]] Status Give(std::string_view bytes) { return child_->Give(bytes); }
  // Ends the child's input and waits for its end. Returns kInvalid, in a sentence with its command, its end, `place`
  // and its last lines, if it failed.
  [[nodiscard]] Status Finish(const std::string& place);
  // Returns a failure of this child, with its last lines.
  [[nodiscard]] Status Failure(const std::string& what, const std::string& place) const;
  [[nodiscard]] std::uint64_t left() const { return child_->left(); }

 private:
  const Role role_;
  ChildLog log_;
  std::optional<Child> child_;
};

}  // namespace millrace::streaming
