// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/master_session.h"

#include <kj/debug.h>

#include <algorithm>
#include <utility>

#include "base/release.h"
#include "base/rpc/calls.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {
namespace {

constexpr kj::Duration kTellEvery = 1 * kj::MINUTES;

}  // namespace

MasterSession::MasterSession(kj::Timer& timer, rpc::Dialer& dialer, std::string master, Random random,
                             SessionOwner& owner, Log log)
    : timer_(timer),
      owner_(owner),
      log_(std::move(log)),
      link_(dialer, timer, std::move(master), random),
      reports_(
          timer, kMostReportsInFlight, [this](const Status& why) { Break(why); }, log_),
      blocks_(
          timer, [this](const Status& why) { Break(why); },
          [this](std::vector<std::uint64_t> ids) { return owner_.Restore(std::move(ids)); }) {}

void MasterSession::Start() {
  link_.OnFailure([this](const Status& why) { Tell(why); });
  cycle_ = Cycle().eagerlyEvaluate(
      [](kj::Exception&& exception) { MILLRACE_CHECK(false, rpc::FromException(exception).message()); });
}

kj::Promise<void> MasterSession::Leave(const std::string& reason) {
  constexpr kj::Duration kPatience = 2 * kj::SECONDS;
  kj::Promise<void> told = kj::READY_NOW;
  KJ_IF_MAYBE (session, session_) {
    auto request = session->leaveRequest();
    request.setReason(reason);
    told = rpc::WithDeadline(timer_, kPatience, "leave the master", request.send().ignoreResult());
  }
  return told
      .catch_([this, reason](kj::Exception&& exception) {
        log_->warn(
            "the master at {} was not told that this worker leaves ({}): {}; it will consider the worker lost when "
            "heartbeats stop",
            master(), reason, rpc::FromException(exception).message());
      })
      .then([this] {
        cycle_ = nullptr;
        Close();
      });
}

void MasterSession::Close() {
  listing_ = nullptr;
  foretelling_ = nullptr;  // its failure is not that of the next session
  reports_.Close();
  blocks_.Close();
  hurry_ = nullptr;
  session_ = nullptr;
}

void MasterSession::Foretell() {
  to_foretell_ = true;
  KJ_IF_MAYBE (session, session_) {
    to_foretell_ = false;
    auto request = session->foretellRequest();
    owner_.DescribeForetelling(request);
    foretelling_ = rpc::WithDeadline(timer_, limit_, "tell the master whether this machine will be taken away",
                                     request.send().ignoreResult())
                       .catch_([this](kj::Exception&& exception) { Break(rpc::FromException(exception)); })
                       .eagerlyEvaluate(nullptr);
  }
}

kj::Promise<MasterSession::LogOrders> MasterSession::AskAboutLogs(const std::vector<JobId>& jobs) {
  KJ_IF_MAYBE (session, session_) {
    auto request = session->archiveLogsRequest();
    auto list = request.initJobs(static_cast<unsigned>(jobs.size()));
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, jobs[i].value);
    kj::Promise<LogOrders> asked = request.send();
    return rpc::WithDeadline(timer_, limit_, "ask the master about logs", kj::mv(asked));
  }
  return rpc::ToException(Unavailable("ask the master about logs: there is no session"));
}

void MasterSession::BeatNow() {
  KJ_IF_MAYBE (session, session_) {
    auto request = session->heartbeatRequest();
    owner_.DescribeHeartbeat(request);
    // If the session is broken, the next heartbeat finds it.
    beat_now_ = request.send().ignoreResult().eagerlyEvaluate([](kj::Exception&&) {});
  }
}

void MasterSession::BeatSoon() {
  soon_ = true;
  KJ_IF_MAYBE (hurry, hurry_) {
    (*hurry)->fulfill();
  }
}

void MasterSession::Break(const Status& why) {
  KJ_IF_MAYBE (fulfiller, break_) {
    (*fulfiller)->reject(rpc::ToException(why));
  }
}

void MasterSession::Tell(const Status& why) {
  if (told_ && timer_.now() - *told_ < kTellEvery) return;
  told_ = timer_.now();
  log_->warn("no session with the master at {} (worker.master): {}; it keeps trying", master(), why.message());
}

