// SPDX-License-Identifier: Apache-2.0
// ProcessRunner runs attempts in processes of their job's executable (`EXECUTABLE --millrace-task`; descriptor 3 is the
// channel of worker/task). A process runs one attempt at a time and stays warm for further attempts of its job, of
// either kind. A process that fails, or whose attempt is killed, is not used again.
//
// Nothing that a task does delays the control thread. Inspecting and releasing the remains of an ended process (its
// logs, its gate, its cgroup, its orphans) may take as long as the task likes, and is done in the background. Thread
// rule: the control thread, which must be the process's main thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/rpc/background.h"
#include "base/rpc/task_group.h"
#include "base/tls/credentials.h"
#include "worker/daemon/process/confiner.h"
#include "worker/daemon/process/task_process.h"
#include "worker/daemon/process/task_runner.h"
#include "worker/sandbox/task_directories.h"

namespace millrace::worker {

struct ProcessLimits {
  std::string minder;              // the program that is each process's parent (spawn.h)
  std::string logs_directory;      // for output before the first attempt: <logs>/<job>/process.err
  std::size_t warm_processes = 8;  // idle processes that are kept
  kj::Duration warm_idle = 60 * kj::SECONDS;
  kj::Duration start_timeout = 60 * kj::SECONDS;  // for a process to be ready
  std::uint64_t memory_limit = 0;                 // RLIMIT_DATA; 0: none
  // Returns the credentials with which a process acts for a user; null without TLS.
  std::function<Result<tls::CredentialTexts>(const std::string& user)> credentials = {};
  kj::Duration renew_credentials = tls::kTaskValidity / 2 * kj::MICROSECONDS;  // until it gets new ones
  std::string jobs_directory;                                                  // its subdirectory <job> is the job's
  const sandbox::TaskDirectories* files = nullptr;  // for opening logs and notes; outlives the runner
  Confiner* confiner = nullptr;                     // null: processes are not confined; it outlives the runner
};

class ProcessRunner final : public TaskRunner {
 public:
  // `ends` finds out how attempts failed; `orphans` reads the memory of processes that tasks left behind. Neither
  // should have other work, since tasks may keep them waiting. Requires: both Backgrounds outlive the runner.
  ProcessRunner(const ProcessLoop& loop, ProcessLimits limits, rpc::Background& ends, rpc::Background& orphans,
                Log log);
  // Kills every process, and waits at most two seconds for all to end. Those that have not ended by then end with this
  // process.
  ~ProcessRunner() noexcept override;

  void Observe(TaskObserver* observer) override { observer_ = observer; }
  void SetUpJob(JobId job, std::string executable, OwnedMessage<task::wire::SetUp> set_up) override;
  void RunMap(OwnedMessage<task::wire::RunMap> launch) override;
  void RunReduce(OwnedMessage<task::wire::RunReduce> launch) override;
  [[nodiscard]] kj::Promise<void> Kill(const AttemptId& attempt) override;
  [[nodiscard]] kj::Promise<void> EndJob(JobId job) override;
  [[nodiscard]] kj::Promise<void> ForgetJob(JobId job) override;

  [[nodiscard]] std::size_t processes() const { return processes_.size(); }

 private:
  enum class ProcessState { kStarting, kBusy, kIdle, kEnding };
  struct Job {
    std::string executable;
    OwnedMessage<task::wire::SetUp> set_up;
    bool asks_network = false;
  };
  struct Work {
    AttemptId attempt;
    OwnedMessage<task::wire::ToTask> message;
    std::string stderr_file;
    std::string record_note;
  };
  struct Process {
    std::uint64_t serial = 0;
    JobId job;
    ProcessState state = ProcessState::kStarting;
    std::uint64_t idle_since = 0;  // a rising number
    std::optional<Work> work;      // its work now, or once it is ready
    std::string log;
    std::shared_ptr<Confiner::Confined> confined;  // null: it is not confined
    std::shared_ptr<sandbox::SocketGate> gate;     // null: it is not confined
    kj::Own<TaskProcess> process;                  // null if it could not be started
    std::vector<kj::Own<kj::PromiseFulfiller<void>>> gone;
  };
  struct Remains;  // of a process: the evidence of how it failed

  void Run(Work work);
  void Start(Work work);
  // Gives a process credentials of its own, since those of an earlier process may expire before it ends.
  Status GiveCredentials(const std::string& user, task::wire::Credentials::Builder out) const;
  // Gives the process new credentials again and again, for as long as it lives.
  void RenewCredentials(std::uint64_t serial);
  // Starts the process, confined if the limits name a confiner.
  Result<kj::Own<TaskProcess>> StartProcess(const Job& job, Process& process);
  Process* Find(std::uint64_t serial);
  void Message(std::uint64_t serial, task::wire::FromTask::Reader message);
  void Ready(Process& process, const std::string& error);
  void Done(Process& process, task::wire::Done::Reader done);
  void Failed(Process& process, task::wire::Failed::Reader failed);
  void Ended(std::uint64_t serial, const std::string& exit);
  void BecomeIdle(Process& process);
  void Retire(Process& process);
  kj::Promise<void> End(Process& process);
  void After(kj::Duration delay, std::uint64_t serial, std::function<void(Process&)> then);
  // If the process works on an attempt, finds out in the background how the attempt failed, and reports it to the
  // observer. Then releases the remains.
  void TellOfFailure(const Process& process, std::shared_ptr<Remains> remains);
  [[nodiscard]] std::shared_ptr<Remains> RemainsOf(const Process& process, std::string error) const;
  [[nodiscard]] std::string MarkOf(std::uint64_t serial) const;
  // Ends the orphans of the process, repeatedly until none is left, at most `rounds` times.
  void Sweep(std::uint64_t serial, int rounds);

  ProcessLoop loop_;
  ProcessLimits limits_;
  rpc::Background& ends_;
  rpc::Background& orphans_;
  Log log_;
  TaskObserver* observer_ = nullptr;
  std::map<JobId, Job> jobs_;
  std::map<std::uint64_t, std::unique_ptr<Process>> processes_;
  std::uint64_t next_serial_ = 0;
  std::uint64_t idle_count_ = 0;
  std::map<std::uint64_t, AttemptId> failing_;  // failed attempts that the observer does not know of yet
  std::uint64_t next_failing_ = 0;
  std::shared_ptr<ProcessRunner*> self_;
  rpc::TaskGroup tasks_;  // last: they use the members above
};

}  // namespace millrace::worker
