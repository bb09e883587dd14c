// SPDX-License-Identifier: Apache-2.0
// FreshSettings: the settings of the FRESH schedulers.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::sched {

class KeyList;

struct FreshSettings {
  std::uint32_t k = 0;  // the most jobs in their map phase, and in their reduce phase; 0: no limit
  enum class Order : std::uint8_t { kSubmit, kJohnson };
  Order order = Order::kSubmit;
  double tau_progress = 0.8;  // tau_1, 0 to 1
  double tau_change = 0.6;    // tau_2, at least 0

  static constexpr std::string_view kSection = "fresh";
  static constexpr std::string_view kOneLine = "The schedulers fresh-static and fresh-dynamic.";
};

void Declare(KeyList& keys, FreshSettings& settings);

}  // namespace millrace::sched
