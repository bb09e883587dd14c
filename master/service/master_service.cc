#include "master/service/master_service.h"

#include <algorithm>
#include <ranges>

#include "base/protocol/call_rights.h"
#include "base/release.h"
#include "base/rpc/cancellation.h"
#include "base/text.h"
#include "master/cluster/worker_address.h"
#include "master/control/control.h"
#include "master/control/wire_codec.h"
#include "master/jobs/answer_budget.h"
#include "master/service/after_commits.h"
#include "master/service/caller_rights.h"
#include "master/service/cluster_status.h"
#include "master/service/job_service.h"
#include "master/service/name_service.h"
#include "master/service/scheduler_view.h"
#include "master/service/service_support.h"
#include "master/service/worker_service.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {
namespace {

constexpr std::size_t kMostNodes = 2000;
constexpr std::uint64_t kBytesOfRecords = std::uint64_t{256} << 10;  // that are removed from the database

constexpr wire::GoState ToWire(Clearance clearance) {
  switch (clearance) {
    case Clearance::kUnknown:
      return wire::GoState::UNKNOWN;
    case Clearance::kLost:
      return wire::GoState::LOST;
    case Clearance::kInUse:
      return wire::GoState::IN_USE;
    case Clearance::kHeld:
      return wire::GoState::HELD;
    case Clearance::kBlocks:
      return wire::GoState::BLOCKS;
    case Clearance::kDoubt:
      return wire::GoState::DOUBT;
    case Clearance::kTasks:
      return wire::GoState::TASKS;
    case Clearance::kOutputs:
      return wire::GoState::OUTPUTS;
    case Clearance::kYes:
      return wire::GoState::YES;
  }
  return wire::GoState::UNKNOWN;
}

// "nodes 1, 2", for the audit log.
std::string NodesText(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value);
  return (nodes.size() == 1 ? "node " : "nodes ") + text;
}

class MasterServiceImpl : public wire::Master::Server {
 public:
  MasterServiceImpl(Control& control, std::shared_ptr<const Caller> caller)
      : control_(control),
        caller_(std::move(caller)),
        names_(MakeNameService(control, caller_)),
        jobs_(MakeJobService(control, caller_)),
        peer_(caller_->peer()) {}

  kj::Promise<void> names(NamesContext context) override {
    const auto params = context.getParams();
    const bool silent = params.getProtocol() == 0 && params.getVersion().size() == 0;
    if (!silent || !told_its_release_) {
      Require(CheckReleases("this client", {ToString(params.getVersion()), params.getProtocol()}, "the master",
                            control_.release()));
      told_its_release_ = true;
    }
    auto results = context.getResults();
    results.setService(names_);
    results.setCluster(control_.cluster());
    results.setVersion(control_.release().version);
    results.setProtocol(control_.release().protocol);
    return kj::READY_NOW;
  }

  kj::Promise<void> jobs(JobsContext context) override {
    context.getResults().setService(jobs_);
    return kj::READY_NOW;
  }

  kj::Promise<void> register_(RegisterContext context) override {
    WorkerFacts facts = Require(Read(context.getParams().getWorker()));
    facts.host = Require(HostOfWorker(facts.host, peer_));
    if (peer_.identity.role == tls::Role::kWorker) facts.certificate = ToText(peer_.identity);
    facts.remote = !peer_.address.empty() && !peer_.loopback;
    Require(CheckReach(facts, control_.nodes()));
    Require(control_.workers().CheckRelease(facts.host, facts.release));
    Require(control_.workers().CheckCluster(facts.host, ToString(context.getParams().getWorker().getCluster())));
    Require(control_.workers().CheckCertificate(facts));
    rpc::AllowCancellation(context);  // a worker that has hung up meanwhile, and may be back already, is not admitted
    return control_.workers()
        .DialBack(facts)
        .then([this, facts]() { return control_.workers().AwaitVacancy(facts); })
        .then([this, facts, context]() mutable { return Admit(facts, context); });
  }

