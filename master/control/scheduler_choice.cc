// SPDX-License-Identifier: Apache-2.0
#include "master/control/scheduler_choice.h"

#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/external/external_settings.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::master {
namespace {

using Kind = sched::OutsideTerms::Kind;

constexpr std::string_view kSchedulerKey = "scheduler";  // holds what was set, and master.scheduler at that time
constexpr std::string_view kProgramKey = "scheduler.program", kReliefKey = "scheduler.relief";

// The file lies in the directory of programs, and nowhere else.
Status CheckProgram(const std::string& program) {
  if (program.empty())
    return Invalid(
        "scheduler external: it asks a program, and none is named: external:NAME (docs/schedulers/external.md)");
  if (program.find('/') != std::string::npos || program.front() == '.') {
    return Invalid("scheduler external: " + Quote(program) +
                   " is not the name of a program: a file in the master's directory of programs (master.programs), "
                   "without a slash and without a dot at its beginning");
  }
  return Status::Ok();
}

}  // namespace

Result<SchedulerChoice::Made> SchedulerChoice::Make(const std::string& name, const std::optional<Program>& program,
                                                    const sched::Settings& settings) const {
  const sched::Spec spec = sched::CutSpec(name);
  Made made;
  made.settings = settings;
  auto& external = made.settings.Of<sched::ExternalSettings>();
  if (!spec.program.empty()) external.program = spec.program;
  if (program) external.kind = program->kind;
  if (program && !program->fallback.empty()) external.fallback = program->fallback;
  std::string why;
  const std::unique_ptr<sched::Policy> policy =
      sched::MakeScheduler({spec.expression, sched::FormatSettings(made.settings)}, false, &why);
  if (policy == nullptr) return Invalid(why);
  made.name = policy->name();
  if (const sched::Outside* outside = policy->outside(); outside != nullptr) {
    MILLRACE_TRY(CheckProgram(external.program));
    made.terms = outside->terms();
  }
  return made;
}

Result<std::optional<sched::OutsideTerms>> SchedulerChoice::TermsOf(const std::string& name,
                                                                    const std::string& fallback) const {
  MILLRACE_ASSIGN(Made made, Make(name, Program{fallback, {}}, file_.settings()));
  if (!made.terms && !fallback.empty())
    return Invalid("scheduler " + name + " asks no program, so there is nothing to fall back from");
  return std::move(made.terms);
}

Status SchedulerChoice::Set(const std::string& name, const std::optional<Program>& program, Step* step) {
  MILLRACE_TRY(Use(name, program, file_.settings(), step));
  if (relief_) step->batch.Remove(std::string(kReliefKey));
  relief_.reset();
  Keep(step);
  return Status::Ok();
}

void SchedulerChoice::Keep(Step* step) const {
  Encoder out;
  out.Text(choice_);
  out.Text(configured_);
  step->batch.Put(std::string(kSchedulerKey), out.Take());
  if (!program_) return step->batch.Remove(std::string(kProgramKey));
  Encoder found;
  found.Text(program_->fallback);
  found.U8(program_->kind == Kind::kAssignment ? 1 : 0);
  step->batch.Put(std::string(kProgramKey), found.Take());
}

Status SchedulerChoice::Load(const KeyValueStore& store, std::optional<std::string>* set, std::string* configured_then,
                             std::optional<Program>* program) {
  MILLRACE_ASSIGN(const std::optional<std::string> record, store.Get(kSchedulerKey));
  if (!record) return Status::Ok();
  Decoder in(*record);
  *set = std::string(in.Text());
  *configured_then = std::string(in.Text());
  MILLRACE_TRY(in.Finish("the database's record of the scheduler"));
  MILLRACE_ASSIGN(const std::optional<std::string> found, store.Get(kProgramKey));
  if (found) {
    Decoder of(*found);
    Program read;
    read.fallback = std::string(of.Text());
    read.kind = of.U8() == 1 ? Kind::kAssignment : Kind::kRanking;
    MILLRACE_TRY(of.Finish("the database's record of the scheduler's program"));
    *program = std::move(read);
  }
  MILLRACE_ASSIGN(const std::optional<std::string> relieved, store.Get(kReliefKey));
  if (!relieved) return Status::Ok();
  Decoder of(*relieved);
  Relief relief;
  relief.at = static_cast<Micros>(of.U64());
  for (std::string* text : {&relief.program, &relief.why, &relief.dump, &relief.successor})
    *text = std::string(of.Text());
  MILLRACE_TRY(of.Finish("the database's record of the scheduler's relief"));
  relief_ = std::move(relief);
  return Status::Ok();
}

