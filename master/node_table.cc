#include "master/node_table.h"

#include <algorithm>

#include "base/bytes.h"

namespace millrace::master {
namespace {

constexpr std::string_view kPrefix = "w/";
constexpr std::uint8_t kVersion = 1;

std::string Encode(const NodeRecord& record) {
  Encoder out;
  out.U8(kVersion);
  const WorkerFacts& f = record.facts;
  for (const std::string* text : {&f.storage, &f.host, &f.local_socket, &f.rack, &f.datacenter}) out.Text(*text);
  for (const std::uint64_t n : {std::uint64_t{f.port}, std::uint64_t{f.map_slots}, std::uint64_t{f.reduce_slots},
                                f.incarnation, std::uint64_t{record.draining}}) {
    out.Varint(n);
  }
  return out.Take();
}

Result<NodeRecord> Decode(std::string_view key, std::string_view value) {
  const std::string what = "the database's record of a worker";
  const auto number = ParseKeyNumber(key.substr(kPrefix.size()));
  Decoder in(value);
  if (!number || in.U8() != kVersion) return Corrupt(what + ": key or version not understood");
  NodeRecord record;
  record.number = static_cast<NodeNumber>(*number);
  WorkerFacts& f = record.facts;
  for (std::string* text : {&f.storage, &f.host, &f.local_socket, &f.rack, &f.datacenter}) *text = in.Text();
  f.port = static_cast<std::uint16_t>(in.Varint());
  f.map_slots = static_cast<std::uint32_t>(in.Varint());
  f.reduce_slots = static_cast<std::uint32_t>(in.Varint());
  f.incarnation = in.Varint();
  record.draining = in.Varint() != 0;
  MILLRACE_TRY(in.Finish(what));
  return record;
}

}  // namespace

Status NodeTable::Load(const KeyValueStore& store) {
  Status bad;
  MILLRACE_TRY(store.Scan(kPrefix, {}, [&](std::string_view key, std::string_view value) {
    Result<NodeRecord> record = Decode(key, value);
    if (!record.ok()) {
      bad = record.status();
      return false;
    }
    by_storage_[record->facts.storage] = record->number;
    nodes_[record->number] = *std::move(record);
    return true;
  }));
  return bad;
}

NodeRecord& NodeTable::Admit(const WorkerFacts& facts, WriteBatch* batch) {
  auto known = by_storage_.find(facts.storage);
  if (known == by_storage_.end()) {
    const NodeNumber number = nodes_.empty() ? 1 : nodes_.rbegin()->first + 1;
    known = by_storage_.emplace(facts.storage, number).first;
    nodes_[number].number = number;
  }
  NodeRecord& record = nodes_[known->second];
  record.facts = facts;
  Store(record, batch);
  return record;
}

Status NoSuchNode(NodeNumber number) {
  return NotFound("node " + std::to_string(number) + ": no such worker; `millrace node list` shows them");
}

Status NodeTable::CheckDraining(const std::vector<NodeNumber>& numbers) const {
  const auto stays = [&](const auto& entry) {
    return entry.second.alive && !entry.second.draining &&
           std::find(numbers.begin(), numbers.end(), entry.first) == numbers.end();
  };
  if (std::any_of(nodes_.begin(), nodes_.end(), stays)) return Status::Ok();
  return Invalid("decommission: no live node would be left to take blocks and tasks; leave one in use, or use --force");
}

Status NodeTable::SetDraining(NodeNumber number, bool draining, WriteBatch* batch) {
  NodeRecord* record = Find(number);
  if (record == nullptr)
    return NoSuchNode(number);
  record->draining = draining;
  Store(*record, batch);
  return Status::Ok();
}

void NodeTable::Store(const NodeRecord& record, WriteBatch* batch) const {
  batch->Put(std::string(kPrefix) + KeyNumber(record.number), Encode(record));
}

NodeRecord* NodeTable::Find(NodeNumber number) {
  const auto it = nodes_.find(number);
  return it == nodes_.end() ? nullptr : &it->second;
}

const NodeRecord* NodeTable::Find(NodeNumber number) const {
  const auto it = nodes_.find(number);
  return it == nodes_.end() ? nullptr : &it->second;
}

const NodeRecord* NodeTable::FindByHost(std::string_view host) const {
  for (const auto& [number, record] : nodes_) {
    if (record.alive && record.facts.host == host) return &record;
  }
  return nullptr;
}

}  // namespace millrace::master
