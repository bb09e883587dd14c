# SPDX-License-Identifier: Apache-2.0
@0xc5e2b8d7f9a66303;
# What a worker serves to the master, through a capability that it hands over when it registers.
using Calls = import "/cancellation.capnp";
using Cxx = import "/capnp/c++.capnp";
using T = import "/base/protocol/dfs_types.capnp";
using Job = import "/base/protocol/task.capnp";
$Cxx.namespace("millrace::worker::wire");

interface WorkerControl {
  setUpJob @0 (setup :Job.JobSetup, executable :Data, executableBytes :UInt64, executableCrc :UInt32) -> ();
  # Comes before the first launch of a job on this worker. The worker fetches the executable (a path of the file system) unless
  # its cache has it. Launches of the job wait for that; if it fails, they fail, and not this call.
  launchMap @1 (attempt :Job.Attempt, inputs :List(Job.InputPiece), crossing :Float64, leftOut :List(Job.RecordPlace)) -> ();
  # `crossing` is the share of the map's output, from 0 to 1, that is expected to go to reduces on other workers.
  launchReduce @2 (attempt :Job.Attempt, maps :UInt32, computing :UInt32, asksToCompute :Bool) -> ();
  # From now on `computing` reduces may compute at once on this worker; 0 leaves it as it was. While no more than that are here,
  # a reduce that has copied its input computes; otherwise it waits for `compute`. With `asksToCompute` it waits in any case.
  # The reduce copies the outputs that `mapOutputs` announces until it has one of each of `maps` map tasks.
  mapOutputs @3 (job :UInt32, ready :List(MapOutput), gone :List(Job.Attempt), leftOut :List(UInt32)) -> ();
  # Tells all running reduces of the job on this worker. A repeated announcement does no harm. `leftOut` names the map tasks
  # that will never have an output.
  kill @4 (attempt :Job.Attempt, reason :Text) -> ();
  forgetJob @5 (job :UInt32) -> ();
  # The job has ended. Its task processes are stopped, and its map outputs and copies deleted; its logs stay for
  # `worker.log_retention`. The worker then asks whether to archive them (WorkerSession.archiveLogs).
  replicate @6 (block :T.Block, targets :List(T.ReplicaHost), token :Data) -> ();
  # Returns when the copy has begun. The targets' blocksReceived tells that it has arrived. The worker shows `token` to each of
  # them; it is empty if they have been told by `allowWrite`.
  deleteBlocks @7 (blocks :List(UInt64), unknown :Bool) -> ();
  # `unknown` says that no file has these blocks and nobody removed them, so that they go to the trash
  # (dfs/data/block_store.h).
  readLog @8 (attempt :Job.Attempt, stream :LogStream, offset :UInt64, limit :UInt32) -> (data :Data, size :UInt64) $Calls.allowCancellation;
  verifyBlock @9 (block :UInt64) -> (state :T.ReplicaState) $Calls.allowCancellation;
  # The worker reads this replica from its disk and reports what it has found by blockCorrupt, blocksDeleted or blocksReceived.
  # The last gives the checksum, from which the master can tell a replica of another block. Returns when that is done.
  ping @10 () -> ();
  # Returns at once, to show that the worker is there.
  compute @11 (attempt :Job.Attempt, computing :UInt32) -> ();
  # The reduce may compute once it has copied its input. `computing` is as in launchReduce. A repeated call does no harm.
  copyOutput @12 (output :MapOutput) -> ();
  # Copies the whole output of a map from the worker that has it, keeps it as if the map had run here, and serves it. Returns when it
  # is served. Comes after setUpJob of its job.
  allowWrite @13 (block :UInt64, token :Data) -> ();
  # Somebody who knows no tokens, since his program is of protocol level 1, will write this block as the token says.
}

enum LogStream { stdout @0; stderr @1; }

struct MapOutput {
  attempt @0 :Job.Attempt;
  host @1 :Text;
  port @2 :UInt16;
  node @3 :UInt32;
}
