// SPDX-License-Identifier: Apache-2.0
#include "master/service/name_service.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/rpc/calls.h"
#include "base/text.h"
#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"
#include "dfs/wire/quota_wire.h"
#include "dfs/wire/trash.h"
#include "master/control/wire_codec.h"
#include "master/jobs/answer_budget.h"
#include "master/service/after_commits.h"
#include "master/service/file_lease.h"
#include "master/service/service_support.h"

namespace millrace::master {
namespace {

constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kMostBlocks = 500;
constexpr std::size_t kDeletionBytes = 64;   // a Deletion without its paths
constexpr std::size_t kQuotaBytes = 96;      // a QuotaState without its names
constexpr std::size_t kUnhealthyBytes = 64;  // an UnhealthyBlock without its path

class NameServiceImpl : public dfs::wire::NameService::Server {
 public:
  NameServiceImpl(const NameParts& parts, std::shared_ptr<const Caller> caller)
      : master_(parts),
        caller_(std::move(caller)),
        user_(caller_->user()),
        subject_(tls::SubjectOf(caller_->peer().identity)) {}

  kj::Promise<void> stat(StatContext context) override {
    const std::string path = Looked("stat", dfs::Wish::kLook, context.getParams().getPath());
    dfs::ToWire(Require(names().Stat(path)), context.getResults().initStatus());
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext context) override {
    const auto params = context.getParams();
    const std::string path = Looked("list", dfs::Wish::kList, params.getPath());
    const std::size_t limit =
        std::min<std::size_t>(params.getLimit() == 0 ? kMostEntries : params.getLimit(), kMostEntries);
    std::vector<dfs::FileStatus> entries = Require(names().List(path, ToString(params.getAfter()), limit + 1));
    const std::size_t count =
        AnswerBudget(limit).TakeFront(entries, [](const dfs::FileStatus& entry) { return BytesOf(entry); });
    auto results = context.getResults();
    auto out = results.initEntries(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) dfs::ToWire(entries[i], out[i]);
    results.setMore(count < entries.size());
    return kj::READY_NOW;
  }

  kj::Promise<void> locate(LocateContext context) override { return Locate(context, master_.timer.now()); }

  // After a start of the master, reports of workers may still be on their way. If a block has no replica, the call
  // waits for them.
  kj::Promise<void> Locate(LocateContext context, kj::TimePoint since) {
    const auto params = context.getParams();
    const std::string path = Looked("locate", dfs::Wish::kRead, params.getPath());
    const dfs::FileStatus status = Require(names().Stat(path));
    if (status.directory) Require(Invalid("open " + Quote(path) + ": is a directory"));
    const std::vector<FileSystem::Located> blocks =
        Require(master_.files.Locate(path, params.getFirstBlock(), kMostBlocks + 1));
    const std::size_t count = AnswerBudget(kMostBlocks).TakeFront(blocks, [this](const FileSystem::Located& block) {
      return BytesOf(block, master_.nodes);
    });
    const bool incomplete =
        std::any_of(blocks.begin(), blocks.end(), [](const auto& block) { return block.holders.empty(); });
    if (incomplete && master_.workers.AwaitingReports()) {
      return master_.workers.NextReport(since).then(
          [this, context, since]() mutable { return Locate(context, since); });
    }
    const NodeRecord* asker = FindAsker(master_.nodes, params.getAsker());
    auto results = context.getResults();
    dfs::ToWire(status, results.initStatus());
    const tls::Grant grant = master_.tokens.GrantTo(subject_);
    auto out = results.initBlocks(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) Write(blocks[i], master_.nodes, asker, grant, out[i]);
    results.setMore(count < blocks.size());
    return kj::READY_NOW;
  }

  kj::Promise<void> makeDirectory(MakeDirectoryContext context) override {
    const auto params = context.getParams();
    const dfs::Mode mode = ModeOr(params.getMode(), dfs::kDirectoryMode);
    return Change("makeDirectory", params.getPath(), dfs::OctalText(mode), [&](const std::string& path, Step* step) {
      Require(CheckLength("make a directory: its owner", ToString(params.getOwner()), kLongestName));
      Require(names().Check(dfs::Wish::kMakeDirectory, path, Who()));
      Require(names().CheckRoomForDirectory(path, Owner(params.getOwner())));
      Require(files().MakeDirectory(path, Owner(params.getOwner()), step->now, &step->batch, mode));
    });
  }

