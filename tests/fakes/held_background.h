// SPDX-License-Identifier: Apache-2.0
// HeldBackground keeps what is to run in the background until it is let run. Thread rule: one thread.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "base/rpc/background.h"

namespace millrace::rpc {

class HeldBackground final : public rpc::Background {
 public:
  void Run(std::function<void()> work, std::function<void()> then) override {
    held_.emplace_back(std::move(work), std::move(then));
  }
  // Runs the work that is held now; what follows on the control thread comes with the returned functions.
  std::deque<std::function<void()>> Work() {
    std::deque<std::function<void()>> then;
    auto held = std::exchange(held_, {});
    for (auto& [work, after] : held) {
      work();
      then.push_back(std::move(after));
    }
    return then;
  }
  void Finish() {
    for (const std::function<void()>& then : Work()) then();
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  std::deque<std::pair<std::function<void()>, std::function<void()>>> held_;
};

}  // namespace millrace::rpc
