// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/reduce_copy.h"

#include <algorithm>
#include <utility>

#include "worker/daemon/shuffle/fetch_wire.h"
#include "worker/daemon/shuffle/reduce_copy_impl.h"

namespace millrace::shuffle {

void ReduceCopy::Impl::Announced(const std::vector<Source>& sources) {
  for (const Source& source : sources) {
    if (!schedule.Announce(source)) continue;
    if (source.local) {
      LookUp(source);
    } else if (options.meter != nullptr && !metered && !ended) {
      metered = source.map.task.job;
      options.meter->Begin(*metered, std::chrono::steady_clock::now());
    }
  }
  FinishIfComplete();
  Schedule();
}

void ReduceCopy::Impl::LookUp(const Source& source) {
  std::optional<MapOutputServer::Local> found = local.Find(source.map, partition);
  if (!found.has_value()) {
    if (schedule.Miss(source.map, std::chrono::steady_clock::now()))
      Tell(source.map, NotFound(ToText(source.map) + ": its output is not on this worker any more"));
    return;
  }
  Keep({source.map.task.index, std::move(found->path), found->segment});
}

void ReduceCopy::Impl::Schedule() {
  if (ended) return;
  for (const Source& source : schedule.Wake(std::chrono::steady_clock::now())) LookUp(source);
  if (ended) return;
  while (connections < limit.limit()) {
    std::optional<FetchPlace> place = schedule.VisitNext();
    if (!place.has_value()) break;
    auto guest = std::make_shared<Guest>();
    guests[*place] = guest;
    if (!threads.Spawn(strand, Visit(shared_from_this(), *place, std::move(guest)))) return;  // the plane is stopping
    Connections(connections + 1);
  }
  SetTimer();
}

void ReduceCopy::Impl::Connections(unsigned now) {
  connections = now;
  limit.InFlight(now, std::chrono::steady_clock::now());
}

void ReduceCopy::Impl::Withdraw(const std::vector<AttemptId>& attempts) {
  for (const AttemptId& attempt : attempts) schedule.Withdraw(attempt);
  LeaveUnwanted();
}

void ReduceCopy::Impl::LeaveOut(const std::vector<std::uint32_t>& maps) {
  for (const std::uint32_t map : maps) schedule.LeaveOut(map);
  FinishIfComplete();
  if (!ended) LeaveUnwanted();
}

// Leaves the workers that have nothing more to give. A worker that is gone often hangs instead of refusing.
void ReduceCopy::Impl::LeaveUnwanted() {
  std::vector<FetchPlace> places;
  for (const auto& [place, guest] : guests) {
    if (!schedule.Wants(place)) places.push_back(place);
  }
  for (const FetchPlace& place : places) {
    const std::shared_ptr<Guest> guest = guests[place];
    guest->given_up = true;
    if (guest->wire != nullptr) guest->wire->Abort();
    Left(place);
  }
  if (!places.empty()) Schedule();
}

void ReduceCopy::Impl::Left(const FetchPlace& place) {
  guests.erase(place);
  Connections(connections - 1);
  schedule.Leave(place);
}

void ReduceCopy::Impl::SetTimer() {
  const auto next = schedule.next_wake();
  if (!next.has_value()) return;
  timer.expires_at(*next);
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self == nullptr || error) return;
    const Gate::Pass pass(self->gate);
    if (pass) self->Schedule();
  });
}

void ReduceCopy::Impl::Keep(CopiedSegment segment) {
  const CopyFile::Extent extent{segment.segment.offset, segment.segment.length};
  const bool remote = segment.file == file.path();
  if (!schedule.Keep(std::move(segment))) {
    if (remote) file.Release(extent);
    return;
  }
  copied = schedule.copied();
  FinishIfComplete();
}

void ReduceCopy::Impl::Failed(const Ticket& ticket, const Status& why, bool for_good) {
  if (ended) return;
  log->warn("copy for {}: {}", ToText(TaskId{ticket.map.task.job, TaskKind::kReduce, partition}), why.message());
  if (schedule.Fail(ticket, for_good, std::chrono::steady_clock::now())) Tell(ticket.map, why);
}

void ReduceCopy::Impl::Tell(const AttemptId& map, const Status& why) {
  if (!ended && callbacks.failed) callbacks.failed(map, why);
}

void ReduceCopy::Impl::Break(const Status& why) {
  if (ended) return;
  End();
  if (callbacks.broken) callbacks.broken(why);
}

void ReduceCopy::Impl::FinishIfComplete() {
  if (ended || !schedule.complete()) return;
  End();
  if (callbacks.complete) callbacks.complete(schedule.TakeSegments(), bytes_fetched);
}

void ReduceCopy::Impl::End() {
  if (metered && !ended) options.meter->End(*metered, std::chrono::steady_clock::now());
  ended = true;
  timer.cancel();
  for (const auto& [place, guest] : guests) {
    if (guest->wire != nullptr) guest->wire->Abort();
  }
}

ReduceCopy::ReduceCopy(net::BulkServer& server, const MapOutputServer& local, std::uint32_t partition,
                       std::uint32_t maps, const sandbox::TaskDirectories& directories, std::string file,
                       CopyOptions options, CopyCallbacks callbacks, Log log)
    : impl_(std::make_shared<Impl>(server, local, partition, maps, directories, std::move(file), options,
                                   std::move(callbacks), std::move(log))) {
  if (maps == 0) impl_->Post([](Impl& impl) { impl.FinishIfComplete(); });
}

ReduceCopy::~ReduceCopy() {
  impl_->gate.Close();
  asio::post(impl_->strand, [impl = impl_] { impl->End(); });
}

void ReduceCopy::Ready(const std::vector<Source>& sources) {
  impl_->Post([sources](Impl& impl) { impl.Announced(sources); });
}

void ReduceCopy::Gone(const std::vector<AttemptId>& attempts) {
  impl_->Post([attempts](Impl& impl) { impl.Withdraw(attempts); });
}

void ReduceCopy::LeaveOut(const std::vector<std::uint32_t>& maps) {
  impl_->Post([maps](Impl& impl) { impl.LeaveOut(maps); });
}

std::uint32_t ReduceCopy::copied() const { return impl_->copied; }
std::uint64_t ReduceCopy::bytes_fetched() const { return impl_->bytes_fetched; }

}  // namespace millrace::shuffle
