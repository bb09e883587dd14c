// SPDX-License-Identifier: Apache-2.0
// FetchLimit sets the number of fetches of one reduce that may be in flight. It grows by one as long as each added
// fetch raises the rate, and shrinks when an added fetch does not.
//
// The rate is measured in turns. A turn lasts at least kTurn and kTurnBytes for each fetch, with as many fetches in
// flight as the limit allows. While something else (the number of sources) keeps the fetches fewer, nothing can be
// learnt and the limit stays. After a turn at n fetches with the rate r, the next turn has n + 1 fetches. If its rate
// is less than r * (1 + kShare / n), the added fetch did not pay for itself: the limit goes back to n, and the wait for
// the next try doubles, to at most kLongestRest turns. The limit is halved when the rate falls below half of the rate
// that this number of fetches once had, or when a fetch fails, since both mean that too many share the network.
//
// The limit is always 1 to `most`, which bounds the memory, since each fetch has a buffer of one piece. Time is passed
// in. Thread rule: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace::shuffle {

class FetchLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kTurn{200};
  static constexpr std::uint64_t kTurnBytes = std::uint64_t{512} << 10;
  static constexpr unsigned kFirst = 5;
  static constexpr double kShare = 0.5;         // of the 1/n that a fetch as good as the others adds to the rate
  static constexpr unsigned kLongestRest = 32;  // turns

  explicit FetchLimit(unsigned most);

  [[nodiscard]] unsigned limit() const { return limit_; }
  // Notes the number of fetches that are in flight from now on.
  void InFlight(unsigned fetches, Time now);
  // Notes that `bytes` arrived.
  void Came(std::uint64_t bytes, Time now);
  void Failed(Time now);

 private:
  void BeginTurn(Time now);
  void EndTurn(double rate);

  const unsigned most_;
  unsigned limit_;
  unsigned in_flight_ = 0;
  Time turn_began_;
  std::uint64_t turn_bytes_ = 0;
  bool trying_ = false;     // this turn is the first with limit_, which is one more than before
  double rate_ = 0;         // bytes per second at limit_, or before the try; 0: not known
  unsigned rest_ = 0;       // turns until the next try
  unsigned next_rest_ = 1;  // turns to wait after a try that fails
};

}  // namespace millrace::shuffle
