// SPDX-License-Identifier: Apache-2.0
// Picture: what `millrace top` knows of a cluster at one moment, and State: what the user wants to see of it. Thread
// rule: values.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "client/job_client/job_types.h"

namespace millrace::top {

enum class View { kJobs, kPools, kNodes, kTasks };
inline constexpr std::size_t kViews = 4;

struct Picture {
  std::string master;  // host:port, as the user named it
  job::ClusterStatus cluster;
  std::vector<JobStatus> jobs;          // those that have not ended
  std::vector<job::Foretold> foretold;  // when they will probably start and end, in the order of the jobs; of some none
  job::SchedulerView scheduler;         // its pools, its waits, and the master's time
  std::vector<job::Node> nodes;
  bool nodes_known = false;  // they are asked for only while they are shown
  struct Opened {
    JobStatus status;
    std::vector<AttemptStatus> attempts;
    std::string problem;  // why the master did not tell of the job; empty: it did
  };
  std::optional<Opened> opened;  // the job whose tasks are shown
  // Times by the clock of this machine.
  Micros heard = 0;              // when the master said this; 0: it is of now
  std::optional<Micros> awaits;  // since when an answer is awaited that takes longer than usual
  struct Lost {
    Micros since = 0;
    std::string why;
  };
  std::optional<Lost> lost;  // the master does not answer, and the rest is of the time before
};

// How the rows of a view are shown.
struct Order {
  std::size_t column = 0;  // by which the rows are sorted
  bool reverse = false;
  std::size_t at = 0;  // the row that is marked
};

struct State {
  View view = View::kJobs;
  bool help = false;
  bool quit = false;
  bool ask = false;             // the user wants a new picture now
  std::optional<JobId> opened;  // the job of kTasks
  std::optional<JobId> marked;  // the job of the marked row; it stays marked wherever it moves
  std::array<Order, kViews> order{Order{}, Order{}, Order{}, Order{.column = 4, .reverse = true}};  // slow tasks first

  [[nodiscard]] Order& here() { return order.at(static_cast<std::size_t>(view)); }
  [[nodiscard]] const Order& here() const { return order.at(static_cast<std::size_t>(view)); }
};

}  // namespace millrace::top