  kj::Promise<void> remove(RemoveContext context) override {
    return Remove("remove", context.getParams().getPath(), context.getParams().getRecursive());
  }

  kj::Promise<void> trash(TrashContext context) override {
    const auto params = context.getParams();
    const bool recursive = params.getRecursive();
    const Micros retention = master_.config.trash_retention;
    if (retention == 0 || dfs::IsTrash(Canonical(params.getPath())))
      return Remove("trash", params.getPath(), recursive);
    const std::string user = TrashUser({}, params.getOwner());
    return Change(
        "trash", params.getPath(), "",
        [&](const std::string& path, Step* step) {
          const std::string place = Require(files().Trash(path, recursive, user, step->now, &step->batch));
          context.getResults().setPlace(ToData(place));
          context.getResults().setUntil(step->now + retention);
        },
        [this](const std::string& path) {
          MILLRACE_TRY(names().Check(dfs::Wish::kRemove, path, Who()));
          const Status room = master_.room.CheckChange();
          return room.ok() ? room
                           : Status(room.code(), room.message() + "; removing at once makes room (--skip-trash)");
        });
  }

  kj::Promise<void> undelete(UndeleteContext context) override {
    const auto params = context.getParams();
    const std::string user = TrashUser(params.getUser(), params.getOwner());
    const Micros deleted = params.getDeleted();
    return Change("undelete", params.getPath(), "from the trash of " + Quote(user),
                  [&](const std::string& path, Step* step) {
                    const dfs::Principal who = Who();
                    Require(names().Check(dfs::Wish::kList, TrashOf(user), who));
                    const std::string place = Require(names().FindDeleted(user, path, deleted));
                    Require(names().CheckRename(place, path, who));
                    Require(names().CheckRoomForRename(place, path, who.user));
                    Require(files().Undelete(place, path, who.user, step->now, &step->batch));
                    context.getResults().setPlace(ToData(place));
                  });
  }

  kj::Promise<void> deletions(DeletionsContext context) override {
    const auto params = context.getParams();
    const std::string user = TrashUser(params.getUser(), params.getOwner());
    const std::string own = TrashOf(user);
    Require(caller_->AuditedLook("deletions", own, names().Check(dfs::Wish::kList, own, Who())));
    const std::size_t limit =
        std::min<std::size_t>(params.getLimit() == 0 ? kMostEntries : params.getLimit(), kMostEntries);
    const std::vector<dfs::Deletion> found = names().Deletions(user, params.getAfter(), limit + 1);
    const std::size_t count = AnswerBudget(limit).TakeFront(
        found, [](const dfs::Deletion& one) { return kDeletionBytes + FieldBytes(one.path) + FieldBytes(one.place); });
    auto results = context.getResults();
    auto out = results.initDeletions(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) dfs::ToWire(found[i], out[i]);
    results.setMore(count < found.size());
    results.setRetention(master_.config.trash_retention);
    return kj::READY_NOW;
  }

  kj::Promise<void> time(TimeContext context) override {
    context.getResults().setNow(master_.clock.Now());
    return kj::READY_NOW;
  }

  kj::Promise<void> setQuota(SetQuotaContext context) override {
    const auto params = context.getParams();
    const std::string user = ToString(params.getUser());
    const bool of_user = params.getPath().size() == 0;
    const std::string path = of_user ? std::string("/") : Canonical(params.getPath());
    const auto text = [](bool set, std::uint64_t limit) {
      return !set ? std::string("as it is") : limit == dfs::kNoQuota ? "none" : std::to_string(limit);
    };
    const std::string on = (of_user ? "user " + Quote(user) : AuditedPath(path)) + " to bytes " +
                           text(params.getSetBytes(), params.getBytes()) + ", files " +
                           text(params.getSetEntries(), params.getEntries());
    return Audited(*caller_, "setQuota", on, [&] {
      Require(master_.room.CheckChange());
      if (of_user) Require(CheckGiven(user));
      dfs::Quota quota = of_user ? names().QuotaOfUser(user).quota : dfs::Quota();
      if (!of_user) {
        const std::vector<dfs::QuotaState> there = names().QuotasOn(path);
        if (!there.empty() && there.back().directory == path) quota = there.back().quota;
      }
      if (params.getSetBytes()) quota.bytes = params.getBytes();
      if (params.getSetEntries()) quota.entries = params.getEntries();
      Step step = master_.steps.Begin();
      Require(of_user ? files().SetUserQuota(user, quota, &step.batch) : files().SetQuota(path, quota, &step.batch));
      return master_.steps.Finish(std::move(step));
    });
  }

