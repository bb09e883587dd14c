# SPDX-License-Identifier: Apache-2.0
@0xb3d1a9c4e8f75202;
# What the master serves to clients and tasks of the file system. A failure is an exception that carries a Status
# (base/rpc/status_codec.h). Paths are bytes; the master makes them canonical. A mode
# (dfs/wire/mode.h) of 0xffff stands for what new files or directories have.
using Calls = import "/cancellation.capnp";
using Cxx = import "/capnp/c++.capnp";
using T = import "/base/protocol/dfs_types.capnp";
$Cxx.namespace("millrace::dfs::wire");

interface NameProvider {
  # The bootstrap capability of a master can be used as this by those who know only the file system.
  names @0 (version :Text, protocol :UInt32) -> (service :NameService, cluster :Text, version :Text, protocol :UInt32);
  # `cluster` is the id of the cluster that has these files (base/cluster_id.h), for those who must not mistake the files of
  # another cluster for theirs. Each side tells its release and refuses one that is too far from its own (base/release.h).
}

interface NameService {
  stat @0 (path :Data) -> (status :T.FileStatus);
  list @1 (path :Data, after :Data, limit :UInt32) -> (entries :List(T.FileStatus), more :Bool);
  # Returns the entries after the name `after`, in order of name. There may be fewer than `limit`, since a message has at most
  # 1 MiB.
  locate @2 (path :Data, firstBlock :UInt32, asker :Asker) -> (status :T.FileStatus, blocks :List(T.LocatedBlock), more :Bool);
  makeDirectory @3 (path :Data, owner :Text, mode :UInt16 = 0xffff) -> ();
  remove @4 (path :Data, recursive :Bool) -> ();
  rename @5 (from :Data, to :Data) -> ();
  setReplication @6 (path :Data, replication :UInt32) -> ();
  measure @7 (path :Data) -> (usage :T.Usage);
  create @8 (path :Data, replication :UInt32, blockSize :UInt64, overwrite :Bool, owner :Text, writer :Text, mode :UInt16 = 0xffff) -> (file :UInt64, lease :FileLease, blockSize :UInt64, renewMillis :UInt32);
  # The lease is to be renewed every `renewMillis`.
  resume @9 (file :UInt64) -> (lease :FileLease);
  # Takes an open file up again after the connection or the master was lost. Fails with kNotFound if it was completed or given
  # up, and with kDenied if another user opened it.
  reportBadReplica @10 (block :UInt64, node :UInt32) -> ();
  health @11 () -> (blocks :UInt64, missing :UInt64, underReplicated :UInt64, overReplicated :UInt64, corruptReplicas :UInt64, capacity :UInt64, used :UInt64, free :UInt64, liveWorkers :UInt32, unknownBlocks :UInt64, holdingWorkers :UInt32, awaiting :Text, readOnly :Text, shortOfNodes :UInt64, singleReplica :UInt64, trashBytes :UInt64, trashEntries :UInt64);
  # `underReplicated` counts blocks with fewer replicas than their file wants and the workers in use can hold; `shortOfNodes`
  # those that have as many as there are workers, and will have more when there are more. `singleReplica` counts blocks with one
  # replica whose file wants more.
  # `unknownBlocks` counts replicas on live workers that belong to no file. `holdingWorkers` counts the workers that have too
  # many of these, so that they are not put aside until somebody confirms it (dfs/name/block_manager.h).
  # `awaiting` is not empty while the master has just started, and blocks without a replica do not count as missing yet: it is a
  # line that says whom the master waits for. `trashBytes` counts what is in the trash of all users, with all replicas. `readOnly` says why no change is accepted; it is empty if changes are accepted.
  unhealthyBlocks @12 (after :UInt64, limit :UInt32) -> (blocks :List(UnhealthyBlock), more :Bool);
  # Returns those that are missing, under-replicated or have a single replica, by rising block id, as far as they are of files that
  # the caller may read.
  verify @13 (path :Data, firstBlock :UInt32, wait :Bool, again :List(ReplicaName)) -> (replicas :List(CheckedReplica), nextBlock :UInt32, more :Bool) $Calls.allowCancellation;
  # Has every replica of some blocks of a file, from `firstBlock` on, read by its holder. With `wait` the answer comes when they
  # have been read; a replica that takes too long is then `unknown`. `again` names the replicas to read, as far as they still
  # exist; if it is empty, all are read.
  awaitReports @14 () -> ();
  # Returns when `awaiting` would be empty. After some seconds this call, `locate` and `addBlock` fail with kBusy and that
  # line; the caller then asks again.
  balance @15 (threshold :Float64) -> ();
  # Begins to move replicas until no worker's share of used space is further than `threshold` (more than 0, at most 1) from the
  # mean, or nothing more can be moved. A restart of the master ends it.
  stopBalance @16 () -> ();
  balanceStatus @17 (waitMillis :UInt32) -> (status :BalanceStatus) $Calls.allowCancellation;
  # Returns when balancing is not under way, or after `waitMillis` (at most 10 s).
  setMode @18 (path :Data, mode :UInt16) -> ();
  setOwner @19 (path :Data, owner :Text, group :Text) -> ();
  # An empty text leaves what is there.
  trash @20 (path :Data, recursive :Bool, owner :Text) -> (place :Data, until :Int64);
  # Removes as `remove` does, but into the caller's trash (dfs/wire/trash.h): to `place`, where it stays until that time. `place`
  # is empty if it was removed at once, since it was in the trash or the master keeps none. Here and below, `owner` is the caller
  # where there is no TLS.
  undelete @21 (path :Data, deleted :Int64, user :Text, owner :Text) -> (place :Data);
  # Moves what was removed from `path` back there, from the trash of `user` (of the caller, if empty): the newest deletion, or the
  # one at the time `deleted`, if that is not 0. Returns where it was in the trash.
  deletions @22 (user :Text, owner :Text, after :Int64, limit :UInt32) -> (deletions :List(T.Deletion), more :Bool, retention :Int64);
  # Returns what is in the trash of `user` (of the caller, if empty), in order of time, of deletions after the time `after`. There
  # may be fewer than `limit`. `retention` is 0 if the master keeps no trash.
  setQuota @23 (path :Data, user :Text, setBytes :Bool, bytes :UInt64, setEntries :Bool, entries :UInt64) -> ();
  # Sets the quota of the directory `path` or, if that is empty, of `user` (dfs/wire/quota.h): the parts that are to be set. The
  # largest number stands for no limit.
  quotas @24 (path :Data, user :Text, first :UInt32) -> (quotas :List(T.QuotaState), more :Bool);
  # Returns the quotas of the directory `path` and of those above it, or of `user`; all of them if both are empty, as far as the
  # caller may look at the directories, from number `first` on.
  time @25 () -> (now :Int64);
  # Returns the master's time, by which files are modified and removed, in microseconds since the epoch.
}

