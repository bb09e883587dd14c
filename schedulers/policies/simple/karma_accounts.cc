// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/karma_accounts.h"

#include <algorithm>

namespace millrace::sched {

void KarmaAccounts::Settle(Micros passed) {
  if (accounts_.empty()) return;
  const auto pools = static_cast<Micros>(accounts_.size());
  const Micros each = passed * shared_ / pools;
  for (auto& [number, of] : accounts_) of.credits += each + passed * (Micros{of.lent} - Micros{of.borrowed});
  issued_ += each * pools - passed * shared_used_;
}

void KarmaAccounts::Join(std::uint32_t pool) {
  if (accounts_.contains(pool)) return;
  Micros sum = 0;
  for (const auto& [number, of] : accounts_) sum += of.credits;
  const Micros mean = accounts_.empty() ? 0 : sum / static_cast<Micros>(accounts_.size());
  accounts_[pool].credits = mean;
  issued_ += mean;
}

void KarmaAccounts::Leave(std::uint32_t pool) {
  const auto at = accounts_.find(pool);
  if (at == accounts_.end()) return;
  issued_ -= at->second.credits;
  accounts_.erase(at);
}

void KarmaAccounts::Plan(std::uint32_t slots) {
  own_ = shared_ = shared_used_ = 0;
  if (accounts_.empty()) return;
  const auto pools = static_cast<std::uint32_t>(accounts_.size());
  own_ = std::min(static_cast<std::uint32_t>(alpha_ * slots / pools), slots / pools);
  shared_ = slots - pools * own_;
  for (auto& [number, of] : accounts_) of.granted = std::min(of.demand, own_), of.lent = of.borrowed = 0;
  while (true) {
    Account *borrower = nullptr, *lender = nullptr;
    const auto rich = [&](const Account& of) { return of.credits - of.borrowed * quantum_; };
    const auto poor = [&](const Account& of) { return of.credits + of.lent * quantum_; };
    for (auto& [number, of] : accounts_) {
      if (of.granted < of.demand && (borrower == nullptr || rich(of) > rich(*borrower))) borrower = &of;
      if (of.granted + of.lent < own_ && (lender == nullptr || poor(of) < poor(*lender))) lender = &of;
    }
    if (borrower == nullptr || (lender == nullptr && shared_used_ == shared_)) return;
    lender != nullptr ? ++lender->lent : ++shared_used_;
    ++borrower->borrowed;
    ++borrower->granted;
  }
}

}  // namespace millrace::sched
