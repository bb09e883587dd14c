// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/network.h"

#include <kj/debug.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::simulated {

// One direction. An empty chunk is the end.
struct Network::Pipe {
  struct Chunk {
    kj::Array<kj::byte> bytes;
    kj::TimePoint arrives;
  };
  std::deque<Chunk> under_way;
  std::deque<kj::Array<kj::byte>> arrived;
  std::size_t taken = 0;  // of the first that has arrived
  bool ended = false;     // the end has arrived
  bool closed = false;    // the writer has sent the end
  bool held = false;      // the link is blocked and something waits
  std::uint64_t holds = 0;
  kj::TimePoint last = kj::origin<kj::TimePoint>();
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> reader;

  void Wake() {
    KJ_IF_MAYBE (waiting, reader) {
      (*waiting)->fulfill();
      reader = nullptr;
    }
  }
};

// Side 0 dialled. pipes[s] carries what side s writes.
struct Network::Connection {
  std::uint64_t id = 0;
  HostId hosts[2] = {};
  Process* processes[2] = {};
  Pipe pipes[2];
  bool broken = false;
  bool muted[2] = {};  // the process of this side is dead: what its remains write goes nowhere
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> told[2];  // whenWriteDisconnected
};

class Network::End final : public kj::AsyncIoStream {
 public:
  End(Network& network, std::shared_ptr<Connection> connection, int side)
      : network_(network), connection_(std::move(connection)), side_(side) {}
  ~End() noexcept(false) { shutdownWrite(); }

  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override {
    return Read(static_cast<kj::byte*>(buffer), least, most, 0);
  }
  kj::Promise<void> write(const void* buffer, std::size_t size) override {
    if (connection_->broken) return Gone();
    if (size > 0) network_.Send(connection_, side_, kj::heapArray(static_cast<const kj::byte*>(buffer), size));
    return kj::READY_NOW;
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    if (connection_->broken) return Gone();
    std::size_t size = 0;
    for (const auto& piece : pieces) size += piece.size();
    auto all = kj::heapArray<kj::byte>(size);
    std::size_t at = 0;
    for (const auto& piece : pieces) {
      std::memcpy(all.begin() + at, piece.begin(), piece.size());
      at += piece.size();
    }
    if (size > 0) network_.Send(connection_, side_, kj::mv(all));
    return kj::READY_NOW;
  }
  kj::Promise<void> whenWriteDisconnected() override {
    if (connection_->broken) return kj::READY_NOW;
    auto paf = kj::newPromiseAndFulfiller<void>();
    connection_->told[side_] = kj::mv(paf.fulfiller);
    return kj::mv(paf.promise);
  }
  void shutdownWrite() override {
    Pipe& pipe = connection_->pipes[side_];
    if (connection_->broken || connection_->muted[side_] || std::exchange(pipe.closed, true)) return;
    network_.Send(connection_, side_, nullptr);
  }
  void abortRead() override { connection_->pipes[1 - side_].arrived.clear(); }

 private:
  [[nodiscard]] kj::Exception Gone() const { return KJ_EXCEPTION(DISCONNECTED, "connection reset"); }

  kj::Promise<std::size_t> Read(kj::byte* buffer, std::size_t least, std::size_t most, std::size_t got) {
    if (connection_->broken) return Gone();
    Pipe& pipe = connection_->pipes[1 - side_];
    while (got < most && !pipe.arrived.empty()) {
      const kj::Array<kj::byte>& first = pipe.arrived.front();
      const std::size_t size = std::min(most - got, first.size() - pipe.taken);
      std::memcpy(buffer + got, first.begin() + pipe.taken, size);
      got += size;
      pipe.taken += size;
      if (pipe.taken == first.size()) {
        pipe.arrived.pop_front();
        pipe.taken = 0;
      }
    }
    if (got >= least || pipe.ended) return got;
    auto paf = kj::newPromiseAndFulfiller<void>();
    pipe.reader = kj::mv(paf.fulfiller);
    return paf.promise.then([this] { return connection_->processes[side_]->MayReceive(); }).then([=, this] {
      return Read(buffer, least, most, got);
    });
  }

