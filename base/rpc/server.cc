// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/admission.h"
#include "base/ids/counted.h"
#include "base/rpc/calls.h"
#include "base/rpc/connection.h"
#include "base/rpc/framed_stream.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/tls_stream.h"
#include "base/rpc/transport.h"

namespace millrace::rpc {
namespace {

using capnp::rpc::twoparty::Side;
using capnp::rpc::twoparty::VatId;

constexpr kj::Duration kSweep = 1 * kj::SECONDS, kAcceptPause = 100 * kj::MILLISECONDS, kTellEvery = 10 * kj::SECONDS;

}  // namespace

struct Server::Impl final : kj::TaskSet::ErrorHandler {
  struct Session;
  using Sessions = std::map<std::uint64_t, Session*>;  // keyed by age

  Impl(kj::Timer& clock, BootstrapFor what, const ServerLimits& most)
      : timer(clock),
        bootstrap(std::move(what)),
        limits(most),
        admission(most.max_connections, most.max_per_peer),
        tasks(*this) {}

  void taskFailed(kj::Exception&&) override {}  // a connection that ends with an error has merely ended

  void Secure(kj::Own<kj::AsyncIoStream> stream, const Peer& peer, std::uint64_t id);
  void Open(kj::Own<kj::AsyncIoStream> stream, const Peer& peer, std::uint64_t id);
  void GiveWay(std::uint64_t id);
  void Leave(Session& session);
  void Drop(Session& session, const std::string& why);
  void Grown(Session& by);
  kj::Promise<void> Sweep();
  void SweepOnce();
  void Trouble(const std::string& what, const std::string& who);
  void TellTroubles();

  kj::Promise<void> AcceptNext(Server& server, kj::ConnectionReceiver& receiver) {
    return receiver.accept()
        .then([&server](kj::Own<kj::AsyncIoStream> stream) {
          // A peer that has already gone must not end the loop.
          Peer peer;
          const bool here = kj::runCatchingExceptions([&] {
                              TuneTcp(*stream);
                              peer = PeerOf(*stream);
                            }) == nullptr;
          if (here) server.Accept(kj::mv(stream), peer);
        })
        .catch_([this](kj::Exception&& why) {
          Trouble("cannot accept: " + FromException(why).message(), "");
          return timer.afterDelay(kAcceptPause);
        })
        .then([this, &server, &receiver] { return AcceptNext(server, receiver); });
  }

  kj::Timer& timer;
  BootstrapFor bootstrap;
  const ServerLimits limits;
  Admission admission;
  std::function<void(const std::string&)> tell = [](const std::string&) {};
  std::shared_ptr<MessageMemory> memory = std::make_shared<MessageMemory>();
  Sessions sessions;
  std::shared_ptr<tls::Credentials> credentials;                            // null: no TLS
  std::map<std::uint64_t, kj::Own<kj::PromiseFulfiller<void>>> handshakes;  // connections that are no sessions yet
  bool sweeping = false;
  struct TroubleCount {
    std::uint64_t count = 0;
    std::string last;  // the address of the peer that caused it last
  };
  std::map<std::string, TroubleCount> troubles;
  std::optional<kj::TimePoint> told;
  kj::TaskSet tasks;  // last, because its promises use the members above
};

// One connection. It counts as open until Leave, and is destroyed with its promise soon after.
struct Server::Impl::Session final : capnp::BootstrapFactory<VatId> {
  Session(Impl& of, std::uint64_t number, kj::Own<kj::AsyncIoStream> connected, Peer who,
          kj::Own<kj::PromiseFulfiller<void>> drop)
      : impl(of),
        id(number),
        stream(kj::mv(connected)),
        peer(std::move(who)),
        opened(of.timer.now()),
        share(std::make_shared<MessageMemory::Share>(of.memory)),
        framed(*stream, of.timer, share, [this] { impl.Grown(*this); }),
        dropped(kj::mv(drop)),
        network(framed, Side::SERVER, ReaderLimits(of.limits.connection)),
        system(capnp::makeRpcServer(network, static_cast<capnp::BootstrapFactory<VatId>&>(*this))) {
    system.setFlowLimit(of.limits.connection.flow_limit_words);
    impl.sessions[id] = this;
  }
  ~Session() noexcept(false) { impl.Leave(*this); }

