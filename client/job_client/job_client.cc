#include "client/job_client/job_client.h"

#include "client/job_client/wire_convert.h"

namespace millrace::job {
namespace {

using master::wire::JobService;
using master::wire::Master;

constexpr std::uint32_t kLogPiece = 256 << 10;

std::string Name(std::uint32_t job) { return "job " + std::to_string(job); }

}  // namespace

Status JobClient::Ask(const std::string& what, const AskMaster& f) {
  return connection_.Call(
      what, [&f](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) { return f(bootstrap.castAs<Master>()); });
}

Status JobClient::AskAboutJobs(const std::string& what, const AskJobs& f) {
  return Ask(what, [&f](Master::Client master) { return f(master.jobsRequest().send().getService()); });
}

Result<std::uint32_t> JobClient::Submit(const JobRequest& request) {
  std::uint32_t job = 0;
  MILLRACE_TRY(AskAboutJobs("submit the job", [&](JobService::Client jobs) {
    auto call = jobs.submitRequest();
    Write(request, call.initRequest());
    return call.send().then([&job](capnp::Response<JobService::SubmitResults>&& answer) { job = answer.getJob(); });
  }));
  return job;
}

Result<JobStatus> JobClient::GetStatus(std::uint32_t job) {
  JobStatus status;
  MILLRACE_TRY(AskAboutJobs("status of " + Name(job), [&](JobService::Client jobs) {
    auto call = jobs.statusRequest();
    call.setJob(job);
    return call.send().then(
        [&status](capnp::Response<JobService::StatusResults>&& answer) { status = Read(answer.getStatus()); });
  }));
  return status;
}

Result<std::vector<JobStatus>> JobClient::List(bool live_only) {
  std::vector<JobStatus> list;
  for (bool more = true; more;) {
    const std::size_t known = list.size();
    MILLRACE_TRY(AskAboutJobs("list jobs", [&](JobService::Client jobs) {
      auto call = jobs.listRequest();
      call.setAfter(known == 0 ? 0 : list[known - 1].job);
      call.setLiveOnly(live_only);
      return call.send().then([&](capnp::Response<JobService::ListResults>&& answer) {
        list.resize(known);
        for (const auto status : answer.getJobs()) list.push_back(Read(status));
        more = answer.getMore();
      });
    }));
    if (list.size() == known) break;
  }
  return list;
}

Status JobClient::Kill(std::uint32_t job, const std::string& reason) {
  return AskAboutJobs("kill " + Name(job), [&](JobService::Client jobs) {
    auto call = jobs.killRequest();
    call.setJob(job);
    call.setReason(reason);
    return call.send().ignoreResult();
  });
}

Status JobClient::SetPriority(std::uint32_t job, std::uint8_t priority) {
  return AskAboutJobs("set the priority of " + Name(job), [&](JobService::Client jobs) {
    auto call = jobs.setPriorityRequest();
    call.setJob(job);
    call.setPriority(priority);
    return call.send().ignoreResult();
  });
}

Result<std::vector<Counter>> JobClient::Counters(std::uint32_t job) {
  std::vector<Counter> counters;
  MILLRACE_TRY(AskAboutJobs("counters of " + Name(job), [&](JobService::Client jobs) {
    auto call = jobs.countersRequest();
    call.setJob(job);
    return call.send().then([&counters](capnp::Response<JobService::CountersResults>&& answer) {
      counters.clear();
      for (const auto in : answer.getCounters()) counters.push_back({in.getGroup(), in.getName(), in.getValue()});
    });
  }));
  return counters;
}

Result<std::vector<AttemptStatus>> JobClient::Attempts(std::uint32_t job) {
  std::vector<AttemptStatus> attempts;
  for (bool more = true; more;) {
    const std::size_t known = attempts.size();
    MILLRACE_TRY(AskAboutJobs("attempts of " + Name(job), [&](JobService::Client jobs) {
      auto call = jobs.attemptsRequest();
      call.setJob(job);
      call.setAfter(static_cast<std::uint32_t>(known));
      return call.send().then([&](capnp::Response<JobService::AttemptsResults>&& answer) {
        attempts.resize(known);
        for (const auto in : answer.getAttempts()) attempts.push_back(Read(in));
        more = answer.getMore();
      });
    }));
    if (attempts.size() == known) break;
  }
  return attempts;
}

Status JobClient::ReadLog(const Attempt& attempt, LogStream stream, const std::function<void(std::string_view)>& sink) {
  std::uint64_t offset = 0;
  for (std::string piece = "?"; !piece.empty(); offset += piece.size()) {
    MILLRACE_TRY(AskAboutJobs("log of " + FormatAttempt(attempt), [&](JobService::Client jobs) {
      auto call = jobs.readLogRequest();
      Write(attempt, call.initAttempt());
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
  return Status::Ok();
}

Status JobClient::History(std::uint32_t job, const std::function<void(std::uint64_t, const std::string&)>& sink) {
  std::uint64_t after = 0;
  for (bool more = true; more;) {
    std::vector<std::pair<std::uint64_t, std::string>> lines;
    std::uint64_t next = after;
    MILLRACE_TRY(AskAboutJobs("history of " + Name(job), [&](JobService::Client jobs) {
      auto call = jobs.historyRequest();
      call.setJob(job);
      call.setAfter(after);
      return call.send().then([&](capnp::Response<JobService::HistoryResults>&& answer) {
        lines.clear();
        const auto numbers = answer.getNumbers();
        for (unsigned i = 0; i < answer.getLines().size(); ++i)
          lines.emplace_back(i < numbers.size() ? numbers[i] : 0, answer.getLines()[i]);
        next = answer.getNext();
        more = answer.getMore();
      });
    }));
    for (const auto& [number, line] : lines) sink(number, line);
    if (lines.empty()) break;
    after = next;
  }
  return Status::Ok();
}

Result<std::vector<Node>> JobClient::Nodes() {
  std::vector<Node> nodes;
  MILLRACE_TRY(Ask("list nodes", [&](Master::Client master) {
    return master.nodesRequest().send().then([&nodes](capnp::Response<Master::NodesResults>&& answer) {
      nodes.clear();
      for (const auto in : answer.getNodes()) nodes.push_back(Read(in));
    });
  }));
  return nodes;
}

Status JobClient::DrainNode(std::uint32_t node, bool drained) {
  return Ask((drained ? "decommission node " : "recommission node ") + std::to_string(node),
             [&](Master::Client master) {
               auto call = master.drainNodeRequest();
               call.setNode(node);
               call.setDrained(drained);
               return call.send().ignoreResult();
             });
}

Status JobClient::UnknownBlocks(std::uint32_t node,
                                const std::function<void(std::uint64_t id, std::uint64_t length)>& sink) {
  std::uint64_t after = 0;
  for (bool more = true; more;) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> page;
    MILLRACE_TRY(Ask("list unknown blocks of node " + std::to_string(node), [&](Master::Client master) {
      auto call = master.unknownBlocksRequest();
      call.setNode(node);
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

Result<std::uint64_t> JobClient::DiscardUnknown(std::uint32_t node) {
  std::uint64_t blocks = 0;
  MILLRACE_TRY(Ask("discard unknown blocks of node " + std::to_string(node), [&](Master::Client master) {
    auto call = master.discardUnknownRequest();
    call.setNode(node);
    return call.send().then(
        [&blocks](capnp::Response<Master::DiscardUnknownResults>&& answer) { blocks = answer.getBlocks(); });
  }));
  return blocks;
}

Result<Schedulers> JobClient::ListSchedulers() {
  Schedulers schedulers;
  MILLRACE_TRY(Ask("list schedulers", [&](Master::Client master) {
    return master.schedulersRequest().send().then([&schedulers](capnp::Response<Master::SchedulersResults>&& answer) {
      schedulers = {answer.getActive(), {}};
      for (const auto in : answer.getAvailable()) {
        Schedulers::Entry& entry =
            schedulers.available.emplace_back(Schedulers::Entry{in.getName(), in.getOneLine(), {}});
        for (const auto part : in.getParts()) entry.parts.emplace_back(part);
      }
    });
  }));
  return schedulers;
}

Result<SchedulerView> JobClient::ShowScheduler() {
  SchedulerView view;
  MILLRACE_TRY(Ask("show the scheduler", [&](Master::Client master) {
    return master.showSchedulerRequest().send().then(
        [&view](capnp::Response<Master::ShowSchedulerResults>&& answer) { view = Read(answer.getView()); });
  }));
  return view;
}

Status JobClient::SetScheduler(const std::string& name) {
  return Ask("set the scheduler", [&](Master::Client master) {
    auto call = master.setSchedulerRequest();
    call.setName(name);
    return call.send().ignoreResult();
  });
}

}  // namespace millrace::job
