#include "client/process/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/text.h"
#include "client/job/job_options.h"
#include "client/job/part_name.h"
#include "client/job/read_files.h"
#include "client/process/attempt_runner.h"
#include "client/process/storage.h"
#include "client/process/task_messages.h"
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

// The place of what the map writes: a new directory, or one that goes with this.
class OutputPlace {
 public:
  static Result<OutputPlace> Make(const std::string& directory) {
    if (directory.empty()) {
      MILLRACE_ASSIGN(TempDir dropped, TempDir::Make("millrace-rerun-output-"));
      std::string path = dropped.path();
      return OutputPlace(std::move(path), std::move(dropped));
    }
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

dfs::ClientOptions ClientOptionsOf(const SetUp& set_up) {
  dfs::ClientOptions client;
  client.master = set_up.master;
  client.cluster = set_up.cluster;
  client.cluster_advice = "it is that of the attempt's job";
  client.owner = set_up.owner;
  return client;
}

Status RunTo(const std::string& path, AttemptRunner& runner, const MapLaunch& launch, TaskContext& context) {
  std::optional<Fd> file;
  const auto open = [&]() -> Status {
    if (file) return Status::Ok();
    MILLRACE_ASSIGN(file, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
    return Status::Ok();
  };
  OutputFile output(
      [&](std::string_view bytes) -> Status {
        MILLRACE_TRY(open());
        return WriteAll(file->get(), bytes, path);
      },
      open);
  MILLRACE_TRY(runner.MapTo(launch, context, &output));
  return context.facts().reduces > 0 ? Status::Ok() : output.Finish();
}

}  // namespace

Result<std::vector<CounterValue>> RerunMap(const JobBinding& binding, const std::string& launch_file,
                                           const std::string& output) {
  task::FrameParser parser;
  MILLRACE_ASSIGN(const std::string bytes, ReadWholeFile(launch_file));
  parser.Feed(bytes);
  MILLRACE_ASSIGN(const SetUp set_up, NextOf<SetUp>(parser, launch_file));
  MILLRACE_ASSIGN(MapLaunch launch, NextOf<MapLaunch>(parser, launch_file));
  JobOptions options;
  binding.declare(options);
  for (const auto& [name, value] : set_up.parameters) MILLRACE_TRY(options.Set(name, value));
  MILLRACE_TRY(options.Validate());

  MILLRACE_ASSIGN(const TempDir scratch, TempDir::Make("millrace-rerun-scratch-"));
  MILLRACE_ASSIGN(const OutputPlace place, OutputPlace::Make(output));
  launch.scratch = scratch.path();
  launch.run_file = place.PathOf("map.run");
  const StorageAccess access = RealStorage();
  Storage storage(access, ClientOptionsOf(set_up));
  const auto read_side_file = [&storage](const std::string& path) -> Result<std::string> {
    MILLRACE_ASSIGN(dfs::DfsClient * client, storage.Client());
    return ReadWhole(*client, path, kMostSideFileBytes);
  };
  TaskContext context(
      {launch.attempt, set_up.name, set_up.maps, set_up.reduces, launch.scratch, options.engine().task_memory}, options,
      read_side_file);
  Random random(kSeed);
  AttemptRunner runner(binding, set_up, storage, random);
  if (const Status run = RunTo(place.PathOf(PartName(launch.attempt.task)), runner, launch, context); !run.ok()) {
    place.Drop();
    return Status(run.code(), ToText(launch.attempt) + ": " + run.message());
  }
  return context.counters().Snapshot();
}

}  // namespace millrace
