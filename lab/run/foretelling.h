// SPDX-License-Identifier: Apache-2.0
// Foretelling plays the part of the master that says, when a job comes, when it will probably end
// (schedulers/forecast), and keeps what it says beside what then happens.
//
// A play takes as long as the rest of the simulation may, so of many jobs only some are asked about, the same ones
// under every scheduler: at most kMostPlays, spread over all of them. Thread rule: that of the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lab/model/simulate.h"
#include "schedulers/forecast/forecaster.h"

namespace millrace::compare {

class Foretelling final : public sim::SimWatch {
 public:
  static constexpr std::uint32_t kMostPlays = 48;
  static constexpr std::uint64_t kMostEvents = 200'000;  // of one play

  Foretelling(std::string scheduler, std::size_t jobs)
      : scheduler_(std::move(scheduler)), every_(static_cast<std::uint32_t>((jobs + kMostPlays - 1) / kMostPlays)) {}

  void Decided(Micros now, const sched::Engine& engine, const std::vector<JobId>& arrived) override;
  void Launched(Micros now, JobId job) override { (void)forecaster_.Started(job, now); }
  void Ended(const sched::JobState& job) override { (void)forecaster_.Ended(job); }
  void SchedulerChanged() override { forecaster_.SchedulerChanged(); }

  // Writes what was foretold into the rows of the run's jobs.
  void Write(sim::SimResult* result) const;

 private:
  std::string scheduler_;
  std::uint32_t every_;
  sched::Forecaster forecaster_;
  std::map<JobId, Micros> turnarounds_;  // foretold
};

}  // namespace millrace::compare
