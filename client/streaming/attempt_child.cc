// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/attempt_child.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/file.h"
#include "base/text.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::streaming {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string PathWith(const std::string& directory, const std::string& path) {
  return path.empty() ? directory : directory + ":" + path;
}

void AddFacts(const TaskContext& context, const ChildInput* input, Pairs* all) {
  const TaskContext::Facts& facts = context.facts();
  const bool map = !facts.attempt.task.reduce();
  const std::string attempt = ToText(facts.attempt), task = attempt.substr(0, attempt.rfind('.'));
  const std::string job = attempt.substr(0, attempt.find('.'));
  const std::string partition = std::to_string(facts.attempt.task.index);
  const auto put = [all](std::initializer_list<const char*> names, const std::string& value) {
    for (const char* name : names) all->emplace_back(name, value);
  };
  put({"mapreduce_job_id", "mapred_job_id"}, job);
  put({"mapreduce_job_name", "mapred_job_name"}, facts.job_name);
  put({"mapreduce_task_id", "mapred_tip_id"}, task);
  put({"mapreduce_task_attempt_id", "mapred_task_id"}, attempt);
  put({"mapreduce_task_partition", "mapred_task_partition"}, partition);
  put({"mapreduce_task_ismap", "mapred_task_is_map"}, map ? "true" : "false");
  put({"mapreduce_job_maps", "mapred_map_tasks"}, std::to_string(facts.maps));
  put({"mapreduce_job_reduces", "mapred_reduce_tasks"}, std::to_string(facts.reduces));
  if (input == nullptr) return;
  put({"mapreduce_map_input_file", "map_input_file"}, input->path);
  put({"mapreduce_map_input_start", "map_input_start"}, std::to_string(input->offset));
  put({"mapreduce_map_input_length", "map_input_length"}, std::to_string(input->length));
  put({"millrace_input_name"}, input->name);
  put({"millrace_input_index"}, std::to_string(input->index));
}

void WriteLog(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return;  // a full disk must not fail a task for its log
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> EnvironmentOf(const TaskContext& context, const Settings& settings,
                                                               const std::string& directory, const ChildInput* input) {
  Pairs all;
  std::string path;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view text = *setting;
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (equals == std::string_view::npos || name == "PYTHONUNBUFFERED") continue;
    if (name == "PATH") {
      path = text.substr(equals + 1);
    } else {
      all.emplace_back(name, text.substr(equals + 1));
    }
  }
  all.emplace_back("PATH", PathWith(directory, path));
  AddFacts(context, input, &all);
  all.insert(all.end(), settings.environment.begin(), settings.environment.end());
  // The last of a name prevails; programs differ in which of two they see.
  std::set<std::string> seen;
  Pairs once;
  for (auto pair = all.rbegin(); pair != all.rend(); ++pair) {
    if (seen.insert(pair->first).second) once.push_back(std::move(*pair));
  }
  return once;
}

Result<std::string> MakeChildDirectory(const TaskContext& context, const ProcessFacts& facts) {
  const std::string directory = context.facts().scratch + "/child";
  MILLRACE_TRY(RemoveTree(directory));
  MILLRACE_TRY(MakeDirectories(directory));
  if (facts.pack.files.empty()) return directory;
  MILLRACE_ASSIGN(const std::string files, Unpack(facts.pack, facts.executable, context.shared_directory()));
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(files));
  for (const std::string& name : names) {
    const std::string link = directory + "/" + name, target = files + "/" + name;
    if (::symlink(target.c_str(), link.c_str()) != 0) return FromErrno(errno, "make the link " + Quote(link));
  }
  return directory;
}

ChildLog LogOf(TaskContext& context) {
  return ChildLog({[&context](std::string_view group, std::string_view name, std::int64_t amount) {
                     context.counter(group, name).Add(amount);
                     context.values_taken().fetch_add(1, std::memory_order_relaxed);
                   },
                   [&context](std::string_view status) {
                     context.set_status(std::string(status));
                     context.values_taken().fetch_add(1, std::memory_order_relaxed);
                   },
                   WriteLog});
}

Status AttemptChild::Start(const std::string& directory, Pairs environment, Child::Take output) {
  const ChildCommand command{role_.command, directory, std::move(environment), ChildLine::kStandard};
  MILLRACE_ASSIGN(Child child,
                  Child::Start(command, std::move(output), [this](std::string_view bytes) { log_.Take(bytes); }));
  child_.emplace(std::move(child));
  return Status::Ok();
}

Status AttemptChild::Failure(const std::string& what, const std::string& place) const {
  std::string text = "the " + role_.name + " " + Quote(role_.command, 200) + " " + what + place;
  const std::string last = log_.LastLines();
  return Invalid(text +
                 (last.empty() ? "; it wrote nothing to standard error" : "; the end of its standard error: " + last));
}

Status AttemptChild::Finish(const std::string& place) {
  const Result<int> end = child_->Finish();
  log_.End();
  if (!end.ok()) return Failure("failed: " + end.status().message(), place);
  if (*end == 0 || (!role_.failure_counts && WIFEXITED(*end))) return Status::Ok();
  return Failure(EndInWords(*end), place);
}

}  // namespace millrace::streaming
