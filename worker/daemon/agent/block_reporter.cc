// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/block_reporter.h"

#include <kj/debug.h>

#include <algorithm>
#include <utility>

#include "base/rpc/calls.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/messages.h"

namespace millrace::worker {
namespace {

void Fill(capnp::List<dfs::wire::Block>::Builder wire, const dfs::StoredBlock* blocks) {
  for (unsigned i = 0; i < wire.size(); ++i) WriteMessage(blocks[i], wire[i], dfs::kBlockFields);
}

}  // namespace

BlockReporter::BlockReporter(kj::Timer& timer, std::function<void(const Status&)> broken, Restore restore)
    : timer_(timer), broken_(std::move(broken)), restore_(std::move(restore)) {}

void BlockReporter::Received(const dfs::StoredBlock& block) {
  corrupt_.erase(block.id);
  Happened({Kind::kReceived, block});
}

void BlockReporter::Deleted(std::uint64_t id) {
  corrupt_.erase(id);
  Happened({Kind::kDeleted, {id}});
}

void BlockReporter::Corrupt(std::uint64_t id) {
  corrupt_.insert(id);
  Happened({Kind::kCorrupt, {id}});
}

void BlockReporter::Happened(Event event) {
  if (session_ == nullptr) return;  // the list of the next session will tell of it
  events_.push_back(event);
  Schedule();
}

void BlockReporter::Open(master::wire::WorkerSession::Client session, std::vector<dfs::StoredBlock> all,
                         std::vector<dfs::StoredBlock> trash, kj::Duration limit) {
  Close();
  session_ = kj::mv(session);
  limit_ = limit;
  report_ = std::move(all);
  MarkCorrupt();
  trash_ = std::move(trash);
  // Whatever has ended the last session, the master may have missed something, so a new session tells everything again.
  calls_ = std::make_unique<rpc::TaskGroup>(broken_);
  sending_ = true;
  calls_->Add(SendReport(0).then([this] { return SendNext(); }));
}

void BlockReporter::Close() {
  calls_ = nullptr;
  session_ = nullptr;
  sending_ = trash_offered_ = false;
  report_.clear();
  trash_.clear();
  events_.clear();
}

// Marks corrupt blocks in the list that is to be sent, and forgets those that are not in it, since they are gone.
void BlockReporter::MarkCorrupt() {
  std::set<std::uint64_t> there;
  for (dfs::StoredBlock& block : report_) {
    if (!corrupt_.contains(block.id)) continue;
    block.length = dfs::kDamagedLength;
    there.insert(block.id);
  }
  corrupt_ = std::move(there);
}

kj::Promise<void> BlockReporter::SendReport(std::size_t from) {
  auto& session = KJ_ASSERT_NONNULL(session_);
  const std::size_t size = std::min(report_.size() - from, kMostInOneCall);
  const std::size_t end = from + size;
  auto part = session.reportBlocksRequest();
  Fill(part.initBlocks(static_cast<unsigned>(size)), report_.data() + from);
  part.setFirst(from == 0);
  part.setLast(end == report_.size());
  auto sent = rpc::WithDeadline(timer_, limit_, "report blocks to the master", part.send());
  return sent.then([this, end]() -> kj::Promise<void> {
    if (end < report_.size()) return SendReport(end);
    report_ = {};
    return OfferTrash(0);
  });
}

kj::Promise<void> BlockReporter::OfferTrash(std::size_t from) {
  if (from == trash_.size()) return EndReport();
  using Answer = capnp::Response<master::wire::WorkerSession::OfferTrashResults>;
  const std::size_t size = std::min(trash_.size() - from, kMostInOneCall);
  auto offer = KJ_ASSERT_NONNULL(session_).offerTrashRequest();
  Fill(offer.initBlocks(static_cast<unsigned>(size)), trash_.data() + from);
  kj::Promise<Answer> sent = offer.send();
  return rpc::WithDeadline(timer_, limit_, "offer the trash to the master", kj::mv(sent))
      .then([this](Answer answer) {
        std::vector<std::uint64_t> wanted;
        for (const std::uint64_t id : answer.getWanted()) wanted.push_back(id);
        return BringBack(std::move(wanted));
      })
      .then([this, next = from + size] { return OfferTrash(next); });
}

// The blocks are reported before the report ends, so that the master does not take them for missing in between.
kj::Promise<void> BlockReporter::BringBack(std::vector<std::uint64_t> wanted) {
  if (wanted.empty()) return kj::READY_NOW;
  return restore_(std::move(wanted)).then([this](std::vector<dfs::StoredBlock> restored) -> kj::Promise<void> {
    if (restored.empty()) return kj::READY_NOW;
    return rpc::WithDeadline(timer_, limit_, "report changed blocks to the master",
                             SendBatch(Kind::kReceived, restored));
  });
}

kj::Promise<void> BlockReporter::EndReport() {
  trash_ = {};
  auto call = KJ_ASSERT_NONNULL(session_).endReportRequest().send().ignoreResult();
  return rpc::WithDeadline(timer_, limit_, "end the block report", kj::mv(call)).then([this] {
    trash_offered_ = true;
  });
}

// Sends in a later turn of the loop, so that what one turn brings becomes one call.
void BlockReporter::Schedule() {
  if (session_ == nullptr || std::exchange(sending_, true)) return;
  calls_->Add(kj::evalLater([this] { return SendNext(); }));
}

kj::Promise<void> BlockReporter::SendNext() {
  if (events_.empty()) {
    sending_ = false;
    return kj::READY_NOW;
  }
  const Kind kind = events_.front().kind;
  const std::size_t most = kind == Kind::kCorrupt ? 1 : kMostInOneCall;
  std::vector<dfs::StoredBlock> blocks;
  while (!events_.empty() && events_.front().kind == kind && blocks.size() < most) {
    blocks.push_back(events_.front().block);
    events_.pop_front();
  }
  return rpc::WithDeadline(timer_, limit_, "report changed blocks to the master", SendBatch(kind, blocks)).then([this] {
    return SendNext();
  });
}

kj::Promise<void> BlockReporter::SendBatch(Kind kind, const std::vector<dfs::StoredBlock>& blocks) {
  auto& session = KJ_ASSERT_NONNULL(session_);
  const auto size = static_cast<unsigned>(blocks.size());
  if (kind == Kind::kReceived) {
    auto request = session.blocksReceivedRequest();
    Fill(request.initBlocks(size), blocks.data());
    return request.send().ignoreResult();
  }
  if (kind == Kind::kDeleted) {
    auto request = session.blocksDeletedRequest();
    auto ids = request.initBlocks(size);
    for (unsigned i = 0; i < size; ++i) ids.set(i, blocks[i].id);
    return request.send().ignoreResult();
  }
  auto request = session.blockCorruptRequest();
  request.setBlock(blocks.front().id);
  return request.send().ignoreResult();
}

}  // namespace millrace::worker
