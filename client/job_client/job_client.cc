// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/job_client.h"

#include <capnp/message.h>

#include <vector>

#include "base/protocol/job_wire.h"
#include "base/protocol/task.capnp.h"
#include "base/rpc/status_codec.h"
#include "client/job_client/wire_convert.h"
#include "worker/task/channel/channel.h"

namespace millrace::job {
namespace {

using master::wire::JobService;
using master::wire::Master;

constexpr std::uint32_t kLogPiece = 256 << 10;
// A message of more than 1 MiB breaks the connection.
constexpr std::size_t kMostRequestBytes = std::size_t{960} << 10;

}  // namespace

Status JobClient::Ask(const std::string& what, const AskMaster& f) {
  return connection_.Call(
      what, [&f](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) { return f(bootstrap.castAs<Master>()); });
}

Status JobClient::AskAboutJobs(const std::string& what, const AskJobs& f) {
  return Ask(what, [&f](Master::Client master) { return f(master.jobsRequest().send().getService()); });
}

Result<JobId> JobClient::Submit(const JobRequest& request) {
  JobId job;
  std::size_t bytes = 0;
  const auto send = [&](auto call) {
    ToWire(request, call.initRequest());
    bytes = call.totalSize().wordCount * sizeof(capnp::word);
    if (bytes > kMostRequestBytes) return kj::Promise<void>(kj::READY_NOW);
    return call.send().then([&job](auto&& answer) { job = JobId{answer.getJob()}; });
  };
  const auto submit = [&](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) {
    auto jobs = bootstrap.castAs<Master>().jobsRequest().send().getService();
    const bool later = request.held || !request.after.empty();
    return later ? send(jobs.submitLaterRequest()) : send(jobs.submitRequest());
  };
  MILLRACE_TRY(connection_.CallUntilReady("submit the job", submit));
  if (bytes > kMostRequestBytes) {
    return Invalid("submit the job: its inputs and parameters take " + std::to_string(bytes) + " bytes; at most " +
                   std::to_string(kMostRequestBytes) + " fit; name directories or patterns instead of files");
  }
  return job;
}

Result<JobStatus> JobClient::GetStatus(JobId job) {
  JobStatus status;
  MILLRACE_TRY(AskAboutJobs("status of " + ToText(job), [&](JobService::Client jobs) {
    auto call = jobs.statusRequest();
    call.setJob(job.value);
    return call.send().then(
        [&status](capnp::Response<JobService::StatusResults>&& answer) { status = FromWire(answer.getStatus()); });
  }));
  return status;
}

Result<std::vector<JobStatus>> JobClient::List(bool live_only, JobId after) {
  std::vector<JobStatus> list;
  for (bool more = true; more;) {
    const std::size_t known = list.size();
    MILLRACE_TRY(AskAboutJobs("list jobs", [&](JobService::Client jobs) {
      auto call = jobs.listRequest();
      call.setAfter(known == 0 ? after.value : list[known - 1].job.value);
      call.setLiveOnly(live_only);
      return call.send().then([&](capnp::Response<JobService::ListResults>&& answer) {
        list.resize(known);
        for (const auto status : answer.getJobs()) list.push_back(FromWire(status));
        more = answer.getMore();
      });
    }));
    if (list.size() == known) break;
  }
  return list;
}

Result<std::pair<JobId, Micros>> JobClient::Forgotten() {
  std::pair<JobId, Micros> forgotten;
  MILLRACE_TRY(AskAboutJobs("list jobs", [&](JobService::Client jobs) {
    auto call = jobs.listRequest();
    call.setLimit(1);
    return call.send().then([&](capnp::Response<JobService::ListResults>&& answer) {
      forgotten = {JobId{answer.getForgotten()}, answer.getForgottenUntil()};
    });
  }));
  return forgotten;
}

Status JobClient::Kill(JobId job, const std::string& reason) {
  return AskAboutJobs("kill " + ToText(job), [&](JobService::Client jobs) {
    auto call = jobs.killRequest();
    call.setJob(job.value);
    call.setReason(reason);
    return call.send().ignoreResult();
  });
}

Status JobClient::SetPriority(JobId job, std::uint8_t priority) {
  return AskAboutJobs("set the priority of " + ToText(job), [&](JobService::Client jobs) {
    auto call = jobs.setPriorityRequest();
    call.setJob(job.value);
    call.setPriority(priority);
    return call.send().ignoreResult();
  });
}

Status JobClient::Hold(JobId job) {
  return AskAboutJobs("hold " + ToText(job), [&](JobService::Client jobs) {
    auto call = jobs.holdRequest();
    call.setJob(job.value);
    return call.send().ignoreResult();
  });
}

Status JobClient::Release(JobId job) {
  return AskAboutJobs("release " + ToText(job), [&](JobService::Client jobs) {
    auto call = jobs.releaseRequest();
    call.setJob(job.value);
    return call.send().ignoreResult();
  });
}

Result<Counters> JobClient::Counters(JobId job) {
  millrace::Counters counters;
  for (bool more = true; more;) {
    const std::size_t known = counters.size();
    MILLRACE_TRY(AskAboutJobs("counters of " + ToText(job), [&](JobService::Client jobs) {
      auto call = jobs.countersRequest();
      call.setJob(job.value);
      if (known > 0) {
        call.setAfterGroup(counters.rbegin()->first.first);
        call.setAfterName(counters.rbegin()->first.second);
      }
      return call.send().then([&](capnp::Response<JobService::CountersResults>&& answer) {
        counters.merge(FromWire(answer.getCounters()));
        more = answer.getMore();
      });
    }));
    if (counters.size() == known) break;
  }
  return counters;
}

Result<std::vector<AttemptStatus>> JobClient::Attempts(JobId job) {
  std::vector<AttemptStatus> attempts;
  for (bool more = true; more;) {
    const std::size_t known = attempts.size();
    MILLRACE_TRY(AskAboutJobs("attempts of " + ToText(job), [&](JobService::Client jobs) {
      auto call = jobs.attemptsRequest();
      call.setJob(job.value);
      call.setAfter(static_cast<std::uint32_t>(known));
      return call.send().then([&](capnp::Response<JobService::AttemptsResults>&& answer) {
        attempts.resize(known);
        for (const auto in : answer.getAttempts()) attempts.push_back(FromWire(in));
        more = answer.getMore();
      });
    }));
    if (attempts.size() == known) break;
  }
  return attempts;
}

Result<std::uint64_t> JobClient::ReadLog(const AttemptId& attempt, LogStream stream, std::uint64_t offset,
                                         const std::function<void(std::string_view)>& sink) {
  for (std::string piece = "?"; !piece.empty(); offset += piece.size()) {
    MILLRACE_TRY(AskAboutJobs("log of " + ToText(attempt), [&](JobService::Client jobs) {
      auto call = jobs.readLogRequest();
      ToWire(attempt, call.initAttempt());
      call.setStream(stream == LogStream::kStdout ? worker::wire::LogStream::STDOUT : worker::wire::LogStream::STDERR);
      call.setOffset(offset);
      call.setLimit(kLogPiece);
      return call.send().then([&piece](capnp::Response<JobService::ReadLogResults>&& answer) {
        const auto data = answer.getData();
        piece.assign(data.asChars().begin(), data.size());
      });
    }));
    sink(piece);
  }
  return offset;
}

namespace {

// Returns the frame of a message that `fill` fills in.
Result<std::string> FrameOf(const std::function<void(task::wire::ToTask::Builder)>& fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<task::wire::ToTask>());
  return task::EncodeFrame(message);
}

Result<MapLaunch> Read(JobService::MapLaunchResults::Reader in, const AttemptId& attempt, const std::string& master,
                       const std::string& cluster) {
  const auto executable = in.getExecutable().asChars();
  MapLaunch launch{in.getSetup().getName(),
                   {{executable.begin(), executable.size()}, in.getExecutableBytes(), in.getExecutableCrc()},
                   {}};
  MILLRACE_ASSIGN(launch.messages, FrameOf([&](task::wire::ToTask::Builder out) {
                    auto set_up = out.initSetUp();
                    set_up.setJob(in.getSetup());
                    set_up.setMaster(master);
                    set_up.setCluster(cluster);
                  }));
  MILLRACE_ASSIGN(const std::string map, FrameOf([&](task::wire::ToTask::Builder out) {
                    ToWire(attempt, out.initMap().initAttempt());
                    out.getMap().setInputs(in.getInputs());
                  }));
  launch.messages += map;
  return launch;
}

}  // namespace

