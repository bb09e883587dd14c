// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/bulk_plane.h"

#include <utility>

#include "base/net/bulk_handler.h"
#include "dfs/wire/blocks.h"
#include "worker/daemon/shuffle/output_copy.h"

namespace millrace::worker {
namespace {

// The callbacks belong to the copier, so that what is still in the mailbox when the copier goes finds them gone.
class BulkCopier final : public ReduceCopier {
 public:
  BulkCopier(net::BulkServer& server, const shuffle::MapOutputServer& local, std::uint32_t partition,
             std::uint32_t maps, const sandbox::TaskDirectories& directories, std::string file,
             shuffle::CopyOptions options, shuffle::CopyCallbacks callbacks, rpc::Mailbox& control, Log log)
      : callbacks_(std::make_shared<shuffle::CopyCallbacks>(std::move(callbacks))),
        copy_(server, local, partition, maps, directories, std::move(file), options, Posting(control), std::move(log)) {
  }

  void Ready(const std::vector<shuffle::Source>& sources) override { copy_.Ready(sources); }
  void Gone(const std::vector<AttemptId>& maps) override { copy_.Gone(maps); }
  void LeaveOut(const std::vector<std::uint32_t>& maps) override { copy_.LeaveOut(maps); }
  [[nodiscard]] std::uint32_t copied() const override { return copy_.copied(); }
  [[nodiscard]] std::uint64_t bytes_fetched() const override { return copy_.bytes_fetched(); }

 private:
  shuffle::CopyCallbacks Posting(rpc::Mailbox& control) {
    const std::weak_ptr<shuffle::CopyCallbacks> known = callbacks_;
    shuffle::CopyCallbacks posting;
    posting.complete = [known, &control](std::vector<shuffle::CopiedSegment> segments, std::uint64_t bytes) {
      control.Post([known, segments = std::move(segments), bytes] {
        if (const auto alive = known.lock()) alive->complete(segments, bytes);
      });
    };
    posting.failed = [known, &control](const AttemptId& map, const Status& why) {
      control.Post([known, map, why] {
        if (const auto alive = known.lock()) alive->failed(map, why);
      });
    };
    posting.broken = [known, &control](const Status& why) {
      control.Post([known, why] {
        if (const auto alive = known.lock()) alive->broken(why);
      });
    };
    return posting;
  }

  std::shared_ptr<shuffle::CopyCallbacks> callbacks_;
  shuffle::ReduceCopy copy_;
};

dfs::BlockObserver Posting(rpc::Mailbox& control, const std::shared_ptr<BlockEvents>& events,
                           const dfs::BlockStore& blocks) {
  dfs::BlockObserver observer;
  observer.received = [&control, events, &blocks](const dfs::StoredBlock& block) {
    control.Post([events, &blocks, block] {
      // The block may have gone meanwhile, together with its disk, and the master may have been told so.
      if (events->received && blocks.Length(block.id) == block.length) events->received(block);
    });
  };
  observer.corrupt = [&control, events](std::uint64_t id) {
    control.Post([events, id] {
      if (events->corrupt) events->corrupt(id);
    });
  };
  return observer;
}

}  // namespace

BulkPlane::BulkPlane(net::BulkServer& server, dfs::BlockStore& blocks, const sandbox::TaskDirectories& directories,
                     rpc::Mailbox& control, rpc::Background& background, rpc::Background& copies,
                     shuffle::CopyOptions copy, Log log)
    : server_(server),
      directories_(directories),
      control_(control),
      background_(background),
      copies_(copies),
      copy_(copy),
      log_(std::move(log)),
      events_(std::make_shared<BlockEvents>()),
      blocks_(server, blocks, Posting(control, events_, blocks), log_),
      outputs_(server, directories, log_),
      incarnation_(server) {
  copy_.meter = &meter_;
  server.OnUnreached([&control, events = events_](const std::string& host, std::uint16_t port) {
    control.Post([events, host, port] {
      if (events->unreached) events->unreached(host, port);
    });
  });
}

BulkPlane::~BulkPlane() { *stop_ = true; }

void BulkPlane::Observe(BlockEvents events) { *events_ = std::move(events); }

void BulkPlane::AddMapOutput(const AttemptId& map, std::uint32_t partitions, const std::string& path,
                             std::function<void(Status)> then) {
  const auto status = std::make_shared<Status>();
  background_.Run([this, map, partitions, path, status] { *status = outputs_.Add(map, path, partitions); },
                  [status, then = std::move(then)] { then(*status); });
}

// Work on `copies` may outlive the plane. The steps after a copy run on the control thread, and find it gone then.
void BulkPlane::CopyMapOutput(const shuffle::Source& source, std::uint32_t partitions, const std::string& path,
                              std::function<void(Status)> then) {
  const auto copied = std::make_shared<Status>();
  const auto credentials = server_.threads().credentials;
  copies_.Run(
      [=, &directories = directories_, stop = stop_, reserved_bytes = copy_.reserved_bytes] {
        const shuffle::OutputCopyOptions options{
            .credentials = credentials, .stop = stop.get(), .reserved_bytes = reserved_bytes};
        *copied = shuffle::CopyOutput(source, partitions, directories, path, options).status();
      },
      [=, this, stop = stop_, then = std::move(then)] {
        if (*stop) return;
        const bool silent = copied->code() == StatusCode::kTimeout || copied->code() == StatusCode::kUnavailable;
        if (silent && events_->unreached) events_->unreached(source.host, source.port);
        if (!copied->ok()) return then(*copied);
        AddMapOutput(source.map, partitions, path, then);
      });
}

void BulkPlane::RemoveMapOutput(const AttemptId& map) { outputs_.Remove(map); }

void BulkPlane::RemoveMapOutputs(JobId job) {
  outputs_.RemoveJob(job);
  meter_.Forget(job);
}

std::uint64_t BulkPlane::ServedBytes(JobId job) const { return outputs_.BytesOf(job); }

std::unique_ptr<ReduceCopier> BulkPlane::StartCopy(const AttemptId& reduce, std::uint32_t maps, std::string file,
                                                   shuffle::CopyCallbacks callbacks) {
  return std::make_unique<BulkCopier>(server_, outputs_, reduce.task.index, maps, directories_, std::move(file), copy_,
                                      std::move(callbacks), control_, log_);
}

shuffle::FetchMeter::Figures BulkPlane::FetchFigures(JobId job) const {
  return meter_.FiguresOf(job, std::chrono::steady_clock::now());
}

void BulkPlane::Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) {
  blocks_.Replicate(block, std::move(targets), std::move(token), [log = log_, id = block.id](const Status& status) {
    if (!status.ok()) log->warn("cannot replicate {}: {}", dfs::BlockName(id), status.message());
  });
}

}  // namespace millrace::worker
