// SPDX-License-Identifier: Apache-2.0
#include "master/service/master_service.h"

#include <algorithm>
#include <functional>
#include <ranges>

#include "base/protocol/call_rights.h"
#include "base/release.h"
#include "base/rpc/calls.h"
#include "base/text.h"
#include "master/cluster/worker_address.h"
#include "master/control/backup_watch.h"
#include "master/control/control.h"
#include "master/control/wire_codec.h"
#include "master/jobs/answer_budget.h"
#include "master/service/after_commits.h"
#include "master/service/change_feed.h"
#include "master/service/job_service.h"
#include "master/service/master_views.h"
#include "master/service/name_service.h"
#include "master/service/node_views.h"
#include "master/service/service_support.h"
#include "master/service/worker_service.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {
namespace {

constexpr std::size_t kMostNodes = 2000;
constexpr std::uint64_t kBytesOfRecords = std::uint64_t{256} << 10;  // that are removed from the database

// "nodes 1, 2", for the audit log.
std::string NodesText(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value);
  return (nodes.size() == 1 ? "node " : "nodes ") + text;
}

// A reason as somebody gives it, in one line.
std::string ReasonIn(capnp::Text::Reader text) {
  std::string reason = Printable(ToString(text));
  if (reason.size() > kMostReasonBytes)
    Require(Invalid("the reason has " + std::to_string(reason.size()) + " bytes; at most " +
                    std::to_string(kMostReasonBytes) + " are kept"));
  return reason;
}

std::string Why(const std::string& reason) { return reason.empty() ? "" : ", because " + Quote(reason); }

// The parts of the master that a client's calls about the cluster use, and the capabilities that they hand out.
struct MasterParts {
  const MasterConfig& config;
  const Identity& identity;
  const MasterClock& clock;
  const DiskRoom& room;
  const AccessRules& rules;
  FileSystem& files;
  NodeTable& nodes;
  JobTracker& jobs;
  const BlockTokens& tokens;
  Steps& steps;
  const DatabaseAge& age;
  Workers& workers;
  SchedulerChoice& scheduler;
  SchedulerProgram& program;
  // May be empty.
  const std::function<kj::Promise<BackupFacts>(const std::string& directory, const BackupPlan& plan)>& back_up;
  BackupWatch& backups;
  WorkerSessionParts sessions;
  SchedulerViewParts scheduler_view;
  NodeViewParts node_view;
  std::shared_ptr<ChangeFeed> changes;
  SummaryParts summary;
  Log log;
};

class MasterServiceImpl : public wire::Master::Server {
 public:
  MasterServiceImpl(const MasterParts& parts, std::shared_ptr<const Caller> caller,
                    dfs::wire::NameService::Client names, wire::JobService::Client jobs)
      : master_(parts),
        caller_(std::move(caller)),
        names_(kj::mv(names)),
        jobs_(kj::mv(jobs)),
        peer_(caller_->peer()) {}

  kj::Promise<void> names(NamesContext context) override {
    const auto params = context.getParams();
    const bool silent = params.getProtocol() == 0 && params.getVersion().size() == 0;
    if (!silent || !told_its_release_) {
      Require(CheckReleases("this client", {ToString(params.getVersion()), params.getProtocol()}, "the master",
                            master_.identity.release));
      told_its_release_ = true;
    }
    auto results = context.getResults();
    results.setService(names_);
    results.setCluster(master_.identity.cluster);
    results.setVersion(master_.identity.release.version);
    results.setProtocol(master_.identity.release.protocol);
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
    Require(CheckReach(facts, master_.nodes));
    Require(master_.workers.CheckRelease(facts.host, facts.release));
    Require(master_.workers.CheckCluster(facts.host, ToString(context.getParams().getWorker().getCluster())));
    Require(master_.workers.CheckCertificate(facts));
    rpc::AllowCancellation(context);  // a worker that has hung up meanwhile, and may be back already, is not admitted
    return master_.workers.DialBack(facts)
        .then([this, facts]() { return master_.workers.AwaitVacancy(facts); })
        .then([this, facts, context]() mutable { return Admit(facts, context); });
  }

