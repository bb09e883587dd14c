// SPDX-License-Identifier: Apache-2.0
#include "master/control/worker_sessions.h"

#include <algorithm>

namespace millrace::master {

void WorkerSessions::Expect(NodeId node, Micros until) { sessions_[node] = {State::kExpected, until, {}}; }

std::uint64_t WorkerSessions::Register(NodeId node, Micros until, bool settled) {
  left_.erase(node);
  sessions_[node] = {State::kHere, until, next_epoch_, settled, true};
  return next_epoch_++;
}

bool WorkerSessions::IsCurrent(NodeId node, std::uint64_t epoch) const { return EpochOf(node) == epoch; }

void WorkerSessions::Heard(NodeId node, Micros until) {
  const auto at = sessions_.find(node);
  if (at != sessions_.end()) at->second.until = until;
}

void WorkerSessions::HangUp(NodeId node, Micros until) {
  const auto at = sessions_.find(node);
  if (at == sessions_.end()) return;
  at->second.state = State::kHungUp;
  at->second.until = std::min(at->second.until, until);
}

void WorkerSessions::Leave(NodeId node) {
  left_.insert(node);
  const auto at = sessions_.find(node);
  if (at != sessions_.end()) at->second.state = State::kEnded;
}

bool WorkerSessions::Lose(NodeId node) {
  const bool hung_up = StateOf(node) == State::kHungUp;
  sessions_.erase(node);
  return hung_up;
}

void WorkerSessions::Reported(NodeId node) {
  const auto at = sessions_.find(node);
  if (at != sessions_.end()) at->second.reporting = false;
}

void WorkerSessions::EndUnsettled() {
  for (auto& [node, session] : sessions_) {
    if (session.settled) continue;
    session.settled = true;
    session.epoch.reset();
    if (session.state == State::kHere) session.state = State::kEnded;
  }
}

std::optional<WorkerSessions::State> WorkerSessions::StateOf(NodeId node) const {
  const auto at = sessions_.find(node);
  return at == sessions_.end() ? std::nullopt : std::optional(at->second.state);
}

std::optional<std::uint64_t> WorkerSessions::EpochOf(NodeId node) const {
  const auto at = sessions_.find(node);
  return at == sessions_.end() ? std::nullopt : at->second.epoch;
}

bool WorkerSessions::IsReporting(NodeId node) const {
  const auto at = sessions_.find(node);
  return at != sessions_.end() && at->second.reporting;
}

std::vector<NodeId> WorkerSessions::Nodes() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, session] : sessions_) nodes.push_back(node);
  return nodes;
}

std::vector<NodeId> WorkerSessions::Silent(Micros now) const {
  std::vector<NodeId> nodes;
  for (const auto& [node, session] : sessions_) {
    if (session.until <= now) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace millrace::master
