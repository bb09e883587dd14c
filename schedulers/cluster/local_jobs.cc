// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/local_jobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schedulers/events/check.h"

namespace millrace::sched {

void LocalJobs::SetNodes(std::size_t count) {
  nodes_ = std::max(nodes_, count);
  for (Rows& rows : rows_) rows.lines.resize(nodes_ * rows.length);
}

void LocalJobs::AddJob(const QueueKey& key) {
  SCHED_CHECK(!seat_of_.Contains(key.job), ToText(key.job));
  const auto priority = static_cast<std::uint32_t>(key.priority);
  Rows& rows = rows_[priority];
  const bool behind_all = rows.seats.empty() || rows.seats.back() < key;
  if (!behind_all || rows.seats.size() == rows.length * kWords * kBits) return Reseat(rows, key);
  seat_of_[key.job] = {static_cast<std::uint32_t>(rows.seats.size()), priority};
  rows.seats.push_back(key);
  ++rows.live;
}

void LocalJobs::RemoveJob(JobId job) {
  Rows& rows = rows_[seat_of_.At(job).priority];
  seat_of_.Erase(job);
  if (--rows.live == 0) rows.seats.clear();
}

void LocalJobs::Reseat(Rows& rows, const QueueKey& added) {
  std::vector<QueueKey> seats;
  for (std::size_t number = 0; number < rows.seats.size(); ++number) {
    if (Sits(rows.seats[number], number)) seats.push_back(rows.seats[number]);
  }
  seats.insert(std::lower_bound(seats.begin(), seats.end(), added), added);
  // Half of the seats stay free, so at least as many jobs come before the next renumbering as there are now.
  const std::size_t length = (2 * seats.size() + kWords * kBits - 1) / (kWords * kBits);
  std::vector<std::uint32_t> moved(rows.seats.size(), kNone);  // the new number of each old seat
  for (std::uint32_t number = 0; number < seats.size(); ++number) {
    Seat& seat = seat_of_[seats[number].job];
    if (seat.number != kNone) moved[seat.number] = number;
    seat = {number, static_cast<std::uint32_t>(added.priority)};
  }
  std::vector<Line> lines(nodes_ * length);
  for (std::size_t at = 0; at < rows.lines.size() * kWords; ++at) {
    std::uint64_t bits = rows.lines[at / kWords].words[at % kWords];
    const std::size_t node = at / (rows.length * kWords), word = at % (rows.length * kWords);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t to = moved[word * kBits + static_cast<std::size_t>(std::countr_zero(bits))];
      lines[node * length + to / (kWords * kBits)].words[to / kBits % kWords] |= std::uint64_t{1} << to % kBits;
    }
  }
  rows = {std::move(seats), rows.live + 1, length, std::move(lines)};
}

bool LocalJobs::MoreThan(NodeId node, std::size_t count) const {
  std::size_t found = 0;
  for (const Rows& rows : rows_) {
    for (std::size_t line = 0; line < rows.length; ++line) {
      for (const std::uint64_t word : rows.lines[node.value * rows.length + line].words) {
        found += static_cast<std::size_t>(std::popcount(word));
        if (found > count) return true;
      }
    }
  }
  return false;
}

}  // namespace millrace::sched
