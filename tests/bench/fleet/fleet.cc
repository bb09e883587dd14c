// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/fleet/fleet.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/net/frame.h"
#include "base/rpc/status_codec.h"
#include "dfs/data/block_store.h"
#include "tests/fakes/inline_background.h"
#include "tests/fakes/memory_block_store.h"
#include "tests/fakes/synthetic_worker.h"
#include "worker/daemon/agent/agent.h"

namespace millrace::bench {
namespace {

// A worker has its address to itself (master/control/workers.cc), and every address of 127.0.0.0/8 is this machine's.
std::string HostOf(std::int64_t number) { return fmt::format("127.1.{}.{}", number / 250, 1 + number % 250); }

}  // namespace

struct Fleet::Worker {
  Worker(Fleet& fleet, const FleetOptions& options, std::int64_t number, std::uint16_t port)
      : runner(fleet.io_.provider->getTimer(), options.work * kj::MICROSECONDS, fleet.tally_), executables(background) {
    worker::WorkerConfig config;
    const OptionSet defaults = worker::DeclareWorkerOptions(&config);
    config.master = options.master;
    config.host = HostOf(number);
    config.rack = fmt::format("/rack{}", number % options.racks);
    config.map_slots = options.map_slots;
    config.reduce_slots = options.reduce_slots;
    const auto random = Random(static_cast<std::uint64_t>(number) + 1);
    agent = std::make_unique<worker::WorkerAgent>(
        worker::AgentParts{fleet.io_.provider->getTimer(), fleet.dialer_, runner, *blocks, plane, files, executables,
                           background, background, clock},
        config,
        worker::WorkerIdentity{fmt::format("storage{}", number), port, "", "",
                               [](const std::string&) { return Status::Ok(); }},
        random, MakeSilentLog());
    agent->OnRegistered([&fleet](NodeId) { fleet.NoteRegistered(); });
    agent->Start();
  }

  SystemClock clock;
  rpc::InlineBackground background;
  TimedRunner runner;
  std::unique_ptr<dfs::BlockStore> blocks = dfs::MakeMemoryBlockStore(std::uint64_t{1} << 40);
  worker::SyntheticPlane plane;
  worker::SyntheticFiles files;
  worker::SyntheticExecutables executables;
  std::unique_ptr<worker::WorkerAgent> agent;
};

Fleet::Fleet(kj::AsyncIoContext& io, const FleetOptions& options)
    : io_(io), dialer_(io.provider->getNetwork()), missing_(static_cast<std::size_t>(options.workers)) {
  open_ = Open(options).eagerlyEvaluate(
      [](kj::Exception&& why) { MILLRACE_CHECK(false, rpc::FromException(why).message()); });
}

Fleet::~Fleet() noexcept = default;

kj::Promise<void> Fleet::Registered() { return kj::mv(all_here_.promise); }

// The master calls the port of each worker that registers, and asks whether that worker's process is there. For the
// fleet it is, whichever is asked for.
kj::Promise<void> Fleet::Open(const FleetOptions& options) {
  return rpc::Listen(io_.provider->getNetwork(), "0.0.0.0:0").then([this, options](rpc::Listening listening) {
    port_ = kj::mv(listening.receiver);
    for (std::int64_t number = 0; number < options.workers; ++number) {
      workers_.push_back(std::make_unique<Worker>(*this, options, number, static_cast<std::uint16_t>(listening.port)));
    }
    return TakeCalls();
  });
}

kj::Promise<void> Fleet::TakeCalls() {
  return port_->accept().then([this](kj::Own<kj::AsyncIoStream> call) {
    answers_.Add(Answer(kj::mv(call)).catch_([](kj::Exception&&) {}));  // the master has hung up
    return TakeCalls();
  });
}

kj::Promise<void> Fleet::Answer(kj::Own<kj::AsyncIoStream> call) {
  auto& stream = *call;
  auto question = kj::heapArray<char>(net::kFrameBytes);
  auto read = stream.read(question.begin(), question.size()).attach(kj::mv(question));
  return read
      .then([&stream] {
        const auto answer = std::make_shared<std::string>(net::EncodeReply(StatusCode::kOk, {}));
        return stream.write(answer->data(), answer->size()).then([answer] {});
      })
      .attach(kj::mv(call));
}

void Fleet::NoteRegistered() {
  if (missing_ > 0 && --missing_ == 0) all_here_.fulfiller->fulfill();
}

}  // namespace millrace::bench
