// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/process_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/units.h"
#include "worker/daemon/process/attempt_files.h"
#include "worker/daemon/process/orphans.h"

namespace millrace::worker {
namespace {

constexpr kj::Duration kExitGrace = 5 * kj::SECONDS;  // what a process has that was asked to end
constexpr int kSweeps = 50;
constexpr kj::Duration kSweepPause = 20 * kj::MILLISECONDS;
constexpr std::size_t kTailBytes = std::size_t{4} << 10;

// The addition to the failure of a process that had too little memory, since the kernel kills without a message.
std::string OutOfMemory(const Confiner::Confined* confined) {
  if (confined == nullptr || !confined->cgroup || !confined->cgroup->RanOutOfMemory()) return {};
  return fmt::format(
      "; its processes together, and what they have in /tmp, took more memory than their limit of {}, so that the "
      "kernel killed some; make the job take less, or raise task.memory_limit",
      FormatBytes(confined->cgroup->memory()));
}

// A task's message is passed on to people, but cut to a length.
std::string Brief(std::string said) {
  constexpr std::size_t kMost = std::size_t{4} << 10;
  if (said.size() > kMost) said.resize(kMost);
  return said;
}

}  // namespace

// It is examined in the background, where nothing else uses it.
struct ProcessRunner::Remains {
  const sandbox::TaskDirectories& files;
  std::string error;  // as far as it is known
  std::string stderr_file, process_log, record_note;
  std::shared_ptr<Confiner::Confined> confined;
  std::shared_ptr<sandbox::SocketGate> gate;  // of a process that has ended
  bool permanent = false;

