// SPDX-License-Identifier: Apache-2.0
// AfterCommits makes the answers of a service wait for the disk. An answer, even an error, may depend on steps of other
// calls that are not on disk yet, and that would be lost if the master died now. So an answer is sent once every step
// made before it was computed is on disk. If no step is under way, the answer is sent at once. If the log fails, it is
// never sent.
//
// This rule applies to every call, new ones included; RuleOf names the exceptions. Thread rule: the control thread.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "base/rpc/status_codec.h"
#include "master/control/steps.h"

namespace millrace::master {

// The steps for which an answer waits.
enum class AnswerRule : std::uint8_t {
  kAllSteps,  // all steps made before the answer was computed
  kOwnStep,  // none: the call itself waits for its own step, and only reports that it was made; a refusal waits for all
  kEarlier,  // the steps made before the call, since another call reports its own step later; a refusal waits for all
  kNothing,  // none: no step changes the answer, or the call itself waits for every step that the answer reports
};
// Returns the rule of the call with these numbers of interface and method, as messages carry them.
[[nodiscard]] AnswerRule RuleOf(std::uint64_t interface, std::uint16_t method);

// Requires: the constructor of `Service` takes the arguments of this one after `steps`.
template <class Service>
class AfterCommits final : public Service {
 public:
  template <class... Args>
  explicit AfterCommits(Steps& steps, Args&&... args)
      : Service(std::forward<Args>(args)...), steps_(steps), self_(steps.self()) {}

  capnp::Capability::Server::DispatchCallResult dispatchCall(
      std::uint64_t interface, std::uint16_t method,
      capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer> context) override {
    const AnswerRule rule = RuleOf(interface, method);
    const std::uint64_t before = steps_.last();
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
        [self = self_, rule, before]() -> kj::Promise<void> {
          if (rule == AnswerRule::kOwnStep) return kj::READY_NOW;
          return rule == AnswerRule::kEarlier ? Shown(*self, before) : ShownAll(*self);
        },
        [self = self_](kj::Exception&& why) -> kj::Promise<void> {
          // A lack of room depends on no step, and while it lasts nothing may ever be written.
          if (rpc::FromException(why).code() == StatusCode::kNoSpace) return kj::mv(why);
          return ShownAll(*self).then([why = kj::mv(why)]() -> kj::Promise<void> { return kj::cp(why); });
        });
  }
  // A capability that waits may live longer than the master that served it.
  static kj::Promise<void> Shown(Steps* steps, std::uint64_t step) {
    if (steps == nullptr) return rpc::ToException(Cancelled("the master stops"));
    return steps->Shown(step);
  }
  static kj::Promise<void> ShownAll(Steps* steps) { return Shown(steps, steps == nullptr ? 0 : steps->last()); }

  Steps& steps_;
  const std::shared_ptr<Steps* const> self_;
};

}  // namespace millrace::master
