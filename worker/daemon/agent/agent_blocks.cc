// The agent's blocks: copied, removed, put into the trash and brought back, read again.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/options.h"
#include "dfs/wire/block_name.h"
#include "worker/daemon/agent/agent.h"

namespace millrace::worker {
namespace {

constexpr kj::Duration kSweepPeriod = 1 * kj::MINUTES;
// The trash gives its oldest blocks up when less is free (or less than a twentieth of a small disk).
constexpr std::uint64_t kTrashYieldsBelow = std::uint64_t{1} << 30;

}  // namespace

void WorkerAgent::Replicate(const dfs::StoredBlock& block, std::vector<dfs::Place> targets) {
  parts_.plane.Replicate(block, std::move(targets));
}

void WorkerAgent::RemoveBlocks(std::vector<std::uint64_t> ids, std::function<Status(std::uint64_t)> remove) {
  auto removed = std::make_shared<std::vector<std::uint64_t>>();
  parts_.background.Run(
      [removed, ids = std::move(ids), remove = std::move(remove), log = log_] {
        for (const std::uint64_t id : ids) {
          const Status status = remove(id);
          if (status.ok()) removed->push_back(id);
          if (!status.ok()) log->warn("cannot remove {}: {}", dfs::BlockName(id), status.message());
        }
      },
      WhileAlive(self_, [removed](WorkerAgent& agent) {
        for (const std::uint64_t id : *removed) agent.session_.blocks().Deleted(id);
      }));
}

void WorkerAgent::DeleteBlocks(std::vector<std::uint64_t> ids) {
  RemoveBlocks(std::move(ids), [&blocks = parts_.blocks](std::uint64_t id) { return blocks.Remove(id); });
}

void WorkerAgent::TrashBlocks(std::vector<std::uint64_t> ids) {
  log_->warn("{} blocks that no file has go to the trash, for {}", ids.size(), FormatDuration(config_.trash_retention));
  RemoveBlocks(std::move(ids),
               [&blocks = parts_.blocks, now = parts_.clock.Now()](std::uint64_t id) { return blocks.Trash(id, now); });
}

kj::Promise<std::vector<dfs::StoredBlock>> WorkerAgent::Restore(std::vector<std::uint64_t> ids) {
  using Blocks = std::vector<dfs::StoredBlock>;
  auto pair = kj::newPromiseAndFulfiller<Blocks>();
  const auto answer = std::make_shared<kj::Own<kj::PromiseFulfiller<Blocks>>>(kj::mv(pair.fulfiller));
  const auto restored = std::make_shared<Blocks>();
  parts_.background.Run(
      [restored, ids = std::move(ids), &blocks = parts_.blocks, log = log_] {
        for (const std::uint64_t id : ids) {
          const Result<dfs::StoredBlock> block = blocks.Restore(id);
          if (block.ok()) restored->push_back(*block);
          if (block.ok()) continue;
          // An earlier session asked for it too, and its list was made before it was back.
          const Result<dfs::OpenBlock> here = blocks.Open(id);
          if (block.status().code() == StatusCode::kExists && here.ok() && blocks.Length(id).has_value()) {
            restored->push_back({id, here->length, here->content().crc});
          } else {
            log->warn("cannot bring a block back: {}", block.status().message());
          }
        }
        log->info("{} blocks came back from the trash: the master wants them", restored->size());
      },
      [restored, answer] { (*answer)->fulfill(std::move(*restored)); });
  return kj::mv(pair.promise);
}

kj::Promise<void> WorkerAgent::SweepBlocks() {
  const dfs::BlockStore::Space space = parts_.blocks.space();
  const std::uint64_t least_free = std::min(kTrashYieldsBelow, space.capacity / 20);
  // Nothing ends by age while there is no master that could ask for it, however long the worker was down.
  const bool offered = session_.blocks().trash_offered();
  const Micros before = offered ? parts_.clock.Now() - config_.trash_retention + 1 : std::numeric_limits<Micros>::min();
  parts_.background.Run(
      [&blocks = parts_.blocks, before, least_free, log = log_] {
        const dfs::BlockStore::Swept swept = blocks.SweepTrash(before, least_free);
        if (swept.blocks == 0) return;
        log->info("{} blocks of {} left the trash for good", swept.blocks, FormatBytes(swept.bytes));
      },
      [] {});
  const Micros now = (parts_.timer.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS;
  parts_.background.Run(
      [&blocks = parts_.blocks, now, retention = config_.unfinished_retention, log = log_] {
        const dfs::BlockStore::Swept swept = blocks.SweepUnfinished(now, retention);
        if (swept.blocks == 0) return;
        log->info("{} unfinished blocks of {}, which nobody continued to write, are discarded", swept.blocks,
                  FormatBytes(swept.bytes));
      },
      [] {});
  const kj::Duration period = kj::min(kSweepPeriod, config_.unfinished_retention * kj::MICROSECONDS);
  return parts_.timer.afterDelay(period).then([this] { return SweepBlocks(); });
}

kj::Promise<dfs::wire::ReplicaState> WorkerAgent::VerifyBlock(std::uint64_t id) {
  auto answer = kj::newPromiseAndFulfiller<dfs::wire::ReplicaState>();
  auto& waiting = checking_[id];
  waiting.push_back(kj::mv(answer.fulfiller));
  if (waiting.size() > 1) return kj::mv(answer.promise);
  const auto checked = std::make_shared<CheckedBlock>();
  parts_.checks.Run([checked, id, &blocks = parts_.blocks] { *checked = CheckBlock(blocks, id); },
                    WhileAlive(self_, [checked, id](WorkerAgent& agent) {
                      agent.Found(*checked);
                      auto asked = agent.checking_.extract(id);
                      for (auto& who : asked.mapped()) who->fulfill(kj::cp(checked->state));
                    }));
  return kj::mv(answer.promise);
}

void WorkerAgent::Found(const CheckedBlock& checked) {
  const std::uint64_t id = checked.block.id;
  switch (checked.state) {
    case dfs::wire::ReplicaState::SOUND:
      // Only while it is listed: what is removed meanwhile is told after this.
      if (parts_.blocks.Length(id) == checked.block.length) session_.blocks().Received(checked.block);
      return;
    case dfs::wire::ReplicaState::ABSENT:
      log_->warn("{} is not here any more: {}", dfs::BlockName(id), checked.why.message());
      return session_.blocks().Deleted(id);
    default:
      log_->error("{}", checked.why.message());
      return session_.blocks().Corrupt(id);
  }
}

void WorkerAgent::LostBlocks(const std::vector<std::uint64_t>& ids) {
  for (const std::uint64_t id : ids) session_.blocks().Deleted(id);
}

std::vector<dfs::StoredBlock> WorkerAgent::Blocks() {
  std::vector<dfs::StoredBlock> blocks = parts_.blocks.List();
  for (const std::uint64_t id : parts_.blocks.Damaged()) {
    log_->error("{} is damaged: its checksums do not fit its length", dfs::BlockName(id));
    blocks.push_back({id, BlockNews::kNoLength});
  }
  return blocks;
}

}  // namespace millrace::worker
