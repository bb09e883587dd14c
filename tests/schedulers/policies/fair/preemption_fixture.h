// SPDX-License-Identifier: Apache-2.0
// The base of the tests of `fair+preempt`. A pool waits 60 us for its minimum share and 100 us for its fair share
// before others are preempted.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"

namespace millrace::sched {

class PreemptTest : public testing::Test {
 protected:
  PreemptTest() {
    settings_.Of<FairSettings>().min_share_timeout = 60;
    settings_.Of<FairSettings>().fair_share_timeout = 100;
  }
  Engine& Make(const std::string& scheduler = "fair+preempt") {
    std::string why;
    engine_ = std::make_unique<Engine>(EngineOptions{}, MakePolicy(scheduler, settings_, &why));
    return *engine_;
  }
  Settings settings_;
  std::unique_ptr<Engine> engine_;
};

// The base of the tests in which jobs also give way to jobs of their own pool.
class WithinPoolsTest : public PreemptTest {
 protected:
  WithinPoolsTest() { settings_.Of<FairSettings>().preempt_within_pools = true; }
};

}  // namespace millrace::sched
