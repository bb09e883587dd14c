// SPDX-License-Identifier: Apache-2.0
// NodeTable holds the workers that the master knows, by number. A worker's number belongs to its storage (the directory
// it serves) and outlives restarts of both sides, so replicas and locality keep their meaning. Pure. A worker is stored
// under "w/<number>"; "w" holds the number that follows that of the last forgotten worker. Thread rule: control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/kv/key_value_store.h"
#include "base/release.h"
#include "base/status.h"
#include "master/cluster/node_judge.h"

namespace millrace::master {

// A worker's description of itself when it registers.
struct WorkerFacts {
  std::string storage;
  std::string host;
  std::uint16_t port = 0;
  std::string local_socket;
  std::string rack;
  std::string datacenter;
  std::uint32_t map_slots = 0;
  std::uint32_t reduce_slots = 0;
  std::uint64_t incarnation = 0;
  bool remote = false;    // it connected from another machine than the master's; not stored
  std::string name = {};  // worker.name; empty: it has none
  Release release = {};
  // These three are as reported at registration; they are not stored.
  std::string sandbox = {};      // of its tasks
  double cores = 0;              // that its tasks may use; 0: not reported
  std::string machine = {};      // workers that report the same one share its cores; empty: its cores are its own
  std::string certificate = {};  // the name in its certificate, "worker:w1"; empty without TLS
};

struct WorkerSpace {
  std::uint64_t capacity = 0, free = 0, used = 0, blocks = 0, trashed = 0;  // bytes, and a count of blocks
};

// A worker's announcement that its machine will be taken away.
struct Leaving {
  Micros at = 0;       // on the clock of MasterClock::Awake
  std::string reason;  // "spot notice"
};

// The ailment of a node that is alive.
struct Ailing {
  Diagnosis diagnosis;
  Micros since = 0;  // on the clock of MasterClock::Awake
};

// A time for which the node's absence changes nothing: no block is copied because of it.
struct Maintenance {
  Micros until = 0;  // scheduler time
  std::string reason;
  Micros since = 0;  // scheduler time; 0: it was asked for from an earlier release
};
inline constexpr Micros kLongestMaintenance = 24 * kHour;  // from when it is asked for
inline constexpr std::size_t kMostReasonBytes = 200;       // of a maintenance or a decommission

struct NodeRecord {
  NodeId number;
  WorkerFacts facts;
  WorkerSpace space;
  bool alive = false;
  bool draining = false;     // somebody asked for it
  std::string drain_reason;  // as he said; empty: he did not say, or it does not drain
  std::optional<Maintenance> maintenance;
  std::optional<Leaving> leaving;  // not stored: the worker announces it again whenever it registers
  bool full = false;               // it has had no room for blocks, and since then never a hundredth of its disks free
  bool put_aside = false;          // its trash was not empty at some time since it last reported the amount
  bool no_room = false;            // attempts cannot start there, since the disk for their files is full
  std::optional<Ailing> ailing;    // not stored: it is diagnosed again
  DiskPace pace;                   // of its slowest disk, as last reported
  Micros certificate_until = 0;    // since the epoch, as last reported; 0: no certificate, or not reported
  std::string python;              // that of its tasks, "/usr/bin/python3.11", as last reported; empty: not known
  Micros last_heard = 0;
  Micros lost_at = 0;  // since the epoch; 0: it is not lost, or NoteLost was not called yet

  // Returns true if the node gets no tasks and no blocks, and those that it has move elsewhere.
  [[nodiscard]] bool Drains() const { return draining || leaving.has_value(); }
  // A node that leaves drains, whatever was asked for.
  [[nodiscard]] bool InMaintenance() const { return maintenance.has_value() && !Drains(); }
  [[nodiscard]] bool TakesTasks() const { return !Drains() && !maintenance && !no_room && !ailing; }
};

[[nodiscard]] Status NoSuchNode(NodeId number);            // kNotFound
[[nodiscard]] std::string NameOf(const NodeRecord& node);  // "node 2 (two) at HOST:PORT", for messages

class NodeTable {
 public:
  // Reads the nodes back. Numbers are given from 1.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // A worker's certificate belongs to the storage with which it registers first, until that node is forgotten. Returns
  // kDenied, with the way to free the certificate or the storage, if the certificate belongs to another storage, or the
  // storage to another certificate.
  [[nodiscard]] Status CheckCertificate(const WorkerFacts& facts) const;
  // Returns the record of this storage, new or known, with these facts. Puts it into the batch if it is new or has
  // changed.
  NodeRecord& Admit(const WorkerFacts& facts, WriteBatch* batch);
  // Checks that these nodes may be drained. Returns kInvalid if one is in maintenance, and, without `force`, if no live
  // node would be left to take blocks and tasks, or fewer live nodes than the replicas that some file wants.
  // `most_replicas` is the highest replication of any file that has blocks; 0: there is none. A node for which `awaits`
  // returns true counts as alive: it has replicas, and a master that has just started has merely not heard from it.
  [[nodiscard]] Status CheckDraining(const std::vector<NodeId>& numbers, std::uint32_t most_replicas,
                                     const std::function<bool(const NodeRecord&)>& awaits = {},
                                     bool force = false) const;
  // Without `draining`, ends the node's maintenance, too.
  Status SetDraining(NodeId number, bool draining, const std::string& reason, WriteBatch* batch);
  // Checks that these nodes may be in maintenance. Returns kInvalid if one of them drains, or is not alive and in no
  // maintenance already, or if no live node would be left to take blocks and tasks. With `force` the last is allowed.
  [[nodiscard]] Status CheckMaintenance(const std::vector<NodeId>& numbers, bool force) const;
  Status SetMaintenance(NodeId number, std::optional<Maintenance> maintenance, WriteBatch* batch);
  // Lets no maintenance last longer from `now`, the present scheduler time, than it was asked for. It does where
  // scheduler time is before its beginning: the wall clock was set back, and the master was restarted.
  void ShortenMaintenance(Micros now, WriteBatch* batch);

  // Notes a worker's report about its disks. Returns true if the node has become full or is no longer full.
  bool NoteSpace(NodeId number, const WorkerSpace& space);
  // Notes that the node was lost at `when`; it stays lost until it is admitted again.
  Status NoteLost(NodeId number, Micros when, WriteBatch* batch);
  // Removes the node's record. Its number is never used again: if its storage registers again, it becomes a new node.
  // Returns kNotFound if the node is unknown, kBusy if it is alive.
  Status Forget(NodeId number, WriteBatch* batch);

  [[nodiscard]] NodeRecord* Find(NodeId number);
  [[nodiscard]] const NodeRecord* Find(NodeId number) const;
  [[nodiscard]] const NodeRecord* FindByStorage(std::string_view storage) const;
  // Returns the worker with the smallest number among the live ones on this host; for callers that are not workers.
  [[nodiscard]] const NodeRecord* FindByHost(std::string_view host) const;
  [[nodiscard]] const std::map<NodeId, NodeRecord>& all() const { return nodes_; }

 private:
  void Store(const NodeRecord& record, WriteBatch* batch) const;

  std::map<NodeId, NodeRecord> nodes_;
  NodeId next_{1};  // at least the number of a new node
  std::map<std::string, NodeId, std::less<>> by_storage_;
};

}  // namespace millrace::master
