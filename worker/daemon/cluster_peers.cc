// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/cluster_peers.h"

#include <netdb.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/protocol/master.capnp.h"
#include "base/thread.h"

namespace millrace::worker {
namespace {

constexpr auto kPause = std::chrono::seconds(1);  // between two questions to the master

// Returns "address port" as text, the same for an IPv4 address in either family.
std::string ToText(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) return {};
  std::string text = host;
  if (text.starts_with("::ffff:") && text.find('.') != std::string::npos) text.erase(0, 7);
  return text + " " + port;
}

void Add(const std::string& host, const std::string& port, std::set<std::string>* addresses) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next)
    addresses->insert(ToText(at->ai_addr, at->ai_addrlen));
}

}  // namespace

ClusterPeers::ClusterPeers(const std::string& masters, std::string local_socket, MasterOptions options, Log log)
    : masters_(masters), local_socket_(std::move(local_socket)), options_(std::move(options)), log_(std::move(log)) {
  std::ifstream resolver("/etc/resolv.conf");
  for (std::string line; std::getline(resolver, line);) {
    std::istringstream words(line);
    std::string word, server;
    if (words >> word >> server && word == "nameserver") Add(server, "53", &known_);
  }
  thread_ = std::thread([this] { Loop(); });
}

ClusterPeers::~ClusterPeers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<bool> ClusterPeers::Allows(const sockaddr_storage& address, const std::function<void()>& later) {
  const socklen_t size = address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const std::string wanted = ToText(reinterpret_cast<const sockaddr*>(&address), size);
  if (wanted.empty()) return false;
  const std::lock_guard lock(mutex_);
  if (known_.contains(wanted)) return true;
  if (asked_ != Time() && std::chrono::steady_clock::now() - asked_ < kPause) return false;
  waiting_.push_back(later);
  changed_.notify_all();
  return std::nullopt;
}

void ClusterPeers::Loop() {
  NameThread("agent-peers");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    lock.unlock();
    Addresses found;
    if (const Status asked = Ask(&found); !asked.ok())
      log_->warn("cannot ask for the cluster's workers, whom a task may want to reach: {}", asked.message());
    lock.lock();
    known_.merge(found);
    asked_ = std::chrono::steady_clock::now();
    const auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (const auto& later : waiting) later();
    lock.lock();
  }
}

// The masters' names are looked up again, too: they may have moved.
Status ClusterPeers::Ask(Addresses* found) {
  std::istringstream masters(masters_);
  for (std::string one; std::getline(masters, one, ',');) {
    const std::size_t colon = one.rfind(':');
    if (colon != std::string::npos) Add(one.substr(0, colon), one.substr(colon + 1), found);
  }
  if (connection_ == nullptr) {
    MILLRACE_ASSIGN(const dfs::ClientOptions options, options_());
    MILLRACE_ASSIGN(connection_, dfs::MasterConnection::Connect(options));
  }
  std::vector<std::pair<std::string, std::string>> places;
  std::uint32_t after = 0;
  for (bool more = true; more;) {
    const auto ask = [&](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) -> kj::Promise<void> {
      auto request = bootstrap.castAs<master::wire::Master>().nodesRequest();
      request.setAfter(after);
      return request.send().then([&](capnp::Response<master::wire::Master::NodesResults>&& answer) {
        more = answer.getMore();
        for (const auto node : answer.getNodes()) {
          places.emplace_back(node.getInfo().getHost(), std::to_string(node.getInfo().getPort()));
          after = node.getNode();
        }
        more = more && answer.getNodes().size() > 0;
      });
    };
    MILLRACE_TRY(connection_->Call("list the nodes", ask));
  }
  for (const auto& [host, port] : places) Add(host, port, found);
  return Status::Ok();
}

}  // namespace millrace::worker
