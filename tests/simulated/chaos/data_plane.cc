// SPDX-License-Identifier: Apache-2.0
// The bulk plane of a simulated worker.
#include <fmt/format.h>
#include <kj/async.h>

#include <chrono>
#include <utility>

#include "dfs/wire/write_order.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/files.h"
#include "tests/simulated/chaos/worker.h"
#include "worker/daemon/shuffle/fetch_schedule.h"

namespace millrace::simulated {

namespace {

constexpr std::uint64_t kSegmentBytes = 4096;  // what a segment counts for on the network

}  // namespace

// The copy phase of a reduce, with the real book of what is wanted and with fetches that block.
class DataPlane::Copier final : public worker::ReduceCopier, private kj::TaskSet::ErrorHandler {
 public:
  ~Copier() noexcept override = default;
  Copier(DataPlane& plane, const AttemptId& reduce, std::uint32_t maps, std::string file,
         shuffle::CopyCallbacks callbacks)
      : plane_(plane),
        reduce_(reduce),
        file_(std::move(file)),
        callbacks_(std::make_shared<shuffle::CopyCallbacks>(std::move(callbacks))),
        book_(reduce.task.index, maps, shuffle::CopyOptions{}.retries, shuffle::CopyOptions{}.first_back_off),
        fetches_(*this) {
    FinishIfComplete();
  }

  void Ready(const std::vector<shuffle::Source>& sources) override {
    for (const shuffle::Source& source : sources) {
      if (book_.Announce(source) && source.local) LookUp(source);
    }
    Schedule();
  }
  void Gone(const std::vector<AttemptId>& maps) override {
    for (const AttemptId& map : maps) book_.Withdraw(map);
  }
  void LeaveOut(const std::vector<std::uint32_t>& maps) override {
    for (const std::uint32_t map : maps) book_.LeaveOut(map);
    FinishIfComplete();
  }
  [[nodiscard]] std::uint32_t copied() const override { return book_.copied(); }
  [[nodiscard]] std::uint64_t bytes_fetched() const override { return 0; }

 private:
  void taskFailed(kj::Exception&&) override {}