  kj::Promise<void> Admit(const WorkerFacts& facts, RegisterContext context) {
    Require(control_.workers().CheckCertificate(facts));  // another may have come meanwhile
    const std::string hidden = OutOfReach(facts, control_.nodes());
    if (!hidden.empty()) control_.log()->warn("{}", hidden);
    const auto params = context.getParams();
    const auto worker = params.getWorker();
    Workers::Registration registration =
        Require(control_.workers().Register(facts, params.getControl(),
                                            {ReadAttempts(worker.getRunning()), ReadAttempts(worker.getDone()),
                                             ReadAttempts(worker.getFailed()), ReadAttempts(worker.getMapOutputs())},
                                            ReadLeaving(worker, control_.Awake()), Read(worker.getTold())));
    auto results = context.getResults();
    results.setNode(registration.node.value);
    results.setSession(MakeWorkerSession(control_, registration.node, registration.epoch));
    auto settings = results.initSettings();
    settings.setHeartbeatMillis(static_cast<std::uint32_t>(control_.config().heartbeat / kMillisecond));
    settings.setLostAfterMillis(static_cast<std::uint32_t>(control_.config().lost_after / kMillisecond));
    if (control_.token_key()) settings.setTokenKey(ToData(control_.token_key()->bytes()));
    settings.setOlder(registration.older);
    if (!control_.Held()) Write(control_.lineage().now(), settings.initMoment());
    settings.setWriteKey(ToData(control_.write_orders().key()));
    const auto& reconciled = registration.reconciled;
    Write(reconciled.killed, settings.initKilled(static_cast<unsigned>(reconciled.killed.size())));
    Write(reconciled.settled, settings.initSettled(static_cast<unsigned>(reconciled.settled.size())));
    auto forgotten = settings.initForgotten(static_cast<unsigned>(reconciled.forgotten.size()));
    for (unsigned i = 0; i < forgotten.size(); ++i) forgotten.set(i, reconciled.forgotten[i].value);
    return kj::mv(registration.committed);
  }

  kj::Promise<void> nodes(NodesContext context) override {
    const auto& all = control_.nodes().all();
    const auto begin = all.upper_bound(NodeId{context.getParams().getAfter()});
    const std::size_t count =
        AnswerBudget(kMostNodes).TakeFront(std::ranges::subrange(begin, all.end()), [](const auto& node) {
          return BytesOf(node.second);
        });
    auto out = context.getResults().initNodes(static_cast<unsigned>(count));
    auto node = begin;
    for (unsigned i = 0; i < count; ++i, ++node) WriteNode(node->second, out[i]);
    context.getResults().setMore(node != all.end());
    return kj::READY_NOW;
  }

  kj::Promise<void> drainNode(DrainNodeContext context) override {
    const auto params = context.getParams();
    const std::vector<NodeId> nodes = ReadNodes(params.getNodes());
    const std::string on = (params.getDrained() ? "drain " : "take back ") + NodesText(nodes);
    return Audited(*caller_, "drainNode", on, [&] { return Drain(nodes, params.getDrained(), params.getForce()); });
  }

  kj::Promise<void> Drain(const std::vector<NodeId>& nodes, bool drained, bool force) {
    Require(control_.CheckChange());
    for (const NodeId node : nodes) {
      if (control_.nodes().Find(node) == nullptr) Require(NoSuchNode(node));
    }
    if (drained && !force) {
      Require(control_.nodes().CheckDraining(nodes, control_.files().blocks().MostWanted(),
                                             [&](const NodeRecord& node) { return control_.workers().Awaits(node); }));
    }
    Step step = control_.Begin();
    for (const NodeId node : nodes) {
      Require(control_.nodes().SetDraining(node, drained, &step.batch));
      const NodeRecord& record = *control_.nodes().Find(node);
      control_.jobs().NodeDrained(node, !record.TakesTasks(), &step);
      control_.workers().FollowDraining(record, &step);
    }
    return control_.Finish(std::move(step));
  }

  kj::Promise<void> forgetNodes(ForgetNodesContext context) override {
    const auto params = context.getParams();
    const std::vector<NodeId> nodes = ReadNodes(params.getNodes());
    return Audited(*caller_, "forgetNodes", NodesText(nodes), [&] {
      Require(control_.CheckMakesRoom(kBytesOfRecords));
      Step step = control_.Begin();
      Require(control_.workers().ForgetNodes({nodes.begin(), nodes.end()}, params.getForce(), &step));
      return control_.Finish(std::move(step));
    });
  }

