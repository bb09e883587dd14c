// SPDX-License-Identifier: Apache-2.0
// KarmaAccounts: the credits of pools that lend slots of one kind to each other (Vuppalapati et al., "Karma: Resource
// Allocation for Dynamic Demands", OSDI 2023, Algorithm 1). karma.h is the policy.
//
// The rule, as code. n pools share S slots; g = floor(alpha * S / n) of them are a pool's own, the other S - n g are
// shared:
//
//   Settle(passed):       // the last plan was in force for so long
//     for pool in the pools: credits += passed * ((S - n g) / n + lent - borrowed)
//   Plan():
//     for pool in the pools: granted = min(demand, g), lent = borrowed = 0
//     while some pool has granted < demand, and some pool has granted + lent < g or a shared slot is left:
//       borrower = of the first, the one with the most credits - borrowed * quantum
//       lender   = of the second, the one with the least credits + lent * quantum; none: one of the shared slots
//       lent of the lender += 1; borrowed and granted of the borrower += 1
//   a pool that joins gets the mean of the credits of the others
//
// Credits are slot time. So a pool that uses less than its own slots earns what others use of them, and the one that
// has lent most borrows first. The sum of all credits is what was issued, less what was paid for shared slots
// (`issued`). Differences from the paper: a plan is in force until the next event after a quantum, and is
// paid for by its length; and a pool without credits may borrow, after all others, so that no slot idles.
//
// Thread rule: one thread. O(pools) for each slot that is lent or shared.
#pragma once

#include <cstdint>
#include <map>

#include "base/ids/time.h"

namespace millrace::sched {

class KarmaAccounts {
 public:
  struct Account {
    Micros credits = 0;
    std::uint32_t demand = 0;  // slots that the pool could use; set by the caller before Plan
    std::uint32_t granted = 0, lent = 0, borrowed = 0;
  };

  // Requires: 0 <= alpha <= 1.
  KarmaAccounts(double alpha, Micros quantum) : alpha_(alpha), quantum_(quantum) {}

  void Settle(Micros passed);
  // Does nothing if the pool has an account.
  void Join(std::uint32_t pool);
  void Leave(std::uint32_t pool);
  void Plan(std::uint32_t slots);

  // By the number of the pool, in that order. Ties of credits go to the first.
  [[nodiscard]] std::map<std::uint32_t, Account>& accounts() { return accounts_; }
  [[nodiscard]] const std::map<std::uint32_t, Account>& accounts() const { return accounts_; }
  // Returns the slots that are a pool's own.
  [[nodiscard]] std::uint32_t own() const { return own_; }
  // Returns the sum that all credits have by the rule: what was issued, also to pools that joined, less what was paid
  // for shared slots, and what pools took with them.
  [[nodiscard]] Micros issued() const { return issued_; }

 private:
  double alpha_;
  Micros quantum_;
  std::map<std::uint32_t, Account> accounts_;
  std::uint32_t own_ = 0, shared_ = 0;
  std::uint32_t shared_used_ = 0;  // of them, by the last plan
  Micros issued_ = 0;
};

}  // namespace millrace::sched