  [[nodiscard]] shuffle::FetchSchedule::Time Now() const {
    const auto micros = (plane_.machine_.process().timer().now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS;
    return shuffle::FetchSchedule::Time(std::chrono::microseconds(micros));
  }

  // Callbacks may destroy this object, so they are called later, from elsewhere.
  void Tell(const AttemptId& map, const Status& why) {
    plane_.tasks_.Add(kj::evalLater([known = std::weak_ptr(callbacks_), map, why] {
      if (const auto alive = known.lock()) alive->failed(map, why);
    }));
  }
  void FinishIfComplete() {
    if (ended_ || !book_.complete()) return;
    ended_ = true;
    plane_.tasks_.Add(kj::evalLater([known = std::weak_ptr(callbacks_), segments = book_.TakeSegments()]() mutable {
      if (const auto alive = known.lock()) alive->complete(std::move(segments), 0);
    }));
  }
  void LookUp(const shuffle::Source& source) {
    if (const auto value = plane_.Serve(source.map, reduce_.task.index)) return Keep(source.map, *value);
    if (book_.Miss(source.map, Now())) Tell(source.map, NotFound("its output is not on this worker any more"));
  }
  void Keep(const AttemptId& map, std::uint64_t value) {
    shuffle::CopiedSegment segment;
    segment.map = map.task.index;
    segment.file = file_;
    segment.segment.length = kSegmentBytes;
    segment.segment.raw_length = value;
    book_.Keep(std::move(segment));
  }
  void Failed(const shuffle::Ticket& ticket, const Status& why, bool for_good) {
    if (book_.Fail(ticket, for_good, Now())) Tell(ticket.map, why);
  }

  void Schedule() {
    if (!ended_) {
      for (const shuffle::Source& source : book_.Wake(Now())) LookUp(source);
    }
    FinishIfComplete();
    if (ended_) return;
    while (const std::optional<shuffle::FetchPlace> place = book_.VisitNext()) {
      fetches_.add(plane_.cluster_.world().Spawn([this, at = *place](kj::WaitScope& scope) { Visit(scope, at); }));
    }
    if (const auto wake = book_.next_wake(); wake && (!armed_ || *armed_ != *wake)) {
      armed_ = wake;
      const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(wake->time_since_epoch()).count();
      const kj::TimePoint at = kj::origin<kj::TimePoint>() + micros * kj::MICROSECONDS;
      fetches_.add(plane_.machine_.process().timer().atTime(at).then([this] { Schedule(); }));
    }
  }

  void Visit(kj::WaitScope& scope, const shuffle::FetchPlace& place) {
    while (FetchBatch(scope, place)) {
    }
    book_.Leave(place);
    Schedule();
  }

  // Returns false if there is nothing more from there for now.
  bool FetchBatch(kj::WaitScope& scope, const shuffle::FetchPlace& place) {
    constexpr std::size_t kBatch = 4;
    WorkerProcess* server = Reach(plane_.cluster_, scope, plane_.machine_.host(), place.host);
    const std::vector<shuffle::Ticket> batch = book_.NextBatch(place, server == nullptr ? 1000 : kBatch);
    if (batch.empty()) return false;
    if (server == nullptr) {
      plane_.TellUnreached(place.host);
      for (const shuffle::Ticket& ticket : batch) Failed(ticket, Unavailable(place.host + " does not answer"), false);
      return false;
    }
    std::vector<std::optional<std::uint64_t>> values;
    for (const shuffle::Ticket& ticket : batch) values.push_back(server->plane().Serve(ticket.map, reduce_.task.index));
    const HostId from = plane_.cluster_.FindWorker(place.host)->host();
    const Status came = Await(
        plane_.cluster_.network().Transfer(from, plane_.machine_.host(), kSegmentBytes * batch.size(), kStall), scope);
    (void)Await(plane_.machine_.process().MayReceive(), scope);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!came.ok()) {
        Failed(batch[i], came, false);
      } else if (!values[i]) {
        Failed(batch[i], NotFound("the worker does not have it"), true);
      } else {
        Keep(batch[i].map, *values[i]);
      }
    }
    return came.ok();
  }

  DataPlane& plane_;
  AttemptId reduce_;
  std::string file_;
  std::shared_ptr<shuffle::CopyCallbacks> callbacks_;  // gone when we are
  shuffle::FetchSchedule book_;
  bool ended_ = false;
  std::optional<shuffle::FetchSchedule::Time> armed_;
  kj::TaskSet fetches_;  // last: they use what stands above
};

DataPlane::DataPlane(Cluster& cluster, WorkerMachine& machine, TaskFiles& files)
    : cluster_(cluster), machine_(machine), files_(files), random_(cluster.world().Fork()) {}

void DataPlane::AddMapOutput(const AttemptId& map, std::uint32_t, const std::string&,
                             std::function<void(Status)> then) {
  const bool there = files_.FindRun(map) != nullptr;
  if (there) {
    served_.insert(map);
    cluster_.faults().Serving(machine_, map);
  }
  tasks_.Add(kj::evalLater(
      [then = std::move(then), there] { then(there ? Status::Ok() : NotFound("its run file is not there")); }));
}

void DataPlane::CopyMapOutput(const shuffle::Source& source, std::uint32_t partitions, const std::string& path,
                              std::function<void(Status)> then) {
  tasks_.Add(cluster_.world().Spawn([this, source, partitions, path, then = std::move(then)](kj::WaitScope& scope) {
    cluster_.faults().Arriving(machine_.name(), Arrival::kOutput);
    if (const double most = cluster_.plan().arrival_time; most > 0)
      (void)Await(cluster_.world().Sleep(most * (0.3 + 0.7 * random_.Unit())), scope);
    while (cluster_.faults().HoldsUp(machine_)) (void)Await(cluster_.world().Sleep(0.1), scope);
    const Status copied = CopyRun(scope, source, partitions);
    if (!copied.ok()) return then(copied);
    AddMapOutput(source.map, partitions, path, then);
  }));
}