  [[nodiscard]] TaskFailure Examine() const {
    const std::string unconfined = gate == nullptr ? std::string() : gate->Failure();
    TaskFailure failure{unconfined.empty() ? error + OutOfMemory(confined.get())
                                           : "the task process could not be confined: " + unconfined,
                        TailOfFile(files, stderr_file, kTailBytes), std::nullopt};
    // The output of the process before it had a log for the attempt.
    if (failure.stderr_tail.empty()) failure.stderr_tail = TailOfFile(files, process_log, kTailBytes);
    failure.permanent = permanent;
    if (!record_note.empty()) failure.record = task::ReadRecordNote(files.Read(record_note));
    return failure;
  }
};

ProcessRunner::ProcessRunner(const ProcessLoop& loop, ProcessLimits limits, rpc::Background& ends,
                             rpc::Background& orphans, Log log)
    : loop_(loop),
      limits_(std::move(limits)),
      ends_(ends),
      orphans_(orphans),
      log_(std::move(log)),
      self_(std::make_shared<ProcessRunner*>(this)) {}

ProcessRunner::~ProcessRunner() noexcept {
  *self_ = nullptr;
  std::vector<TaskProcess*> running;
  for (const auto& [serial, process] : processes_) {
    if (process->process.get() != nullptr) running.push_back(process->process.get());
  }
  TaskProcess::EndAll(running, std::chrono::seconds(2));
}

void ProcessRunner::SetUpJob(JobId job, std::string executable, OwnedMessage<task::wire::SetUp> set_up) {
  bool asks_network = false;
  for (const auto parameter : set_up.reader().getJob().getParameters()) {
    if (parameter.getName() == "task.network") asks_network = parameter.getValue() == "true";
  }
  jobs_.insert_or_assign(job, Job{std::move(executable), std::move(set_up), asks_network});
}

void ProcessRunner::RunMap(OwnedMessage<task::wire::RunMap> launch) {
  const auto map = launch.reader();
  Work work{FromWire(map.getAttempt()), {}, map.getStderr(), map.getRecordNote()};
  work.message.builder().setMap(map);
  Run(std::move(work));
}

void ProcessRunner::RunReduce(OwnedMessage<task::wire::RunReduce> launch) {
  const auto reduce = launch.reader();
  Work work{FromWire(reduce.getAttempt()), {}, reduce.getStderr(), {}};
  work.message.builder().setReduce(reduce);
  Run(std::move(work));
}

void ProcessRunner::Run(Work work) {
  Process* warm = nullptr;
  for (const auto& [serial, process] : processes_) {
    if (process->state != ProcessState::kIdle || process->job != work.attempt.task.job) continue;
    if (warm == nullptr || process->idle_since > warm->idle_since) warm = process.get();
  }
  if (warm == nullptr) return Start(std::move(work));
  warm->state = ProcessState::kBusy;
  warm->work = std::move(work);
  warm->process->Send(std::move(warm->work->message));
}

void ProcessRunner::Start(Work work) {
  const auto found = jobs_.find(work.attempt.task.job);
  MILLRACE_CHECK(found != jobs_.end(), ToText(work.attempt) + " of a job that is not set up");
  const std::uint64_t serial = next_serial_++;
  Process& process = *(processes_[serial] = std::make_unique<Process>());
  process.serial = serial;
  process.job = work.attempt.task.job;
  process.log = fmt::format("{}/{}/process.err", limits_.logs_directory, process.job.value);
  process.work = std::move(work);
  OwnedMessage<task::wire::ToTask> hello;
  hello.builder().setSetUp(found->second.set_up.reader());
  Status given;
  if (limits_.credentials) {
    auto set_up = hello.builder().getSetUp();
    given = GiveCredentials(set_up.getJob().getOwner().cStr(), set_up.initCredentials());
  }
  auto started = given.ok() ? StartProcess(found->second, process) : Result<kj::Own<TaskProcess>>(given);
  if (!started.ok()) {
    process.state = ProcessState::kEnding;
    tasks_.Add(kj::evalLater([this, serial, why = started.status().message()] { Ended(serial, why); }));
    return;
  }
  process.process = std::move(*started);
  process.process->Send(std::move(hello));
  if (limits_.credentials) RenewCredentials(serial);
  After(limits_.start_timeout, serial, [](Process& late) {
    if (late.state == ProcessState::kStarting)
      late.process->Kill("the task process was not ready within task.start_timeout");
  });
}

Status ProcessRunner::GiveCredentials(const std::string& user, task::wire::Credentials::Builder out) const {
  MILLRACE_ASSIGN(const tls::CredentialTexts texts, limits_.credentials(user));
  out.setAuthorities(texts.authorities);
  out.setCertificate(texts.own.certificate);
  out.setKey(texts.own.key);
  return Status::Ok();
}

void ProcessRunner::RenewCredentials(std::uint64_t serial) {
  After(limits_.renew_credentials, serial, [this](Process& process) {
    const auto job = jobs_.find(process.job);
    if (job == jobs_.end() || process.state == ProcessState::kEnding) return;
    OwnedMessage<task::wire::ToTask> message;
    const Status given =
        GiveCredentials(job->second.set_up.reader().getJob().getOwner().cStr(), message.builder().initCredentials());
    if (given.ok()) {
      process.process->Send(std::move(message));
    } else {
      log_->error("a task process of job {} keeps its certificate: {}", process.job.value, given.message());
    }
    RenewCredentials(process.serial);
  });
}

Result<kj::Own<TaskProcess>> ProcessRunner::StartProcess(const Job& job, Process& process) {
  const std::uint64_t serial = process.serial;
  MILLRACE_TRY(limits_.files->MakeDirectory(process.log.substr(0, process.log.rfind('/')), {}));
  MILLRACE_ASSIGN(const Fd words, limits_.files->Append(process.log));
  SpawnSpec spec{.minder = limits_.minder,
                 .executable = job.executable,
                 .arguments = {"--millrace-task"},
                 .output = words.get(),
                 .memory_limit = limits_.memory_limit,
                 .mark = MarkOf(serial)};
  if (limits_.confiner != nullptr) {
    sandbox::JobPlace place;
    place.job = process.job;
    place.executable = job.executable;
    const std::string own = fmt::format("{}/{}", limits_.jobs_directory, process.job.value);
    place.readable = {own};
    place.writable = {own + "/map", own + "/scratch", own + "/shared", process.log.substr(0, process.log.rfind('/'))};
    place.network = limits_.confiner->MayUseNetwork(job.asks_network);
    const std::uint64_t memory = std::max(limits_.memory_limit, job.set_up.reader().getMemoryLimit());
    MILLRACE_ASSIGN(auto confined, limits_.confiner->Confine(place, serial, memory));
    process.confined = std::make_shared<Confiner::Confined>(std::move(confined));
    spec.launch = &process.confined->launch;
  }
  MILLRACE_ASSIGN(Spawned spawned, Spawn(spec));
  if (process.confined) {
    process.confined->launch.doors.clear();
    process.gate = std::make_shared<sandbox::SocketGate>(
        std::move(spawned.report), sandbox::GateOptions{.user = process.confined->user,
                                                        .peers = process.confined->peers,
                                                        .own_view = process.confined->launch.order.own_view});
  }
  TaskProcess::Events events{[this, serial](task::wire::FromTask::Reader message) { Message(serial, message); },
                             [this, serial](const std::string& how) { Ended(serial, how); }};
  return kj::heap<TaskProcess>(loop_, std::move(spawned), std::move(events));
}

ProcessRunner::Process* ProcessRunner::Find(std::uint64_t serial) {
  const auto found = processes_.find(serial);
  return found == processes_.end() ? nullptr : found->second.get();
}

void ProcessRunner::Message(std::uint64_t serial, task::wire::FromTask::Reader message) {
  Process* process = Find(serial);
  if (process == nullptr || process->state == ProcessState::kEnding) return;
  switch (message.which()) {
    case task::wire::FromTask::READY:
      return Ready(*process, message.getReady().getError());
    case task::wire::FromTask::PROGRESS: {
      const auto progress = message.getProgress();
      if (process->state != ProcessState::kBusy || FromWire(progress.getAttempt()) != process->work->attempt) return;
      if (observer_ != nullptr)
        observer_->TaskProgress(process->work->attempt, OwnedMessage<task::wire::Progress>(progress));
      return;
    }
    case task::wire::FromTask::DONE:
      return Done(*process, message.getDone());
    case task::wire::FromTask::FAILED:
      return Failed(*process, message.getFailed());
  }
  process->process->Kill("the task process sent a message of an unknown kind; was it built for another version?");
}

void ProcessRunner::Ready(Process& process, const std::string& error) {
  if (process.state != ProcessState::kStarting)
    return process.process->Kill("the task process said twice that it is ready");
  if (!error.empty()) return process.process->Kill("the job refuses its set-up: " + Brief(error));
  process.state = ProcessState::kBusy;
  process.process->Send(std::move(process.work->message));
}

void ProcessRunner::Done(Process& process, task::wire::Done::Reader done) {
  if (process.state != ProcessState::kBusy || FromWire(done.getAttempt()) != process.work->attempt) {
    return process.process->Kill("the task process is done with an attempt that it was not given");
  }
  const AttemptId attempt = process.work->attempt;
  OwnedMessage<task::wire::Done> copy(done);
  BecomeIdle(process);
  if (observer_ != nullptr) observer_->TaskDone(attempt, std::move(copy));
}

// Nobody knows in what state the failure has left the process, so it is not used again.
void ProcessRunner::Failed(Process& process, task::wire::Failed::Reader failed) {
  if (process.state != ProcessState::kBusy || FromWire(failed.getAttempt()) != process.work->attempt) {
    return process.process->Kill("the task process failed an attempt that it was not given");
  }
  auto remains = RemainsOf(process, Brief(failed.getError()));
  remains->permanent = failed.getPermanent();
  TellOfFailure(process, std::move(remains));
  process.work.reset();
  Retire(process);
}

void ProcessRunner::Ended(std::uint64_t serial, const std::string& exit) {
  const auto found = processes_.find(serial);
  if (found == processes_.end()) return;
  std::unique_ptr<Process> process = std::move(found->second);
  processes_.erase(found);
  auto remains = RemainsOf(*process, exit);
  remains->gate = std::move(process->gate);
  process->confined.reset();
  TellOfFailure(*process, std::move(remains));
  Sweep(serial, kSweeps);
  for (auto& fulfiller : process->gone) fulfiller->fulfill();
  // The process itself is the caller, so it is destroyed in a later turn.
  tasks_.Add(kj::evalLater([over = kj::heap<std::unique_ptr<Process>>(std::move(process))] {}));
}

std::shared_ptr<ProcessRunner::Remains> ProcessRunner::RemainsOf(const Process& process, std::string error) const {
  return std::make_shared<Remains>(
      Remains{*limits_.files, std::move(error), process.work ? process.work->stderr_file : std::string(), process.log,
              process.work ? process.work->record_note : std::string(), process.confined, nullptr});
}

void ProcessRunner::TellOfFailure(const Process& process, std::shared_ptr<Remains> remains) {
  const std::uint64_t number = next_failing_++;
  if (process.work) failing_[number] = process.work->attempt;
  const auto failure = std::make_shared<TaskFailure>();
  // The last owner of the remains is the work.
  ends_.Run(
      [failure, remains = std::move(remains)]() mutable {
        *failure = remains->Examine();
        remains.reset();
      },
      rpc::WhileAlive(self_, [failure, number](ProcessRunner& runner) {
        const auto failed = runner.failing_.find(number);
        if (failed == runner.failing_.end()) return;
        const AttemptId attempt = failed->second;
        runner.failing_.erase(failed);
        runner.log_->info("{} failed: {}", ToText(attempt), failure->error);
        if (runner.observer_ != nullptr) runner.observer_->TaskFailed(attempt, std::move(*failure));
      }));
}

void ProcessRunner::BecomeIdle(Process& process) {
  process.work.reset();
  process.state = ProcessState::kIdle;
  process.idle_since = ++idle_count_;
  After(limits_.warm_idle, process.serial, [this, since = process.idle_since](Process& idle) {
    if (idle.state == ProcessState::kIdle && idle.idle_since == since) Retire(idle);
  });
  std::vector<Process*> idle;
  for (const auto& [serial, other] : processes_) {
    if (other->state == ProcessState::kIdle) idle.push_back(other.get());
  }
  if (idle.size() <= limits_.warm_processes) return;
  Retire(**std::min_element(idle.begin(), idle.end(), [](auto a, auto b) { return a->idle_since < b->idle_since; }));
}

void ProcessRunner::Retire(Process& process) {
  process.state = ProcessState::kEnding;
  OwnedMessage<task::wire::ToTask> exit;
  exit.builder().setExit();
  process.process->Send(std::move(exit));
  After(kExitGrace, process.serial,
        [](Process& still) { still.process->Kill("the task process did not end when asked"); });
}

kj::Promise<void> ProcessRunner::End(Process& process) {
  process.state = ProcessState::kEnding;
  process.work.reset();
  auto gone = kj::newPromiseAndFulfiller<void>();
  process.gone.push_back(kj::mv(gone.fulfiller));
  if (process.process.get() != nullptr) process.process->Kill("killed");
  return kj::mv(gone.promise);
}

kj::Promise<void> ProcessRunner::Kill(const AttemptId& attempt) {
  std::erase_if(failing_, [&](const auto& failed) { return failed.second == attempt; });
  for (const auto& [serial, process] : processes_) {
    if (process->work && process->work->attempt == attempt) return End(*process);
  }
  return kj::READY_NOW;
}

kj::Promise<void> ProcessRunner::ForgetJob(JobId job) {
  jobs_.erase(job);
  return EndJob(job);
}

kj::Promise<void> ProcessRunner::EndJob(JobId job) {
  std::erase_if(failing_, [&](const auto& failed) { return failed.second.task.job == job; });
  kj::Vector<kj::Promise<void>> ends;
  for (const auto& [serial, process] : processes_) {
    if (process->job == job) ends.add(End(*process));
  }
  return kj::joinPromises(ends.releaseAsArray());
}

void ProcessRunner::After(kj::Duration delay, std::uint64_t serial, std::function<void(Process&)> then) {
  tasks_.Add(loop_.timer.afterDelay(delay).then([this, serial, then = std::move(then)] {
    if (Process* process = Find(serial)) then(*process);
  }));
}

std::string ProcessRunner::MarkOf(std::uint64_t serial) const { return fmt::format("{}.{}", getpid(), serial); }

// Each round kills what it finds. Their children come to this process once their parents are gone, and the next round
// finds them.
void ProcessRunner::Sweep(std::uint64_t serial, int rounds) {
  std::set<pid_t> ours;
  for (const auto& [number, process] : processes_) {
    if (process->process.get() != nullptr) ours.insert(process->process->minder());
  }
  const auto orphans = std::make_shared<std::vector<Orphan>>(ReapOrphans(ours));
  if (orphans->empty() || rounds == 0) return;
  const auto again = std::make_shared<std::size_t>(0);
  orphans_.Run([orphans, again, mark = MarkOf(serial)] { *again = KillMarked(*orphans, mark); },
               rpc::WhileAlive(self_, [again, serial, rounds](ProcessRunner& runner) {
                 if (*again == 0) return;
                 runner.tasks_.Add(runner.loop_.timer.afterDelay(kSweepPause).then([&runner, serial, rounds] {
                   runner.Sweep(serial, rounds - 1);
                 }));
               }));
}

}  // namespace millrace::worker
