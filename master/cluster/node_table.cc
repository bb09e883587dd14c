// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/node_table.h"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "base/archive.h"
#include "base/ids/counted.h"

namespace millrace::master {
namespace {

constexpr std::string_view kNodePrefix = "w/";
constexpr std::string_view kNext = "w";
constexpr std::uint8_t kVersion = 6;       // written only for a node with a maintenance or a reason
constexpr std::uint8_t kBeginless = 5;     // does not say since when the maintenance is
constexpr std::uint8_t kUnmaintained = 4;  // has neither, so that an older master can read it
constexpr std::uint8_t kUncertified = 3;   // has no certificate, and is read still
constexpr std::uint8_t kNameless = 2;      // has no name and no release either

NodeId After(NodeId node) { return NodeId{node.value + 1}; }

constexpr std::string_view kNodeRecord = "the database's record of a worker";

Status NotUnderstood() { return Corrupt(std::string(kNodeRecord) + ": key or version not understood"); }

constexpr auto kRecord = [](auto& archive, auto& record) {
  const bool more = record.maintenance || !record.drain_reason.empty();
  constexpr bool kWrites = std::same_as<std::remove_cvref_t<decltype(archive)>, millrace::Writing>;
  archive.Version(kNameless, kWrites && !more ? kUnmaintained : kVersion, [](int) { return NotUnderstood(); });
  auto& f = record.facts;
  archive.Text(f.storage, f.host, f.local_socket, f.rack, f.datacenter);
  archive.Varint(f.port, f.map_slots, f.reduce_slots, f.incarnation, record.draining, record.lost_at);
  if (archive.Has(kUncertified)) {
    archive.Text(f.name, f.release.version);
    archive.Varint(f.release.protocol);
  }
  if (archive.Has(kUnmaintained)) archive.Text(f.certificate);
  if (!archive.Has(kBeginless) || !archive.More(more)) return;
  archive.Text(record.drain_reason);
  archive.Optional(record.maintenance, [](auto& a, auto& maintenance) {
    a.U64(maintenance.until);
    a.Text(maintenance.reason);
    if (a.Has(kVersion)) a.U64(maintenance.since);
  });
};

std::string Encode(const NodeRecord& record) { return WriteFields(record, kRecord); }

Result<NodeRecord> Decode(std::string_view key, std::string_view value) {
  const auto number = ParseKeyNumber(key.substr(kNodePrefix.size()));
  if (!number) return NotUnderstood();
  MILLRACE_ASSIGN(NodeRecord record, ReadFields<NodeRecord>(value, kNodeRecord, kRecord));
  record.number = NodeId{static_cast<std::uint32_t>(*number)};
  return record;
}

}  // namespace

Status NodeTable::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> next, store.Get(kNext));
  const auto number = next ? ParseKeyNumber(*next) : std::optional<std::uint64_t>(1);
  if (!number) return Corrupt("the database's number of the next worker is not understood");
  next_ = NodeId{static_cast<std::uint32_t>(*number)};
  Status bad;
  MILLRACE_TRY(store.Scan(kNodePrefix, {}, [&](std::string_view key, std::string_view value) {
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

Status NodeTable::CheckCertificate(const WorkerFacts& facts) const {
  if (facts.certificate.empty()) return Status::Ok();
  const auto at = [](const NodeRecord& node) {
    return "node " + std::to_string(node.number.value) + " (" + node.facts.host + ":" +
           std::to_string(node.facts.port) + ")";
  };
  const std::string what =
      "register the worker at " + facts.host + ":" + std::to_string(facts.port) + " as " + facts.certificate + ": ";
  const NodeRecord* known = FindByStorage(facts.storage);
  if (known != nullptr && !known->facts.certificate.empty()) {
    if (known->facts.certificate == facts.certificate) return Status::Ok();
    return Denied(what + "its storage is that of " + at(*known) + ", which registered as " + known->facts.certificate +
                  "; give it that certificate, or an empty directory");
  }
  for (const auto& [number, node] : nodes_) {
    if (&node == known || node.facts.certificate != facts.certificate) continue;
    return Denied(
        what + "that certificate belongs to the storage of " + at(node) +
        "; each worker needs a certificate of its own (millrace ca issue DIR worker:NAME). If that storage is "
        "gone for good, `millrace node forget " +
        std::to_string(number.value) + "` frees it");
  }
  return Status::Ok();
}

NodeRecord& NodeTable::Admit(const WorkerFacts& facts, WriteBatch* batch) {
  auto known = by_storage_.find(facts.storage);
  if (known == by_storage_.end()) {
    const NodeId number = nodes_.empty() ? next_ : std::max(next_, After(nodes_.rbegin()->first));
    known = by_storage_.emplace(facts.storage, number).first;
    nodes_[number].number = number;
  }
  NodeRecord& record = nodes_[known->second];
  const std::string stored = record.facts.storage.empty() ? std::string() : Encode(record);
  record.facts = facts;
  record.lost_at = 0;
  if (Encode(record) != stored) Store(record, batch);
  return record;
}

Status NoSuchNode(NodeId number) {
  return NotFound("node " + std::to_string(number.value) + ": no such worker; `millrace node list` shows them");
}

std::string NameOf(const NodeRecord& node) {
  const std::string name = node.facts.name.empty() ? "" : " (" + node.facts.name + ")";
  return "node " + std::to_string(node.number.value) + name + " at " + node.facts.host + ":" +
         std::to_string(node.facts.port);
}

Status NodeTable::CheckDraining(const std::vector<NodeId>& numbers, std::uint32_t most_replicas,
                                const std::function<bool(const NodeRecord&)>& awaits, bool force) const {
  for (const NodeId number : numbers) {
    const NodeRecord* node = Find(number);
    if (node != nullptr && node->maintenance)
      return Invalid("decommission " + NameOf(*node) +
                     ": it is in maintenance; end that first (`millrace node "
                     "maintenance --end " +
                     std::to_string(number.value) + "`)");
  }
  if (force) return Status::Ok();
  std::uint32_t in_use = 0, stay = 0;
  for (const auto& [number, node] : nodes_) {
    if (node.Drains() || node.maintenance || !(node.alive || (awaits && awaits(node)))) continue;
    ++in_use;
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) ++stay;
  }
  if (stay == 0)
    return Invalid("no live node would be left to take blocks and tasks; leave one in use, or use --force");
  const std::uint32_t held = std::min(most_replicas, in_use);  // more replicas than that no block has now
  if (stay >= held) return Status::Ok();
  return Invalid("too few live nodes would be left: " + std::to_string(stay) + " for files with " +
                 Counted(held, "replica") +
                 ", which would lose some; add a node first, lower their replication (`millrace fs setrep`), "
                 "or use --force");
}

Status NodeTable::CheckMaintenance(const std::vector<NodeId>& numbers, bool force) const {
  for (const NodeId number : numbers) {
    const NodeRecord* node = Find(number);
    if (node == nullptr) return NoSuchNode(number);
    const std::string what = "maintenance of " + NameOf(*node) + ": ";
    if (node->draining) return Invalid(what + "it is being decommissioned; `millrace node recommission` ends that");
    if (node->leaving) return Invalid(what + "its machine will be taken away (" + node->leaving->reason + ")");
    if (!node->alive && !node->maintenance)
      return Invalid(what + "it is lost, and its blocks are copied already; maintenance begins while a node is here");
  }
  const auto stays = [&](const auto& node) {
    return node.second.alive && !node.second.Drains() && !node.second.maintenance &&
           std::ranges::find(numbers, node.first) == numbers.end();
  };
  if (force || std::ranges::any_of(nodes_, stays)) return Status::Ok();
  return Invalid("no live node would be left to take blocks and tasks; leave one in use, or use --force");
}

Status NodeTable::SetMaintenance(NodeId number, std::optional<Maintenance> maintenance, WriteBatch* batch) {
  NodeRecord* record = Find(number);
  if (record == nullptr) return NoSuchNode(number);
  record->maintenance = std::move(maintenance);
  Store(*record, batch);
  return Status::Ok();
}

void NodeTable::ShortenMaintenance(Micros now, WriteBatch* batch) {
  for (auto& [number, node] : nodes_) {
    if (!node.maintenance || now >= node.maintenance->since) continue;
    node.maintenance->until -= node.maintenance->since - now;
    node.maintenance->since = now;
    Store(node, batch);
  }
}

Status NodeTable::SetDraining(NodeId number, bool draining, const std::string& reason, WriteBatch* batch) {
  NodeRecord* record = Find(number);
  if (record == nullptr) return NoSuchNode(number);
  record->draining = draining;
  record->drain_reason = draining ? reason : "";
  if (!draining) record->maintenance.reset();
  Store(*record, batch);
  return Status::Ok();
}

bool NodeTable::NoteSpace(NodeId number, const WorkerSpace& space) {
  NodeRecord* record = Find(number);
  if (record == nullptr) return false;
  record->space = space;
  record->put_aside = false;
  const bool full = space.capacity > 0 && space.free <= (record->full ? space.capacity / 100 : 0);
  return std::exchange(record->full, full) != full;
}

Status NodeTable::NoteLost(NodeId number, Micros when, WriteBatch* batch) {
  NodeRecord* record = Find(number);
  if (record == nullptr) return NoSuchNode(number);
  record->lost_at = when;
  Store(*record, batch);
  return Status::Ok();
}

Status NodeTable::Forget(NodeId number, WriteBatch* batch) {
  const NodeRecord* record = Find(number);
  if (record == nullptr) return NoSuchNode(number);
  if (record->alive)
    return Busy("forget node " + std::to_string(number.value) + ": it is alive; stop the worker first");
  next_ = std::max(next_, After(number));
  batch->Put(std::string(kNext), KeyNumber(next_.value));
  batch->Remove(std::string(kNodePrefix) + KeyNumber(number.value));
  by_storage_.erase(record->facts.storage);
  nodes_.erase(number);
  return Status::Ok();
}

void NodeTable::Store(const NodeRecord& record, WriteBatch* batch) const {
  batch->Put(std::string(kNodePrefix) + KeyNumber(record.number.value), Encode(record));
}

NodeRecord* NodeTable::Find(NodeId number) {
  const auto it = nodes_.find(number);
  return it == nodes_.end() ? nullptr : &it->second;
}

const NodeRecord* NodeTable::Find(NodeId number) const {
  const auto it = nodes_.find(number);
  return it == nodes_.end() ? nullptr : &it->second;
}

const NodeRecord* NodeTable::FindByStorage(std::string_view storage) const {
  const auto it = by_storage_.find(storage);
  return it == by_storage_.end() ? nullptr : Find(it->second);
}

const NodeRecord* NodeTable::FindByHost(std::string_view host) const {
  for (const auto& [number, record] : nodes_) {
    if (record.alive && record.facts.host == host) return &record;
  }
  return nullptr;
}

}  // namespace millrace::master
