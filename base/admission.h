// Admission: which connections a server has room for when strangers want more than there is. Pure. Thread rule: one
// thread at a time.
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

// Where there is no room, the oldest connection that has not said anything sensible makes room, and if there is none,
// the new one is refused: so silent connections never keep out others. Peers of this machine may take all places, as
// far as one address may, others leave an eighth of them.
class Admission {
 public:
  // `per_peer`: of one address (one /64 of IPv6); half of `most` at most.
  Admission(std::size_t most, std::size_t per_peer);

  struct Answer {
    bool admitted = false;
    std::uint64_t id = 0;                    // of the new connection, if it is admitted
    std::optional<std::uint64_t> gives_way;  // a connection that is to be closed, and has left already
  };
  // `address` is numeric; those without one are parts of this process and have no limit of their own.
  [[nodiscard]] Answer Enter(const std::string& address, bool loopback);
  void Spoke(std::uint64_t id);  // it makes room for nobody any more
  // Of one that has left it does nothing.
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
  std::size_t strangers_ = 0;  // members of other machines
  std::uint64_t next_ = 1;
};

}  // namespace millrace
