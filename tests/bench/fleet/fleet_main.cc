// SPDX-License-Identifier: Apache-2.0
// Loads a master with many workers and jobs of many short tasks, and prints as JSON what the workers saw.
//
//   fleet master=127.0.0.1:7700 workers=1000 jobs=4 maps=10000
//
// It prints "registered" when all workers are here, and submits the jobs once it has read a line: whoever measures the
// master begins in between. It ends when all jobs have ended, with status 1 if one of them has not succeeded, or after
// `limit`.
#include <fmt/format.h>
#include <kj/async-io.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/daemon/limits.h"
#include "base/options.h"
#include "base/program.h"
#include "base/protocol/master.capnp.h"
#include "base/rpc/connection.h"
#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "tests/bench/fleet/fleet.h"

namespace millrace::bench {
namespace {

struct Load {
  FleetOptions fleet;
  std::int64_t jobs = 0, maps = 0, reduces = 0;  // tasks of each job
  std::int64_t users = 0;
  Micros limit = 0;
};

OptionSet DeclareLoad(Load* load) {
  OptionSet set;
  set.Text("master", &load->fleet.master, "", "HOST:PORT of the master");
  set.Integer("workers", &load->fleet.workers, 1000, 1, 50'000, "workers, each with a connection");
  set.Integer("racks", &load->fleet.racks, 25, 1, 10'000, "racks in which they stand");
  set.Integer("map_slots", &load->fleet.map_slots, 2, 1, 1000, "map slots of each worker");
  set.Integer("reduce_slots", &load->fleet.reduce_slots, 1, 1, 1000, "reduce slots of each worker");
  set.Duration("work", &load->fleet.work, 0, 0, 3600 * kSecond, "what each attempt takes");
  set.Integer("jobs", &load->jobs, 4, 1, 100'000, "jobs, submitted at once");
  set.Integer("maps", &load->maps, 10'000, 1, 1'000'000, "maps of each job");
  set.Integer("reduces", &load->reduces, 0, 0, 100'000, "reduces of each job");
  set.Integer("users", &load->users, 4, 1, 100'000, "users that submit in turn");
  set.Duration("limit", &load->limit, 120 * kSecond, kSecond, 3600 * kSecond, "the load gives up after this time");
  return set;
}

// Resolves when its job has ended.
class EndWatcher final : public master::wire::JobWatcher::Server {
 public:
  explicit EndWatcher(kj::Own<kj::PromiseFulfiller<void>> ended) : ended_(kj::mv(ended)) {}

 private:
  kj::Promise<void> changed(ChangedContext context) override {
    if (context.getParams().getStatus().getEnded() != 0) ended_->fulfill();
    return kj::READY_NOW;
  }

  kj::Own<kj::PromiseFulfiller<void>> ended_;
};

kj::Promise<JobId> Submit(master::wire::JobService::Client jobs, const Load& load, std::int64_t number) {
  auto request = jobs.submitRequest();
  auto job = request.initRequest();
  const std::string output = fmt::format("/output{}", number);
  job.setName("launches");
  job.setOwner(fmt::format("user{}", number % load.users));
  job.setOutput(kj::StringPtr(output.c_str(), output.size()).asBytes());
  job.setExecutable(kj::StringPtr("/launches").asBytes());
  job.setSplitBy(master::wire::SplitBy::NUMBERS);
  job.setMaps(static_cast<std::uint32_t>(load.maps));
  job.setRecords(static_cast<std::uint64_t>(load.maps));
  job.setReduces(static_cast<std::uint32_t>(load.reduces));
  job.setNoSpeculation(true);
  return request.send().then([](auto&& answer) { return JobId{answer.getJob()}; });
}

// Resolves when the job has ended; rejects unless it has succeeded.
kj::Promise<void> AwaitSuccess(master::wire::JobService::Client jobs, JobId job) {
  auto ended = kj::newPromiseAndFulfiller<void>();
  auto request = jobs.watchRequest();
  request.setJob(job.value);
  request.setWatcher(kj::heap<EndWatcher>(kj::mv(ended.fulfiller)));
  return request.send()
      .then([promise = kj::mv(ended.promise)](auto&& answer) mutable {
        if (answer.getStatus().getEnded() != 0) return kj::Promise<void>(kj::READY_NOW);
        return promise.attach(answer.getSubscription());
      })
      .then([jobs, job]() mutable {
        auto status = jobs.statusRequest();
        status.setJob(job.value);
        return status.send();
      })
      .then([job](auto&& answer) -> kj::Promise<void> {
        const auto status = answer.getStatus();
        if (status.getState() == master::wire::JobState::SUCCEEDED) return kj::READY_NOW;
        return rpc::ToException(Internal(fmt::format("{}: {}", ToText(job), status.getReason().cStr())));
      });
}

double Milliseconds(kj::Duration duration) { return static_cast<double>(duration / kj::NANOSECONDS) / 1e6; }

// Returns the number of these attempts that are not the first of their task.
std::size_t Repeated(std::vector<AttemptId> attempts) {
  std::sort(attempts.begin(), attempts.end());
  const auto same_task = [](const AttemptId& a, const AttemptId& b) { return a.task == b.task; };
  return attempts.size() -
         static_cast<std::size_t>(std::unique(attempts.begin(), attempts.end(), same_task) - attempts.begin());
}

nlohmann::json Describe(const Tally& tally, kj::Duration wall) {
  nlohmann::json out = {{"launched", tally.launched.size()},
                        {"succeeded", tally.succeeded.size()},
                        {"launched_again", Repeated(tally.launched)},
                        {"succeeded_again", Repeated(tally.succeeded)},
                        {"seconds", Milliseconds(wall) / 1e3}};
  std::vector<kj::Duration> idle = tally.idle;
  std::sort(idle.begin(), idle.end());
  if (idle.empty()) return out;
  for (const int percent : {50, 99}) {
    out[fmt::format("idle_p{}_ms", percent)] = Milliseconds(idle[(idle.size() - 1) * percent / 100]);
  }
  return out;
}

kj::Promise<void> Run(kj::AsyncIoContext& io, const Load& load, Fleet& fleet, rpc::Link& client) {
  const kj::MonotonicClock& clock = kj::systemPreciseMonotonicClock();
  return fleet.Registered()
      .then([&] {
        std::cout << "registered" << std::endl;
        std::string line;
        std::getline(std::cin, line);
        return client.Connected();
      })
      .then([&](capnp::Capability::Client bootstrap) {
        auto jobs = bootstrap.castAs<master::wire::Master>().jobsRequest().send().getService();
        const kj::TimePoint begin = clock.now();
        auto running = kj::heapArrayBuilder<kj::Promise<void>>(static_cast<std::size_t>(load.jobs));
        for (std::int64_t number = 0; number < load.jobs; ++number) {
          running.add(Submit(jobs, load, number).then([jobs](JobId job) mutable { return AwaitSuccess(jobs, job); }));
        }
        return kj::joinPromises(running.finish()).then([&, begin] {
          std::cout << Describe(fleet.tally(), clock.now() - begin) << std::endl;
        });
      })
      .exclusiveJoin(io.provider->getTimer().afterDelay(load.limit * kj::MICROSECONDS).then([&]() -> kj::Promise<void> {
        return rpc::ToException(Timeout(fmt::format("{} of {} launched attempts had succeeded when the time was over",
                                                    fleet.tally().succeeded.size(), fleet.tally().launched.size())));
      }));
}

int Main(const std::vector<std::string>& args) {
  Load load;
  OptionSet options = DeclareLoad(&load);
  for (const std::string& arg : args) {
    if (const Status set = options.SetPair(arg); !set.ok()) {
      std::cerr << "fleet: " << set.message() << "\n";
      return 2;
    }
  }
  daemon::RaiseDescriptorLimit();
  try {
    auto io = kj::setupAsyncIo();
    rpc::TcpDialer dialer(io.provider->getNetwork());
    rpc::Link client(dialer, io.provider->getTimer(), load.fleet.master, Random(0));
    Fleet fleet(io, load.fleet);
    Run(io, load, fleet, client).wait(io.waitScope);
    return 0;
  } catch (const kj::Exception& e) {
    std::cerr << "fleet: " << rpc::FromException(e).message() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  return millrace::bench::Main({argv + 1, argv + argc});
}