Status DataPlane::CopyRun(kj::WaitScope& scope, const shuffle::Source& source, std::uint32_t partitions) {
  MapOutput output;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    WorkerProcess* server = Reach(cluster_, scope, machine_.host(), source.host);
    if (server == nullptr) {
      TellUnreached(source.host);
      return Unavailable(source.host + " does not answer");
    }
    const std::optional<std::uint64_t> value = server->plane().Serve(source.map, partition);
    if (!value) return NotFound(source.host + " does not have the output of " + ToText(source.map));
    const HostId from = cluster_.FindWorker(source.host)->host();
    MILLRACE_TRY(Await(cluster_.network().Transfer(from, machine_.host(), kSegmentBytes, kStall), scope));
    (void)Await(machine_.process().MayReceive(), scope);
    output.push_back(*value);
  }
  return files_.WriteRun(source.map, std::move(output));
}

void DataPlane::TellUnreached(const std::string& host) {
  if (events_.unreached) events_.unreached(host, 1);
}

void DataPlane::RemoveMapOutputs(JobId job) {
  std::erase_if(served_, [&](const AttemptId& map) { return map.task.job == job; });
}

std::uint64_t DataPlane::ServedBytes(JobId job) const {
  std::uint64_t bytes = 0;
  for (const AttemptId& map : served_) {
    const MapOutput* output = map.task.job == job ? files_.FindRun(map) : nullptr;
    if (output != nullptr) bytes += output->size() * sizeof(MapOutput::value_type);
  }
  return bytes;
}

std::optional<std::uint64_t> DataPlane::Serve(const AttemptId& map, std::uint32_t reduce) const {
  const MapOutput* output = served_.contains(map) ? files_.FindRun(map) : nullptr;
  if (output == nullptr || reduce >= output->size()) return std::nullopt;
  return output->at(reduce);
}

std::unique_ptr<worker::ReduceCopier> DataPlane::StartCopy(const AttemptId& reduce, std::uint32_t maps,
                                                           std::string file, shuffle::CopyCallbacks callbacks) {
  return std::make_unique<Copier>(*this, reduce, maps, std::move(file), std::move(callbacks));
}

void DataPlane::Received(const dfs::StoredBlock& block) {
  if (events_.received) events_.received(block);
}

Status DataPlane::CheckWrite(std::uint64_t block, const dfs::BlockContent& content, const std::string& token) const {
  const std::string what = "write block " + std::to_string(block);
  if (!keys_) return Unavailable(what + ": " + machine_.name() + " has not registered with its master yet");
  const Result<dfs::WriteOrder> order =
      dfs::CheckWriteToken(tls::TokenKey(keys_->write), token, block, {.peer = {}, .local = false, .to = keys_->node},
                           cluster_.world().clock().Now());
  if (!order.ok()) return order.status().Within(what);
  return order->copy_of ? dfs::CheckContent(block, *order->copy_of, content) : Status::Ok();
}

void DataPlane::Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) {
  tasks_.Add(cluster_.world().Spawn(
      [this, block, targets = std::move(targets), token = std::move(token)](kj::WaitScope& scope) {
        const Result<std::string> data = machine_.running()->blocks().Read(block.id, 0, block.length);
        if (!data.ok()) {
          if (events_.corrupt) events_.corrupt(block.id);  // as BlockServer does
          return;
        }
        if (machine_.departure()) {
          Counts& count = cluster_.checker().count();
          ++(cluster_.checker().HasOtherGoodReplica(machine_, block.id) ? count.others_copied : count.sole_copied);
        }
        const double most = cluster_.plan().copy_time;
        const std::uint64_t ordered_by = machine_.running()->registered_at();
        for (const dfs::ReplicaHost& target : targets) {
          if (most > 0) (void)Await(cluster_.world().Sleep(most * random_.Unit()), scope);
          const Status written =
              WriteReplica(cluster_, scope, machine_.host(), target.host, block.id, *data, token, ordered_by);
          if (written.code() == StatusCode::kUnavailable) TellUnreached(target.host);
          if (!written.ok()) {
            cluster_.world().Note(fmt::format("{} does not copy block {} to {}: {}", machine_.name(), block.id,
                                              target.host, written.message()));
          }
        }
      }));
}

}  // namespace millrace::simulated
