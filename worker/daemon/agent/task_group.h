// TaskGroup: promises that run until they end or the group does. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <functional>
#include <utility>

#include "base/check.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {

class TaskGroup final : private kj::TaskSet::ErrorHandler {
 public:
  // A promise that is rejected is a bug and aborts.
  TaskGroup() : tasks_(*this) {}
  // A promise that is rejected is told to `failed`, which may not destroy the group.
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

}  // namespace millrace::worker
