// SPDX-License-Identifier: Apache-2.0
#include "client/process/rerun.h"

#include <errno.h>
#include <sys/stat.h>

#include <optional>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "client/job/job_options.h"
#include "client/job/output_files.h"
#include "client/job/side_files.h"
#include "client/process/attempt_runner.h"
#include "client/process/dfs_source.h"
#include "client/process/storage.h"
#include "client/process/task_loop.h"
#include "client/process/task_messages.h"
#include "client/solo/local_output.h"
#include "worker/task/channel/channel.h"

namespace millrace {
namespace {

constexpr std::uint64_t kSeed = 1;  // so that a run in a debugger can be repeated

template <class Order>
Result<Order> NextOf(task::FrameParser& parser, const std::string& file) {
  MILLRACE_ASSIGN(const std::optional<task::Message> message, parser.Next());
  if (!message) return Corrupt(Quote(file) + " ends before the launch of a map is complete");
  MILLRACE_ASSIGN(ToTask order, DecodeToTask(*message));
  if (Order* const found = std::get_if<Order>(&order)) return std::move(*found);
  return Corrupt(Quote(file) + " is not the launch of a map");
}

// The directory of the map's output: a new one, or a temporary one that is removed with this object.
class OutputPlace {
 public:
  static Result<OutputPlace> Make(const std::string& directory) {
    if (directory.empty()) {
      MILLRACE_ASSIGN(TempDir dropped, TempDir::Make("millrace-rerun-output-"));
      std::string path = dropped.path();
      return OutputPlace(std::move(path), std::move(dropped));
    }
    MILLRACE_TRY(CheckNewDirectory(directory));
    if (::mkdir(directory.c_str(), 0777) != 0) return FromErrno(errno, "make " + Quote(directory));
    return OutputPlace(directory, std::nullopt);
  }
  [[nodiscard]] std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  // Removes the directory, after a failure.
  void Drop() const { (void)RemoveTree(path_); }

 private:
  OutputPlace(std::string path, std::optional<TempDir> dropped)
      : path_(std::move(path)), dropped_(std::move(dropped)) {}
  std::string path_;
  std::optional<TempDir> dropped_;
};

Result<dfs::ClientOptions> ClientOptionsOf(const SetUp& set_up) {
  dfs::ClientOptions client;
  MILLRACE_ASSIGN(client.credentials, tls::CredentialsOfUser());
  client.master = set_up.master;
  client.cluster = set_up.cluster;
  client.cluster_advice = "it is that of the attempt's job";
  client.owner = set_up.owner;
  return client;
}

Status RunTo(const OutputPlace& place, AttemptRunner& runner, const MapLaunch& launch, TaskContext& context) {
  if (context.facts().reduces > 0) return runner.MapTo(launch, context, nullptr);
  OutputFiles output(launch.attempt.task,
                     [&place](const std::string& name) { return solo::MakeLocalOutput(place.PathOf(name)); });
  MILLRACE_TRY(runner.MapTo(launch, context, &output));
  MILLRACE_TRY(output.Finish());
  output.Count(context);
  return Status::Ok();
}

}  // namespace

Result<std::vector<CounterValue>> RerunMap(std::span<const JobBinding> jobs, const std::string& launch_file,
                                           const std::string& output) {
  task::FrameParser parser;
  MILLRACE_ASSIGN(const std::string bytes, ReadWholeFile(launch_file));
  parser.Feed(bytes);
  MILLRACE_ASSIGN(const SetUp set_up, NextOf<SetUp>(parser, launch_file));
  MILLRACE_ASSIGN(MapLaunch launch, NextOf<MapLaunch>(parser, launch_file));
  const JobBinding& binding = jobs[MeantJob(jobs, set_up)];
  JobOptions options;
  binding.declare(options);
  for (const auto& [name, value] : set_up.parameters) MILLRACE_TRY(options.Set(name, value));
  MILLRACE_TRY(options.Validate());

  MILLRACE_ASSIGN(const TempDir scratch, TempDir::Make("millrace-rerun-scratch-"));
  MILLRACE_ASSIGN(const OutputPlace place, OutputPlace::Make(output));
  launch.scratch = scratch.path();
  launch.run_file = place.PathOf("map.run");
  const StorageAccess access = RealStorage();
  MILLRACE_ASSIGN(dfs::ClientOptions client, ClientOptionsOf(set_up));
  Storage storage(access, std::move(client));
  DfsInput files(storage);
  SideFiles side_files(files, {scratch.path() + "/shared"});
  TaskContext context(
      {launch.attempt, set_up.name, set_up.maps, set_up.reduces, launch.scratch, options.engine().task_memory}, options,
      side_files);
  Random random(kSeed);
  AttemptRunner runner(binding, set_up, storage, random);
  if (const Status run = RunTo(place, runner, launch, context); !run.ok()) {
    place.Drop();
    return Status(run.code(), ToText(launch.attempt) + ": " + run.message());
  }
  return context.counters().Snapshot();
}

}  // namespace millrace
