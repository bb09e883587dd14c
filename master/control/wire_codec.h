// SPDX-License-Identifier: Apache-2.0
// Converts between the master's own types and its Cap'n Proto messages. Values from outside are checked here or by the
// call that takes them; a value out of range becomes an error, never an assertion.
#pragma once

#include <capnp/blob.h>
#include <capnp/list.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cluster_id.h"
#include "base/ids/ids.h"
#include "base/protocol/dfs_types.capnp.h"
#include "base/protocol/job_wire.h"
#include "base/protocol/master.capnp.h"
#include "base/protocol/task.capnp.h"
#include "base/tls/token.h"
#include "dfs/name/namespace.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/messages.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_record.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

[[nodiscard]] inline std::string ToString(capnp::Data::Reader data) { return {data.asChars().begin(), data.size()}; }
[[nodiscard]] inline std::string ToString(capnp::Text::Reader text) { return {text.begin(), text.size()}; }
[[nodiscard]] inline capnp::Data::Reader ToData(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

[[nodiscard]] sched::RecordPlace Read(task::wire::RecordPlace::Reader in);
void Write(const std::vector<sched::RecordPlace>& records, capnp::List<task::wire::RecordPlace>::Builder out);
[[nodiscard]] std::vector<AttemptId> ReadAttempts(capnp::List<task::wire::Attempt>::Reader in);
void Write(const std::vector<AttemptId>& attempts, capnp::List<task::wire::Attempt>::Builder out);
[[nodiscard]] std::vector<NodeId> ReadNodes(capnp::List<std::uint32_t>::Reader in);

void Write(const dfs::Block& block, dfs::wire::Block::Builder out);
void Write(const NodeRecord& node, dfs::wire::ReplicaHost::Builder out);
// Writes the block with its replicas on live nodes, closest to `asker` first (null: by number).
void Write(const FileSystem::Located& block, const NodeTable& nodes, const NodeRecord* asker, const tls::Grant& grant,
           dfs::wire::LocatedBlock::Builder out);
[[nodiscard]] std::vector<dfs::WrittenBlock> Read(capnp::List<dfs::wire::WrittenBlock>::Reader in);
[[nodiscard]] std::vector<dfs::Block> ReadBlocks(capnp::List<dfs::wire::Block>::Reader in);

// Returns kInvalid if the host, socket, rack or slot count is impossible.
[[nodiscard]] Result<WorkerFacts> Read(wire::WorkerInfo::Reader in);
void Write(const NodeRecord& node, wire::WorkerInfo::Builder out);
[[nodiscard]] inline Moment Read(wire::Moment::Reader in) { return {in.getLife(), in.getNumber()}; }
inline void Write(const Moment& moment, wire::Moment::Builder out) {
  out.setLife(moment.life);
  out.setNumber(moment.number);
}
[[nodiscard]] Leaving Read(wire::Leaving::Reader in, Micros now);
// Returns the announcement that the machine will be taken away; nothing if the registration or call contains none.
template <class Said>
[[nodiscard]] std::optional<Leaving> ReadLeaving(Said said, Micros now) {
  if (!said.hasLeaving()) return std::nullopt;
  return Read(said.getLeaving(), now);
}
void Write(const Leaving& leaving, Micros now, wire::Leaving::Builder out);

inline void Write(const JobView& view, wire::JobStatus::Builder out) { ToWire(StatusOf(view), out); }
// Reads the counters of a task: at most one more than it may have.
[[nodiscard]] Counters ReadCounters(capnp::List<task::wire::Counter>::Reader in);

// These return the most bytes that the argument takes in a message (master/jobs/answer_budget.h).
[[nodiscard]] std::size_t BytesOf(const dfs::FileStatus& status);
[[nodiscard]] std::size_t BytesOf(const NodeRecord& node);  // as a ReplicaHost or a NodeStatus
[[nodiscard]] std::size_t BytesOf(const FileSystem::Located& block, const NodeTable& nodes);
[[nodiscard]] std::size_t BytesOf(const JobView& view);
[[nodiscard]] std::size_t BytesOf(const Counters::key_type& name);  // of a counter

// Writes the set-up of a job for workers.
void WriteSetup(const JobRecord& record, task::wire::JobSetup::Builder out);
// Writes the input of one map with the present places of its blocks, but no more blocks than a message has room for.
// The task looks up the others when it comes to them.
void WriteInputs(const MapSplits& splits, const FileSystem& files, const NodeTable& nodes, const NodeRecord* asker,
                 const tls::Grant& grant, capnp::List<task::wire::InputPiece>::Builder out);

}  // namespace millrace::master