struct ReplicaName {
  block @0 :UInt64;
  node @1 :UInt32;
}

enum BalanceState { never @0; moving @1; balanced @2; stuck @3; stopped @4; }

struct BalanceStatus {
  # As BalanceView in dfs/name/block_manager.h.
  state @0 :BalanceState;
  threshold @1 :Float64;
  mean @2 :Float64;
  smallest @3 :Float64;
  largest @4 :Float64;
  bytesLeft @5 :UInt64;
  movedBlocks @6 :UInt64;
  movedBytes @7 :UInt64;
  movingBlocks @8 :UInt64;
}

struct CheckedReplica {
  block @0 :UInt64;
  node @1 :UInt32;
  host @2 :Text;
  port @3 :UInt16;
  state @4 :T.ReplicaState;
}

struct Asker {
  # Tells where the asker runs, so that replicas can be ordered by distance: by a worker's number, or else by a host name.
  node @0 :UInt32 = 0xffffffff;
  host @1 :Text;
}

struct UnhealthyBlock {
  path @0 :Data;
  block @1 :T.Block;
  live @2 :UInt32;
  wanted @3 :UInt32;
}

interface FileLease {
  # The right to write one open file. If the last reference is dropped without `complete`, `abandon` or `handOver`, the file is
  # given up after `dfs.lease_grace`.
  addBlock @0 (asker :Asker, excluded :List(UInt32), showsToken :Bool) -> (id :UInt64, targets :List(T.ReplicaHost), token :Data);
  # The writer shows `token` to each target (dfs/wire/write_order.h). For one that does not know that, the master tells the
  # targets itself that the block may be written (W.WorkerControl.allowWrite), and `token` is empty.
  dropBlock @1 (id :UInt64) -> ();
  complete @2 (blocks :List(T.WrittenBlock)) -> ();
  abandon @3 () -> ();
  handOver @4 (attempt :Text) -> ();
  # From now on the job tracker completes the file when it lets this attempt commit, or gives it up with the attempt, which is
  # one of a job of the file's owner.
  renew @5 () -> ();
  # A writer that is not heard from for `dfs.lease_limit` loses the file even if its connection stands. Every call counts.
  sync @6 (first :UInt32, blocks :List(T.WrittenBlock)) -> ();
  # Syncs the file: from now on it keeps its blocks up to these, whatever becomes of its writer, and appears with them if it is
  # given up. `blocks` are its blocks from number `first` on. Such a file cannot be handed over.
}