Result<MapLaunch> JobClient::GetMapLaunch(const AttemptId& attempt, const std::string& master) {
  Result<MapLaunch> launch = MapLaunch();
  MILLRACE_TRY(AskAboutJobs("launch of " + ToText(attempt), [&](JobService::Client jobs) {
    auto call = jobs.mapLaunchRequest();
    ToWire(attempt, call.initAttempt());
    return call.send().then([&](capnp::Response<JobService::MapLaunchResults>&& answer) {
      launch = Read(answer, attempt, master, connection_.Cluster());
    });
  }));
  return launch;
}

Status JobClient::History(JobId job, const std::function<void(std::uint64_t, const std::string&)>& sink,
                          std::uint64_t after) {
  HistoryPage page;
  page.next = after;
  std::string begun;  // the beginning of a line that came in pieces
  for (page.more = true; page.more;) {
    MILLRACE_ASSIGN(page, GetHistory(job, page.next, begun.size()));
    if (page.lines.empty()) break;
    page.lines.front().second.insert(0, begun);
    begun.clear();
    if (page.cut) {
      begun = std::move(page.lines.back().second);
      page.lines.pop_back();
    }
    for (const auto& [number, line] : page.lines) sink(number, line);
  }
  return Status::Ok();
}

// Each list of an answer is read only once, since every reading is charged against the message's limit
// (base/rpc/transport.h).
Result<JobClient::HistoryPage> JobClient::GetHistory(JobId job, std::uint64_t after, std::uint64_t offset) {
  HistoryPage page;
  MILLRACE_TRY(AskAboutJobs("history of " + ToText(job), [&](JobService::Client jobs) {
    auto call = jobs.historyRequest();
    call.setJob(job.value);
    call.setAfter(after);
    call.setOffset(offset);
    return call.send().then([&](capnp::Response<JobService::HistoryResults>&& answer) {
      page.lines.clear();
      const auto numbers = answer.getNumbers();
      for (const auto line : answer.getLines()) {
        const auto i = static_cast<unsigned>(page.lines.size());
        page.lines.emplace_back(i < numbers.size() ? numbers[i] : 0, std::string(line.begin(), line.size()));
      }
      page.next = answer.getNext();
      page.cut = answer.getCut();
      page.more = answer.getMore();
    });
  }));
  return page;
}