  Network& network_;
  std::shared_ptr<Connection> connection_;
  int side_;
};

Network::Network(World& world, LinkQuality quality) : world_(world), quality_(quality), random_(world.Fork()) {}
Network::~Network() = default;

double Network::Delay(std::uint64_t bytes) {
  return quality_.latency + quality_.jitter * random_.Unit() + static_cast<double>(bytes) / quality_.bytes_per_second;
}

void Network::Serve(const std::string& address, HostId host, Process& process, rpc::Server& server) {
  servers_.insert_or_assign(address, Listener{host, &process, &server, ++generation_});
}

void Network::Open(const std::string& address, HostId host) {
  servers_.insert_or_assign(address, Listener{host, nullptr, nullptr, ++generation_});
}

void Network::Close(const std::string& address, Death death) {
  if (death == Death::kSilent) {
    servers_.at(address).silent = true;
  } else {
    servers_.erase(address);
  }
}

kj::Promise<kj::Own<kj::AsyncIoStream>> Network::Dialer::Dial(kj::StringPtr address) {
  const std::string name(address.cStr());
  const std::uint64_t incarnation = process_.incarnation();
  auto sent = network_.world_.Sleep(2 * network_.Delay(64)).then([this] { return process_.MayReceive(); });
  return sent.then([this, name, incarnation]() -> kj::Promise<kj::Own<kj::AsyncIoStream>> {
    if (!process_.alive() || process_.incarnation() != incarnation) return kj::NEVER_DONE;
    const auto listener = network_.servers_.find(name);
    if (listener == network_.servers_.end()) return rpc::NobodyListens(name);
    const Listener to = listener->second;
    if (to.silent || network_.Blocked(host_, to.host) || network_.Blocked(to.host, host_)) {
      return network_.world_.Sleep(kUserTimeout).then([name]() -> kj::Promise<kj::Own<kj::AsyncIoStream>> {
        return rpc::ToException(Unavailable("connect to " + name + ": no answer"));
      });
    }
    if (to.server == nullptr) {
      kj::TwoWayPipe pipe = kj::newTwoWayPipe();
      return kj::mv(pipe.ends[0]);
    }
    auto connection = std::make_shared<Connection>();
    connection->id = network_.next_connection_++;
    connection->hosts[0] = host_;
    connection->hosts[1] = to.host;
    connection->processes[0] = &process_;
    connection->processes[1] = to.process;
    network_.connections_[connection->id] = connection;
    // The kernel takes the connection; the process accepts it when it runs.
    network_.world_.Add(to.process->MayReceive().then([&network = network_, connection, name, to] {
      const auto still = network.servers_.find(name);
      if (connection->broken || still == network.servers_.end() || still->second.generation != to.generation) {
        network.Break(*connection);
        return;
      }
      to.server->Accept(kj::heap<End>(network, connection, 1));
    }));
    return kj::Own<kj::AsyncIoStream>(kj::heap<End>(network_, connection, 0));
  });
}

void Network::Send(const std::shared_ptr<Connection>& connection, int side, kj::Array<kj::byte> bytes) {
  if (connection->muted[side]) return;
  Pipe& pipe = connection->pipes[side];
  const kj::TimePoint now = world_.timer().now();
  const auto delay = static_cast<std::int64_t>(Delay(bytes.size()) * 1e6) * kj::MICROSECONDS;
  pipe.last = kj::max(pipe.last, now + delay);
  pipe.under_way.push_back({kj::mv(bytes), pipe.last});
  if (pipe.held) return;
  world_.Add(world_.timer().atTime(pipe.last).then([this, connection, side] { Deliver(connection, side); }));
}