  capnp::Capability::Client createFor(VatId::Reader) override {
    asked = true;
    impl.admission.Spoke(id);
    return impl.bootstrap(peer);
  }

  Impl& impl;
  const std::uint64_t id;
  kj::Own<kj::AsyncIoStream> stream;
  const Peer peer;
  const kj::TimePoint opened;
  bool asked = false;  // whether the peer has asked for the bootstrap
  const std::shared_ptr<MessageMemory::Share> share;
  FramedStream framed;
  kj::Own<kj::PromiseFulfiller<void>> dropped;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<VatId> system;
};

void Server::Impl::Leave(Session& session) {
  if (sessions.erase(session.id) == 0) return;
  admission.Leave(session.id);
  session.share->Leave();
}

// The session's promise ends only in a later turn of the loop, so this may be called from within the session's own
// calls.
void Server::Impl::Drop(Session& session, const std::string& why) {
  Trouble("dropped: " + why, session.peer.address);
  Leave(session);
  session.dropped->fulfill();
}

void Server::Impl::GiveWay(std::uint64_t id) {
  static constexpr const char* kWhy = "no call yet, and its place was needed";
  if (const auto session = sessions.find(id); session != sessions.end()) return Drop(*session->second, kWhy);
  const auto handshake = handshakes.find(id);
  if (handshake == handshakes.end()) return;
  handshake->second->fulfill();
  handshakes.erase(handshake);
  admission.Leave(id);
  Trouble(std::string("dropped: ") + kWhy, "");
}

// Does the handshake, and then opens the session.
void Server::Impl::Secure(kj::Own<kj::AsyncIoStream> stream, const Peer& peer, std::uint64_t id) {
  auto secured = kj::heap<TlsStream>(kj::mv(stream), tls::Session(credentials->Current(), tls::Side::kServer, "TLS"));
  auto drop = kj::newPromiseAndFulfiller<void>();
  handshakes[id] = kj::mv(drop.fulfiller);
  auto shaken = WithDeadline(timer, limits.bootstrap_within, "TLS: the handshake", secured->Handshake());
  auto over = shaken.then(
      [this, peer, id, secured = kj::mv(secured)]() mutable {
        handshakes.erase(id);
        Peer known = peer;
        known.identity = secured->peer();
        Open(kj::mv(secured), known, id);
      },
      [this, address = peer.address, id](kj::Exception&& why) {
        if (handshakes.erase(id) > 0) admission.Leave(id);
        Trouble(FromException(why).message(), address);
      });
  tasks.add(over.exclusiveJoin(kj::mv(drop.promise)));
}

void Server::Impl::Open(kj::Own<kj::AsyncIoStream> stream, const Peer& peer, std::uint64_t id) {
  auto drop = kj::newPromiseAndFulfiller<void>();
  auto session = kj::heap<Session>(*this, id, kj::mv(stream), peer, kj::mv(drop.fulfiller));
  auto over = session->network.onDisconnect().exclusiveJoin(kj::mv(drop.promise));
  tasks.add(over.attach(kj::mv(session)));
  if (!std::exchange(sweeping, true)) tasks.add(Sweep());
}

// Makes room after a message of session `by` has taken more memory.
void Server::Impl::Grown(Session& by) {
  if (sessions.contains(by.id) && by.network.getCurrentQueueSize() > limits.unread_bytes)
    Drop(by, "it does not read its answers");
  while (memory->bytes() > limits.message_bytes && !sessions.empty()) {
    Session* oldest = nullptr;
    Session* largest = sessions.begin()->second;
    for (const auto& [id, session] : sessions) {
      const auto since = session->framed.reading_since();
      if (since && (oldest == nullptr || *since < *oldest->framed.reading_since())) oldest = session;
      if (session->share->bytes() > largest->share->bytes()) largest = session;
    }
    Drop(oldest != nullptr ? *oldest : *largest, "messages of all peers took too much memory");
  }
}

kj::Promise<void> Server::Impl::Sweep() {
  return timer.afterDelay(kSweep).then([this]() -> kj::Promise<void> {
    SweepOnce();
    TellTroubles();
    if (!sessions.empty() || !troubles.empty()) return Sweep();
    sweeping = false;
    return kj::READY_NOW;
  });
}

void Server::Impl::SweepOnce() {
  const kj::TimePoint now = timer.now();
  const auto late = [now](std::optional<kj::TimePoint> since, kj::Duration limit) {
    return since && now - *since >= limit;
  };
  std::uint64_t unread = 0;
  for (auto next = sessions.begin(); next != sessions.end();) {
    Session& session = *(next++)->second;
    if (late(session.framed.reading_since(), limits.message_within)) {
      Drop(session, "a message that did not end");
    } else if (!session.asked && late(session.opened, limits.bootstrap_within)) {
      Drop(session, "no call after it connected");
    } else if (late(session.framed.writing_since(), limits.message_within)) {
      Drop(session, "it does not read its answers");
    } else {
      unread += session.network.getCurrentQueueSize();
    }
  }
  while (unread > limits.message_bytes && !sessions.empty()) {
    const auto size = [](const auto& entry) { return entry.second->network.getCurrentQueueSize(); };
    const auto most = std::ranges::max_element(sessions, {}, size);
    Session& largest = *most->second;
    unread -= size(*most);
    Drop(largest, "answers that no peer reads took too much memory");
  }
}

void Server::Impl::Trouble(const std::string& what, const std::string& who) {
  TroubleCount& trouble = troubles[what];
  ++trouble.count;
  trouble.last = who;
  if (!std::exchange(sweeping, true)) tasks.add(Sweep());
}

void Server::Impl::TellTroubles() {
  if (troubles.empty() || (told && timer.now() - *told < kTellEvery)) return;
  told = timer.now();
  for (const auto& [what, trouble] : std::exchange(troubles, {})) {
    const std::string who = trouble.last.empty() ? "" : ", last from " + trouble.last;
    tell("control connections: " + what + " (" + Counted(trouble.count, "time") + who + ")");
  }
}

Server::Server(kj::Timer& timer, BootstrapFor bootstrap, const ServerLimits& limits)
    : impl_(std::make_unique<Impl>(timer, std::move(bootstrap), limits)) {}
Server::Server(kj::Timer& timer, capnp::Capability::Client bootstrap, const ServerLimits& limits)
    : Server(
          timer,
          [always = std::make_shared<capnp::Capability::Client>(kj::mv(bootstrap))](const Peer&) { return *always; },
          limits) {}
Server::~Server() = default;

void Server::OnTrouble(std::function<void(const std::string&)> tell) { impl_->tell = std::move(tell); }

void Server::UseTls(std::shared_ptr<tls::Credentials> credentials) { impl_->credentials = std::move(credentials); }

void Server::Accept(kj::Own<kj::AsyncIoStream> stream, const Peer& peer) {
  const Admission::Answer answer = impl_->admission.Enter(peer.address, peer.loopback);
  if (answer.gives_way) impl_->GiveWay(*answer.gives_way);
  if (!answer.admitted) return impl_->Trouble("refused: too many connections", peer.address);
  if (impl_->credentials == nullptr) return impl_->Open(kj::mv(stream), peer, answer.id);
  impl_->Secure(kj::mv(stream), peer, answer.id);
}

kj::Promise<void> Server::AcceptLoop(kj::Own<kj::ConnectionReceiver> receiver) {
  auto loop = impl_->AcceptNext(*this, *receiver);
  return loop.attach(kj::mv(receiver));
}

std::size_t Server::connections() const { return impl_->sessions.size(); }
std::uint64_t Server::message_bytes() const { return impl_->memory->bytes(); }

}  // namespace millrace::rpc
