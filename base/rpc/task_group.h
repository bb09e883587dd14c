// SPDX-License-Identifier: Apache-2.0
// TaskGroup: promises that run until they end or the group does. WhileAlive: callbacks that may outlive the object that
// made them. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/rpc/status_codec.h"

namespace millrace::rpc {

class TaskGroup final : private kj::TaskSet::ErrorHandler {
 public:
  // Makes a group that aborts when a promise is rejected, since that is a bug.
  TaskGroup() : tasks_(*this) {}
  // Makes a group that passes the reason of a rejected promise to `failed`. Requires: `failed` does not destroy the
  // group.
  explicit TaskGroup(std::function<void(const Status&)> failed) : failed_(std::move(failed)), tasks_(*this) {}

  void Add(kj::Promise<void> promise) { tasks_.add(kj::mv(promise)); }

 private:
  void taskFailed(kj::Exception&& exception) override {
    const Status why = rpc::FromException(exception);
    MILLRACE_CHECK(failed_ != nullptr, why.message());
    failed_(why);
  }

  std::function<void(const Status&)> failed_;
  kj::TaskSet tasks_;
};

// Returns a callback that calls f(owner, arguments...) while the owner exists, and does nothing afterwards. Requires:
// *self is the owner, and becomes null when the owner is destroyed.
template <class Owner, class F>
[[nodiscard]] auto WhileAlive(std::shared_ptr<Owner*> self, F f) {
  return [self = std::move(self), f = std::move(f)](auto&&... arguments) {
    if (*self != nullptr) f(**self, std::forward<decltype(arguments)>(arguments)...);
  };
}

// Does the same for one of the owner's objects: calls f(owner, object, arguments...) while both exist.
template <class Owner, class Object, class F>
[[nodiscard]] auto WhileAlive(std::shared_ptr<Owner*> self, const std::shared_ptr<Object>& object, F f) {
  return [self = std::move(self), known = std::weak_ptr(object), f = std::move(f)](auto&&... arguments) {
    const std::shared_ptr<Object> still = known.lock();
    if (*self != nullptr && still != nullptr) f(**self, still, std::forward<decltype(arguments)>(arguments)...);
  };
}

}  // namespace millrace::rpc
