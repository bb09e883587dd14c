// SPDX-License-Identifier: Apache-2.0
// The lines that tell a program of nodes and jobs (docs/schedulers/external.md). Each ends with a newline, and values
// are written as in a journal (schedulers/events/event_text.h). Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// What is known of a job when it comes, except for the places of its data: "job id=job7 name=... maps=40 reduces=4".
[[nodiscard]] std::string JobLine(const JobState& job);
// How far a job is: "tasks job=job7 maps_pending=37 maps_running=2 maps_done=1 ...".
[[nodiscard]] std::string TasksLine(const JobState& job);
// A node and its free slots: "node id=n3 rack=r1 maps=4 reduces=2 free_maps=1 ...". Requires: it is alive.
[[nodiscard]] std::string NodeLine(const ClusterState& state, const NodeState& node);
// The slots of the whole cluster: "slots maps=32 reduces=16 permits=16".
[[nodiscard]] std::string SlotsLine(const ClusterState& state);
// A part of an answer that was refused: "refused what=job1.m.0%20on%20n1 why=it%20is%20not%20pending".
[[nodiscard]] std::string RefusedLine(const std::string& what, const std::string& why);

}  // namespace millrace::sched