  kj::Promise<void> quotas(QuotasContext context) override {
    const auto params = context.getParams();
    const std::string user = ToString(params.getUser());
    const dfs::Principal who = Who();
    std::vector<dfs::QuotaState> found;
    if (params.getPath().size() > 0) {
      const std::string path = Looked("quotas", dfs::Wish::kLook, params.getPath());
      (void)Require(names().Stat(path));
      found = names().QuotasOn(path);
    } else if (!user.empty()) {
      found.push_back(names().QuotaOfUser(user));
    } else {
      found = names().Quotas();
      std::erase_if(found, [&](const dfs::QuotaState& state) {
        return state.user.empty() && !names().Check(dfs::Wish::kLook, state.directory, who).ok();
      });
    }
    found.erase(found.begin(), found.begin() + std::min<std::ptrdiff_t>(std::ssize(found), params.getFirst()));
    const std::size_t count = AnswerBudget(kMostEntries).TakeFront(found, [](const dfs::QuotaState& state) {
      return kQuotaBytes + FieldBytes(state.directory) + FieldBytes(state.user);
    });
    auto results = context.getResults();
    auto out = results.initQuotas(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) dfs::ToWire(found[i], out[i]);
    results.setMore(count < found.size());
    return kj::READY_NOW;
  }

  kj::Promise<void> rename(RenameContext context) override {
    const std::string to = Canonical(context.getParams().getTo());
    return Change("rename", context.getParams().getFrom(), "to " + AuditedPath(to),
                  [&](const std::string& from, Step* step) {
                    const dfs::Principal who = Who();
                    Require(names().CheckRename(from, to, who));
                    Require(names().CheckRoomForRename(from, to, who.user));
                    Require(files().Rename(from, to, step->now, &step->batch, who.user));
                  });
  }

  kj::Promise<void> setReplication(SetReplicationContext context) override {
    const std::uint32_t replication = context.getParams().getReplication();
    return Change(
        "setReplication", context.getParams().getPath(), "to " + std::to_string(replication),
        [&](const std::string& path, Step* step) { Require(files().SetReplication(path, replication, &step->batch)); },
        [this, replication](const std::string& path) {
          MILLRACE_TRY(names().Check(dfs::Wish::kChange, path, Who()));
          MILLRACE_TRY(names().CheckRoomForReplicas(path, replication));
          const Result<dfs::FileStatus> there = names().Stat(path);
          const bool lower = there.ok() && replication < there->replication;
          if (!lower || master_.room.CheckChange().ok()) return master_.room.CheckChange();
          return master_.room.CheckMakesRoom(files().BytesToSetReplication(path));
        });
  }

  kj::Promise<void> setMode(SetModeContext context) override {
    const dfs::Mode mode = context.getParams().getMode();
    return Change("setMode", context.getParams().getPath(), "to " + dfs::OctalText(mode),
                  [&](const std::string& path, Step* step) {
                    Require(names().Check(dfs::Wish::kSetMode, path, Who()));
                    Require(files().SetMode(path, mode, &step->batch));
                  });
  }

  kj::Promise<void> setOwner(SetOwnerContext context) override {
    const std::string owner = ToString(context.getParams().getOwner()),
                      group = ToString(context.getParams().getGroup());
    const auto given = [](const std::string& name) {
      return name.empty() ? std::nullopt : std::optional<std::string_view>(name);
    };
    return Change("setOwner", context.getParams().getPath(), "to " + Quote(owner) + ", " + Quote(group),
                  [&](const std::string& path, Step* step) {
                    for (const std::string& name : {owner, group}) Require(CheckGiven(name));
                    Require(names().CheckSetOwner(path, given(owner), given(group), Who()));
                    if (!owner.empty()) Require(names().CheckRoomForOwner(path, owner));
                    Require(files().SetOwner(path, given(owner), given(group), &step->batch));
                  });
  }