Result<ClusterStatus> JobClient::GetClusterStatus() {
  ClusterStatus status;
  MILLRACE_TRY(Ask("ask for the state of the cluster", [&](Master::Client master) {
    return master.statusRequest().send().then(
        [&status](capnp::Response<Master::StatusResults>&& answer) { status = Read(answer.getStatus()); });
  }));
  return status;
}

Result<CallerRights> JobClient::WhoAmI() {
  CallerRights rights;
  MILLRACE_TRY(Ask("ask who the caller is", [&](Master::Client master) {
    return master.whoAmIRequest().send().then(
        [&rights](capnp::Response<Master::WhoAmIResults>&& answer) { rights = Read(answer.getCaller()); });
  }));
  return rights;
}

Result<std::vector<Node>> JobClient::Nodes() {
  std::vector<Node> nodes;
  for (bool more = true; more;) {
    const std::size_t known = nodes.size();
    MILLRACE_TRY(Ask("list nodes", [&](Master::Client master) {
      auto call = master.nodesRequest();
      call.setAfter(known == 0 ? 0 : nodes[known - 1].node.value);
      return call.send().then([&](capnp::Response<Master::NodesResults>&& answer) {
        nodes.resize(known);
        for (const auto in : answer.getNodes()) nodes.push_back(Read(in));
        more = answer.getMore();
      });
    }));
    if (nodes.size() == known) break;
  }
  return nodes;
}

Status JobClient::MaintainNodes(const std::vector<NodeId>& nodes, Micros time, bool force, const std::string& reason) {
  return Ask(time == 0 ? "end the maintenance of nodes" : "put nodes into maintenance", [&](Master::Client master) {
    auto call = master.maintainNodesRequest();
    auto numbers = call.initNodes(static_cast<unsigned>(nodes.size()));
    for (unsigned i = 0; i < numbers.size(); ++i) numbers.set(i, nodes[i].value);
    call.setMillis(static_cast<std::uint64_t>((time + kMillisecond - 1) / kMillisecond));
    call.setReason(reason);
    call.setForce(force);
    return call.send().ignoreResult();
  });
}

Status JobClient::DrainNodes(const std::vector<NodeId>& nodes, bool drained, bool force, const std::string& reason) {
  return Ask(drained ? "decommission nodes" : "recommission nodes", [&](Master::Client master) {
    auto call = master.drainNodeRequest();
    auto numbers = call.initNodes(static_cast<unsigned>(nodes.size()));
    for (unsigned i = 0; i < numbers.size(); ++i) numbers.set(i, nodes[i].value);
    call.setDrained(drained);
    call.setForce(force);
    call.setReason(reason);
    return call.send().ignoreResult();
  });
}

