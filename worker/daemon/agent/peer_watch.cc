// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/peer_watch.h"

#include <utility>

#include "base/rpc/calls.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {
namespace {

std::string AddressOf(const PeerPlace& peer) {
  return (peer.host.find(':') == std::string::npos ? peer.host : "[" + peer.host + "]") + ":" +
         std::to_string(peer.port);
}

}  // namespace

PeerWatch::PeerWatch(kj::Timer& timer, rpc::Dialer* dialer, std::function<void()> changed, Log log)
    : timer_(timer), dialer_(dialer), changed_(std::move(changed)), log_(std::move(log)) {}

void PeerWatch::Look(const PeerPlace& peer) {
  if (dialer_ == nullptr || peer.host.empty() || looks_ >= kMostAtOnce) return;
  State& state = peers_[peer];
  if (std::exchange(state.looking, true)) return;
  ++looks_;
  tasks_.Add(Connect(peer).then([this, peer] {
    --looks_;
    peers_.at(peer).looking = false;
    if (peers_.at(peer).failures == 0) peers_.erase(peer);
  }));
}

void PeerWatch::Doubt(const PeerPlace& peer) {
  if (dialer_ == nullptr || peers_.contains(peer) || peers_.size() >= kMostKept) return;
  peers_[peer].first = peers_[peer].last = timer_.now();
  changed_();
}

kj::Promise<void> PeerWatch::Connect(const PeerPlace& peer) {
  const std::string address = AddressOf(peer);
  auto dialed = kj::evalNow([&] { return dialer_->Dial(address.c_str()); });
  return rpc::WithDeadline(timer_, kLimit, "connect to " + address, kj::mv(dialed))
      .ignoreResult()
      .then(
          [this, peer]() -> kj::Promise<void> {
            Reached(peer);
            return kj::READY_NOW;
          },
          [this, peer](kj::Exception&& why) -> kj::Promise<void> {
            if (rpc::SaysNobodyListens(why)) {
              Reached(peer);
            } else if (Failed(peer, rpc::FromException(why).message())) {
              return Connect(peer);
            }
            return kj::READY_NOW;
          });
}

void PeerWatch::Reached(const PeerPlace& peer) {
  State& state = peers_.at(peer);
  if (std::exchange(state.failures, 0) == 0) return;
  log_->info("the worker at {} can be reached again", AddressOf(peer));
  changed_();
}

// Returns true if the peer has to be checked again at once.
bool PeerWatch::Failed(const PeerPlace& peer, const std::string& why) {
  State& state = peers_.at(peer);
  state.last = timer_.now();
  if (state.failures++ == 0) state.first = timer_.now();
  if (state.failures == 2) log_->warn("the worker at {} cannot be reached from here: {}", AddressOf(peer), why);
  if (state.failures <= 2) changed_();
  return state.failures == 1;
}

std::vector<PeerWatch::Unreached> PeerWatch::ListUnreached() {
  const kj::TimePoint now = timer_.now();
  std::erase_if(peers_, [&](const auto& peer) { return !peer.second.looking && now - peer.second.last >= kKept; });
  std::vector<Unreached> unreached;
  for (const auto& [peer, state] : peers_) {
    if (state.failures > 0 || !state.looking) unreached.push_back({peer, state.failures, now - state.first});
  }
  return unreached;
}

}  // namespace millrace::worker
