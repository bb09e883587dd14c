@0xb3d1a9c4e8f75202;
# What the master serves to clients and tasks of the file system. A failure is an exception that carries a Status
# (base/rpc/status_codec.h). Paths are bytes; the master makes them canonical.
using Cxx = import "/capnp/c++.capnp";
using T = import "/base/protocol/dfs_types.capnp";
$Cxx.namespace("millrace::dfs::wire");

interface NameProvider {
  # What the bootstrap capability of a master can be used as by those who know only the file system.
  names @0 () -> (service :NameService, cluster :Text);
  # cluster: whose files these are (base/cluster_id.h), for those who must not take another's for theirs.
}

interface NameService {
  stat @0 (path :Data) -> (status :T.FileStatus);
  list @1 (path :Data, after :Data, limit :UInt32) -> (entries :List(T.FileStatus), more :Bool);
  # Entries after the name `after`, in order of name; the master may give fewer than `limit` (a message is at most 1 MiB).
  locate @2 (path :Data, firstBlock :UInt32, asker :Asker) -> (status :T.FileStatus, blocks :List(T.LocatedBlock), more :Bool);
  makeDirectory @3 (path :Data, owner :Text) -> ();
  remove @4 (path :Data, recursive :Bool) -> ();
  rename @5 (from :Data, to :Data) -> ();
  setReplication @6 (path :Data, replication :UInt32) -> ();
  measure @7 (path :Data) -> (usage :T.Usage);
  create @8 (path :Data, replication :UInt32, blockSize :UInt64, overwrite :Bool, owner :Text, writer :Text) -> (file :UInt64, lease :FileLease, blockSize :UInt64, renewMillis :UInt32);
  # renewMillis: how often the lease is to be renewed.
  resume @9 (file :UInt64) -> (lease :FileLease);
  # Takes an open file up again after the connection or the master was lost; kNotFound when it was completed or given up.
  reportBadReplica @10 (block :UInt64, node :UInt32) -> ();
  health @11 () -> (blocks :UInt64, missing :UInt64, underReplicated :UInt64, overReplicated :UInt64, corruptReplicas :UInt64, capacity :UInt64, used :UInt64, free :UInt64, liveWorkers :UInt32, unknownBlocks :UInt64, holdingWorkers :UInt32, awaiting :Text, readOnly :Text);
  # unknownBlocks: replicas on live workers that belong to no file. holdingWorkers: on so many workers they are too many to be
  # put aside unless somebody confirms it (dfs/name/block_manager.h).
  # awaiting: not empty while blocks without a replica are not missing yet, since the master has just started: a line that says
  # whom it waits for. readOnly: why no change is taken; empty: changes are taken.
  unhealthyBlocks @12 (after :UInt64, limit :UInt32) -> (blocks :List(UnhealthyBlock), more :Bool);
  # By rising block id.
  verify @13 (path :Data, firstBlock :UInt32, wait :Bool, again :List(ReplicaName)) -> (replicas :List(CheckedReplica), nextBlock :UInt32, more :Bool);
  # Has every replica of some blocks of a file read by its holder, from firstBlock on; wait: answered when they did, or
  # with those unknown that take too long. again: only these of them, as far as they are replicas still; empty: all.
  awaitReports @14 () -> ();
  # Answered when `awaiting` would be empty. This, `locate` and `addBlock` are answered with kBusy and that line when they
  # have waited for some seconds; who is told that asks again.
  balance @15 (threshold :Float64) -> ();
  # Replicas move from now on until no worker's share of used space is further than this (more than 0, at most 1) from the
  # mean, or nothing can be moved. Not kept over a restart of the master.
  stopBalance @16 () -> ();
  balanceStatus @17 (waitMillis :UInt32) -> (status :BalanceStatus);
  # Answered when balancing is not under way, at the latest after waitMillis (10 s at most).
}

struct ReplicaName {
  block @0 :UInt64;
  node @1 :UInt32;
}

enum BalanceState { never @0; moving @1; balanced @2; stuck @3; stopped @4; }

struct BalanceStatus {
  # dfs/name/block_manager.h.
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
  # Where the asker runs, to order replicas: by a worker's number, or else by the name of its host.
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
  # The right to write one open file. When the last reference is dropped without complete, abandon or handOver, the file
  # is given up after `dfs.lease_grace`.
  addBlock @0 (asker :Asker, excluded :List(UInt32)) -> (id :UInt64, targets :List(T.ReplicaHost));
  dropBlock @1 (id :UInt64) -> ();
  complete @2 (blocks :List(T.WrittenBlock)) -> ();
  abandon @3 () -> ();
  handOver @4 (attempt :Text) -> ();
  renew @5 () -> ();
  # A writer that was not heard for `dfs.lease_limit` loses the file though its connection stands; every call counts.
  # The job tracker completes the file when it lets this attempt commit, or gives it up with the attempt.
  sync @6 (first :UInt32, blocks :List(T.WrittenBlock)) -> ();
  # From now on the file has its blocks up to these at least, whatever becomes of its writer: when it is given up, it appears
  # with them. `blocks` are those from number `first` on. Such a file cannot be handed over.
}
