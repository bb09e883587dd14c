// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_limit.h"

#include <algorithm>

namespace millrace::shuffle {

FetchLimit::FetchLimit(unsigned most) : most_(std::max(most, 1U)), limit_(std::min(kFirst, most_)) {}

void FetchLimit::InFlight(unsigned fetches, Time now) {
  const bool was_full = in_flight_ >= limit_, is_full = fetches >= limit_;
  in_flight_ = fetches;
  if (was_full != is_full) BeginTurn(now);
}

void FetchLimit::Came(std::uint64_t bytes, Time now) {
  if (in_flight_ < limit_) return;
  turn_bytes_ += bytes;
  if (now - turn_began_ < kTurn || turn_bytes_ < kTurnBytes * limit_) return;
  EndTurn(static_cast<double>(turn_bytes_) / std::chrono::duration<double>(now - turn_began_).count());
  BeginTurn(now);
}

void FetchLimit::BeginTurn(Time now) {
  turn_began_ = now;
  turn_bytes_ = 0;
}

void FetchLimit::EndTurn(double rate) {
  if (trying_) {
    trying_ = false;
    if (rate < rate_ * (1 + kShare / (limit_ - 1))) {
      --limit_;
      rest_ = next_rest_;
      next_rest_ = std::min(2 * next_rest_, kLongestRest);
      return;
    }
    next_rest_ = 1;
  } else if (rate < rate_ / 2) {
    limit_ = std::max(limit_ / 2, 1U);
    rate_ = 0;
    rest_ = 1;
    return;
  }
  rate_ = rate;
  if (rest_ > 0) {
    --rest_;
  } else if (limit_ < most_) {
    ++limit_;
    trying_ = true;
  }
}

void FetchLimit::Failed(Time now) {
  limit_ = std::max(limit_ / 2, 1U);
  trying_ = false;
  rate_ = 0;
  rest_ = next_rest_;
  BeginTurn(now);
}

}  // namespace millrace::shuffle
