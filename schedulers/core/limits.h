// What the engine refuses to believe, or to do. Ids index tables, so a wild one would cost memory and not mean
// anything.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::sched {

inline constexpr std::uint32_t kMaxId = (1U << 24) - 1;    // of nodes and jobs
inline constexpr std::uint32_t kMaxMaps = 1U << 24;        // of one job
inline constexpr std::uint32_t kMaxReduces = 1U << 20;     // of one job
inline constexpr std::uint32_t kMaxSlots = 1U << 16;       // of one kind on one node
inline constexpr std::size_t kMaxRunning = 4 * kMaxSlots;  // attempts on one node

// So many times an attempt of a task may end with the process of its node (a network or a machine that fails does not
// count); then the job fails, lest it takes down node after node.
inline constexpr std::size_t kMaxNodeDeaths = 3;

}  // namespace millrace::sched
