// SPDX-License-Identifier: Apache-2.0
// Leases records who holds the right to write each open file, and when it lapses, so that no path is blocked for ever.
// A right lapses `grace` after its holder went away, or when a holder whose connection stands has been silent for
// `limit` (its process is stopped, or its machine sleeps). Time in which the master itself did not run does not count,
// since no sign of life could arrive. Pure. Thread rule: control thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "dfs/name/types.h"

namespace millrace::master {

class Leases {
 public:
  // `period` is about the time between calls of Expire; times are no more precise than that. `now` is monotonic.
  Leases(Micros grace, Micros limit, Micros period, Micros now)
      : grace_(grace), limit_(limit), longest_step_(2 * period), last_(now) {}

  // Gives the right to a new holder. The token distinguishes it from earlier holders, which have lost the right.
  [[nodiscard]] std::uint64_t Take(dfs::FileId file) {
    leases_[file] = {next_token_, ran_ + limit_};
    return next_token_++;
  }
  // Notes that the holder has sent a sign of life. Returns false if this token no longer has the right.
  bool Renew(dfs::FileId file, std::uint64_t token) {
    const auto it = Find(file, token);
    if (it != leases_.end()) it->second.until = ran_ + limit_;
    return it != leases_.end();
  }
  // Notes that the holder went away.
  void Drop(dfs::FileId file, std::uint64_t token) {
    if (Find(file, token) != leases_.end()) Await(file, grace_);
  }
  // Leaves the file without a holder: the right lapses unless a holder comes within `time`.
  void Await(dfs::FileId file, Micros time) { leases_[file] = {std::nullopt, ran_ + time}; }
  // Returns true if the right can lapse, that is, if it has a holder or a holder is awaited.
  [[nodiscard]] bool Has(dfs::FileId file) const { return leases_.contains(file); }
  // Drops the right, so that it can no longer lapse.
  void Forget(dfs::FileId file) { leases_.erase(file); }

  struct Lapsed {
    dfs::FileId file = 0;
    bool silent = false;  // it still had a holder
  };
  // Returns the rights that lapsed since the last call, and forgets them.
  [[nodiscard]] std::vector<Lapsed> Expire(Micros now) {
    ran_ += std::min(now - last_, longest_step_);
    last_ = now;
    std::vector<Lapsed> lapsed;
    std::erase_if(leases_, [&](const auto& lease) {
      if (lease.second.until > ran_) return false;
      lapsed.push_back({lease.first, lease.second.token.has_value()});
      return true;
    });
    return lapsed;
  }
  [[nodiscard]] Micros limit() const { return limit_; }

 private:
  struct Lease {
    std::optional<std::uint64_t> token;  // none: nobody holds it
    Micros until = 0;                    // on the clock of `ran_`
  };
  [[nodiscard]] std::map<dfs::FileId, Lease>::iterator Find(dfs::FileId file, std::uint64_t token) {
    const auto it = leases_.find(file);
    return it != leases_.end() && it->second.token == token ? it : leases_.end();
  }

  const Micros grace_, limit_, longest_step_;
  std::map<dfs::FileId, Lease> leases_;
  std::uint64_t next_token_ = 1;
  Micros last_;     // when Expire was called last
  Micros ran_ = 0;  // for how long the master ran
};

}  // namespace millrace::master
