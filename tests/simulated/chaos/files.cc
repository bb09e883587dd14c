// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/files.h"

#include <fmt/format.h>
#include <kj/debug.h>

#include <algorithm>

#include "dfs/wire/chunks.h"
#include "master/control/wire_codec.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {
namespace {

constexpr int kTries = 6;

}  // namespace

WorkerProcess* Reach(Cluster& cluster, kj::WaitScope& scope, HostId from, const std::string& host) {
  WorkerMachine* machine = cluster.FindWorker(host);
  if (machine == nullptr) return nullptr;
  const auto sent = [&](HostId one, HostId other) {
    return Await(cluster.network().Transfer(one, other, 128, kConnect), scope).ok();
  };
  if (!sent(from, machine->host()) || !sent(machine->host(), from)) return nullptr;
  auto running = machine->process().MayReceive().exclusiveJoin(cluster.world().Sleep(kStall));
  if (!Await(kj::mv(running), scope).ok() || machine->process().stopped()) return nullptr;
  return machine->running();
}

Result<std::string> ReadReplica(Cluster& cluster, kj::WaitScope& scope, HostId reader, const std::string& host,
                                const BlockPlaces& block) {
  WorkerProcess* worker = Reach(cluster, scope, reader, host);
  if (worker == nullptr)
    return Unavailable("read block " + std::to_string(block.id) + ": " + host + " does not answer");
  MILLRACE_ASSIGN(const dfs::OpenBlock open, worker->blocks().Open(block.id));
  MILLRACE_TRY(dfs::CheckContent(block.id, block.content(), open.content()));
  const Result<std::string> data = worker->blocks().Read(block.id, 0, block.length);
  const HostId at = cluster.FindWorker(host)->host();
  MILLRACE_TRY(Await(cluster.network().Transfer(at, reader, block.length, kStall), scope));
  return data;
}

Status WriteReplica(Cluster& cluster, kj::WaitScope& scope, HostId writer, const std::string& host, std::uint64_t id,
                    const std::string& data, const std::string& token, std::uint64_t ordered_by) {
  const Status gone = Unavailable("write block " + std::to_string(id) + ": " + host + " does not answer");
  WorkerProcess* worker = Reach(cluster, scope, writer, host);
  if (worker == nullptr) return gone;
  const std::vector<std::uint32_t> crcs = dfs::ChunkCrcs(data);
  MILLRACE_TRY(worker->plane().CheckWrite(id, {data.size(), dfs::BlockCrc(crcs)}, token));
  WorkerMachine* machine = cluster.FindWorker(host);
  const std::uint64_t incarnation = machine->process().incarnation();
  const auto dead = [&] { return machine->running() == nullptr || machine->process().incarnation() != incarnation; };
  const std::shared_ptr<dfs::BlockStore> blocks = worker->shared_blocks();  // for as long as there is a file of it
  blocks->Discard(id);
  auto created = blocks->Create(id);
  if (!created.ok()) return created.status();
  std::unique_ptr<dfs::BlockFile> file = *std::move(created);
  const Status arrived = Await(cluster.network().Transfer(writer, machine->host(), data.size(), kStall), scope);
  if (dead()) return gone;
  MILLRACE_TRY(arrived);
  Status stored = file->Append(data, crcs);
  machine->running()->Sync(scope);
  if (dead()) return gone;
  if (stored.ok()) stored = file->Sync();
  if (stored.ok()) stored = file->Finish();
  file.reset();
  if (!stored.ok()) {  // as PipelineWriter salvages: the node is asked to close the block at what it was sent
    cluster.world().Note(fmt::format("{} refuses block {}: {}", host, id, stored.message()));
    for (const auto& [from, to] : {std::pair(machine->host(), writer), std::pair(writer, machine->host())}) {
      if (!Await(cluster.network().Transfer(from, to, 64, kStall), scope).ok() || dead()) return gone;
    }
    const Result<dfs::StoredBlock> closed = blocks->FinishAt(id, data.size());
    if (!closed.ok()) blocks->Discard(id);
    MILLRACE_TRY(closed.status());
  }
  if (ordered_by < worker->registered_at()) cluster.checker().CopiedUnordered(*machine, id);
  worker->plane().Received({id, data.size(), dfs::BlockCrc(crcs)});
  if (!Await(cluster.network().Transfer(machine->host(), writer, 64, kStall), scope).ok()) return gone;
  return Status::Ok();
}