  kj::Promise<void> measure(MeasureContext context) override {
    const std::string path = Looked("measure", dfs::Wish::kMeasure, context.getParams().getPath());
    const dfs::Namespace::Usage usage = Require(names().Measure(path));
    auto out = context.getResults().initUsage();
    out.setFiles(usage.files);
    out.setDirectories(usage.directories);
    out.setBytes(usage.bytes);
    out.setBytesWithReplicas(usage.bytes_with_replicas);
    out.setBlocks(usage.blocks);
    return kj::READY_NOW;
  }

  kj::Promise<void> create(CreateContext context) override {
    const auto params = context.getParams();
    dfs::CreateOptions options;
    options.replication = params.getReplication() != 0 ? params.getReplication()
                                                       : static_cast<std::uint32_t>(master_.config.default_replication);
    options.block_size = params.getBlockSize() != 0 ? params.getBlockSize() : master_.config.default_block_size;
    options.overwrite = params.getOverwrite();
    options.mode = ModeOr(params.getMode(), dfs::kFileMode);
    options.owner = Owner(params.getOwner());
    options.writer = ToString(params.getWriter());
    const std::string path = Canonical(params.getPath());
    return Audited(*caller_, "create", AuditedPath(path), [&] {
      const bool archive = dfs::IsWithin(path, dfs::kJobLogsDirectory) || IsWorker();
      if (archive) options = Require(master_.job_logs.OptionsFor(path, caller_->peer().identity, options));
      if (!master_.jobs.IsOutput(path)) Require(master_.room.CheckChange());
      Require(CheckLength("create a file: its owner", options.owner, kLongestName));
      Require(CheckLength("create a file: the name of its writer", options.writer, 2 * kLongestName));
      Require(names().Check(options.overwrite ? dfs::Wish::kReplace : dfs::Wish::kCreate, path, Who()));
      if (const Status room = names().CheckRoomForFile(path, options); !room.ok()) {
        if (!names().CheckRoomForFile(path, options, false).ok()) master_.jobs.NoteOverQuota(path);
        Require(room);
      }
      if (archive) KeepDirectories(path);
      Step step = master_.steps.Begin();
      const dfs::FileId file = Require(files().Create(path, options, step.now, &step.batch));
      context.getResults().setFile(file);
      context.getResults().setBlockSize(options.block_size);
      context.getResults().setRenewMillis(static_cast<std::uint32_t>(master_.config.lease_limit / 4 / kMillisecond));
      context.getResults().setLease(MakeFileLease(master_.leases, file, caller_));
      return master_.steps.FinishReserved(std::move(step));
    });
  }

  kj::Promise<void> resume(ResumeContext context) override {
    const dfs::FileId file = context.getParams().getFile();
    const std::optional<dfs::OpenFile> open = names().FindOpen(file);
    if (!open)
      Require(
          NotFound("file " + std::to_string(file) + " is not being written any more; it was completed or given up"));
    const dfs::Principal who = Who();
    if (IsWorker()) {
      const Status may = master_.job_logs.CheckWorkerWrites(open->path, caller_->peer().identity);
      if (!may.ok()) Require(caller_->Audited("resume", AuditedPath(open->path), may));
    }
    if (!who.superuser && open->options.owner != who.user) {
      Require(caller_->Audited("resume", AuditedPath(open->path),
                               Denied(Printable(who.user) + " may not write " + Quote(open->path) + ": " +
                                      Printable(open->options.owner) + " opened it")));
    }
    context.getResults().setLease(MakeFileLease(master_.leases, file, caller_));
    return kj::READY_NOW;
  }

  kj::Promise<void> reportBadReplica(ReportBadReplicaContext context) override {
    // A reader's word is not enough. The worker itself reads the block again, and reports it if it is corrupt.
    const auto params = context.getParams();
    master_.dispatcher.VerifyLater(NodeId{params.getNode()}, params.getBlock());
    return kj::READY_NOW;
  }