  kj::Promise<void> Admit(const WorkerFacts& facts, RegisterContext context) {
    Require(master_.workers.CheckCertificate(facts));  // another may have come meanwhile
    const std::string hidden = OutOfReach(facts, master_.nodes);
    if (!hidden.empty()) master_.log->warn("{}", hidden);
    const auto params = context.getParams();
    const auto worker = params.getWorker();
    Workers::Registration registration =
        Require(master_.workers.Register(facts, params.getControl(),
                                         {ReadAttempts(worker.getRunning()), ReadAttempts(worker.getDone()),
                                          ReadAttempts(worker.getFailed()), ReadAttempts(worker.getMapOutputs())},
                                         ReadLeaving(worker, master_.clock.Awake()), Read(worker.getTold())));
    auto results = context.getResults();
    results.setNode(registration.node.value);
    results.setSession(MakeWorkerSession(master_.sessions, registration.node, registration.epoch));
    auto settings = results.initSettings();
    settings.setHeartbeatMillis(static_cast<std::uint32_t>(master_.config.heartbeat / kMillisecond));
    settings.setLostAfterMillis(static_cast<std::uint32_t>(master_.config.lost_after / kMillisecond));
    if (const std::string key = master_.tokens.read_key(); !key.empty()) settings.setTokenKey(ToData(key));
    settings.setOlder(registration.older);
    if (!master_.room.Held()) Write(master_.age.now(), settings.initMoment());
    settings.setWriteKey(ToData(master_.tokens.write_key()));
    const auto& reconciled = registration.reconciled;
    Write(reconciled.killed, settings.initKilled(static_cast<unsigned>(reconciled.killed.size())));
    Write(reconciled.settled, settings.initSettled(static_cast<unsigned>(reconciled.settled.size())));
    auto forgotten = settings.initForgotten(static_cast<unsigned>(reconciled.forgotten.size()));
    for (unsigned i = 0; i < forgotten.size(); ++i) forgotten.set(i, reconciled.forgotten[i].value);
    return kj::mv(registration.committed);
  }

  kj::Promise<void> nodes(NodesContext context) override {
    const auto& all = master_.nodes.all();
    const auto begin = all.upper_bound(NodeId{context.getParams().getAfter()});
    const std::size_t count =
        AnswerBudget(kMostNodes).TakeFront(std::ranges::subrange(begin, all.end()), [](const auto& node) {
          return BytesOf(node.second);
        });
    auto out = context.getResults().initNodes(static_cast<unsigned>(count));
    auto node = begin;
    for (unsigned i = 0; i < count; ++i, ++node) WriteNode(master_.node_view, node->second, out[i]);
    context.getResults().setMore(node != all.end());
    return kj::READY_NOW;
  }

  kj::Promise<void> drainNode(DrainNodeContext context) override {
    const auto params = context.getParams();
    const std::vector<NodeId> nodes = ReadNodes(params.getNodes());
    const std::string on = (params.getDrained() ? "drain " : "take back ") + NodesText(nodes);
    const std::string reason = ReasonIn(params.getReason());
    return Audited(*caller_, "drainNode", on + Why(reason),
                   [&] { return Drain(nodes, params.getDrained(), params.getForce(), reason); });
  }

