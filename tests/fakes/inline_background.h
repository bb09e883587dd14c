// SPDX-License-Identifier: Apache-2.0
// InlineBackground runs work on the control thread itself, in a later turn of its loop: for driven time. Thread rule:
// the control thread.
#pragma once

#include <kj/async.h>

#include <functional>
#include <utility>

#include "base/rpc/background.h"
#include "base/rpc/task_group.h"

namespace millrace::rpc {

class InlineBackground final : public Background {
 public:
  ~InlineBackground() noexcept override = default;
  void Run(std::function<void()> work, std::function<void()> then) override {
    tasks_.Add(kj::evalLater([work = std::move(work), then = std::move(then)] {
      work();
      then();
    }));
  }

 private:
  TaskGroup tasks_;
};

}  // namespace millrace::rpc
