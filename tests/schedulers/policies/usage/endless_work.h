// SPDX-License-Identifier: Apache-2.0
// EndlessWork: one node, and jobs whose tasks all last equally long and never run out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

class EndlessWork {
 public:
  EndlessWork(std::unique_ptr<Policy> policy, std::uint32_t slots, Micros task_time)
      : engine_({}, std::move(policy)), slots_(slots), task_time_(task_time) {
    (void)engine_.Apply(0, NodeJoined{NodeId{1}, "r", "d", {slots, 0}}, &effects_);
  }

  void Submit(const std::string& user) {
    JobSpec spec;
    spec.user = user;
    spec.maps.resize(3000);
    users_[JobId{next_job_}] = user;
    (void)engine_.Apply(now_, JobSubmitted{JobId{next_job_++}, spec}, &effects_);
  }

  // So often, tasks are launched and run to their end.
  void Play(std::uint32_t rounds) {
    for (; rounds > 0; --rounds) {
      effects_.clear();
      engine_.Decide(now_, &effects_);
      std::vector<AttemptId> running;
      for (const Effect& effect : effects_) {
        if (const auto* launch = std::get_if<Launch>(&effect)) running.push_back(launch->attempt);
      }
      EXPECT_EQ(running.size(), slots_);
      now_ += task_time_;
      for (const AttemptId& attempt : running) {
        ++tasks_[users_.at(attempt.task.job)];
        (void)engine_.Apply(now_, AttemptSucceeded{attempt}, &effects_);
      }
    }
  }

  // Returns how many tasks of the user have ended.
  [[nodiscard]] int Tasks(const std::string& user) const { return tasks_.at(user); }

 private:
  Engine engine_;
  const std::uint32_t slots_;
  const Micros task_time_;
  Effects effects_;
  Micros now_ = 0;
  std::uint32_t next_job_ = 1;
  std::map<JobId, std::string> users_;
  std::map<std::string, int> tasks_;
};

}  // namespace millrace::sched
