// SPDX-License-Identifier: Apache-2.0
#include "client/process/task_loop.h"

#include <capnp/message.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/job/job_options.h"
#include "client/job/side_files.h"
#include "client/process/attempt_runner.h"
#include "client/process/dfs_source.h"
#include "client/process/memory_limit.h"
#include "client/process/processor_meter.h"
#include "client/process/progress_reporter.h"
#include "client/process/task_messages.h"
#include "worker/task/channel/channel.h"

namespace millrace {
namespace {

// Sends the descriptor's output to the file. An empty path leaves it as it is.
Status Redirect(int fd, const std::string& path) {
  if (path.empty()) return Status::Ok();
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_WRONLY | O_CREAT | O_APPEND));
  if (::dup2(file.get(), fd) < 0) return FromErrno(errno, "redirect output to " + path);
  return Status::Ok();
}

// Flushes what user code wrote, since it belongs to the log of its attempt and not to the next one's.
void FlushOutput() {
  std::cout.flush();
  std::fflush(nullptr);
}

class TaskLoop {
 public:
  TaskLoop(std::span<const JobBinding> jobs, Fd channel, TaskLoopOptions options)
      : jobs_(jobs), channel_(std::move(channel)), options_(std::move(options)) {}

  Status Serve() {
    while (true) {
      MILLRACE_ASSIGN(const std::optional<task::Message> message, channel_.Read());
      if (!message) return Status::Ok();
      MILLRACE_ASSIGN(const ToTask order, DecodeToTask(*message));
      if (std::holds_alternative<Exit>(order)) return Status::Ok();
      if (const auto* set_up = std::get_if<SetUp>(&order)) MILLRACE_TRY(Prepare(*set_up));
      if (const auto* map = std::get_if<MapLaunch>(&order)) MILLRACE_TRY(Run(*map, &AttemptRunner::Map));
      if (const auto* credentials = std::get_if<tls::CredentialTexts>(&order)) MILLRACE_TRY(Renew(*credentials));
      if (const auto* reduce = std::get_if<ReduceLaunch>(&order)) MILLRACE_TRY(Run(*reduce, &AttemptRunner::Reduce));
    }
  }

 private:
  struct Prepared {
    SetUp set_up;
    JobOptions options;
    std::shared_ptr<tls::Credentials> credentials;  // null without TLS
    std::optional<Storage> storage;
    std::optional<DfsInput> files;
    std::optional<AttemptRunner> runner;
  };

  Status Prepare(const SetUp& set_up) {
    prepared_ = std::make_unique<Prepared>();
    prepared_->set_up = set_up;
    const JobBinding& binding = jobs_[MeantJob(jobs_, set_up)];
    if (set_up.memory_limit != 0) LimitMemory(set_up.memory_limit);
    binding.declare(prepared_->options);
    Status status = SetOptions();
    dfs::ClientOptions client;
    if (status.ok()) status = TakeCredentials(set_up.credentials, &client);
    client.master = set_up.master;
    prepared_->credentials = client.credentials;
    client.cluster = set_up.cluster;
    client.cluster_advice = "it is that of this task's worker";
    client.node = set_up.node;
    client.owner = set_up.owner;
    client.patience = client.call_timeout;  // so that a restarted master costs no attempt
    prepared_->storage.emplace(options_.storage, std::move(client));
    prepared_->files.emplace(*prepared_->storage);
    prepared_->runner.emplace(binding, prepared_->set_up, *prepared_->storage, options_.random);
    if (!status.ok()) prepared_.reset();
    capnp::MallocMessageBuilder message;
    EncodeReady(status.message(), &message);
    return channel_.Write(message);
  }

  static Status TakeCredentials(const tls::CredentialTexts& texts, dfs::ClientOptions* client) {
    if (texts.authorities.empty()) return Status::Ok();
    MILLRACE_ASSIGN(client->credentials, tls::Credentials::From(texts));
    return Status::Ok();
  }

  Status Renew(const tls::CredentialTexts& texts) {
    return prepared_ == nullptr || prepared_->credentials == nullptr ? Status::Ok()
                                                                     : prepared_->credentials->Replace(texts);
  }

  // Takes what the daemon says in mid-attempt, on the reporter's thread. Only one thing can be said then.
  void TakeOrder() {
    const Status taken = [&]() -> Status {
      MILLRACE_ASSIGN(const std::optional<task::Message> message, channel_.Read());
      if (!message) return Unavailable("the daemon is gone");
      MILLRACE_ASSIGN(const ToTask order, DecodeToTask(*message));
      const auto* credentials = std::get_if<tls::CredentialTexts>(&order);
      return credentials != nullptr ? Renew(*credentials) : Corrupt("an order came while another was carried out");
    }();
    if (!taken.ok()) options_.daemon_gone();
  }

  Status SetOptions() {
    for (const auto& [name, value] : prepared_->set_up.parameters) MILLRACE_TRY(prepared_->options.Set(name, value));
    return prepared_->options.Validate();
  }

  template <class LaunchOf>
  Status Run(const LaunchOf& launch,
             Result<std::vector<TaskOutput>> (AttemptRunner::*run)(const LaunchOf&, TaskContext&)) {
    capnp::MallocMessageBuilder answer;
    if (prepared_ == nullptr) {
      EncodeFailed(launch.attempt, Internal("the task process was not set up for a job"), &answer);
      return channel_.Write(answer);
    }
    meter_.Begin();
    const SetUp& set_up = prepared_->set_up;
    const std::uint64_t asked = prepared_->options.engine().task_memory;
    const std::uint64_t memory = set_up.memory != 0 ? std::min(set_up.memory, asked) : asked;
    SideFiles side_files(*prepared_->files,
                         {set_up.shared_directory, prepared_->options.engine().mapped_files, set_up.reserved_bytes});
    TaskContext context({launch.attempt, set_up.name, set_up.maps, set_up.reduces, launch.scratch, memory},
                        prepared_->options, side_files);
    const Result<std::vector<TaskOutput>> result = [&]() -> Result<std::vector<TaskOutput>> {
      MILLRACE_TRY(Redirect(STDOUT_FILENO, launch.stdout_path));
      MILLRACE_TRY(Redirect(STDERR_FILENO, launch.stderr_path));
      const std::function<void()> order = [this] { TakeOrder(); };
      const ProgressReporter reporter(channel_, context, options_.progress_interval, order, options_.daemon_gone);
      return (*prepared_->runner.*run)(launch, context);
    }();
    FlushOutput();
    if (result.ok()) {
      EncodeDone(launch.attempt, context.counters().Snapshot(), *result, meter_.End(), &answer);
    } else {
      EncodeFailed(launch.attempt, result.status(), &answer);
    }
    return channel_.Write(answer);
  }

  const std::span<const JobBinding> jobs_;
  task::Channel channel_;
  TaskLoopOptions options_;
  ProcessorMeter meter_;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace

std::size_t MeantJob(std::span<const JobBinding> jobs, const SetUp& set_up) {
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (const auto& [name, value] : set_up.parameters) {
      if (name == kPipelineJob && value == std::to_string(job)) return job;
    }
  }
  return 0;
}

int RunTaskLoop(std::span<const JobBinding> jobs, Fd channel, TaskLoopOptions options) {
  TaskLoop loop(jobs, std::move(channel), std::move(options));
  const Status status = loop.Serve();
  if (status.ok() || status.code() == StatusCode::kUnavailable) return 0;
  std::fprintf(stderr, "task: %s\n", status.message().c_str());
  return 1;
}

}  // namespace millrace