Result<MayGo> JobClient::AskMayGo(const std::vector<NodeId>& nodes) {
  MayGo answer;
  MILLRACE_TRY(Ask("ask whether nodes may go", [&](Master::Client master) {
    auto call = master.mayGoRequest();
    auto numbers = call.initNodes(static_cast<unsigned>(nodes.size()));
    for (unsigned i = 0; i < numbers.size(); ++i) numbers.set(i, nodes[i].value);
    return call.send().then([&answer](capnp::Response<Master::MayGoResults>&& results) {
      answer = {};
      for (const auto in : results.getAnswers()) answer.answers.push_back(Read(in));
      answer.others = results.getOthers();
      answer.away = results.getAway();
    });
  }));
  return answer;
}

Status JobClient::ForgetNodes(const std::vector<NodeId>& nodes, bool force) {
  return Ask("forget nodes", [&](Master::Client master) {
    auto call = master.forgetNodesRequest();
    auto numbers = call.initNodes(static_cast<unsigned>(nodes.size()));
    for (unsigned i = 0; i < numbers.size(); ++i) numbers.set(i, nodes[i].value);
    call.setForce(force);
    return call.send().ignoreResult();
  });
}

Status JobClient::NoteBackupCopy(const std::string& directory, const std::string& problem) {
  return Ask("tell the master of the copy", [&](Master::Client master) {
    auto call = master.backUpCopiedRequest();
    call.setDirectory(directory);
    call.setProblem(problem);
    return call.send().ignoreResult();
  });
}

Result<MasterBackup> JobClient::BackUpMaster(const std::string& directory, std::uint32_t keep) {
  MasterBackup backup;
  MILLRACE_TRY(Ask("back up the master", [&](Master::Client master) {
    auto call = master.backUpRequest();
    call.setDirectory(directory);
    call.setKeep(keep);
    return call.send().then([&backup](capnp::Response<Master::BackUpResults>&& answer) {
      backup = {answer.getOperations(), answer.getBytes(), answer.getRemoved(), answer.getKeeps()};
    });
  }));
  return backup;
}

Status JobClient::UnknownBlocks(NodeId node, const std::function<void(std::uint64_t id, std::uint64_t length)>& sink) {
  std::uint64_t after = 0;
  for (bool more = true; more;) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> page;
    MILLRACE_TRY(Ask("list unknown blocks of node " + std::to_string(node.value), [&](Master::Client master) {
      auto call = master.unknownBlocksRequest();
      call.setNode(node.value);
      call.setAfter(after);
      call.setLimit(10'000);
      return call.send().then([&](capnp::Response<Master::UnknownBlocksResults>&& answer) {
        page.clear();
        for (const auto block : answer.getBlocks()) page.emplace_back(block.getId(), block.getLength());
        more = answer.getMore();
      });
    }));
    if (page.empty()) break;
    for (const auto& [id, length] : page) sink(id, length);
    after = page.back().first;
  }
  return Status::Ok();
}

Result<std::uint64_t> JobClient::DiscardUnknown(NodeId node) {
  std::uint64_t blocks = 0;
  MILLRACE_TRY(Ask("discard unknown blocks of node " + std::to_string(node.value), [&](Master::Client master) {
    auto call = master.discardUnknownRequest();
    call.setNode(node.value);
    return call.send().then(
        [&blocks](capnp::Response<Master::DiscardUnknownResults>&& answer) { blocks = answer.getBlocks(); });
  }));
  return blocks;
}

Result<std::uint32_t> JobClient::ForgetPrograms() {
  std::uint32_t programs = 0;
  MILLRACE_TRY(Ask("forget what was learnt about programs", [&](Master::Client master) {
    return master.forgetProgramsRequest().send().then(
        [&programs](capnp::Response<Master::ForgetProgramsResults>&& answer) { programs = answer.getPrograms(); });
  }));
  return programs;
}

Result<SchedulerView> JobClient::ShowScheduler() {
  SchedulerView view;
  MILLRACE_TRY(Ask("show the scheduler", [&](Master::Client master) {
    return master.showSchedulerRequest().send().then(
        [&view](capnp::Response<Master::ShowSchedulerResults>&& answer) { view = Read(answer.getView()); });
  }));
  return view;
}

Result<std::optional<Changes>> JobClient::AskChanges(const ChangeCursor& since, bool live_only) {
  std::optional<Changes> changes;
  MILLRACE_TRY(Ask("ask what has changed", [&](Master::Client master) {
    auto call = master.changesRequest();
    auto cursor = call.initSince();
    cursor.setLife(since.life);
    cursor.setVersion(since.version);
    cursor.setFloor(since.floor);
    call.setLiveOnly(live_only);
    return call.send().then(
        [&changes](capnp::Response<Master::ChangesResults>&& answer) { changes = Read(answer.getChanges()); },
        [&changes](kj::Exception&& e) {
          if (!rpc::IsUnknownCall(e)) kj::throwFatalException(kj::mv(e));
          changes.reset();
        });
  }));
  return changes;
}