  kj::Promise<void> health(HealthContext context) override {
    const dfs::BlockHealth health = files().blocks().Health();
    auto out = context.getResults();
    out.setBlocks(health.blocks);
    out.setMissing(health.missing);
    out.setUnderReplicated(health.under_replicated);
    out.setShortOfNodes(health.short_of_nodes);
    out.setSingleReplica(health.single_replica);
    out.setOverReplicated(health.over_replicated);
    out.setCorruptReplicas(health.corrupt_replicas);
    WorkerSpace total;
    std::uint32_t live = 0;
    for (const auto& [number, node] : master_.nodes.all()) {
      if (!node.alive) continue;
      ++live;
      total.capacity += node.space.capacity;
      total.used += node.space.used;
      total.free += node.space.free;
    }
    out.setCapacity(total.capacity);
    out.setUsed(total.used);
    out.setFree(total.free);
    out.setLiveWorkers(live);
    out.setUnknownBlocks(health.unknown);
    out.setHoldingWorkers(static_cast<std::uint32_t>(health.nodes_held));
    out.setAwaiting(master_.workers.AwaitedLine());
    out.setReadOnly(master_.room.CheckChange().message());
    const dfs::Use trash = names().TrashUse();
    out.setTrashBytes(trash.bytes);
    out.setTrashEntries(trash.entries);
    return kj::READY_NOW;
  }

  kj::Promise<void> awaitReports(AwaitReportsContext) override { return AwaitReports(master_.timer.now()); }

  kj::Promise<void> AwaitReports(kj::TimePoint since) {
    if (!master_.workers.AwaitingReports()) return kj::READY_NOW;
    return master_.workers.NextReport(since).then([this, since]() { return AwaitReports(since); });
  }