Status SchedulerChoice::Start(const KeyValueStore& store, Step* step) {
  std::optional<std::string> set;
  std::string configured_then;
  std::optional<Program> program;
  MILLRACE_TRY(Load(store, &set, &configured_then, &program));
  if (!set) return Use(configured_, std::nullopt, file_.settings(), step);
  const Status used = Use(*set, program, file_.settings(), step);
  if (!used.ok()) {
    log_->warn("scheduler {}, which was set by `millrace scheduler set`, cannot be used: {}; it is {} now", *set,
               used.message(), configured_);
    return Use(configured_, std::nullopt, file_.settings(), step);
  }
  if (relief_) {
    log_->warn("{}", ReliefLine());
  } else if (configured_ != configured_then) {
    log_->warn(
        "master.scheduler was changed from {} to {}, but {} was set by `millrace scheduler set` and takes "
        "precedence; run `millrace scheduler set {}` to use the new one",
        configured_then, configured_, *set, configured_);
  } else if (*set != configured_) {
    log_->info("scheduler {} was set by `millrace scheduler set` and takes precedence over {} of master.scheduler",
               *set, configured_);
  }
  return Status::Ok();
}

Status SchedulerChoice::Use(const std::string& name, const std::optional<Program>& program,
                            const sched::Settings& settings, Step* step) {
  MILLRACE_ASSIGN(Made made, Make(name, program, settings));
  jobs_.SetScheduler({made.name, sched::FormatSettings(made.settings)}, step);
  name_ = std::move(made.name);
  // As it was given, but with the parts in their order.
  const sched::Spec spec = sched::CutSpec(name);
  choice_ = spec.program.empty() ? name_
                                 : std::string(sched::kExternal) + ":" + spec.program +
                                       name_.substr(std::min(name_.find('+'), name_.size()));
  program_ = made.terms ? std::optional(program.value_or(Program{{}, made.terms->kind})) : std::nullopt;
  settings_ = std::move(made.settings);
  return Status::Ok();
}

void SchedulerChoice::SetKind(Kind kind, Step* step) {
  Program program = program_.value_or(Program{});
  program.kind = kind;
  const Status used = Use(std::string(choice_), program, file_.settings(), step);
  MILLRACE_CHECK(used.ok(), used.message());
  Keep(step);
}

void SchedulerChoice::Relieve(Relief relief, Step* step) {
  relief.successor =
      settings_.Of<sched::ExternalSettings>().fallback + name_.substr(std::min(name_.find('+'), name_.size()));
  const Status used = Use(relief.successor, std::nullopt, file_.settings(), step);
  MILLRACE_CHECK(used.ok(), used.message());  // the policy was made with its order
  Keep(step);
  Encoder out;
  out.U64(static_cast<std::uint64_t>(relief.at));
  for (const std::string* text : {&relief.program, &relief.why, &relief.dump, &relief.successor}) out.Text(*text);
  step->batch.Put(std::string(kReliefKey), out.Take());
  relief_ = std::move(relief);
}

std::string SchedulerChoice::ReliefLine() const {
  if (!relief_) return {};
  std::string line = "the scheduler's program " + Quote(relief_->program) + " was relieved, and " + relief_->successor +
                     " decides since: " + relief_->why;
  if (!relief_->dump.empty()) line += "; the last that was said is in " + relief_->dump + " of the master's machine";
  return line + "; `millrace scheduler set` chooses again";
}

void SchedulerChoice::FollowFile() {
  file_.Poll(clock_.Wall(), [this](const sched::Settings& settings) -> Status {
    Step step = steps_.Begin();
    MILLRACE_TRY(Use(std::string(choice_), program_, settings, &step));
    steps_.FinishLazily(std::move(step));
    return Status::Ok();
  });
}

}  // namespace millrace::master