Result<std::vector<SchedulerView::Wait>> JobClient::ExplainWaits(JobId job) {
  return ExplainWaits(std::vector<JobId>{job});
}

Result<std::vector<SchedulerView::Wait>> JobClient::ExplainAllWaits() { return ExplainWaits(std::vector<JobId>{}); }

Result<std::vector<SchedulerView::Wait>> JobClient::ExplainWaits(const std::vector<JobId>& jobs) {
  std::vector<SchedulerView::Wait> waits;
  MILLRACE_TRY(Ask("ask why jobs wait", [&](Master::Client master) {
    auto call = master.explainWaitsRequest();
    auto asked = call.initJobs(static_cast<unsigned>(jobs.size()));
    for (unsigned i = 0; i < asked.size(); ++i) asked.set(i, jobs[i].value);
    return call.send().then(
        [&waits](capnp::Response<Master::ExplainWaitsResults>&& answer) {
          for (const auto wait : answer.getWaits()) waits.push_back(Read(wait));
        },
        [](kj::Exception&& e) {
          // A master that does not know the call yet says nothing of waits, and the rest is shown all the same.
          if (!rpc::IsUnknownCall(e)) kj::throwFatalException(kj::mv(e));
        });
  }));
  return waits;
}

Result<std::vector<Foretold>> JobClient::Foretell(const std::vector<JobId>& jobs, std::string* problem) {
  std::vector<Foretold> foretold;
  MILLRACE_TRY(AskAboutJobs("ask when jobs start and end", [&](JobService::Client service) {
    auto call = service.foretellRequest();
    auto asked = call.initJobs(static_cast<unsigned>(jobs.size()));
    for (unsigned i = 0; i < asked.size(); ++i) asked.set(i, jobs[i].value);
    return call.send().then(
        [&foretold, problem](capnp::Response<JobService::ForetellResults>&& answer) {
          for (const auto one : answer.getForetold()) foretold.push_back(Read(one));
          *problem = answer.getProblem();
        },
        [problem](kj::Exception&& e) {
          if (!rpc::IsUnknownCall(e)) kj::throwFatalException(kj::mv(e));
          *problem = "this master is too old to foretell";
        });
  }));
  return foretold;
}

Result<Why> JobClient::AskWhy(JobId job, const std::vector<std::string>& under) {
  Why why;
  MILLRACE_TRY(AskAboutJobs("ask what would help " + ToText(job), [&](JobService::Client service) {
    auto call = service.whyRequest();
    call.setJob(job.value);
    auto names = call.initUnder(static_cast<unsigned>(under.size()));
    for (unsigned i = 0; i < names.size(); ++i) names.set(i, under[i]);
    return call.send().then([&why](capnp::Response<JobService::WhyResults>&& answer) { why = Read(answer.getWhy()); },
                            [&why](kj::Exception&& e) {
                              if (!rpc::IsUnknownCall(e)) kj::throwFatalException(kj::mv(e));
                              why.problem = "this master is too old to try what would help";
                            });
  }));
  return why;
}

Status JobClient::SetScheduler(const std::string& name, const std::string& fallback) {
  return Ask("set the scheduler", [&](Master::Client master) {
    auto call = master.setSchedulerRequest();
    call.setName(name);
    call.setFallback(fallback);
    return call.send().ignoreResult();
  });
}

Result<std::map<std::uint64_t, std::string>> ReadJournal(JobClient client, std::optional<JobId> only) {
  std::vector<JobId> jobs;
  if (only) {
    jobs = {*only};
  } else {
    jobs = {JobId{0}};  // job 0 holds the lines of nodes and schedulers
    MILLRACE_ASSIGN(const std::vector<JobStatus> all, client.List(false));
    for (const JobStatus& status : all) jobs.push_back(status.job);
  }
  std::map<std::uint64_t, std::string> lines;
  for (const JobId job : jobs) {
    const Status read =
        client.History(job, [&](std::uint64_t number, const std::string& line) { lines[number] = line; });
    // Of all jobs, one has no history if it is lost, or was forgotten after the list was made.
    if (!only && read.code() == StatusCode::kNotFound) continue;
    MILLRACE_TRY(read);
  }
  return lines;
}

Result<std::string> ReadWholeJournal(JobClient client) {
  MILLRACE_ASSIGN(const auto lines, ReadJournal(client, std::nullopt));
  std::string journal;
  for (const auto& [number, line] : lines) (journal += line) += '\n';
  return journal;
}

}  // namespace millrace::job
