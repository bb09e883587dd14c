// SPDX-License-Identifier: Apache-2.0
#include "master/control/wire_codec.h"

#include <algorithm>
#include <utility>

#include "base/protocol/attempt_wire.h"
#include "base/text.h"
#include "dfs/name/placement.h"
#include "dfs/wire/messages.h"
#include "master/jobs/answer_budget.h"
#include "master/jobs/waiting_jobs.h"

namespace millrace::master {

namespace {

constexpr auto kWorkerFields = [](auto& message, auto& facts) {
  MILLRACE_WIRE(message, Storage, facts.storage);
  MILLRACE_WIRE(message, Host, facts.host);
  MILLRACE_WIRE(message, Port, facts.port);
  MILLRACE_WIRE(message, LocalSocket, facts.local_socket);
  MILLRACE_WIRE(message, Sandbox, facts.sandbox);
  MILLRACE_WIRE(message, Rack, facts.rack);
  MILLRACE_WIRE(message, Datacenter, facts.datacenter);
  MILLRACE_WIRE(message, MapSlots, facts.map_slots);
  MILLRACE_WIRE(message, ReduceSlots, facts.reduce_slots);
  MILLRACE_WIRE(message, Incarnation, facts.incarnation);
  MILLRACE_WIRE(message, Name, facts.name);
  MILLRACE_WIRE(message, Version, facts.release.version);
  MILLRACE_WIRE(message, Protocol, facts.release.protocol);
  MILLRACE_WIRE(message, Cores, facts.cores);
  MILLRACE_WIRE(message, Machine, facts.machine);
};

}  // namespace

sched::RecordPlace Read(task::wire::RecordPlace::Reader in) {
  return ReadMessage<sched::RecordPlace>(in, kRecordPlaceFields);
}

void Write(const std::vector<sched::RecordPlace>& records, capnp::List<task::wire::RecordPlace>::Builder out) {
  for (unsigned i = 0; i < out.size(); ++i) WriteMessage(records[i], out[i], kRecordPlaceFields);
}

std::vector<AttemptId> ReadAttempts(capnp::List<task::wire::Attempt>::Reader in) {
  std::vector<AttemptId> attempts;
  for (const auto attempt : in) attempts.push_back(FromWire(attempt));
  return attempts;
}

void Write(const std::vector<AttemptId>& attempts, capnp::List<task::wire::Attempt>::Builder out) {
  for (unsigned i = 0; i < out.size(); ++i) ToWire(attempts[i], out[i]);
}

std::vector<NodeId> ReadNodes(capnp::List<std::uint32_t>::Reader in) {
  std::vector<NodeId> nodes;
  for (const std::uint32_t node : in) nodes.push_back(NodeId{node});
  return nodes;
}

void Write(const dfs::Block& block, dfs::wire::Block::Builder out) { WriteMessage(block, out, dfs::kBlockFields); }

void Write(const NodeRecord& node, dfs::wire::ReplicaHost::Builder out) {
  const WorkerFacts& f = node.facts;
  dfs::ToWire({node.number, f.host, f.port, f.local_socket, f.rack, f.datacenter}, out);
}

void Write(const FileSystem::Located& block, const NodeTable& nodes, const NodeRecord* asker, const tls::Grant& grant,
           dfs::wire::LocatedBlock::Builder out) {
  std::vector<const NodeRecord*> holders;
  for (const NodeId number : block.holders) {
    const NodeRecord* node = nodes.Find(number);
    if (node != nullptr && node->alive) holders.push_back(node);
  }
  if (asker != nullptr) {
    const auto distance = [&](const NodeRecord* node) {
      return dfs::DistanceBetween(asker->number, {asker->facts.rack, asker->facts.datacenter}, node->number,
                                  {node->facts.rack, node->facts.datacenter});
    };
    // Trouble at another node hinders its readers, except those on that node.
    const auto rank = [&](const NodeRecord* node) { return std::pair(node->ailing && node != asker, distance(node)); };
    std::ranges::stable_sort(holders, {}, rank);
  }
  Write(block.block, out.initBlock());
  out.setOffset(block.offset);
  if (const std::string token = grant.TokenFor(block.block.id); !token.empty()) out.setToken(ToData(token));
  auto replicas = out.initReplicas(static_cast<unsigned>(holders.size()));
  for (unsigned i = 0; i < replicas.size(); ++i) Write(*holders[i], replicas[i]);
}

std::vector<dfs::WrittenBlock> Read(capnp::List<dfs::wire::WrittenBlock>::Reader in) {
  std::vector<dfs::WrittenBlock> blocks;
  for (const auto block : in) blocks.push_back(dfs::FromWire(block));
  return blocks;
}

std::vector<dfs::Block> ReadBlocks(capnp::List<dfs::wire::Block>::Reader in) {
  std::vector<dfs::Block> blocks;
  blocks.reserve(in.size());
  for (const auto block : in) blocks.push_back(ReadMessage<dfs::Block>(block, dfs::kBlockFields));
  return blocks;
}

Leaving Read(wire::Leaving::Reader in, Micros now) {
  constexpr std::uint64_t kLatest = std::uint64_t{24} * 3600 * 1000;
  constexpr std::size_t kMostReason = 100;
  const std::uint64_t millis = std::min(in.getInMillis(), kLatest);
  std::string reason = Printable(ToString(in.getReason()));
  reason.resize(std::min(reason.size(), kMostReason));
  return {now + static_cast<Micros>(millis) * kMillisecond, std::move(reason)};
}

void Write(const Leaving& leaving, Micros now, wire::Leaving::Builder out) {
  out.setInMillis(static_cast<std::uint64_t>(std::max<Micros>(0, leaving.at - now) / kMillisecond));
  out.setReason(leaving.reason);
}

Result<WorkerFacts> Read(wire::WorkerInfo::Reader in) {
  constexpr std::uint32_t kMostSlots = 4096;
  constexpr double kMostCores = 1e5;
  auto facts = ReadMessage<WorkerFacts>(in, kWorkerFields);
  if (!(facts.cores > 0 && facts.cores <= kMostCores)) facts.cores = 0;
  if (facts.storage.empty()) return Invalid("register a worker: it names no storage");
  if (facts.map_slots > kMostSlots || facts.reduce_slots > kMostSlots)
    return Invalid("register worker " + facts.host + ": more than 4096 slots");
  for (const std::string* text : {&facts.storage, &facts.host, &facts.local_socket, &facts.sandbox, &facts.rack,
                                  &facts.datacenter, &facts.name, &facts.release.version, &facts.machine}) {
    if (text->size() > 255)
      return Invalid("register worker " + facts.host.substr(0, 64) + ": a name of more than 255 bytes");
  }
  return facts;
}

void Write(const NodeRecord& node, wire::WorkerInfo::Builder out) { WriteMessage(node.facts, out, kWorkerFields); }

Counters ReadCounters(capnp::List<task::wire::Counter>::Reader in) {
  return FromWire(in, kMostCountersOfTask + 1);  // one too many is enough to refuse them
}

void WriteSetup(const JobRecord& record, task::wire::JobSetup::Builder out) {
  const JobRequest& request = record.request;
  out.setJob(record.id.value);
  out.setName(request.name);
  auto parameters = out.initParameters(static_cast<unsigned>(request.parameters.size()));
  for (unsigned i = 0; i < parameters.size(); ++i) {
    parameters[i].setName(request.parameters[i].first);
    parameters[i].setValue(request.parameters[i].second);
  }
  out.setMaps(record.figures.maps);
  out.setReduces(request.reduces);
  out.setOutputDirectory(ToData(request.output));
  out.setOwner(request.owner);
}

namespace {

void WriteInput(const Split& split, const FileSystem& files, const NodeTable& nodes, const NodeRecord* asker,
                const tls::Grant& grant, AnswerBudget& budget, task::wire::InputPiece::Builder out) {
  WriteMessage(split, out, kInputPieceFields);
  std::vector<FileSystem::Located> located;
  std::uint64_t offset = split.first_block_offset;
  for (const dfs::Block& block : split.blocks) {
    FileSystem::Located next{block, offset, files.Holders(block.id)};
    if (!budget.Take(BytesOf(next, nodes))) break;
    located.push_back(std::move(next));
    offset += block.length;
  }
  auto blocks = out.initBlocks(static_cast<unsigned>(located.size()));
  for (unsigned i = 0; i < blocks.size(); ++i) Write(located[i], nodes, asker, grant, blocks[i]);
}

}  // namespace

void WriteInputs(const MapSplits& splits, const FileSystem& files, const NodeTable& nodes, const NodeRecord* asker,
                 const tls::Grant& grant, capnp::List<task::wire::InputPiece>::Builder out) {
  constexpr std::size_t kMostBlocks = 2000;
  AnswerBudget budget(kMostBlocks);
  for (unsigned i = 0; i < out.size(); ++i) WriteInput(splits[i], files, nodes, asker, grant, budget, out[i]);
}

std::size_t BytesOf(const dfs::FileStatus& status) {
  return 104 + FieldBytes(status.path) + FieldBytes(status.owner) + FieldBytes(status.group);
}

std::size_t BytesOf(const NodeRecord& node) {
  const WorkerFacts& facts = node.facts;
  std::size_t bytes = 376 + FieldBytes(node.pace.disk) + FieldBytes(node.python);
  if (node.ailing) bytes += FieldBytes(node.ailing->diagnosis.reason);
  for (const std::string* text : {&facts.storage, &facts.host, &facts.local_socket, &facts.sandbox, &facts.rack,
                                  &facts.datacenter, &facts.name, &facts.release.version})
    bytes += FieldBytes(*text);
  return bytes;
}

std::size_t BytesOf(const FileSystem::Located& block, const NodeTable& nodes) {
  std::size_t bytes = 64 + 128;  // with a token
  for (const NodeId number : block.holders) {
    if (const NodeRecord* node = nodes.Find(number)) bytes += BytesOf(*node);
  }
  return bytes;
}

std::size_t BytesOf(const JobView& view) {
  const JobRequest& request = view.record->request;
  std::size_t bytes = 360 + 4 * (request.after.size() + view.record->waits_for.size() + 4);
  bytes += FieldBytes(WhyItWaits(*view.record));
  for (const std::string* text : {&request.name, &request.owner, &PoolOf(request), &request.output})
    bytes += FieldBytes(*text);
  for (const LeftOutMap& map : view.record->left_out) bytes += 24 + FieldBytes(map.input);
  for (const LeftOutRecord& left_out : view.left_out_records) bytes += 32 + FieldBytes(left_out.path);
  return bytes + (view.record->outcome ? FieldBytes(view.record->outcome->reason) : 0);
}

std::size_t BytesOf(const Counters::key_type& name) { return 24 + FieldBytes(name.first) + FieldBytes(name.second); }

}  // namespace millrace::master
