// AfterCommits: a service of the master whose answers wait for the disk. What a call is answered with, an error too,
// may stem from steps of others that are not on disk yet, and that a master that dies now will never have made. So an
// answer goes out when every step that was made before it was computed is on disk. On a master with nothing under way
// it waits for nothing. If the log fails, the answer is never sent.
//
// That goes for every call, whoever adds it; RuleOf names those that do not need it. Thread rule: the control thread.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "base/rpc/status_codec.h"
#include "master/control/control.h"

namespace millrace::master {

// What an answer waits for.
enum class AnswerRule : std::uint8_t {
  kAllSteps,  // for all steps that were made before the answer was there
  kOwnStep,   // the call waits for a step of its own by itself, and says no more than that it was made; a refusal waits
  kEarlier,   // for the steps that were made before the call: its own is told later, by another call; a refusal waits
  kNothing,   // the answer has nothing that a step changes, or the call waits by itself for all that it says
};
// Returns the rule of a call, by the numbers of interface and method as they travel.
[[nodiscard]] AnswerRule RuleOf(std::uint64_t interface, std::uint16_t method);

// Requires: `Service` is made with the Control, and with what else the constructor is given.
template <class Service>
class AfterCommits final : public Service {
 public:
  template <class... Args>
  explicit AfterCommits(Control& control, Args&&... args)
      : Service(control, std::forward<Args>(args)...), control_(control), self_(control.self()) {}

  capnp::Capability::Server::DispatchCallResult dispatchCall(
      std::uint64_t interface, std::uint16_t method,
      capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer> context) override {
    const AnswerRule rule = RuleOf(interface, method);
    const std::uint64_t before = control_.last_step();
    if (rule == AnswerRule::kNothing) return Service::dispatchCall(interface, method, context);
    try {
      auto result = Service::dispatchCall(interface, method, context);
      if (!result.isStreaming) result.promise = Waiting(kj::mv(result.promise), rule, before);
      return result;
    } catch (const kj::Exception& why) {
      capnp::Capability::Server::DispatchCallResult result{kj::cp(why), false};
      result.promise = Waiting(kj::mv(result.promise), rule, before);
      return result;
    }
  }

 private:
  kj::Promise<void> Waiting(kj::Promise<void> call, AnswerRule rule, std::uint64_t before) {
    return call.then(
        [this, self = self_, rule, before]() -> kj::Promise<void> {
          if (rule == AnswerRule::kOwnStep) return kj::READY_NOW;
          return rule == AnswerRule::kEarlier ? Shown(*self, before) : ShownAll(*self);
        },
        [this, self = self_](kj::Exception&& why) -> kj::Promise<void> {
          // That there is no room stems from no step, and while there is none nothing may ever be written.
          if (rpc::FromException(why).code() == StatusCode::kNoSpace) return kj::mv(why);
          return ShownAll(*self).then([why = kj::mv(why)]() -> kj::Promise<void> { return kj::cp(why); });
        });
  }
  // A capability that waits may live longer than the master that served it.
  static kj::Promise<void> Shown(Control* control, std::uint64_t step) {
    if (control == nullptr) return rpc::ToException(Cancelled("the master stops"));
    return control->Shown(step);
  }
  static kj::Promise<void> ShownAll(Control* control) {
    return Shown(control, control == nullptr ? 0 : control->last_step());
  }

  Control& control_;
  const std::shared_ptr<Control* const> self_;
};

}  // namespace millrace::master
