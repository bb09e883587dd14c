// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/world.h"

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include "base/rpc/status_codec.h"

namespace millrace::simulated {
namespace {

// Lines of a daemon's log become lines of the record.
class RecordSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  RecordSink(World& world, std::string who) : world_(world), who_(std::move(who)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    world_.Note("  " + who_ + ": " + std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

 private:
  World& world_;
  std::string who_;
};

}  // namespace

World::World(std::uint64_t seed, bool log)
    : random_(seed), log_(log), tasks_(kj::heap<kj::TaskSet>(static_cast<kj::TaskSet::ErrorHandler&>(*this))) {}
World::~World() noexcept(false) = default;

Log World::MakeLogOf(const std::string& who) {
  if (!log_) return MakeSilentLog();
  return std::make_shared<spdlog::logger>(who, std::make_shared<RecordSink>(*this, who));
}

double World::seconds() const {
  return static_cast<double>((timer_.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS) / 1e6;
}

void World::Advance(double seconds, const std::function<bool()>& stop) {
  const kj::TimePoint end = timer_.now() + static_cast<std::int64_t>(seconds * 1e6) * kj::MICROSECONDS;
  scope_.poll();
  while (!failure_ && (stop == nullptr || !stop())) {
    kj::TimePoint next = end;
    KJ_IF_MAYBE (event, timer_.nextEvent()) {
      next = kj::min(*event, end);
    }
    if (!actions_.empty() && actions_.begin()->first <= next) next = kj::max(actions_.begin()->first, timer_.now());
    clock_.Set(kSecond + (next - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS);
    timer_.advanceTo(next);
    scope_.poll();
    ++events_;
    while (!failure_ && !actions_.empty() && actions_.begin()->first <= next) {
      const auto action = std::move(actions_.begin()->second);
      actions_.erase(actions_.begin());
      action();
      scope_.poll();
    }
    if (next >= end) return;
  }
}

kj::Promise<void> World::Sleep(double seconds) {
  return timer_.afterDelay(static_cast<std::int64_t>(seconds * 1e6) * kj::MICROSECONDS);
}

// A fiber that is dropped before its first turn would run its code nevertheless, so it is not made before that turn.
kj::Promise<void> World::Spawn(kj::Function<void(kj::WaitScope&)> code) {
  return kj::evalLater([this, code = kj::mv(code)]() mutable { return fibers_.startFiber(kj::mv(code)); });
}

void World::Do(double seconds, std::function<void()> action) {
  actions_.emplace(timer_.now() + static_cast<std::int64_t>(seconds * 1e6) * kj::MICROSECONDS, std::move(action));
}

void World::Note(const std::string& line) { record_.push_back(fmt::format("{:12.6f} {}", seconds(), line)); }

void World::Fail(const std::string& invariant, const std::string& what) {
  if (failure_) return;
  failure_ = invariant + ": " + what;
  Note("FAILED " + *failure_);
}

void World::taskFailed(kj::Exception&& exception) {
  const Status why = rpc::FromException(exception);
  if (why.code() == StatusCode::kUnavailable || why.code() == StatusCode::kTimeout) return;
  Fail("simulation", "an actor ended by an exception: " + std::string(exception.getDescription().cStr()));
}

}  // namespace millrace::simulated
