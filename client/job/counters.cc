// SPDX-License-Identifier: Apache-2.0
#include "client/job/counters.h"

#include "base/text.h"

namespace millrace {

Counter& CounterSet::Get(std::string_view group, std::string_view name) {
  const std::lock_guard lock(mutex_);
  Counter*& counter = by_name_[{std::string(group.substr(0, kLongestName)), std::string(name.substr(0, kLongestName))}];
  if (counter == nullptr) counter = &counters_.emplace_back();
  return *counter;
}

std::vector<CounterValue> CounterSet::Snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<CounterValue> values;
  values.reserve(by_name_.size());
  for (const auto& [name, counter] : by_name_) values.push_back({name.first, name.second, counter->value()});
  return values;
}

}  // namespace millrace
