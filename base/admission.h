// SPDX-License-Identifier: Apache-2.0
// Admission decides which connections a server keeps when peers want more than it has room for. It is pure. Thread
// rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace millrace {

// If there is no room, the oldest connection that has not yet sent anything sensible is closed; if every connection
// has, the new one is refused. So silent connections never keep others out. Peers on this machine may take all places,
// within the limit for one address; peers on other machines leave an eighth of the places free.
class Admission {
 public:
  // `per_peer` is the limit for one address (one /64 of IPv6), capped at half of `most`.
  Admission(std::size_t most, std::size_t per_peer);

  struct Answer {
    bool admitted = false;
    std::uint64_t id = 0;                    // the new connection, if it is admitted
    std::optional<std::uint64_t> gives_way;  // the connection to close; it is removed already
  };
  // Admits or refuses a connection. `address` is numeric. Connections without an address come from this process and are
  // not limited per peer.
  [[nodiscard]] Answer Enter(const std::string& address, bool loopback);
  void Spoke(std::uint64_t id);  // records that the connection has sent something sensible
  // Removes a connection. Does nothing if the connection has left already.
  void Leave(std::uint64_t id);
  [[nodiscard]] std::size_t size() const { return members_.size(); }

 private:
  struct Member {
    std::string peer;
    bool loopback = false;
    std::optional<std::list<std::uint64_t>::iterator> silent;
  };
  [[nodiscard]] std::optional<std::uint64_t> OldestSilent(const std::function<bool(const Member&)>& which) const;

  const std::size_t most_, per_peer_;
  std::unordered_map<std::uint64_t, Member> members_;
  std::list<std::uint64_t> silent_;  // by age
  std::map<std::string, std::size_t> by_peer_;
  std::size_t strangers_ = 0;  // members from other machines
  std::uint64_t next_ = 1;
};

}  // namespace millrace
