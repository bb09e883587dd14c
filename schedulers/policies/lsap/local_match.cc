// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/local_match.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::sched {

LocalMatch::LocalMatch(std::vector<std::uint32_t> free)
    : free_(std::move(free)), held_(free_.size()), visits_(free_.size()), closed_(free_.size()) {}

std::uint32_t LocalMatch::Add(Row row, std::uint32_t tasks, std::span<const Place> places) {
  const auto entry = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back({row, static_cast<std::uint32_t>(edges_.size())});
  for (const Place place : places) edges_.push_back({place, entry, 0});
  std::uint32_t placed = FillFree(entry, tasks);
  while (placed < tasks && Augment(entry)) ++placed;
  return placed;
}

// It fills the places with most free slots first, so that later tasks find free slots at as many places as possible.
std::uint32_t LocalMatch::FillFree(std::uint32_t entry, std::uint32_t tasks) {
  std::uint32_t taken = 0;
  for (; taken < tasks; ++taken) {
    std::uint32_t best = kNone;
    for (std::uint32_t edge = rows_[entry].begin; edge < edges_.size(); ++edge) {
      const std::uint32_t free = free_[edges_[edge].place];
      if (free > 0 && (best == kNone || free > free_[edges_[best].place])) best = edge;
    }
    if (best == kNone) break;
    --free_[edges_[best].place];
    Put(best);
  }
  return taken;
}

void LocalMatch::Put(std::uint32_t edge) {
  if (edges_[edge].tasks++ == 0) held_[edges_[edge].place].push_back(edge);
}

bool LocalMatch::Augment(std::uint32_t entry) {
  ++search_;
  queue_.clear();
  std::uint32_t last = Reach(entry, kNone);
  for (std::size_t at = 0; last == kNone && at < queue_.size(); ++at) {
    std::vector<std::uint32_t>& held = held_[queue_[at]];
    std::erase_if(held, [this](std::uint32_t edge) { return edges_[edge].tasks == 0; });
    for (std::size_t i = 0; last == kNone && i < held.size(); ++i) last = Reach(edges_[held[i]].row, held[i]);
  }
  if (last == kNone) {
    for (const Place place : queue_) closed_[place] = true;
    return false;
  }
  Shift(last);
  return true;
}

std::uint32_t LocalMatch::Reach(std::uint32_t entry, std::uint32_t held) {
  const std::size_t end = entry + 1 < rows_.size() ? rows_[entry + 1].begin : edges_.size();
  for (std::uint32_t edge = rows_[entry].begin; edge < end; ++edge) {
    const Place place = edges_[edge].place;
    Visit& visit = visits_[place];
    if (closed_[place] || visit.search == search_) continue;
    visit = {search_, edge, held};
    if (free_[place] > 0) return edge;
    queue_.push_back(place);
  }
  return kNone;
}

// Each task on the way goes to the place where the search came from it.
void LocalMatch::Shift(std::uint32_t last) {
  --free_[edges_[last].place];
  while (last != kNone) {
    const std::uint32_t left = visits_[edges_[last].place].held;
    Put(last);
    if (left != kNone) --edges_[left].tasks;
    last = left == kNone ? kNone : visits_[edges_[left].place].edge;
  }
}

std::vector<Assignment::Share> LocalMatch::Shares() const {
  std::vector<Assignment::Share> shares;
  for (const Edge& edge : edges_) {
    if (edge.tasks > 0) shares.push_back({rows_[edge.row].row, edge.place, edge.tasks});
  }
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  return shares;
}

}  // namespace millrace::sched