Result<std::string> ReadBlock(Cluster& cluster, kj::WaitScope& scope, HostId reader, MasterCaller& caller,
                              const BlockPlaces& block) {
  Status why = Unavailable("read block " + std::to_string(block.id) + ": no worker has it");
  for (const BlockPlaces::Holder& holder : block.holders) {
    Result<std::string> data = ReadReplica(cluster, scope, reader, holder.host, block);
    if (data.ok()) return data;
    why = data.status();
    if (why.code() != StatusCode::kCorrupt && why.code() != StatusCode::kNotFound) continue;
    (void)caller.Call<dfs::wire::NameService::ReportBadReplicaResults>(
        scope, "report a replica", [&](master::wire::Master::Client master) {
          auto request = NamesOf(master).reportBadReplicaRequest();
          request.setBlock(block.id);
          request.setNode(holder.node.value);
          return request.send().then([](auto&& answer) { return kj::mv(answer); });
        });
  }
  return why;
}

Result<std::vector<BlockPlaces>> Locate(MasterCaller& caller, kj::WaitScope& scope, const std::string& path,
                                        std::uint64_t* file) {
  const auto ask = [&] {
    return caller.Call<dfs::wire::NameService::LocateResults>(
        scope, "locate", [&](master::wire::Master::Client master) {
          auto request = NamesOf(master).locateRequest();
          request.setPath(master::ToData(path));
          return request.send().then([](auto&& located) { return kj::mv(located); });
        });
  };
  auto asked = ask();
  for (; asked.status().code() == StatusCode::kBusy; asked = ask()) (void)Await(caller.world().Sleep(1), scope);
  MILLRACE_ASSIGN(auto answer, std::move(asked));
  if (file != nullptr) *file = answer.getStatus().getId();
  std::vector<BlockPlaces> blocks;
  for (const auto located : answer.getBlocks()) {
    BlockPlaces& block = blocks.emplace_back();
    block.id = located.getBlock().getId();
    block.length = located.getBlock().getLength();
    block.crc = located.getBlock().getCrc();
    for (const auto place : located.getReplicas())
      block.holders.push_back({NodeId{place.getNode()}, place.getHost().cStr()});
  }
  return blocks;
}

FileMaker::FileMaker(Cluster& cluster, MasterCaller& caller, HostId writer)
    : cluster_(cluster), caller_(caller), writer_(writer) {}

Status FileMaker::Create(kj::WaitScope& scope, const std::string& path, std::uint32_t replication, bool overwrite) {
  MILLRACE_ASSIGN(auto answer, caller_.Call<dfs::wire::NameService::CreateResults>(
                                   scope, "create", [&](master::wire::Master::Client master) {
                                     auto request = NamesOf(master).createRequest();
                                     request.setPath(master::ToData(path));
                                     request.setReplication(replication);
                                     request.setOverwrite(overwrite);
                                     request.setOwner("chaos");
                                     request.setWriter("host:1");
                                     return request.send().then([](auto&& created) { return kj::mv(created); });
                                   }));
  written_ = {};
  synced_ = 0;
  written_.file = answer.getFile();
  lease_ = answer.getLease();
  return Status::Ok();
}

template <class Answer, class Start>
Result<capnp::Response<Answer>> FileMaker::OnLease(kj::WaitScope& scope, const std::string& what, const Start& start) {
  Result<capnp::Response<Answer>> answer = Cancelled(what + ": not tried");
  for (int i = 0; i < kTries; ++i) {
    answer = caller_.Call<Answer>(
        scope, what, [&](master::wire::Master::Client master) -> kj::Promise<capnp::Response<Answer>> {
          KJ_IF_MAYBE (lease, lease_) {
            return start(*lease).then([](auto&& given) { return kj::mv(given); });
          }
          auto request = NamesOf(master).resumeRequest();
          request.setFile(written_.file);
          return request.send().then([this, &start](auto&& resumed) -> kj::Promise<capnp::Response<Answer>> {
            auto lease = resumed.getLease();
            lease_ = lease;
            return start(lease).then([](auto&& given) { return kj::mv(given); });
          });
        });
    if (answer.ok() || answer.status().code() != StatusCode::kCancelled) return answer;
    lease_ = nullptr;
  }
  return answer;
}