  kj::Promise<void> mayGo(MayGoContext context) override {
    const std::vector<NodeId> nodes = ReadNodes(context.getParams().getNodes());
    for (const NodeId node : nodes) {
      if (control_.nodes().Find(node) == nullptr) Require(NoSuchNode(node));
    }
    auto results = context.getResults();
    auto answers = results.initAnswers(static_cast<unsigned>(nodes.size()));
    for (unsigned i = 0; i < answers.size(); ++i) WriteGoAnswer(*control_.nodes().Find(nodes[i]), answers[i]);
    for (const auto& [number, node] : control_.nodes().all()) {
      if (node.Drains()) continue;
      node.alive ? results.setOthers(results.getOthers() + 1) : results.setAway(results.getAway() + 1);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> backUp(BackUpContext context) override {
    const std::string directory = ToString(context.getParams().getDirectory());
    if (!directory.starts_with("/")) Require(Invalid("back up to " + Quote(directory) + ": give an absolute path"));
    return control_.BackUp(directory).then(
        [this, context, on = AuditedPath(directory)](const BackupFacts& facts) mutable {
          Require(caller_->Audited("backUp", on, Status::Ok()));
          context.getResults().setOperations(facts.operations);
          context.getResults().setBytes(facts.bytes);
        },
        [this, on = AuditedPath(directory)](kj::Exception&& why) {
          Require(caller_->Audited("backUp", on, rpc::FromException(why)));
        });
  }

  kj::Promise<void> unknownBlocks(UnknownBlocksContext context) override {
    constexpr std::size_t kMostInOneAnswer = 20'000;
    const auto params = context.getParams();
    const NodeId node{params.getNode()};
    Require(caller_->Audited("unknownBlocks", NodesText({node}),
                             control_.nodes().Find(node) != nullptr ? Status::Ok() : NoSuchNode(node)));
    const std::size_t limit = std::clamp<std::size_t>(params.getLimit(), 1, kMostInOneAnswer);
    std::vector<dfs::Block> blocks;
    control_.files().blocks().ForEachUnknown(node, params.getAfter(), [&](const dfs::Block& block) {
      blocks.push_back(block);
      return blocks.size() <= limit;
    });
    context.getResults().setMore(blocks.size() > limit);
    blocks.resize(std::min(blocks.size(), limit));
    auto out = context.getResults().initBlocks(static_cast<unsigned>(blocks.size()));
    for (unsigned i = 0; i < out.size(); ++i) {
      out[i].setId(blocks[i].id);
      out[i].setLength(blocks[i].length);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> discardUnknown(DiscardUnknownContext context) override {
    const NodeId node{context.getParams().getNode()};
    const std::uint64_t blocks = Audited(*caller_, "discardUnknown", NodesText({node}), [&] {
      Require(control_.nodes().Find(node) != nullptr ? Status::Ok() : NoSuchNode(node));
      return Require(control_.files().blocks().DiscardUnknown(node));
    });
    control_.log()->warn("worker {}: its {} blocks that no file has go to its trash, as asked for", node.value, blocks);
    context.getResults().setBlocks(blocks);
    return kj::READY_NOW;
  }

  kj::Promise<void> version(VersionContext context) override {
    context.getResults().setVersion(control_.release().version);
    context.getResults().setProtocol(control_.release().protocol);
    context.getResults().setCluster(control_.cluster());
    return kj::READY_NOW;
  }

  kj::Promise<void> forgetPrograms(ForgetProgramsContext context) override {
    return Audited(*caller_, "forgetPrograms", "", [&] {
      Require(control_.CheckMakesRoom(kBytesOfRecords));
      Step step = control_.Begin();
      context.getResults().setPrograms(static_cast<std::uint32_t>(control_.jobs().ForgetPrograms(&step)));
      return control_.Finish(std::move(step));
    });
  }

  kj::Promise<void> setScheduler(SetSchedulerContext context) override {
    const std::string name = ToString(context.getParams().getName());
    return Audited(*caller_, "setScheduler", Quote(name), [&] {
      Require(control_.CheckChange());
      Step step = control_.Begin();
      Require(control_.SetScheduler(name, &step));
      control_.log()->info("the scheduler is {} from now on", name);
      return control_.Finish(std::move(step));
    });
  }

  kj::Promise<void> showScheduler(ShowSchedulerContext context) override {
    WriteSchedulerView(control_, context.getResults().initView());
    return kj::READY_NOW;
  }

  kj::Promise<void> status(StatusContext context) override {
    WriteClusterStatus(control_, context.getResults().initStatus());
    return kj::READY_NOW;
  }

  kj::Promise<void> whoAmI(WhoAmIContext context) override {
    WriteCallerRights(*caller_, control_.access_file().rules(), context.getResults().initCaller());
    return kj::READY_NOW;
  }

  kj::Promise<void> explainWaits(ExplainWaitsContext context) override {
    WriteWaits(control_, context.getParams().getJobs(), context.getResults());
    return kj::READY_NOW;
  }

 private:
  void WriteGoAnswer(const NodeRecord& node, wire::GoAnswer::Builder out) {
    const NodeStand stand = control_.workers().StandOf(node);
    const Clearance clearance = ClearanceOf(stand);
    out.setNode(node.number.value);
    out.setState(ToWire(clearance));
    out.setBlocks(stand.blocks_left.value_or(0) + stand.writes);
    out.setDamaged(control_.files().blocks().DamagedAlone(node.number));
    out.setTasks(stand.tasks);
    out.setOutputs(stand.outputs);
    if (clearance != Clearance::kLost) return;
    const Workers::Loss loss = control_.workers().LossOf(node.number);
    out.setLostBlocks(loss.blocks);
    out.setLostKnown(loss.known);
    constexpr std::size_t kMostFiles = 5;
    std::vector<std::string> files;
    (void)control_.files().blocks().LostWith(node.number, [&](dfs::BlockId block) {
      const auto owner = control_.files().names().OwnerOf(block);
      if (owner && std::ranges::find(files, owner->path) == files.end()) files.push_back(owner->path);
      return files.size() < kMostFiles;
    });
    auto list = out.initLostFiles(static_cast<unsigned>(files.size()));
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, ToData(files[i]));
  }

  void WriteAvoided(NodeId node, wire::NodeStatus::Builder out) {
    constexpr std::size_t kMostJobs = 8;
    const sched::ClusterState& cluster = control_.jobs().cluster();
    if (!cluster.Avoids(node)) return;
    const auto& jobs = cluster.blames().at(node);
    auto by = out.initAvoidedBy(static_cast<unsigned>(std::min(jobs.size(), kMostJobs)));
    auto job = jobs.begin();
    for (unsigned i = 0; i < by.size(); ++i, ++job) by.set(i, job->first.value);
    const Micros left = std::max(cluster.AvoidedUntil(node) - control_.Now(), kMillisecond);
    out.setAvoidedMillis(static_cast<std::uint64_t>(left / kMillisecond));
  }

  void WriteNode(const NodeRecord& node, wire::NodeStatus::Builder out) {
    out.setNode(node.number.value);
    Write(node, out.initInfo());
    out.setAlive(node.alive);
    out.setDraining(node.draining);
    const NodeStand stand = control_.workers().StandOf(node);
    const Clearance clearance = ClearanceOf(stand);
    out.setMayGo(ToWire(clearance));
    out.setDrained(clearance == Clearance::kYes);
    if (node.alive && node.leaving) Write(*node.leaving, control_.Awake(), out.initLeaving());
    if (node.alive && node.Drains()) out.setOutputsLeft(stand.outputs);
    out.setBlocksLeft(stand.blocks_left.value_or(node.space.blocks));
    auto stats = out.initStats();
    stats.setCapacity(node.space.capacity);
    stats.setFree(node.space.free);
    stats.setUsed(node.space.used);
    stats.setBlocks(node.space.blocks);
    stats.setTrashed(node.space.trashed);
    if (node.pace.syncs > 0) {
      auto disk = stats.initDisks(1)[0];
      disk.setDisk(node.pace.disk);
      disk.setSyncs(node.pace.syncs);
      disk.setMedianMicros(static_cast<std::uint64_t>(node.pace.median));
      disk.setWorstMicros(static_cast<std::uint64_t>(node.pace.worst));
    }
    if (node.alive && node.ailing) {
      out.setAiling(node.ailing->diagnosis.reason);
      out.setAilingMillis(static_cast<std::uint64_t>((control_.Awake() - node.ailing->since) / kMillisecond));
    }
    const dfs::UnknownBlocks unknown = control_.files().blocks().UnknownOn(node.number);
    out.setUnknownBlocks(unknown.count);
    out.setUnknownHeld(unknown.held);
    out.setAwaited(control_.workers().Awaits(node));
    WriteAvoided(node.number, out);
    const auto [maps, reduces] = control_.jobs().RunningOn(node.number);
    out.setMapsRunning(maps);
    out.setReducesRunning(reduces);
    out.setLastHeartbeatMillisAgo(control_.workers().MillisSilent(node));
  }

  Control& control_;
  const std::shared_ptr<const Caller> caller_;
  dfs::wire::NameService::Client names_;
  wire::JobService::Client jobs_;
  const rpc::Peer peer_;
  bool told_its_release_ = false;  // the client, which tells it once a connection
};

CallJudge JudgeOf(const std::shared_ptr<const Caller>& caller) {
  return {[caller](const std::string& call) { return caller->CheckAdministers("call " + call); },
          [caller](const std::string& call, const Status& why) {
            const std::string method = call.substr(call.rfind('.') + 1);  // as the services write it
            (void)caller->Audited(method, "", why);
          }};
}

}  // namespace

rpc::Server::BootstrapFor MakeMasterServices(Control& control) {
  return [&control, rights = std::make_shared<const CallRights>()](const rpc::Peer& peer) -> capnp::Capability::Client {
    const std::shared_ptr<const Caller> caller = control.MakeCaller(peer);
    return Guarded(kj::heap<AfterCommits<MasterServiceImpl>>(control, caller), peer.identity, rights, JudgeOf(caller));
  };
}

}  // namespace millrace::master