void Network::Deliver(const std::shared_ptr<Connection>& connection, int side) {
  Pipe& pipe = connection->pipes[side];
  if (connection->broken) return;
  if (!pipe.under_way.empty() && Blocked(connection->hosts[side], connection->hosts[1 - side]))
    return Hold(connection, side);
  const kj::TimePoint now = world_.timer().now();
  for (; !pipe.under_way.empty() && pipe.under_way.front().arrives <= now; pipe.under_way.pop_front()) {
    kj::Array<kj::byte>& bytes = pipe.under_way.front().bytes;
    if (bytes == nullptr) {
      pipe.ended = true;
      KJ_IF_MAYBE (told, connection->told[1 - side]) {
        (*told)->fulfill();
        connection->told[1 - side] = nullptr;
      }
    } else {
      pipe.arrived.push_back(kj::mv(bytes));
    }
  }
  pipe.Wake();
}

void Network::Hold(const std::shared_ptr<Connection>& connection, int side) {
  Pipe& pipe = connection->pipes[side];
  if (std::exchange(pipe.held, true)) return;
  const std::uint64_t hold = ++pipe.holds;
  world_.Add(world_.Sleep(kUserTimeout).then([this, connection, side, hold] {
    const Pipe& still = connection->pipes[side];
    if (still.held && still.holds == hold) Break(*connection);
  }));
}

void Network::Unblock(HostId from, HostId to) {
  const auto blocked = blocked_.find({from, to});
  if (blocked == blocked_.end() || --blocked->second > 0) return;
  blocked_.erase(blocked);
  for (const auto& [id, weak] : connections_) {
    const auto connection = weak.lock();
    if (connection == nullptr || connection->broken) continue;
    for (const int side : {0, 1}) {
      Pipe& pipe = connection->pipes[side];
      if (!pipe.held || connection->hosts[side] != from || connection->hosts[1 - side] != to) continue;
      pipe.held = false;
      for (Pipe::Chunk& chunk : pipe.under_way) chunk.arrives = world_.timer().now();
      world_.Add(world_.Sleep(Delay(0)).then([this, connection, s = side] { Deliver(connection, s); }));
    }
  }
}

void Network::UnblockAll() {
  while (!blocked_.empty()) Unblock(blocked_.begin()->first.first, blocked_.begin()->first.second);
}

void Network::Break(Connection& connection) {
  if (std::exchange(connection.broken, true)) return;
  for (const int side : {0, 1}) {
    connection.pipes[side].under_way.clear();
    connection.pipes[side].Wake();
    KJ_IF_MAYBE (told, connection.told[side]) {
      (*told)->fulfill();
      connection.told[side] = nullptr;
    }
  }
}

void Network::Reset(HostId a, HostId b) {
  for (const auto& [id, weak] : connections_) {
    const auto connection = weak.lock();
    if (connection == nullptr) continue;
    const bool between = (connection->hosts[0] == a && connection->hosts[1] == b) ||
                         (connection->hosts[0] == b && connection->hosts[1] == a);
    if (between) Break(*connection);
  }
}

void Network::Kill(HostId host, Death death) {
  std::erase_if(connections_, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& [id, weak] : connections_) {
    const auto connection = weak.lock();
    if (connection == nullptr || connection->broken) continue;
    for (const int side : {0, 1}) {
      if (connection->hosts[side] != host || connection->muted[side]) continue;
      Pipe& pipe = connection->pipes[side];
      if (death == Death::kDelivered) {
        if (!std::exchange(pipe.closed, true)) Send(connection, side, nullptr);
      } else {
        pipe.under_way.clear();
        const double after = death == Death::kLost ? Delay(0) : kUserTimeout;
        world_.Add(world_.Sleep(after).then([this, connection] { Break(*connection); }));
      }
      connection->muted[side] = true;
    }
  }
}

kj::Promise<void> Network::Transfer(HostId from, HostId to, std::uint64_t bytes, double stall) {
  if (from == to) return world_.Sleep(0.0001);
  const double delay = Delay(bytes);
  return world_.Sleep(delay).then([=, this]() -> kj::Promise<void> {
    if (!Blocked(from, to)) return kj::READY_NOW;
    if (stall <= 0) return rpc::ToException(Timeout("the peer is silent"));
    constexpr double kAgain = 0.25;
    return world_.Sleep(std::min(kAgain, stall)).then([=, this] { return Transfer(from, to, bytes, stall - kAgain); });
  });
}

}  // namespace millrace::simulated