Status FileMaker::AddBlock(kj::WaitScope& scope, const std::string& data) {
  std::vector<NodeId> excluded;
  Status why = Unavailable("write: no worker takes a block");
  for (int i = 0; i < kTries; ++i) {
    auto given = OnLease<dfs::wire::FileLease::AddBlockResults>(scope, "add a block", [&](auto& lease) {
      auto request = lease.addBlockRequest();
      request.setShowsToken(true);
      auto nodes = request.initExcluded(static_cast<unsigned>(excluded.size()));
      for (unsigned n = 0; n < nodes.size(); ++n) nodes.set(n, excluded[n].value);
      return request.send();
    });
    const StatusCode said = given.status().code();
    if (said == StatusCode::kUnavailable || said == StatusCode::kBusy) {  // nobody has room, or nobody is there yet
      excluded.clear();
      (void)Await(cluster_.world().Sleep(2), scope);
      continue;
    }
    if (!given.ok()) return given.status();
    const auto bytes = given->getToken();
    const std::string token(bytes.begin(), bytes.end());
    Written::Block block{given->getId(), data.size(), dfs::BlockCrc(dfs::ChunkCrcs(data)), {}};
    const auto targets = given->getTargets();
    for (const auto target : targets) {
      if (targets.size() == 1) cluster_.faults().Arriving(target.getHost().cStr(), Arrival::kOnlyReplica);
      if (const double most = cluster_.plan().arrival_time; most > 0)
        (void)Await(cluster_.world().Sleep(most * cluster_.world().random().Unit()), scope);
      const Status stored = WriteReplica(cluster_, scope, writer_, target.getHost().cStr(), block.id, data, token);
      if (stored.ok()) {
        block.nodes.push_back(NodeId{target.getNode()});
      } else {
        why = stored;
        excluded.push_back(NodeId{target.getNode()});
      }
    }
    if (!block.nodes.empty()) {
      written_.blocks.push_back(block);
      return Status::Ok();
    }
    (void)OnLease<dfs::wire::FileLease::DropBlockResults>(scope, "drop a block", [&](auto& lease) {
      auto request = lease.dropBlockRequest();
      request.setId(block.id);
      return request.send();
    });
  }
  return why;
}

template <class Request>
void FileMaker::Name(std::size_t first, Request& request) const {
  auto blocks = request.initBlocks(static_cast<unsigned>(written_.blocks.size() - first));
  for (unsigned i = 0; i < blocks.size(); ++i) {
    const Written::Block& block = written_.blocks[first + i];
    blocks[i].initBlock().setId(block.id);
    blocks[i].getBlock().setLength(block.length);
    blocks[i].getBlock().setCrc(block.crc);
    auto nodes = blocks[i].initNodes(static_cast<unsigned>(block.nodes.size()));
    for (unsigned n = 0; n < nodes.size(); ++n) nodes.set(n, block.nodes[n].value);
  }
}

Status FileMaker::Sync(kj::WaitScope& scope) {
  auto answer = OnLease<dfs::wire::FileLease::SyncResults>(scope, "sync", [&](auto& lease) {
    auto request = lease.syncRequest();
    request.setFirst(static_cast<std::uint32_t>(synced_));
    Name(synced_, request);
    return request.send();
  });
  if (answer.ok()) synced_ = written_.blocks.size();
  // An earlier try may have done it before the file was given up.
  if (answer.status().code() == StatusCode::kNotFound) return Cancelled(answer.status().message());
  return answer.status();
}

Status FileMaker::Complete(kj::WaitScope& scope) {
  auto answer = OnLease<dfs::wire::FileLease::CompleteResults>(scope, "complete", [&](auto& lease) {
    auto request = lease.completeRequest();
    Name(0, request);
    return request.send();
  });
  lease_ = nullptr;
  if (answer.ok()) return Status::Ok();
  // An earlier try may have done it.
  if (answer.status().code() == StatusCode::kNotFound) return Cancelled(answer.status().message());
  return answer.status();
}

Status FileMaker::HandOver(kj::WaitScope& scope, const std::string& attempt) {
  auto answer = OnLease<dfs::wire::FileLease::HandOverResults>(scope, "hand over", [&](auto& lease) {
    auto request = lease.handOverRequest();
    request.setAttempt(attempt);
    return request.send();
  });
  lease_ = nullptr;
  return answer.ok() ? Status::Ok() : answer.status();
}

}  // namespace millrace::simulated