  kj::Promise<void> Drain(const std::vector<NodeId>& nodes, bool drained, bool force, const std::string& reason) {
    Require(master_.room.CheckChange());
    for (const NodeId node : nodes) {
      if (master_.nodes.Find(node) == nullptr) Require(NoSuchNode(node));
    }
    if (drained) {
      Require(master_.nodes.CheckDraining(
          nodes, master_.files.blocks().MostWanted(),
          [&](const NodeRecord& node) { return master_.workers.Awaits(node); }, force));
    }
    Step step = master_.steps.Begin();
    for (const NodeId node : nodes) {
      Require(master_.nodes.SetDraining(node, drained, reason, &step.batch));
      const NodeRecord& record = *master_.nodes.Find(node);
      master_.jobs.NodeDrained(node, !record.TakesTasks(), &step);
      FollowDraining(record, master_.files.blocks(), master_.jobs, &step);
    }
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> maintainNodes(MaintainNodesContext context) override {
    const auto params = context.getParams();
    const std::vector<NodeId> nodes = ReadNodes(params.getNodes());
    const std::uint64_t millis = params.getMillis();
    const std::string reason = ReasonIn(params.getReason());
    const std::string on =
        NodesText(nodes) + (millis == 0 ? ", end" : ", for " + std::to_string(millis) + " ms") + Why(reason);
    return Audited(*caller_, "maintainNodes", on, [&] { return Maintain(nodes, millis, reason, params.getForce()); });
  }

  kj::Promise<void> Maintain(const std::vector<NodeId>& nodes, std::uint64_t millis, const std::string& reason,
                             bool force) {
    Require(master_.room.CheckChange());
    if (millis > kLongestMaintenance / kMillisecond) {
      Require(Invalid("maintenance for " + std::to_string(millis / 1000) + " s: at most " +
                      FormatDuration(kLongestMaintenance) + " can be asked for at a time"));
    }
    Step step = master_.steps.Begin();
    if (millis == 0) {
      Require(master_.workers.EndMaintenance(nodes, &step));
    } else {
      const Maintenance maintenance{step.now + static_cast<Micros>(millis) * kMillisecond, reason, step.now};
      Require(master_.workers.Maintain(nodes, maintenance, force, &step));
    }
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> forgetNodes(ForgetNodesContext context) override {
    const auto params = context.getParams();
    const std::vector<NodeId> nodes = ReadNodes(params.getNodes());
    return Audited(*caller_, "forgetNodes", NodesText(nodes), [&] {
      Require(master_.room.CheckMakesRoom(kBytesOfRecords));
      Step step = master_.steps.Begin();
      Require(master_.workers.ForgetNodes({nodes.begin(), nodes.end()}, params.getForce(), &step));
      return master_.steps.Finish(std::move(step));
    });
  }

  kj::Promise<void> mayGo(MayGoContext context) override {
    const std::vector<NodeId> nodes = ReadNodes(context.getParams().getNodes());
    for (const NodeId node : nodes) {
      if (master_.nodes.Find(node) == nullptr) Require(NoSuchNode(node));
    }
    auto results = context.getResults();
    auto answers = results.initAnswers(static_cast<unsigned>(nodes.size()));
    for (unsigned i = 0; i < answers.size(); ++i) WriteGoAnswer(*master_.nodes.Find(nodes[i]), answers[i]);
    for (const auto& [number, node] : master_.nodes.all()) {
      if (node.Drains()) continue;
      node.alive && !node.maintenance ? results.setOthers(results.getOthers() + 1)
                                      : results.setAway(results.getAway() + 1);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> backUp(BackUpContext context) override {
    const std::string directory = ToString(context.getParams().getDirectory());
    if (!directory.starts_with("/")) Require(Invalid("back up to " + Quote(directory) + ": give an absolute path"));
    const BackupPlan plan{master_.identity.cluster, context.getParams().getKeep()};
    return BackUp(directory, plan)
        .then(
            [this, context, directory, on = AuditedPath(directory)](const BackupFacts& facts) mutable {
              Require(caller_->Audited("backUp", on, Status::Ok()));
              master_.log->info("the database is backed up to {}", directory);
              auto results = context.getResults();
              results.setOperations(facts.operations);
              results.setBytes(facts.bytes);
              results.setRemoved(facts.removed);
              results.setKeeps(true);
              Step step = master_.steps.Begin();
              master_.backups.NoteMade(directory, facts, master_.clock.Wall(), &step.batch);
              return master_.steps.Finish(std::move(step));
            },
            [this, directory, on = AuditedPath(directory)](kj::Exception&& why) -> kj::Promise<void> {
              const Status failed = rpc::FromException(why);
              master_.log->warn("the database is not backed up to {}: {}", directory, Printable(failed.message()));
              Require(caller_->Audited("backUp", on, failed));
              return kj::READY_NOW;
            });
  }

  kj::Promise<void> backUpCopied(BackUpCopiedContext context) override {
    constexpr std::size_t kLongestProblem = 1000;
    const std::string directory = ToString(context.getParams().getDirectory());
    const std::string problem = ToString(context.getParams().getProblem());
    Require(CheckLength("note a copy of the backup: what went wrong", problem, kLongestProblem));
    Step step = master_.steps.Begin();
    Require(caller_->Audited("backUpCopied", AuditedPath(directory),
                             master_.backups.NoteCopy(directory, problem, master_.clock.Wall(), &step.batch)));
    if (!problem.empty()) master_.log->warn("the backup in {} was not copied: {}", directory, Printable(problem));
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<BackupFacts> BackUp(const std::string& directory, const BackupPlan& plan) {
    if (master_.back_up == nullptr) {
      return rpc::ToException(Invalid("this master has no database that can be backed up"));
    }
    master_.log->info("a backup of the database to {} begins", directory);
    return master_.back_up(directory, plan);
  }

  kj::Promise<void> unknownBlocks(UnknownBlocksContext context) override {
    constexpr std::size_t kMostInOneAnswer = 20'000;
    const auto params = context.getParams();
    const NodeId node{params.getNode()};
    Require(caller_->Audited("unknownBlocks", NodesText({node}),
                             master_.nodes.Find(node) != nullptr ? Status::Ok() : NoSuchNode(node)));
    const std::size_t limit = std::clamp<std::size_t>(params.getLimit(), 1, kMostInOneAnswer);
    std::vector<dfs::Block> blocks;
    master_.files.blocks().ForEachUnknown(node, params.getAfter(), [&](const dfs::Block& block) {
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
      Require(master_.nodes.Find(node) != nullptr ? Status::Ok() : NoSuchNode(node));
      return Require(master_.files.blocks().DiscardUnknown(node));
    });
    master_.log->warn("worker {}: its {} blocks that no file has go to its trash, as asked for", node.value, blocks);
    context.getResults().setBlocks(blocks);
    return kj::READY_NOW;
  }

  kj::Promise<void> version(VersionContext context) override {
    context.getResults().setVersion(master_.identity.release.version);
    context.getResults().setProtocol(master_.identity.release.protocol);
    context.getResults().setCluster(master_.identity.cluster);
    return kj::READY_NOW;
  }

  kj::Promise<void> forgetPrograms(ForgetProgramsContext context) override {
    return Audited(*caller_, "forgetPrograms", "", [&] {
      Require(master_.room.CheckMakesRoom(kBytesOfRecords));
      Step step = master_.steps.Begin();
      context.getResults().setPrograms(static_cast<std::uint32_t>(master_.jobs.ForgetPrograms(&step)));
      return master_.steps.Finish(std::move(step));
    });
  }

  kj::Promise<void> setScheduler(SetSchedulerContext context) override {
    const std::string name = ToString(context.getParams().getName());
    const std::string fallback = ToString(context.getParams().getFallback());
    const auto set = [this, name](const std::optional<SchedulerChoice::Program>& program) {
      return Audited(*caller_, "setScheduler", Quote(name), [&] {
        Require(master_.room.CheckChange());
        Step step = master_.steps.Begin();
        Require(master_.scheduler.Set(name, program, &step));
        master_.log->info("the scheduler is {} from now on", name);
        return master_.steps.Finish(std::move(step));
      });
    };
    const auto terms = master_.scheduler.TermsOf(name, fallback);
    if (!terms.ok()) {
      return Audited(*caller_, "setScheduler", Quote(name), [&] {
        Require(terms.status());
        return kj::Promise<void>(kj::READY_NOW);
      });
    }
    if (!*terms) return set(std::nullopt);
    return master_.program.Admit((*terms)->program)
        .then(
            [set, fallback](outside::Kind kind) {
              return set(SchedulerChoice::Program{fallback, kind});
            },
            [this, name](kj::Exception&& why) -> kj::Promise<void> {
              (void)caller_->Audited("setScheduler", Quote(name), rpc::FromException(why));
              return kj::mv(why);
            });
  }

  kj::Promise<void> showScheduler(ShowSchedulerContext context) override {
    WriteSchedulerView(master_.scheduler_view, context.getResults().initView());
    return kj::READY_NOW;
  }

  kj::Promise<void> status(StatusContext context) override {
    WriteClusterStatus(Summarize(master_.summary), context.getResults().initStatus());
    return kj::READY_NOW;
  }

  kj::Promise<void> whoAmI(WhoAmIContext context) override {
    WriteCallerRights(*caller_, master_.rules, context.getResults().initCaller());
    return kj::READY_NOW;
  }

  kj::Promise<void> changes(ChangesContext context) override {
    const auto params = context.getParams();
    const auto since = params.getSince();
    master_.changes->Answer({since.getLife(), since.getVersion(), since.getFloor()}, params.getLiveOnly(),
                            context.getResults().initChanges());
    return kj::READY_NOW;
  }

  kj::Promise<void> explainWaits(ExplainWaitsContext context) override {
    WriteWaits(master_.jobs, master_.clock.Now(), context.getParams().getJobs(), context.getResults());
    return kj::READY_NOW;
  }

 private:
  void WriteGoAnswer(const NodeRecord& node, wire::GoAnswer::Builder out) {
    const NodeStand stand = master_.workers.StandOf(node);
    const Clearance clearance = ClearanceOf(stand);
    out.setNode(node.number.value);
    out.setState(GoStateOf(clearance));
    out.setBlocks(stand.blocks_left.value_or(0) + stand.writes);
    out.setDamaged(master_.files.blocks().DamagedAlone(node.number));
    out.setTasks(stand.tasks);
    out.setOutputs(stand.outputs);
    if (clearance != Clearance::kLost) return;
    const Workers::Loss loss = master_.workers.LossOf(node.number);
    out.setLostBlocks(loss.blocks);
    out.setLostKnown(loss.known);
    constexpr std::size_t kMostFiles = 5;
    std::vector<std::string> files;
    (void)master_.files.blocks().LostWith(node.number, [&](dfs::BlockId block) {
      const auto owner = master_.files.names().OwnerOf(block);
      if (owner && std::ranges::find(files, owner->path) == files.end()) files.push_back(owner->path);
      return files.size() < kMostFiles;
    });
    auto list = out.initLostFiles(static_cast<unsigned>(files.size()));
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, ToData(files[i]));
  }

  const MasterParts master_;
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

MasterParts MasterPartsOf(Control& control) {
  const WorkerSessionParts sessions{.clock = control.clock(),
                                    .room = control.room(),
                                    .files = control.files(),
                                    .nodes = control.nodes(),
                                    .jobs = control.jobs(),
                                    .steps = control.steps(),
                                    .age = control.age(),
                                    .watch = control.watch(),
                                    .workers = control.workers(),
                                    .job_logs = control.job_logs(),
                                    .log = control.seams().log};
  return {.config = control.config(),
          .identity = control.identity(),
          .clock = control.clock(),
          .room = control.room(),
          .rules = control.access_file().rules(),
          .files = control.files(),
          .nodes = control.nodes(),
          .jobs = control.jobs(),
          .tokens = control.tokens(),
          .steps = control.steps(),
          .age = control.age(),
          .workers = control.workers(),
          .scheduler = control.scheduler(),
          .program = control.program(),
          .back_up = control.seams().back_up,
          .backups = control.backups(),
          .sessions = sessions,
          .scheduler_view = {control.jobs(), control.clock(), control.scheduler(), control.scheduler_file(),
                             control.seams().meters},
          .node_view = {control.clock(), control.files(), control.jobs(), control.workers()},
          .changes = std::make_shared<ChangeFeed>(ChangeFeedPartsOf(control)),
          .summary = control.summary(),
          .log = control.seams().log};
}

}  // namespace

NameParts NamePartsOf(Control& control) {
  const FileLeaseParts leases{.timer = control.seams().timer,
                              .room = control.room(),
                              .files = control.files(),
                              .nodes = control.nodes(),
                              .jobs = control.jobs(),
                              .tokens = control.tokens(),
                              .dispatcher = control.dispatcher(),
                              .steps = control.steps(),
                              .watch = control.watch(),
                              .workers = control.workers(),
                              .open_files = control.open_files()};
  return {.config = control.config(),
          .clock = control.clock(),
          .timer = control.seams().timer,
          .room = control.room(),
          .files = control.files(),
          .nodes = control.nodes(),
          .jobs = control.jobs(),
          .tokens = control.tokens(),
          .dispatcher = control.dispatcher(),
          .steps = control.steps(),
          .workers = control.workers(),
          .replicas = control.replicas(),
          .job_logs = control.job_logs(),
          .leases = leases};
}

JobParts JobPartsOf(Control& control) {
  return {.timer = control.seams().timer,
          .room = control.room(),
          .files = control.files(),
          .nodes = control.nodes(),
          .jobs = control.jobs(),
          .watchers = control.watchers(),
          .tokens = control.tokens(),
          .dispatcher = control.dispatcher(),
          .steps = control.steps(),
          .workers = control.workers(),
          .forecasts = control.forecasts(),
          .what_helps = control.what_helps(),
          .log = control.seams().log};
}

rpc::Server::BootstrapFor MakeMasterServices(Control& control) {
  return [master = MasterPartsOf(control), names = NamePartsOf(control), jobs = JobPartsOf(control),
          &callers = control.callers(),
          rights = std::make_shared<const CallRights>()](const rpc::Peer& peer) -> capnp::Capability::Client {
    const std::shared_ptr<const Caller> caller = callers.Make(peer);
    return Guarded(kj::heap<AfterCommits<MasterServiceImpl>>(
                       master.steps, master, caller, MakeNameService(names, caller), MakeJobService(jobs, caller)),
                   peer.identity, rights, JudgeOf(caller));
  };
}

}  // namespace millrace::master
