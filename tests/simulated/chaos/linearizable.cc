// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/linearizable.h"

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::simulated {
namespace {

// Returns true if the operation may come next; *there is then the state after it.
bool Apply(PathOp::Kind kind, bool* there) {
  const bool was = *there;
  switch (kind) {
    case PathOp::Kind::kMake:
      *there = true;
      return true;
    case PathOp::Kind::kTake:
      *there = false;
      return was;
    case PathOp::Kind::kSeenThere:
      return was;
    case PathOp::Kind::kSeenAbsent:
      return !was;
  }
  return false;
}

class Search {
 public:
  explicit Search(std::vector<PathOp> history) : ops_(std::move(history)), done_(ops_.size(), '0') {
    std::ranges::sort(ops_, {}, &PathOp::began);
    for (const PathOp& op : ops_) left_ += op.answered == PathOp::kNever ? 0 : 1;
  }

  // Each operation that began before the first answer of those that are left may be next.
  bool From(bool there) {
    if (left_ == 0) return true;
    if (!seen_.emplace(done_, there).second) return false;
    std::uint64_t first_answer = PathOp::kNever;
    for (std::size_t i = 0; i < ops_.size() && ops_[i].began < first_answer; ++i) {
      if (done_[i] == '0') first_answer = std::min(first_answer, ops_[i].answered);
    }
    for (std::size_t i = 0; i < ops_.size() && ops_[i].began < first_answer; ++i) {
      bool then = there;
      if (done_[i] != '0' || !Apply(ops_[i].kind, &then)) continue;
      const bool answered = ops_[i].answered != PathOp::kNever;
      done_[i] = '1';
      left_ -= answered ? 1 : 0;
      if (From(then)) return true;
      left_ += answered ? 1 : 0;
      done_[i] = '0';
    }
    return false;
  }

 private:
  std::vector<PathOp> ops_;
  std::string done_;
  std::size_t left_ = 0;  // of those that were answered
  std::set<std::pair<std::string, bool>> seen_;
};

}  // namespace

bool IsLinearizable(std::vector<PathOp> history) { return Search(std::move(history)).From(false); }

std::vector<std::string> Explain(const std::vector<PathOp>& history) {
  std::vector<PathOp> by_answer = history;
  std::ranges::sort(by_answer, {}, &PathOp::answered);
  // What was not answered within the beginning may have been done.
  const auto beginning = [&](std::size_t answers) {
    std::vector<PathOp> part;
    const std::uint64_t end = by_answer[answers - 1].answered;
    for (PathOp op : by_answer) {
      if (op.began > end) continue;
      if (op.answered > end) op.answered = PathOp::kNever;
      part.push_back(std::move(op));
    }
    return part;
  };
  std::size_t answers = 1;
  while (answers < by_answer.size() && IsLinearizable(beginning(answers))) ++answers;
  std::vector<PathOp> part = beginning(answers);
  std::ranges::sort(part, {}, &PathOp::began);
  std::vector<std::string> lines;
  for (const PathOp& op : part) {
    lines.push_back(std::to_string(op.began) + " to " +
                    (op.answered == PathOp::kNever ? "?" : std::to_string(op.answered)) + ": " + op.what);
  }
  return lines;
}

}  // namespace millrace::simulated
