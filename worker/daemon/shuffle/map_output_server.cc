// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/map_output_server.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/net/bulk_handler.h"
#include "worker/daemon/shuffle/fetch_wire.h"
#include "worker/daemon/shuffle/segment_pump.h"

namespace millrace::shuffle {

using net::Awaitable;
using net::Wire;

// This is the handler of kFetchRuns. The bulk server holds it as well, and for longer.
struct MapOutputServer::Impl final : net::BulkHandler {
  Impl(sandbox::TaskDirectories of_runs, Log log_to) : directories(std::move(of_runs)), log(std::move(log_to)) {}

  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override;
  [[nodiscard]] std::shared_ptr<const ServedRun> Get(const AttemptId& attempt) const;
  [[nodiscard]] SegmentPump::Answer Answer(const AttemptId& attempt, std::uint32_t partition) const;

  const sandbox::TaskDirectories directories;
  const Log log;
  std::atomic<std::uint64_t> sent = 0;
  mutable std::shared_mutex mutex;
  std::map<AttemptId, std::shared_ptr<const ServedRun>> runs;
};

std::shared_ptr<const ServedRun> MapOutputServer::Impl::Get(const AttemptId& attempt) const {
  const std::shared_lock lock(mutex);
  const auto found = runs.find(attempt);
  return found == runs.end() ? nullptr : found->second;
}

SegmentPump::Answer MapOutputServer::Impl::Answer(const AttemptId& attempt, std::uint32_t partition) const {
  SegmentPump::Answer item;
  item.header.attempt = attempt;
  std::shared_ptr<const ServedRun> run = Get(attempt);
  if (run == nullptr) {
    item.header.status = StatusCode::kNotFound;
  } else if (partition >= run->segments.size()) {
    item.header.status = StatusCode::kInvalid;
  } else {
    item.header.segment = run->segments[partition];
    item.run = std::move(run);
  }
  return item;
}

Awaitable<bool> MapOutputServer::Impl::Serve(std::shared_ptr<Wire> wire, std::string header) {
  const Result<FetchRequest> request = DecodeFetch(header);
  if (!request.ok()) co_return (co_await wire->WriteFailure(request.status())).ok();
  std::vector<SegmentPump::Answer> items;
  items.reserve(request->attempts.size());
  for (const AttemptId& attempt : request->attempts) items.push_back(Answer(attempt, request->partition));
  Status status = co_await wire->WriteReply({});
  if (!status.ok()) co_return false;
  const auto pump = std::make_shared<SegmentPump>(std::move(items), directories);
  auto step = [pump, this](net::Outlet& outlet) {
    Result<bool> done = pump->Step(outlet);
    sent.fetch_add(pump->TakeSent(), std::memory_order_relaxed);
    return done;
  };
  status = co_await wire->Pump(step);
  if (!status.ok()) log->debug("a fetch of map outputs ended early: {}", status.message());
  co_return status.ok();
}

std::uint64_t MapOutputServer::SentBytes() const { return impl_->sent.load(std::memory_order_relaxed); }

MapOutputServer::MapOutputServer(net::BulkServer& server, const sandbox::TaskDirectories& directories, Log log)
    : impl_(std::make_shared<Impl>(directories, std::move(log))) {
  server.Register(net::Operation::kFetchRuns, impl_);
}

// The bulk server may still hold the handler, which then has nothing to serve.
MapOutputServer::~MapOutputServer() {
  std::map<AttemptId, std::shared_ptr<const ServedRun>> closing;
  const std::unique_lock lock(impl_->mutex);
  closing.swap(impl_->runs);
}

Status MapOutputServer::Add(const AttemptId& attempt, const std::string& path, std::uint32_t partitions) {
  MILLRACE_ASSIGN(ServedRun run, ServedRun::Look(impl_->directories, path, partitions));
  std::shared_ptr<const ServedRun> replaced = std::make_shared<ServedRun>(std::move(run));
  const std::unique_lock lock(impl_->mutex);
  impl_->runs[attempt].swap(replaced);
  return Status::Ok();
}

void MapOutputServer::Remove(const AttemptId& attempt) {
  decltype(impl_->runs)::node_type removed;  // destroyed without the lock
  const std::unique_lock lock(impl_->mutex);
  removed = impl_->runs.extract(attempt);
}

void MapOutputServer::RemoveJob(JobId job) {
  std::vector<decltype(impl_->runs)::node_type> removed;  // destroyed without the lock
  const std::unique_lock lock(impl_->mutex);
  auto at = impl_->runs.lower_bound(MapAttemptId(job, 0, 0));
  while (at != impl_->runs.end() && at->first.task.job == job) removed.push_back(impl_->runs.extract(at++));
}

std::uint64_t MapOutputServer::BytesOf(JobId job) const {
  const std::shared_lock lock(impl_->mutex);
  std::uint64_t bytes = 0;
  for (auto at = impl_->runs.lower_bound(MapAttemptId(job, 0, 0)); at != impl_->runs.end() && at->first.task.job == job;
       ++at)
    bytes += at->second->bytes_on_disk;
  return bytes;
}

std::optional<MapOutputServer::Local> MapOutputServer::Find(const AttemptId& attempt, std::uint32_t partition) const {
  const std::shared_ptr<const ServedRun> run = impl_->Get(attempt);
  if (run == nullptr || partition >= run->segments.size()) return std::nullopt;
  return Local{run->path, run->segments[partition]};
}

}  // namespace millrace::shuffle
