// SPDX-License-Identifier: Apache-2.0
#include "master/service/file_lease.h"

#include <algorithm>
#include <utility>

#include "base/ids/ids.h"
#include "base/text.h"
#include "master/control/wire_codec.h"
#include "master/service/after_commits.h"
#include "master/service/service_support.h"

namespace millrace::master {
namespace {

constexpr std::ptrdiff_t kMostExcluded = 64;  // nodes that one block avoids

class FileLeaseImpl : public dfs::wire::FileLease::Server {
 public:
  FileLeaseImpl(const FileLeaseParts& parts, dfs::FileId file, std::shared_ptr<const Caller> caller)
      : master_(parts),
        self_(parts.steps.self()),
        file_(file),
        caller_(std::move(caller)),
        token_(parts.open_files.Take(file)) {}
  ~FileLeaseImpl() {
    if (*self_ != nullptr) master_.open_files.Drop(file_, token_);
  }

  kj::Promise<void> addBlock(AddBlockContext context) override { return AddBlock(context, master_.timer.now()); }

  kj::Promise<void> AddBlock(AddBlockContext context, kj::TimePoint since) {
    Require(master_.open_files.Renew(file_, token_));
    Require(master_.room.CheckGoingOn());
    const auto params = context.getParams();
    const NodeRecord* asker = FindAsker(master_.nodes, params.getAsker());
    Require(CheckQuota());
    Step step = master_.steps.Begin();
    // The last ones are those that failed last. A writer can say so only of nodes that it was given.
    std::vector<NodeId> excluded = ReadNodes(params.getExcluded());
    if (std::ssize(excluded) > kMostExcluded) excluded.erase(excluded.begin(), excluded.end() - kMostExcluded);
    for (const NodeId node : master_.files.LastTargets(file_)) {
      if (std::ranges::find(excluded, node) != excluded.end()) master_.watch.Doubt(node);
    }
    const Result<FileSystem::NewBlock> block = master_.files.AddBlock(
        file_, asker == nullptr ? std::nullopt : std::optional<NodeId>(asker->number), excluded, &step.batch);
    if (!block.ok() && block.status().code() == StatusCode::kUnavailable && master_.workers.AwaitingReports()) {
      return master_.workers.NextReport(since).then(
          [this, context, since]() mutable { return AddBlock(context, since); });
    }
    if (!block.ok()) Require(block.status());
    // A block that a master started again would not know is of no use: its writer no longer has what it wrote there.
    kj::Promise<void> kept = master_.steps.Finish(std::move(step));
    auto results = context.getResults();
    results.setId(block->id);
    auto targets = results.initTargets(static_cast<unsigned>(block->targets.size()));
    for (unsigned i = 0; i < targets.size(); ++i) {
      if (const NodeRecord* node = master_.nodes.Find(block->targets[i])) Write(*node, targets[i]);
    }
    const std::string token =
        master_.tokens.TokenFor(block->id, block->targets, tls::SubjectOf(caller_->peer().identity));
    if (!params.getShowsToken() || !master_.tokens.TakeTokens(block->targets)) {
      auto both = kj::heapArrayBuilder<kj::Promise<void>>(2);
      both.add(kj::mv(kept));
      both.add(master_.dispatcher.AllowWrite(block->targets, block->id, token));
      return kj::joinPromises(both.finish());
    }
    results.setToken(ToData(token));
    return kept;
  }

  kj::Promise<void> renew(RenewContext) override {
    Require(master_.open_files.Renew(file_, token_));
    return kj::READY_NOW;
  }

  kj::Promise<void> dropBlock(DropBlockContext context) override {
    Require(master_.open_files.Renew(file_, token_));
    Require(master_.room.CheckGoingOn());
    Step step = master_.steps.Begin();
    Require(master_.files.DropBlock(file_, context.getParams().getId(), &step.batch));
    master_.steps.FinishLazily(std::move(step));
    return kj::READY_NOW;
  }

  kj::Promise<void> complete(CompleteContext context) override {
    Require(master_.open_files.Renew(file_, token_));
    Require(master_.room.CheckGoingOn());
    if (const Status may = master_.files.names().CheckWriter(file_, caller_->principal()); !may.ok())
      Require(caller_->Audited("complete", "file " + std::to_string(file_), may));
    Step step = master_.steps.Begin();
    Require(master_.files.Complete(file_, {}, Read(context.getParams().getBlocks()), step.now, &step.batch));
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> sync(SyncContext context) override {
    Require(master_.open_files.Renew(file_, token_));
    Require(master_.open_files.CheckNotHandedOver(file_));
    Require(master_.room.CheckGoingOn());
    const auto params = context.getParams();
    Step step = master_.steps.Begin();
    Require(master_.files.Sync(file_, params.getFirst(), Read(params.getBlocks()), &step.batch));
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> abandon(AbandonContext) override {
    Require(master_.open_files.GiveUp(file_, "its writer gave it up"));
    return kj::READY_NOW;
  }

  kj::Promise<void> handOver(HandOverContext context) override {
    Require(master_.open_files.Renew(file_, token_));
    const std::string text = ToString(context.getParams().getAttempt());
    const std::optional<AttemptId> attempt = ParseAttempt(text);
    if (!attempt) Require(Invalid("hand over a file: " + text.substr(0, 80) + " is not an attempt"));
    Require(master_.files.CheckNotSynced(file_));
    if (const Status own = CheckJobIsOwn(attempt->task.job); !own.ok())
      Require(caller_->Audited("handOver", "file " + std::to_string(file_) + " to " + ToText(*attempt), own));
    Require(master_.jobs.HandOver(file_, *attempt));
    master_.open_files.HandOver(file_);
    return kj::READY_NOW;
  }

 private:
  [[nodiscard]] Status CheckQuota() const {
    const dfs::Namespace& names = master_.files.names();
    Status room = names.CheckRoomForBlock(file_);
    if (!room.ok() && !names.CheckRoomForBlock(file_, false).ok())
      master_.jobs.NoteOverQuota(names.FindOpen(file_)->path);
    return room;
  }
  // The file ends in the job's output directory.
  [[nodiscard]] Status CheckJobIsOwn(JobId job) {
    const dfs::Principal who = caller_->principal();
    const JobRecord* record = master_.jobs.FindRecord(job);
    if (who.superuser || record == nullptr || record->request.owner == who.user) return Status::Ok();
    return Denied("hand over a file: " + ToText(job) + " is of " + Printable(record->request.owner) + ", not of " +
                  Printable(who.user));
  }

  const FileLeaseParts master_;
  const std::shared_ptr<Steps* const> self_;
  dfs::FileId file_;
  const std::shared_ptr<const Caller> caller_;
  std::uint64_t token_;
};

}  // namespace

dfs::wire::FileLease::Client MakeFileLease(const FileLeaseParts& parts, dfs::FileId file,
                                           std::shared_ptr<const Caller> caller) {
  return kj::heap<AfterCommits<FileLeaseImpl>>(parts.steps, parts, file, std::move(caller));
}

const NodeRecord* FindAsker(const NodeTable& nodes, dfs::wire::Asker::Reader asker) {
  if (const NodeRecord* node = nodes.Find(NodeId{asker.getNode()}); node != nullptr && node->alive) return node;
  return nodes.FindByHost(ToString(asker.getHost()));
}

}  // namespace millrace::master
