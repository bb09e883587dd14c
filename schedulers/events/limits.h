// SPDX-License-Identifier: Apache-2.0
// Limits on what the engine accepts and does. Ids index tables, so an absurd id would only waste memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::sched {

inline constexpr std::uint32_t kMaxId = (1U << 24) - 1;    // of nodes and jobs
inline constexpr std::uint32_t kMaxMaps = 1U << 24;        // of one job
inline constexpr std::uint32_t kMaxReduces = 1U << 20;     // of one job
inline constexpr std::uint32_t kMaxSlots = 1U << 16;       // of one kind on one node
inline constexpr std::size_t kMaxRunning = 4 * kMaxSlots;  // attempts on one node

// The number of attempts of a task that may end together with the process of their node. After that the task is given
// up, so that it does not take down node after node. A failure of a network or a machine does not count.
inline constexpr std::size_t kMaxNodeDeaths = 3;

// All jobs avoid a node that this many jobs refuse at the same time. A single job may fail because of its own program.
// Hadoop's JobTracker requires four jobs (mapred.max.tracker.blacklists), but within a day and not within
// EngineOptions::refusal.
inline constexpr std::size_t kBlamesToAvoid = 3;

// A job may refuse fewer than one in this many of the live nodes, and fewer than one in this many may be avoided. The
// limit for a job is that of Hadoop's JobInProgress (CLUSTER_BLACKLIST_PERCENT, 25). The limit for avoided nodes is a
// half in Hadoop's JobTracker and a third in YARN's application master
// (node-blacklisting.ignore-threshold-node-percent, 33). With a quarter, a job that itself refuses another quarter of
// the nodes still has half of them.
inline constexpr std::uint64_t kRefusableShare = 4;

}  // namespace millrace::sched
