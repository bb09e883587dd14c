// SPDX-License-Identifier: Apache-2.0
#include "master/control/announcements.h"

#include <utility>

namespace millrace::master {

void Announcements::Add(const OutputsOrder& order, bool last) {
  const auto [at, first] = gathered_.try_emplace(std::pair(order.node, order.job));
  Outputs& gathered = at->second;
  if (first || last || !order.gone.empty() || !order.left_out.empty()) {
    Tell(at->first, gathered);  // a worker learns of an output before it learns that the output is gone
    tell_(order);
  } else {
    gathered.insert(gathered.end(), order.ready.begin(), order.ready.end());
  }
  Arm();
}

void Announcements::Forget(NodeId node) {
  std::erase_if(gathered_, [node](const auto& entry) { return entry.first.first == node; });
}

void Announcements::Tell(const Target& to, Outputs& gathered) {
  if (gathered.empty()) return;
  tell_({to.first, to.second, std::exchange(gathered, {}), {}, {}});
}

void Announcements::Arm() {
  if (std::exchange(armed_, true)) return;
  tasks_.add(timer_.afterDelay(kPause).then([this] {
    armed_ = false;
    std::erase_if(gathered_, [](const auto& entry) { return entry.second.empty(); });
    for (auto& [to, gathered] : gathered_) Tell(to, gathered);
    if (!gathered_.empty()) Arm();
  }));
}

}  // namespace millrace::master
