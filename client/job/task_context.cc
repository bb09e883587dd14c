// SPDX-License-Identifier: Apache-2.0
#include "client/job/task_context.h"

#include <algorithm>

namespace millrace {

void TaskContext::set_status(std::string text) {
  const std::lock_guard lock(status_mutex_);
  status_ = std::move(text);
}

void TaskContext::BeginInput(InputFacts input, std::uint64_t number, std::uint64_t offset) {
  input_ = std::move(input);
  input_number_ = number;
  offset_.store(offset, std::memory_order_relaxed);
  begin_.store(offset, std::memory_order_relaxed);
  taken_.store(kNotCompressed, std::memory_order_relaxed);
}

void TaskContext::EndInput(std::uint64_t bytes) {
  offset_.store(begin_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  taken_.store(kNotCompressed, std::memory_order_relaxed);
  done_.store(done_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

double TaskContext::fraction() const {
  const std::uint64_t total = total_.load(std::memory_order_relaxed);
  if (total == 0) return 0;
  const std::uint64_t offset = offset_.load(std::memory_order_relaxed), begin = begin_.load(std::memory_order_relaxed);
  // These are several loads, which may not fit together between two inputs, so the result is bounded.
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  const std::uint64_t current = taken != kNotCompressed ? taken : offset > begin ? offset - begin : 0;
  const std::uint64_t done = done_.load(std::memory_order_relaxed) + current;
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

std::string TaskContext::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

Status CallJob(const TaskContext& context, const std::function<Status()>& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return Invalid("the job's " + std::string(ToString(context.hook())) + " threw an exception: " + e.what());
  } catch (...) {
    return Invalid("the job's " + std::string(ToString(context.hook())) +
                   " threw something that is not a std::exception");
  }
}

}  // namespace millrace
