#include "master/service/file_lease.h"

#include <algorithm>
#include <utility>

#include "base/ids/ids.h"
#include "base/text.h"
#include "master/control/control.h"
#include "master/control/wire_codec.h"
#include "master/service/after_commits.h"
#include "master/service/service_support.h"

namespace millrace::master {
namespace {

constexpr std::ptrdiff_t kMostExcluded = 64;  // nodes that one block avoids

class FileLeaseImpl : public dfs::wire::FileLease::Server {
 public:
  FileLeaseImpl(Control& control, dfs::FileId file, std::shared_ptr<const Caller> caller)
      : control_(control),
        self_(control.self()),
        file_(file),
        caller_(std::move(caller)),
        token_(control.TakeLease(file)) {}
  ~FileLeaseImpl() {
    if (*self_ != nullptr) control_.DropLease(file_, token_);
  }

  kj::Promise<void> addBlock(AddBlockContext context) override { return AddBlock(context, control_.timer().now()); }

  kj::Promise<void> AddBlock(AddBlockContext context, kj::TimePoint since) {
    Require(control_.RenewLease(file_, token_));
    Require(control_.CheckGoingOn());
    const auto params = context.getParams();
    const NodeRecord* asker = FindAsker(control_.nodes(), params.getAsker());
    Step step = control_.Begin();
    // The last ones are those that failed last. A writer can say so only of nodes that it was given.
    std::vector<NodeId> excluded = ReadNodes(params.getExcluded());
    if (std::ssize(excluded) > kMostExcluded) excluded.erase(excluded.begin(), excluded.end() - kMostExcluded);
    for (const NodeId node : control_.files().LastTargets(file_)) {
      if (std::ranges::find(excluded, node) != excluded.end()) control_.workers().watch().Doubt(node);
    }
    const Result<FileSystem::NewBlock> block = control_.files().AddBlock(
        file_, asker == nullptr ? std::nullopt : std::optional<NodeId>(asker->number), excluded, &step.batch);
    if (!block.ok() && block.status().code() == StatusCode::kUnavailable && control_.workers().AwaitingReports()) {
      return control_.workers().NextReport(since).then(
          [this, context, since]() mutable { return AddBlock(context, since); });
    }
    if (!block.ok()) Require(block.status());
    control_.FinishLazily(std::move(step));
    auto results = context.getResults();
    results.setId(block->id);
    auto targets = results.initTargets(static_cast<unsigned>(block->targets.size()));
    for (unsigned i = 0; i < targets.size(); ++i) {
      if (const NodeRecord* node = control_.nodes().Find(block->targets[i])) Write(*node, targets[i]);
    }
    const WriteOrders& orders = control_.write_orders();
    const std::string token = orders.TokenFor(block->id, block->targets, tls::SubjectOf(caller_->peer().identity));
    if (!params.getShowsToken() || !orders.TakeTokens(block->targets))
      return control_.AllowWrite(block->targets, block->id, token);
    results.setToken(ToData(token));
    return kj::READY_NOW;
  }

  kj::Promise<void> renew(RenewContext) override {
    Require(control_.RenewLease(file_, token_));
    return kj::READY_NOW;
  }

  kj::Promise<void> dropBlock(DropBlockContext context) override {
    Require(control_.RenewLease(file_, token_));
    Require(control_.CheckGoingOn());
    Step step = control_.Begin();
    Require(control_.files().DropBlock(file_, context.getParams().getId(), &step.batch));
    control_.FinishLazily(std::move(step));
    return kj::READY_NOW;
  }

  kj::Promise<void> complete(CompleteContext context) override {
    Require(control_.RenewLease(file_, token_));
    Require(control_.CheckGoingOn());
    if (const Status may = control_.files().names().CheckWriter(file_, caller_->principal()); !may.ok())
      Require(caller_->Audited("complete", "file " + std::to_string(file_), may));
    Step step = control_.Begin();
    Require(control_.files().Complete(file_, {}, Read(context.getParams().getBlocks()), step.now, &step.batch));
    return control_.Finish(std::move(step));
  }

  kj::Promise<void> sync(SyncContext context) override {
    Require(control_.RenewLease(file_, token_));
    Require(control_.CheckNotHandedOver(file_));
    Require(control_.CheckGoingOn());
    const auto params = context.getParams();
    Step step = control_.Begin();
    Require(control_.files().Sync(file_, params.getFirst(), Read(params.getBlocks()), &step.batch));
    return control_.Finish(std::move(step));
  }

  kj::Promise<void> abandon(AbandonContext) override {
    Require(control_.GiveUp(file_, "its writer gave it up"));
    return kj::READY_NOW;
  }

  kj::Promise<void> handOver(HandOverContext context) override {
    Require(control_.RenewLease(file_, token_));
    const std::string text = ToString(context.getParams().getAttempt());
    const std::optional<AttemptId> attempt = ParseAttempt(text);
    if (!attempt) Require(Invalid("hand over a file: " + text.substr(0, 80) + " is not an attempt"));
    Require(control_.files().CheckNotSynced(file_));
    if (const Status own = CheckJobIsOwn(attempt->task.job); !own.ok())
      Require(caller_->Audited("handOver", "file " + std::to_string(file_) + " to " + ToText(*attempt), own));
    Require(control_.jobs().HandOver(file_, *attempt));
    control_.LeaseToJob(file_);
    return kj::READY_NOW;
  }

 private:
  // The file ends in the job's output directory.
  [[nodiscard]] Status CheckJobIsOwn(JobId job) {
    const dfs::Principal who = caller_->principal();
    const JobRecord* record = control_.jobs().FindRecord(job);
    if (who.superuser || record == nullptr || record->request.owner == who.user) return Status::Ok();
    return Denied("hand over a file: " + ToText(job) + " is of " + Printable(record->request.owner) + ", not of " +
                  Printable(who.user));
  }

  Control& control_;
  const std::shared_ptr<Control* const> self_;
  dfs::FileId file_;
  const std::shared_ptr<const Caller> caller_;
  std::uint64_t token_;
};

}  // namespace

dfs::wire::FileLease::Client MakeFileLease(Control& control, dfs::FileId file, std::shared_ptr<const Caller> caller) {
  return kj::heap<AfterCommits<FileLeaseImpl>>(control, file, std::move(caller));
}

const NodeRecord* FindAsker(const NodeTable& nodes, dfs::wire::Asker::Reader asker) {
  if (const NodeRecord* node = nodes.Find(NodeId{asker.getNode()}); node != nullptr && node->alive) return node;
  return nodes.FindByHost(ToString(asker.getHost()));
}

}  // namespace millrace::master
