// SPDX-License-Identifier: Apache-2.0
// A master's control connection under bytes of anybody: a real master service behind an in-memory pipe, which is given
// the bytes of a client's session, mutated. Whatever they are, the master goes on serving others.
#include "master/control/control.h"

#include <capnp/message.h>
#include <kj/async-io.h>

#include <optional>

#include "base/cluster_id.h"
#include "base/kv/key_value_store.h"
#include "base/release.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/connection.h"
#include "base/rpc/transport.h"
#include "master/control/cluster_record.h"
#include "master/control/master_config.h"
#include "master/service/master_service.h"
#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_store.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

class Master {
 public:
  Master() {
    const OptionSet options = master::DeclareMasterOptions(&config_);
    fuzz::Require(master::StoreClusterId(FormatClusterId(1, 2), store_.get()).ok(), "no cluster");
    control_ =
        master::Control::Make(config_, master::ControlDependencies{timer_, clock_, *store_, *log_, Random(1),
                                                                   [this] { return numbers_.Next(); }, MakeSilentLog()})
            .value();
    server_ = std::make_unique<rpc::Server>(timer_, master::MakeMasterServices(*control_), rpc::ServerLimits{});
  }
  ~Master() {
    server_.reset();
    scope_.poll();
    control_.reset();
  }

  void Take(std::string_view bytes) {
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    server_->Accept(kj::mv(pipe.ends[0]));
    auto drain = pipe.ends[1]
                     ->readAllBytes(std::uint64_t{1} << 24)
                     .then([](auto&&) {}, [](kj::Exception&&) {})
                     .eagerlyEvaluate(nullptr);
    auto written =
        pipe.ends[1]->write(bytes.data(), bytes.size()).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
    scope_.poll();
    timer_.advanceTo(timer_.now() + 1 * kj::SECONDS);
    clock_.Set(clock_.Now() + kSecond);
    scope_.poll();
    written = nullptr;
    drain = nullptr;
    pipe.ends[1] = nullptr;
    scope_.poll();
  }

  [[nodiscard]] bool Serves() {
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    server_->Accept(kj::mv(pipe.ends[0]));
    rpc::Connection connection(kj::mv(pipe.ends[1]), rpc::ConnectionLimits{});
    auto client = connection.Bootstrap().castAs<master::wire::Master>();
    auto answer = client.versionRequest().send();
    return answer.poll(scope_) && answer.wait(scope_).getVersion().size() > 0;
  }

  // Returns the bytes that a client sends when it makes `calls`.
  template <class Calls>
  static std::string Session(Calls calls) {
    kj::EventLoop loop;
    kj::WaitScope scope(loop);
    std::string sent;
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    auto taken = pipe.ends[0]
                     ->readAllText()
                     .then([&](kj::String&& text) { sent.assign(text.begin(), text.size()); })
                     .eagerlyEvaluate(nullptr);
    {
      rpc::Connection connection(kj::mv(pipe.ends[1]), rpc::ConnectionLimits{});
      auto client = connection.Bootstrap().castAs<master::wire::Master>();
      calls(client, scope);
    }
    scope.poll();
    return sent;
  }

 private:
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  DrivenClock clock_{kSecond};
  Random numbers_{2};
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<rpc::CommitLog> log_ = rpc::MakeInlineCommitLog(*store_, [](const Status&) { std::abort(); });
  master::MasterConfig config_;
  std::unique_ptr<master::Control> control_;
  std::unique_ptr<rpc::Server> server_;
};

capnp::Data::Reader Data(std::string_view text) {
  return {reinterpret_cast<const kj::byte*>(text.data()), text.size()};
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  std::vector<std::string> seeds;
  const auto session = [&](auto calls) { seeds.push_back(Master::Session(calls)); };
  session([](auto& client, kj::WaitScope& scope) {
    auto asking = client.namesRequest();
    asking.setProtocol(ThisRelease().protocol);
    auto names = asking.send().getService();
    auto make = names.makeDirectoryRequest();
    make.setPath(Data("/a/b"));
    auto made = make.send();
    auto create = names.createRequest();
    create.setPath(Data("/a/f"));
    create.setReplication(3);
    create.setBlockSize(1 << 20);
    auto created = create.send();
    auto add = created.getLease().addBlockRequest();
    add.initExcluded(2).set(0, 7);
    auto added = add.send();
    auto list = names.listRequest();
    list.setPath(Data("/"));
    list.setLimit(10);
    auto listed = list.send();
    auto rename = names.renameRequest();
    rename.setFrom(Data("/a"));
    rename.setTo(Data("/c"));
    auto renamed = rename.send();
    scope.poll();
  });
  session([](auto& client, kj::WaitScope& scope) {
    auto jobs = client.jobsRequest().send().getService();
    auto submit = jobs.submitRequest();
    auto request = submit.initRequest();
    request.setName("job");
    request.setOutput(Data("/out"));
    request.setSplitBy(master::wire::SplitBy::NUMBERS);
    request.setMaps(3);
    request.setRecords(30);
    request.setReduces(2);
    request.setMaxAttempts(4);
    request.setExecutable(Data("/e"));
    auto submitted = submit.send();
    auto history = jobs.historyRequest();
    history.setJob(1);
    history.setLimit(100);
    auto told = history.send();
    auto kill = jobs.killRequest();
    kill.setJob(1);
    auto killed = kill.send();
    scope.poll();
  });
  session([](auto& client, kj::WaitScope& scope) {
    auto join = client.registerRequest();
    auto worker = join.initWorker();
    worker.setStorage("storage");
    worker.setCluster(FormatClusterId(1, 2).c_str());
    worker.setHost("host");
    worker.setPort(1);
    worker.setMapSlots(2);
    worker.setReduceSlots(2);
    worker.initRunning(1);
    auto joined = join.send();
    auto beat = joined.getSession().heartbeatRequest();
    beat.initStats().setFree(std::uint64_t{1} << 40);
    auto beaten = beat.send();
    auto report = joined.getSession().blocksReceivedRequest();
    report.initBlocks(2)[0].setId(7);
    auto reported = report.send();
    auto nodes = client.nodesRequest().send();
    auto set = client.setSchedulerRequest();
    set.setName("fair+delay");
    auto done = set.send();
    scope.poll();
  });
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A master is used for many inputs, as it is in life; a fresh one now and then bounds what they leave in it.
  static std::optional<Master> master;
  static std::uint64_t inputs = 0;
  if (inputs++ % 256 == 0) {
    master.reset();
    master.emplace();
  }
  master->Take(fuzz::View(data, size));
  if (inputs % 16 == 0) fuzz::Require(master->Serves(), "the master does not serve others any more");
  return 0;
}