kj::Promise<void> MasterSession::Cycle() {
  return link_.Connected()
      .then([this](capnp::Capability::Client bootstrap) { return Register(bootstrap.castAs<master::wire::Master>()); })
      .then([]() -> kj::Promise<void> { return rpc::ToException(Unavailable("the connection broke")); })
      .catch_([this](kj::Exception&& exception) {
        Close();
        break_ = nullptr;
        link_.Reset();  // the link waits before it dials again, so this is not a busy loop
        return AfterFailure(rpc::FromException(exception));
      })
      .then([this] { return Cycle(); });
}

kj::Promise<void> MasterSession::AfterFailure(const Status& why) {
  Tell(why);
  if (why.code() != StatusCode::kInvalid && why.code() != StatusCode::kDenied) return kj::READY_NOW;
  return timer_.afterDelay(kRefusedWait);
}

kj::Promise<void> MasterSession::Register(master::wire::Master::Client master) {
  using Version = capnp::Response<master::wire::Master::VersionResults>;
  using Answer = capnp::Response<master::wire::Master::RegisterResults>;
  kj::Promise<Version> asked = master.versionRequest().send();
  return rpc::WithDeadline(timer_, limit_, "ask the master for its cluster", kj::mv(asked))
      .then([this](Version told) -> kj::Promise<void> {
        const Status checked = CheckReleases("this worker", ThisRelease(), "the master",
                                             {std::string(told.getVersion().cStr()), told.getProtocol()});
        if (!checked.ok()) return rpc::ToException(checked);
        return owner_.Join(told.getCluster());
      })
      .then([this, master]() mutable {
        auto request = master.registerRequest();
        to_foretell_ = false;
        owner_.DescribeWorker(request.initWorker());
        request.setControl(owner_.Control());
        kj::Promise<Answer> call = request.send();
        return rpc::WithDeadline(timer_, limit_, "register with the master", kj::mv(call));
      })
      .then([this](Answer answer) { return Serve(kj::mv(answer)); });
}

kj::Promise<void> MasterSession::Serve(capnp::Response<master::wire::Master::RegisterResults> answer) {
  const auto settings = answer.getSettings();
  period_ = std::max<std::uint32_t>(settings.getHeartbeatMillis(), 1) * kj::MILLISECONDS;
  limit_ = std::clamp<std::uint32_t>(settings.getLostAfterMillis(), 1000, 30'000) * kj::MILLISECONDS;
  told_.reset();
  log_->info("registered with the master at {} as node {}", master(), answer.getNode());
  owner_.Registered(NodeId{answer.getNode()}, settings);

  auto session = answer.getSession();
  session_ = session;
  auto broken = kj::newPromiseAndFulfiller<void>();
  break_ = kj::mv(broken.fulfiller);
  reports_.Open(session, limit_);
  ListBlocks(session);
  if (to_foretell_) Foretell();
  return broken.promise.exclusiveJoin(Beat(timer_.now())).exclusiveJoin(link_.Broken());
}

// A block whose removal was ordered by an earlier session, and is not made yet, must not be listed: the master takes a
// block that is listed for one that stays.
void MasterSession::ListBlocks(master::wire::WorkerSession::Client session) {
  listing_ =
      owner_.RemovalsMade()
          .then([this, session]() mutable { blocks_.Open(kj::mv(session), owner_.Blocks(), owner_.Trash(), limit_); })
          .eagerlyEvaluate([this](kj::Exception&& exception) { Break(rpc::FromException(exception)); });
}

kj::Promise<void> MasterSession::Beat(kj::TimePoint due) {
  auto request = KJ_ASSERT_NONNULL(session_).heartbeatRequest();
  owner_.DescribeHeartbeat(request);
  using Answer = capnp::Response<master::wire::WorkerSession::HeartbeatResults>;
  kj::Promise<Answer> sent = request.send();
  return rpc::WithDeadline(timer_, limit_, "send a heartbeat to the master", kj::mv(sent))
      .then([this, due](Answer answer) {
        reports_.Pump();
        owner_.HeartbeatAnswered(answer);
        return AwaitBeat(std::max(due + period_, timer_.now()));
      });
}

kj::Promise<void> MasterSession::AwaitBeat(kj::TimePoint next) {
  auto hurry = kj::newPromiseAndFulfiller<void>();
  hurry_ = kj::mv(hurry.fulfiller);
  auto time = soon_ ? kj::Promise<void>(kj::READY_NOW) : timer_.atTime(next).exclusiveJoin(kj::mv(hurry.promise));
  return time.then([this, next] {
    hurry_ = nullptr;
    soon_ = false;
    return Beat(kj::min(next, timer_.now()));
  });
}

}  // namespace millrace::worker
