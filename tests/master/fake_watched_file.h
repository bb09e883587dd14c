// SPDX-License-Identifier: Apache-2.0
// FakeWatchedFile is a WatchedFile whose changes come from a test. Thread rule: that of WatchedFile.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "master/control/checked_file.h"

namespace millrace::master {

class FakeWatchedFile final : public WatchedFile {
 public:
  using Change = Result<std::optional<std::string>>;
  // Each call of TakeChange removes and returns the first of `changes`. Requires: `changes` outlives this.
  FakeWatchedFile(std::string name, std::string text, std::deque<Change>* changes)
      : name_(std::move(name)), text_(std::move(text)), changes_(changes) {}
  const std::string& name() const override { return name_; }
  Result<std::string> Read() override { return text_; }
  Change TakeChange() override {
    if (changes_->empty()) return std::optional<std::string>();
    Change next = std::move(changes_->front());
    changes_->pop_front();
    return next;
  }

 private:
  std::string name_, text_;
  std::deque<Change>* changes_;
};

}  // namespace millrace::master
