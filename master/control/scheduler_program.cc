// SPDX-License-Identifier: Apache-2.0
#include "master/control/scheduler_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/task_group.h"
#include "base/text.h"
#include "schedulers/core/outside.h"

namespace millrace::master {
namespace {

constexpr std::string_view kPrefix = "relieved-";

// Writes what was said, and removes the oldest files but `kept`. Their names are in the order of their times.
Status WriteDump(const std::string& directory, const std::string& file, const std::string& text, std::size_t kept) {
  MILLRACE_TRY(MakeDirectories(directory));
  MILLRACE_TRY(WriteFileDurably(file, text));
  MILLRACE_ASSIGN(std::vector<std::string> names, ListDirectory(directory));
  std::erase_if(names, [](const std::string& name) { return !name.starts_with(kPrefix); });
  std::sort(names.begin(), names.end(), std::greater<>());
  for (std::size_t i = kept; i < names.size(); ++i) ::unlink((directory + "/" + names[i]).c_str());
  return Status::Ok();
}

bool OrdersAlone(std::string_view answer) {
  while (!answer.empty()) {
    if (!answer.starts_with("order ")) return false;
    answer.remove_prefix(std::min(answer.find('\n'), answer.size() - 1) + 1);
  }
  return true;
}

}  // namespace

struct SchedulerProgram::Child {
  std::string program;
  // On the other thread alone.
  std::unique_ptr<outside::Adviser> adviser;
  Status started;
  // On the control thread alone.
  bool ready = false, busy = false;
  outside::Kind kind = outside::Kind::kRanking;
};

SchedulerProgram::SchedulerProgram(rpc::Background* background, outside::Starter start, std::string dumps,
                                   const MasterClock& clock, const DiskRoom& room, JobTracker& jobs, Steps& steps,
                                   SchedulerChoice& choice, kj::TaskSet& tasks, Log log)
    : background_(background),
      start_(std::move(start)),
      dumps_(std::move(dumps)),
      clock_(clock),
      room_(room),
      jobs_(jobs),
      steps_(steps),
      choice_(choice),
      tasks_(tasks),
      log_(std::move(log)) {}

SchedulerProgram::~SchedulerProgram() { *self_ = nullptr; }

void SchedulerProgram::Run(std::function<void()> work, std::function<void()> then) {
  background_->Run(std::move(work), [self = self_, then = std::move(then)] {
    if (*self != nullptr) then();
  });
}

// ---- starting and ending ----

std::shared_ptr<SchedulerProgram::Child> SchedulerProgram::Begin(const std::string& program,
                                                                 std::function<void(const Status&)> then) {
  auto child = std::make_shared<Child>();
  child->program = program;
  Run(
      [child, start = start_] {
        auto adviser = start(child->program);
        child->started = adviser.status();
        if (adviser.ok()) child->adviser = std::move(*adviser);
      },
      [child, then = std::move(then)] {
        if (child->started.ok()) child->kind = child->adviser->kind();
        child->ready = child->started.ok();
        then(child->started);
      });
  return child;
}

void SchedulerProgram::End(std::shared_ptr<Child> child) {
  if (child == nullptr) return;
  Run([child = std::move(child)] { child->adviser.reset(); }, [] {});
}

kj::Promise<outside::Kind> SchedulerProgram::Admit(const std::string& program) {
  if (background_ == nullptr || !start_)
    return rpc::ToException(Invalid("this master takes no programs: master.programs names no directory for them"));
  End(std::exchange(next_, nullptr));
  auto paf = kj::newPromiseAndFulfiller<outside::Kind>();
  const auto fulfiller = std::make_shared<kj::Own<kj::PromiseFulfiller<outside::Kind>>>(kj::mv(paf.fulfiller));
  const auto started = std::make_shared<std::weak_ptr<Child>>();
  ++admitting_;
  next_ = Begin(program, [this, fulfiller, started](const Status& status) {
    const std::shared_ptr<Child> child = started->lock();
    // Limits that the program in force missed meanwhile are not its fault.
    --admitting_;
    if (const sched::Outside* there = jobs_.outside()) conduct_ = sched::Conduct(there->counts());
    if (!status.ok()) {
      if (child == next_) next_.reset();
      (*fulfiller)->reject(rpc::ToException(status));
    } else if (child == nullptr || child != next_) {
      (*fulfiller)->reject(rpc::ToException(Busy("another program was started meanwhile")));
    } else {
      (*fulfiller)->fulfill(outside::Kind(child->kind));
    }
  });
  *started = next_;
  return kj::mv(paf.promise);
}

// ---- what is due ----

void SchedulerProgram::LookSoon() {
  const bool idle = child_ == nullptr && next_ == nullptr && jobs_.outside() == nullptr;
  if (looks_soon_ || idle) return;
  looks_soon_ = true;
  tasks_.add(kj::evalLater([this] {
    looks_soon_ = false;
    Look();
  }));
}

// Everything that belonged to the policy before goes with it. A program stays if the new one names it, too.
void SchedulerProgram::FollowPolicy(sched::Outside* outside) {
  if (policy_ != jobs_.policies()) {
    policy_ = jobs_.policies();
    whole_ = true;
    answer_.reset();
    orders_.clear();
    failed_.clear();
    conduct_ = outside == nullptr ? sched::Conduct() : sched::Conduct(outside->counts());
    if (next_ != nullptr && outside != nullptr && next_->program == outside->terms().program)
      End(std::exchange(child_, std::exchange(next_, nullptr)));
  }
  if (child_ != nullptr && (outside == nullptr || child_->program != outside->terms().program))
    End(std::exchange(child_, nullptr));
}

void SchedulerProgram::Look() {
  sched::Outside* const outside = jobs_.outside();
  FollowPolicy(outside);
  if (outside == nullptr || outside->terms().program.empty() || room_.Held()) return;
  if (background_ == nullptr || !start_) return Relieve(*outside, "master.programs names no directory for programs");
  if (!failed_.empty()) return Relieve(*outside, failed_);
  if (child_ == nullptr) {
    child_ = Begin(outside->terms().program, [this, policy = policy_](const Status& status) {
      if (policy != policy_) return LookSoon();
      if (!status.ok()) failed_ = status.message();
      // What the policy did while there was nobody to answer is not the program's fault.
      if (const sched::Outside* there = jobs_.outside()) conduct_ = sched::Conduct(there->counts());
      Look();
    });
    return;
  }
  if (!child_->ready) return;
  if (child_->kind != outside->terms().kind) {
    Step step = steps_.Begin();
    choice_.SetKind(child_->kind, &step);
    return steps_.FinishLazily(std::move(step));
  }
  if (answer_) return Apply(*outside);
  if (admitting_ == 0) {
    if (const std::string why = conduct_.Judge(outside->terms(), outside->counts(), clock_.Now()); !why.empty())
      return Relieve(*outside, why);
  }
  if (outside->open() && !child_->busy) Ask(*outside);
}

void SchedulerProgram::Ask(sched::Outside& outside) {
  struct Work {
    std::string question;
    std::optional<Result<outside::Adviser::Reply>> reply;
  };
  auto work = std::make_shared<Work>();
  const std::uint64_t question = *outside.open();
  work->question = outside.Describe(jobs_.cluster(), clock_.Now(), std::exchange(whole_, false));
  child_->busy = true;
  Run([work, child = child_, question,
       patience = outside.terms().patience] { work->reply = child->adviser->Ask(work->question, question, patience); },
      [this, work, child = child_, policy = policy_, question] { Take(child, policy, question, *work->reply); });
}

void SchedulerProgram::Take(const std::shared_ptr<Child>& child, std::uint64_t policy, std::uint64_t question,
                            const Result<outside::Adviser::Reply>& reply) {
  child->busy = false;
  if (child == child_ && !reply.ok()) failed_ = reply.status().message();
  if (child == child_ && policy == policy_ && reply.ok()) answer_ = Answered{question, reply->answer};
  Look();
}

void SchedulerProgram::Apply(sched::Outside& outside) {
  const Answered answer = std::move(*answer_);
  answer_.reset();
  if (const std::string why = outside.Misread(answer.text); !why.empty())
    return Relieve(outside, "its answer to question " + std::to_string(answer.question) + " is none: " + why);
  // The order of a kind that an answer does not name stays. So one that says the same orders again need not be kept
  // whole, unless it was refused something, which is counted each time.
  const std::uint64_t refused = outside.counts().refused;
  const bool again = answer.text == orders_;
  Step step = steps_.Begin();
  jobs_.AnswerPolicy({answer.question, again ? std::string() : answer.text}, &step);
  if (!again) orders_ = OrdersAlone(answer.text) && outside.counts().refused == refused ? answer.text : std::string();
  steps_.FinishLazily(std::move(step));
}

void SchedulerProgram::Relieve(const sched::Outside& outside, std::string why) {
  Relief relief;
  relief.at = clock_.Wall();
  relief.program = outside.terms().program;
  relief.why = why;
  if (child_ != nullptr && child_->ready)
    relief.dump = dumps_ + "/" + std::string(kPrefix) + std::to_string(relief.at) + ".txt";
  Step step = steps_.Begin();
  choice_.Relieve(relief, &step);
  steps_.FinishLazily(std::move(step));
  log_->error("{}", choice_.ReliefLine());
  const std::shared_ptr<Child> child = std::exchange(child_, nullptr);
  failed_.clear();
  if (child == nullptr) return;
  Run(
      [child, directory = dumps_, relief, why = std::move(why), log = log_] {
        if (!relief.dump.empty()) {
          const std::string text = relief.program + " was relieved: " + why + "\n\n" + child->adviser->Transcript();
          const Status kept = WriteDump(directory, relief.dump, text, kDumps);
          if (!kept.ok()) log->warn("what the program of the scheduler said last is not kept: {}", kept.message());
        }
        child->adviser.reset();
      },
      [] {});
}

}  // namespace millrace::master
