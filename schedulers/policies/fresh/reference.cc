// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/reference.h"

#include <algorithm>
#include <deque>

namespace millrace::sched {
namespace {

// One play of the batch. W_i is the work that job i has left in its phase.
class AlgorithmOne {
 public:
  AlgorithmOne(const std::vector<PhaseProfile>& batch, double s_m, double s_r, std::size_t k)
      : batch_(batch), left_(batch.size()), s_m_(s_m), s_r_(s_r), k_(k == 0 ? batch.size() : k) {
    for (std::size_t i = 0; i < batch.size(); ++i) left_[i] = batch[i].MapWork();
    while (maps_.size() < k_ && next_ < batch.size()) maps_.push_back(next_++);
  }

  double Play() {
    while (!maps_.empty() || !reduces_.empty()) {
      const auto u = Least(maps_), v = Least(reduces_);
      const double c_m = s_m_ / static_cast<double>(maps_.size()), c_r = s_r_ / static_cast<double>(reduces_.size());
      const bool map = v == reduces_.end() || (u != maps_.end() && left_[*u] / c_m < left_[*v] / c_r);
      const double dt = map ? left_[*u] / c_m : left_[*v] / c_r;
      time_ += dt;
      for (const std::size_t i : maps_) left_[i] -= dt * c_m;
      for (const std::size_t i : reduces_) left_[i] -= dt * c_r;
      map ? EndMaps(u) : EndReduces(v);
    }
    return time_;
  }

 private:
  using Set = std::vector<std::size_t>;
  Set::iterator Least(Set& set) {
    return std::min_element(set.begin(), set.end(), [&](auto a, auto b) { return left_[a] < left_[b]; });
  }
  void EndMaps(Set::iterator at) {
    const std::size_t job = *at;
    maps_.erase(at);
    if (next_ < batch_.size()) maps_.push_back(next_++);
    if (batch_[job].ReduceWork() == 0) return;
    left_[job] = batch_[job].ReduceWork();
    if (reduces_.size() < k_) {
      reduces_.push_back(job);
    } else {
      ready_.push_back(job);
    }
  }
  void EndReduces(Set::iterator at) {
    reduces_.erase(at);
    if (ready_.empty()) return;
    reduces_.push_back(ready_.front());
    ready_.pop_front();
  }

  const std::vector<PhaseProfile>& batch_;
  std::vector<double> left_;
  double s_m_, s_r_;
  std::size_t k_, next_ = 0;
  Set maps_, reduces_;
  std::deque<std::size_t> ready_;
  double time_ = 0;
};

}  // namespace

double PlayAlgorithmOne(const std::vector<PhaseProfile>& batch, double s_m, double s_r, std::uint32_t k) {
  return AlgorithmOne(batch, s_m, s_r, k).Play();
}

}  // namespace millrace::sched
