// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/link.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rpc/calls.h"
#include "base/rpc/connection.h"
#include "base/rpc/status_codec.h"

namespace millrace::rpc {
namespace {

constexpr kj::Duration kDialLimit = 5 * kj::SECONDS;

using Stream = kj::Own<kj::AsyncIoStream>;

// Splits "one:7700,two:7700" at its commas. Returns at least one address.
std::vector<std::string> Addresses(const std::string& list) {
  std::vector<std::string> addresses;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    addresses.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return addresses;
}

}  // namespace

struct Link::Impl final : kj::TaskSet::ErrorHandler {
  Impl(Dialer& how, kj::Timer& clock, std::string where, Random source, BackOff back, ConnectionLimits most)
      : dialer(how),
        timer(clock),
        address(std::move(where)),
        addresses(Addresses(address)),
        random(source),
        back_off(back),
        limits(most),
        tasks(*this) {}

  ~Impl() {
    for (auto& waiter : waiters) waiter->reject(ToException(Cancelled("connect to " + address + ": given up")));
    for (auto& waiter : break_waiters) waiter->fulfill();
  }

  void taskFailed(kj::Exception&& failure) override {
    MILLRACE_CHECK(false, "link to " + address + ": " + FromException(failure).message());
  }

  // Dials each address once until one answers, beginning with the one that answered last. If several calls are under
  // way, the first that gets a connection sets it for all. Rejects with the failure of the last address.
  kj::Promise<void> Dial() { return DialNext(addresses.size()); }

  kj::Promise<void> DialNext(std::size_t left) {
    const std::string& to = addresses[turn];
    auto dialed = kj::evalNow([&] { return dialer.Dial(to.c_str()); });
    return WithDeadline(timer, kDialLimit, "connect to " + to, kj::mv(dialed))
        .then([this](Stream stream) {
          if (connection.get() == nullptr) Establish(kj::mv(stream));
        })
        .catch_([this, &to, left](kj::Exception&& why) -> kj::Promise<void> {
          turn = (turn + 1) % addresses.size();
          if (left > 1 && connection.get() == nullptr) return DialNext(left - 1);
          return Refused(to, FromException(why));
        });
  }

  [[nodiscard]] static kj::Exception Refused(const std::string& by, const Status& why) {
    const bool names_it = why.message().find(by) != std::string::npos;
    const bool for_good = why.code() == StatusCode::kInvalid;  // the two refuse each other
    return ToException(Status(for_good ? StatusCode::kInvalid : StatusCode::kUnavailable,
                              names_it ? why.message() : "connect to " + by + ": " + why.message()));
  }

  void Establish(Stream stream) {
    connection = kj::heap<Connection>(kj::mv(stream), limits);
    bootstrap = connection->Bootstrap();
    established = timer.now();
    tasks.add(connection->Broken().catch_([](kj::Exception&&) {}).then([this, mine = ++generation] {
      if (mine == generation) Break();
    }));
    for (auto& waiter : std::exchange(waiters, {})) waiter->fulfill(kj::cp(bootstrap));
  }

  // A connection that did not last counts as a failed attempt, so that a server that hangs up at once is not called in
  // a tight loop.
  void Break() {
    ++generation;
    bootstrap = nullptr;
    connection = nullptr;
    if (timer.now() - established >= back_off.limit) {
      step = 0 * kj::NANOSECONDS;
    } else {
      Slow();
    }
    for (auto& waiter : std::exchange(break_waiters, {})) waiter->fulfill();
  }

  void Slow() { step = step == 0 * kj::NANOSECONDS ? back_off.first : kj::min(step * 2, back_off.limit); }

  // Waits as long as the back-off says and dials, again and again until there is a connection.
  kj::Promise<void> Try() {
    if (connection.get() != nullptr) return kj::READY_NOW;
    const std::int64_t whole = step / kj::MICROSECONDS;
    const auto jitter = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(whole / 2 + 1)));
    const kj::Duration wait = (whole - jitter) * kj::MICROSECONDS;
    auto waited = whole == 0 ? kj::Promise<void>(kj::READY_NOW) : timer.afterDelay(wait);
    return waited
        .then([this]() -> kj::Promise<void> {
          if (connection.get() != nullptr) return kj::READY_NOW;
          return Dial().catch_([this](kj::Exception&& why) {
            Slow();
            failed(FromException(why));
          });
        })
        .then([this] { return Try(); });
  }

  void StartTrying() {
    if (std::exchange(trying, true)) return;
    tasks.add(Try().then([this] {
      trying = false;
      if (!waiters.empty()) StartTrying();  // the connection broke in the meantime
    }));
  }

  Dialer& dialer;
  kj::Timer& timer;
  const std::string address;  // as it was given, perhaps a list
  const std::vector<std::string> addresses;
  std::size_t turn = 0;  // the address to dial next
  Random random;
  BackOff back_off;
  ConnectionLimits limits;

  kj::Own<Connection> connection;  // null if there is none
  // Each connection is asked for its bootstrap once. After it has ended, but before we learn of that, Cap'n Proto would
  // throw if it were asked again.
  capnp::Capability::Client bootstrap = nullptr;
  std::uint64_t generation = 0;  // tells the end of this connection from the ends of older ones
  kj::TimePoint established = kj::origin<kj::TimePoint>();
  kj::Duration step = 0 * kj::NANOSECONDS;  // the longest wait before the next attempt
  bool trying = false;
  std::vector<kj::Own<kj::PromiseFulfiller<capnp::Capability::Client>>> waiters;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> break_waiters;
  std::function<void(const Status&)> failed = [](const Status&) {};
  kj::Canceler attempts;  // of ConnectOnce
  kj::TaskSet tasks;      // last, because its promises use the members above
};

Link::Link(Dialer& dialer, kj::Timer& timer, std::string address, Random random, BackOff back_off,
           ConnectionLimits limits)
    : impl_(std::make_unique<Impl>(dialer, timer, std::move(address), random, back_off, limits)) {}
Link::~Link() = default;

kj::Promise<capnp::Capability::Client> Link::Connected() {
  if (impl_->connection.get() != nullptr) return kj::cp(impl_->bootstrap);
  auto pair = kj::newPromiseAndFulfiller<capnp::Capability::Client>();
  impl_->waiters.push_back(kj::mv(pair.fulfiller));
  impl_->StartTrying();
  return kj::mv(pair.promise);
}

kj::Promise<capnp::Capability::Client> Link::ConnectOnce() {
  if (impl_->connection.get() != nullptr) return kj::cp(impl_->bootstrap);
  return impl_->attempts.wrap(impl_->Dial().then([impl = impl_.get()]() -> kj::Promise<capnp::Capability::Client> {
    if (impl->connection.get() == nullptr)
      return impl->Refused(impl->address, Unavailable("the connection broke at once"));
    return kj::cp(impl->bootstrap);
  }));
}

kj::Promise<void> Link::Broken() {
  if (impl_->connection.get() == nullptr) return kj::READY_NOW;
  auto pair = kj::newPromiseAndFulfiller<void>();
  impl_->break_waiters.push_back(kj::mv(pair.fulfiller));
  return kj::mv(pair.promise);
}

void Link::OnFailure(std::function<void(const Status&)> tell) { impl_->failed = std::move(tell); }

void Link::Reset() {
  if (impl_->connection.get() != nullptr) impl_->Break();
}

std::uint64_t Link::connection() const { return impl_->generation; }

void Link::Reset(std::uint64_t connection) {
  if (connection == impl_->generation) Reset();
}

const std::string& Link::address() const { return impl_->address; }

}  // namespace millrace::rpc
