// SPDX-License-Identifier: Apache-2.0
// LocalJobs: by node, the jobs that have a pending map whose input is on the node.
//
// It contains one bit for each job and node. Jobs get seats in the order of the queue, and a node has a row of bits by
// seat, so that adding or removing a job at a node touches one cache line, and the row of 500 jobs is one cache line.
// The seat of a job that left stays empty until the row is full; then all jobs move up. Thread rule: one thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/cluster/job_table.h"

namespace millrace::sched {

class LocalJobs {
 public:
  // Makes room for the nodes below `count`. The room never shrinks.
  void SetNodes(std::size_t count);
  // Adds the job, at no node. O(1) on average if it comes after all others of its priority, else
  // O(nodes x jobs / 500).
  void AddJob(const QueueKey& key);
  // Removes the job. O(1). Requires: the job is no longer at any node.
  void RemoveJob(JobId job);

  // Insert puts the job at the node, and does nothing if it is there. Erase takes the job away from the node, and does
  // nothing if it is not there. O(1). All three require: the job was added, and the node is below the count of
  // SetNodes.
  void Insert(JobId job, NodeId node) { WordOf(*this, job, node) |= BitOf(job); }
  void Erase(JobId job, NodeId node) { WordOf(*this, job, node) &= ~BitOf(job); }
  [[nodiscard]] bool Contains(JobId job, NodeId node) const { return (WordOf(*this, job, node) & BitOf(job)) != 0; }
  // Returns true if more than `count` jobs are at the node. Like VisitAt, it reads O(jobs / 64) words at most.
  [[nodiscard]] bool MoreThan(NodeId node, std::size_t count) const;
  // Calls visit(job) for the jobs at the node, in the order of the queue, until `visit` returns false. Requires:
  // `visit` does not change this object.
  template <class Visit>
  void VisitAt(NodeId node, const Visit& visit) const;

 private:
  static constexpr std::size_t kWords = 8, kBits = 64;
  static constexpr std::size_t kPriorities = static_cast<std::size_t>(Priority::kVeryLow) + 1;
  struct alignas(64) Line {
    std::array<std::uint64_t, kWords> words = {};
  };
  // The jobs of one priority.
  struct Rows {
    std::vector<QueueKey> seats;  // in order, jobs that left included
    std::size_t live = 0;         // the seats of jobs that have not left
    std::size_t length = 0;       // of a row, in lines
    std::vector<Line> lines;      // by node
  };
  struct Seat {
    std::uint32_t number = kNone;
    std::uint32_t priority = 0;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Returns the word with the bit of the job and node. `Self` is LocalJobs, const or not.
  template <class Self>
  [[nodiscard]] static std::conditional_t<std::is_const_v<Self>, const std::uint64_t, std::uint64_t>& WordOf(
      Self& self, JobId job, NodeId node) {
    const Seat seat = self.seat_of_.At(job);
    auto& rows = self.rows_[seat.priority];
    return rows.lines[node.value * rows.length + seat.number / (kWords * kBits)].words[seat.number / kBits % kWords];
  }
  [[nodiscard]] std::uint64_t BitOf(JobId job) const { return std::uint64_t{1} << seat_of_.At(job).number % kBits; }
  // Returns false for an entry of Rows::seats if its job left, or left and came back elsewhere.
  [[nodiscard]] bool Sits(const QueueKey& key, std::size_t number) const {
    const Seat* const seat = seat_of_.Find(key.job);
    return seat != nullptr && seat->number == number && seat->priority == static_cast<std::uint32_t>(key.priority);
  }
  // Gives seats without gaps to the present jobs and the new one.
  void Reseat(Rows& rows, const QueueKey& added);

  std::array<Rows, kPriorities> rows_;
  JobTable<Seat> seat_of_;
  std::size_t nodes_ = 0;
};

template <class Visit>
void LocalJobs::VisitAt(NodeId node, const Visit& visit) const {
  for (const Rows& rows : rows_) {
    for (std::size_t line = 0; line < rows.length; ++line) {
      const Line& row = rows.lines[node.value * rows.length + line];
      for (std::size_t word = 0; word < kWords; ++word) {
        for (std::uint64_t bits = row.words[word]; bits != 0; bits &= bits - 1) {
          const std::size_t seat = (line * kWords + word) * kBits + static_cast<std::size_t>(std::countr_zero(bits));
          if (!visit(rows.seats[seat].job)) return;
        }
      }
    }
  }
}

}  // namespace millrace::sched
