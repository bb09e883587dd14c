// SPDX-License-Identifier: Apache-2.0
#include "base/admission.h"

#include <algorithm>

namespace millrace {
namespace {

// Whoever has one IPv6 address has the whole /64, so the /64 counts as one peer.
std::string PeerKey(const std::string& address) {
  std::size_t end = 0;
  for (int colons = 0; end < address.size(); ++end) {
    if (address[end] == ':' && ++colons == 4) break;
  }
  return address.substr(0, end);
}

}  // namespace

Admission::Admission(std::size_t most, std::size_t per_peer)
    : most_(std::max<std::size_t>(most, 2)), per_peer_(std::clamp<std::size_t>(per_peer, 1, most_ / 2)) {}

Admission::Answer Admission::Enter(const std::string& address, bool loopback) {
  const std::string peer = PeerKey(address);
  const auto same = by_peer_.find(peer);
  Answer answer;
  bool full = true;
  if (!peer.empty() && same != by_peer_.end() && same->second >= per_peer_) {
    answer.gives_way = OldestSilent([&peer](const Member& member) { return member.peer == peer; });
  } else if (!loopback && strangers_ >= most_ - most_ / 8) {
    answer.gives_way = OldestSilent([](const Member& member) { return !member.loopback; });
  } else if (members_.size() >= most_) {
    answer.gives_way = OldestSilent([](const Member&) { return true; });
  } else {
    full = false;
  }
  if (full && !answer.gives_way) return answer;
  if (answer.gives_way) Leave(*answer.gives_way);
  answer.admitted = true;
  answer.id = next_++;
  members_[answer.id] = {peer, loopback, silent_.insert(silent_.end(), answer.id)};
  ++by_peer_[peer];
  if (!loopback) ++strangers_;
  return answer;
}

std::optional<std::uint64_t> Admission::OldestSilent(const std::function<bool(const Member&)>& which) const {
  const auto found = std::ranges::find_if(silent_, [&](std::uint64_t id) { return which(members_.at(id)); });
  return found == silent_.end() ? std::nullopt : std::optional(*found);
}

void Admission::Spoke(std::uint64_t id) {
  const auto member = members_.find(id);
  if (member == members_.end() || !member->second.silent) return;
  silent_.erase(*member->second.silent);
  member->second.silent.reset();
}

void Admission::Leave(std::uint64_t id) {
  Spoke(id);
  const auto member = members_.find(id);
  if (member == members_.end()) return;
  const auto same = by_peer_.find(member->second.peer);
  if (--same->second == 0) by_peer_.erase(same);
  if (!member->second.loopback) --strangers_;
  members_.erase(member);
}

}  // namespace millrace