  kj::Promise<void> unhealthyBlocks(UnhealthyBlocksContext context) override {
    struct UnhealthyBlock {
      dfs::Block block;
      std::uint32_t live = 0, wanted = 0;
      std::string path = {};
    };
    std::vector<UnhealthyBlock> found;
    const dfs::Principal who = Who();
    const std::uint64_t after = context.getParams().getAfter();
    files().blocks().ForEachUnhealthy([&](const dfs::Block& block, std::uint32_t live, std::uint32_t wanted) {
      if (block.id > after) found.push_back({block, live, wanted});
      return true;
    });
    const std::size_t asked = context.getParams().getLimit();
    AnswerBudget budget(std::min(asked == 0 ? kMostBlocks : asked, kMostBlocks));
    std::vector<UnhealthyBlock> told;
    bool more = false;
    for (UnhealthyBlock& block : found) {
      const auto owner = names().OwnerOf(block.block.id);
      if (!owner || !names().Check(dfs::Wish::kRead, owner->path, who).ok()) continue;
      block.path = owner->path;
      more = !budget.Take(kUnhealthyBytes + FieldBytes(block.path));
      if (more) break;
      told.push_back(std::move(block));
    }
    context.getResults().setMore(more);
    auto out = context.getResults().initBlocks(static_cast<unsigned>(told.size()));
    for (unsigned i = 0; i < out.size(); ++i) {
      out[i].setPath(ToData(told[i].path));
      Write(told[i].block, out[i].initBlock());
      out[i].setLive(told[i].live);
      out[i].setWanted(told[i].wanted);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> verify(VerifyContext context) override {
    rpc::AllowCancellation(context);
    const auto params = context.getParams();
    const std::string path = Looked("verify", dfs::Wish::kRead, params.getPath());
    const std::uint32_t first = params.getFirstBlock();
    const std::vector<FileSystem::Located> blocks = Require(master_.files.Locate(path, first, kMostVerified + 1));
    const auto checks = std::make_shared<std::vector<ReplicaCheck>>();
    std::uint32_t count = 0;
    for (std::uint64_t bytes = 0; count < std::min(blocks.size(), kMostVerified) && bytes < kVerifiedBytes; ++count) {
      const dfs::BlockId block = blocks[count].block.id;
      bytes += blocks[count].block.length;
      const std::vector<NodeId> holders = files().blocks().AllReplicas(block);
      for (const NodeId node : holders) checks->push_back({block, node, dfs::wire::ReplicaState::UNKNOWN});
      if (holders.empty()) checks->push_back({block, NodeId{}, dfs::wire::ReplicaState::ABSENT});
    }
    KeepNamed(params.getAgain(), checks.get());
    const bool more = count < blocks.size();
    return CheckAll(checks, params.getWait()).then([this, context, checks, first, count, more]() mutable {
      auto results = context.getResults();
      results.setNextBlock(first + count);
      results.setMore(more);
      WriteChecks(*checks, results.initReplicas(static_cast<unsigned>(checks->size())));
    });
  }

  kj::Promise<void> balance(BalanceContext context) override {
    const double threshold = context.getParams().getThreshold();
    const std::string percent = std::to_string(100 * threshold) + "%";
    const bool right = threshold > 0 && threshold <= 1;
    Require(caller_->Audited(
        "balance", percent,
        right ? Status::Ok() : Invalid("balance: the threshold is " + percent + "; give one above 0 and up to 100")));
    master_.replicas.StartBalance(threshold);
    return kj::READY_NOW;
  }

  kj::Promise<void> stopBalance(StopBalanceContext) override {
    master_.replicas.StopBalance();
    Require(caller_->Audited("stopBalance", "", Status::Ok()));
    return kj::READY_NOW;
  }

  kj::Promise<void> balanceStatus(BalanceStatusContext context) override {
    rpc::AllowCancellation(context);
    constexpr std::uint32_t kLongestWait = 10'000;
    const std::uint32_t wait = std::min(context.getParams().getWaitMillis(), kLongestWait);
    kj::Promise<void> ready = kj::READY_NOW;
    if (wait > 0)
      ready = master_.replicas.BalanceEnd().exclusiveJoin(master_.timer.afterDelay(wait * kj::MILLISECONDS));
    return ready.then([this, context]() mutable {
      const dfs::BalanceView view = files().blocks().Balance();
      auto out = context.getResults().initStatus();
      out.setState(static_cast<dfs::wire::BalanceState>(view.state));
      out.setThreshold(view.threshold);
      out.setMean(view.mean);
      out.setSmallest(view.smallest);
      out.setLargest(view.largest);
      out.setBytesLeft(view.bytes_left);
      out.setMovedBlocks(view.moved_blocks);
      out.setMovedBytes(view.moved_bytes);
      out.setMovingBlocks(view.moving_blocks);
    });
  }

 private:
  static constexpr std::size_t kMostVerified = 64;  // blocks in one call, of about this many bytes:
  static constexpr std::uint64_t kVerifiedBytes = std::uint64_t{64} << 20;
  static constexpr kj::Duration kVerifyPatience = 15 * kj::SECONDS;  // less than a client waits for its call

  struct ReplicaCheck {
    dfs::BlockId block;
    NodeId node;  // 0: there is no replica
    dfs::wire::ReplicaState state;
  };

  // Keeps those that are named; all of them if none is named.
  static void KeepNamed(capnp::List<dfs::wire::ReplicaName>::Reader names, std::vector<ReplicaCheck>* checks) {
    if (names.size() == 0) return;
    std::set<std::pair<dfs::BlockId, NodeId>> named;
    for (const auto name : names) named.emplace(name.getBlock(), NodeId{name.getNode()});
    std::erase_if(*checks, [&](const ReplicaCheck& check) { return !named.contains({check.block, check.node}); });
  }

  // Replicas whose check takes too long stay UNKNOWN. A caller that asks again joins the reading that is under way.
  kj::Promise<void> CheckAll(const std::shared_ptr<std::vector<ReplicaCheck>>& checks, bool wait) {
    auto all = kj::heapArrayBuilder<kj::Promise<void>>(checks->size());
    for (std::size_t i = 0; i < checks->size(); ++i) {
      const ReplicaCheck& check = (*checks)[i];
      if (check.node == NodeId{}) {
        all.add(kj::READY_NOW);
      } else if (wait) {
        all.add(master_.dispatcher.Verify(check.node, check.block).then([checks, i](dfs::wire::ReplicaState state) {
          (*checks)[i].state = state;
        }));
      } else {
        master_.dispatcher.VerifyLater(check.node, check.block);
        all.add(kj::READY_NOW);
      }
    }
    return kj::joinPromises(all.finish()).exclusiveJoin(master_.timer.afterDelay(kVerifyPatience));
  }

  void WriteChecks(const std::vector<ReplicaCheck>& checks, capnp::List<dfs::wire::CheckedReplica>::Builder out) {
    for (unsigned i = 0; i < out.size(); ++i) {
      out[i].setBlock(checks[i].block);
      out[i].setNode(checks[i].node.value);
      out[i].setState(checks[i].state);
      const NodeRecord* node = master_.nodes.Find(checks[i].node);
      if (node == nullptr) continue;
      out[i].setHost(node->facts.host);
      out[i].setPort(node->facts.port);
    }
  }

  // In a step of its own, since the making of the file may fail.
  void KeepDirectories(const std::string& path) {
    Step step = master_.steps.Begin();
    const Status kept = master_.job_logs.KeepDirectories(path, &step);
    if (!step.batch.empty()) master_.steps.FinishLazily(std::move(step));
    Require(kept);
  }

  kj::Promise<void> Remove(std::string_view call, capnp::Data::Reader at, bool recursive) {
    return Change(
        call, at, "",
        [&](const std::string& path, Step* step) { Require(files().Remove(path, recursive, &step->batch)); },
        [this](const std::string& path) {
          MILLRACE_TRY(names().Check(dfs::Wish::kRemove, path, Who()));
          if (master_.room.CheckChange().ok()) return Status::Ok();
          return master_.room.CheckMakesRoom(files().BytesToRemove(path));
        });
  }
  // Returns the user whose trash a call means: `user`, or the caller if that is empty.
  [[nodiscard]] std::string TrashUser(capnp::Text::Reader user, capnp::Text::Reader owner) const {
    std::string name = user.size() > 0 ? ToString(user) : Owner(owner);
    if (name.empty()) name = "nobody";
    const std::string path = Require(dfs::CanonicalPath(std::string(dfs::kTrashDirectory) + "/" + name));
    if (path != TrashOf(name) || dfs::ParentPath(path) != dfs::kTrashDirectory)
      Require(Invalid("the trash of " + Quote(name) + ": no user has such a name"));
    return name;
  }
  [[nodiscard]] static std::string TrashOf(const std::string& user) {
    return std::string(dfs::kTrashDirectory) + "/" + user;
  }

  FileSystem& files() { return master_.files; }
  const dfs::Namespace& names() { return master_.files.names(); }

  [[nodiscard]] static std::string Canonical(capnp::Data::Reader path) {
    return Require(dfs::CanonicalPath(ToString(path)));
  }
  [[nodiscard]] dfs::Principal Who() const { return caller_->principal(); }
  [[nodiscard]] bool IsWorker() const { return caller_->peer().identity.role == tls::Role::kWorker; }
  // Returns the canonical path, if the caller has the right to look at it in this way.
  [[nodiscard]] std::string Looked(std::string_view call, dfs::Wish wish, capnp::Data::Reader path) {
    std::string canonical = Canonical(path);
    Require(caller_->AuditedLook(call, canonical, names().Check(wish, canonical, Who())));
    return canonical;
  }
  // Makes a change that begins now, and writes the outcome to the audit log. `how` ends its line. `check` comes first
  // and changes nothing: it says whether there is room for the change.
  template <class Make, class Check>
  kj::Promise<void> Change(std::string_view call, capnp::Data::Reader at, const std::string& how, Make&& make,
                           Check&& check) {
    const std::string path = Canonical(at);
    return Audited(*caller_, call, AuditedPath(path) + (how.empty() ? "" : " " + how), [&] {
      Require(check(path));
      Step step = master_.steps.Begin();
      make(path, &step);
      return master_.steps.Finish(std::move(step));
    });
  }
  template <class Make>
  kj::Promise<void> Change(std::string_view call, capnp::Data::Reader at, const std::string& how, Make&& make) {
    return Change(call, at, how, std::forward<Make>(make),
                  [this](const std::string&) { return master_.room.CheckChange(); });
  }
  // A user or group that files are given to. Without TLS users are named as the system names them.
  [[nodiscard]] static Status CheckGiven(const std::string& name) {
    MILLRACE_TRY(CheckLength("give files: a user or group", name, kLongestName));
    if (Printable(name) == name && name.find_first_of(": \t") == std::string::npos) return Status::Ok();
    return Invalid("give files: " + Quote(name) + " is not the name of a user or group");
  }
  static dfs::Mode ModeOr(std::uint16_t mode, dfs::Mode otherwise) {
    constexpr std::uint16_t kNotSaid = 0xffff;
    return mode == kNotSaid ? otherwise : mode;
  }

  // Returns the owner of a new file; `said` is the owner that the call names.
  [[nodiscard]] std::string Owner(capnp::Text::Reader said) const { return user_.empty() ? ToString(said) : user_; }

  const NameParts master_;
  const std::shared_ptr<const Caller> caller_;
  const std::string user_;     // empty without TLS
  const std::string subject_;  // of tokens
};

}  // namespace

dfs::wire::NameService::Client MakeNameService(const NameParts& parts, std::shared_ptr<const Caller> caller) {
  return kj::heap<AfterCommits<NameServiceImpl>>(parts.steps, parts, std::move(caller));
}

}  // namespace millrace::master
