// FairShelf against a sort, with more members than a row holds.
#include "schedulers/policies/fair/fair_shelf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace millrace::sched {
namespace {

class Model {
 public:
  // Names that differ and ids that do not, and the other way round.
  Model(std::mt19937* random, bool by_name) : random_(*random) {
    for (std::uint32_t i = 0; i < kMembers; ++i)
      names_.push_back(by_name ? std::to_string(1000 + i * 7 % kMembers) : "");
    for (std::uint32_t i = 0; i < kMembers; ++i) members_.emplace_back(names_[i], by_name ? 5 : i * 7 % kMembers);
  }

  void Step() {
    const std::uint32_t i = Below(kMembers);
    const FairShelf::Key key{Below(4), Units{1} << Below(3)};
    const auto at = std::find_if(here_.begin(), here_.end(), [&](const auto& one) { return one.second == i; });
    if (at == here_.end()) {
      shelf_.Insert(members_[i], key);
      here_.emplace_back(key, i);
    } else if (Below(4 + leaving_ * 4) >= 4) {
      shelf_.Erase(members_[i]);
      here_.erase(at);
    } else {
      shelf_.Change(members_[i], key);
      at->first = key;
      if (Below(2) == 0) return;
      const FairShelf::Key again{Below(4), key.divisor};  // so that some go back to their seat
      shelf_.Change(members_[i], again);
      at->first = again;
    }
  }

  void Compare() {
    std::sort(here_.begin(), here_.end(), [this](const auto& a, const auto& b) {
      const auto left = a.first.running * b.first.divisor, right = b.first.running * a.first.divisor;
      if (left != right) return left < right;
      return std::pair(members_[a.second].id(), names_[a.second]) <
             std::pair(members_[b.second].id(), names_[b.second]);
    });
    FairShelf::Walk walk(shelf_);
    for (const auto& [key, i] : here_) {
      ASSERT_EQ(walk.current(), &members_[i]);
      ASSERT_EQ(walk.id(), members_[i].id());
      walk.Step();
    }
    ASSERT_EQ(walk.current(), nullptr);
  }

  void Leave(bool leave) { leaving_ = leave ? 1 : 0; }
  [[nodiscard]] std::size_t size() const { return here_.size(); }

 private:
  static constexpr std::uint32_t kMembers = 400;
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::mt19937& random_;
  std::vector<std::string> names_;
  std::deque<FairShelf::Member> members_;
  FairShelf shelf_;
  std::vector<std::pair<FairShelf::Key, std::uint32_t>> here_;
  std::uint32_t leaving_ = 0;
};

void Check(bool by_name) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Model model(&random, by_name);
  std::size_t most = 0;
  for (int step = 0; step < 8000 && !testing::Test::HasFatalFailure(); ++step) {
    model.Leave(step % 2000 >= 1200);
    model.Step();
    if (step % 5 == 0) model.Compare();
    most = std::max(most, model.size());
  }
  EXPECT_GT(most, 200U);
}

TEST(FairShelf, WalksInOrderOfTheKeysThenOfIds) { Check(false); }
TEST(FairShelf, WalksInOrderOfTheKeysThenOfNames) { Check(true); }

}  // namespace
}  // namespace millrace::sched
