# SPDX-License-Identifier: Apache-2.0
@0xa1f0c8d2b7e64301;
# Plain types of the file system, for the messages of every process. There are no interfaces here, so that users link no
# RPC code.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("millrace::dfs::wire");

struct Block {
  id @0 :UInt64;
  length @1 :UInt64;   # bytes
  crc @2 :UInt32;      # BlockCrc (dfs/wire/chunks.h): the checksum of its chunks' checksums
}

struct ReplicaHost {
  # A live worker that holds a replica, or is to hold one, and how it is reached.
  node @0 :UInt32;
  host @1 :Text;
  port @2 :UInt16;         # of its bulk server
  localSocket @3 :Text;    # abstract unix socket for node-local reads and writes (dfs/wire/transfer.h)
  rack @4 :Text;
  datacenter @5 :Text;
}

struct LocatedBlock {
  block @0 :Block;
  offset @1 :UInt64;              # of its first byte in the file
  replicas @2 :List(ReplicaHost); # the closest to the asker comes first
  token @3 :Data;                 # by which workers know that it may be read (base/tls/token.h); empty without TLS
}

struct WrittenBlock {
  # What a writer says of a block that it has finished.
  block @0 :Block;
  nodes @1 :List(UInt32);         # the nodes that acknowledged all of it, on disk
}

struct FileStatus {
  path @0 :Data;
  directory @1 :Bool;
  length @2 :UInt64;
  replication @3 :UInt32;
  blockSize @4 :UInt64;
  modified @5 :Int64;             # microseconds since the epoch
  owner @6 :Text;
  id @7 :UInt64;
  group @8 :Text;                 # empty: none
  mode @9 :UInt16;                # as dfs/wire/mode.h has it
}

struct Usage {
  files @0 :UInt64;
  directories @1 :UInt64;
  bytes @2 :UInt64;
  bytesWithReplicas @3 :UInt64;
  blocks @4 :UInt64;
}

enum ReplicaState {
  # What the holder finds when it reads its replica.
  unknown @0;                     # the holder was asked, and has not answered
  sound @1;
  corrupt @2;                     # the data or the checksums are damaged, cut short or unreadable
  absent @3;
  unreachable @4;                 # the holder has gone away, or was too slow
}

struct Deletion {
  # As Deletion in dfs/wire/trash.h.
  path @0 :Data;
  place @1 :Data;
  deleted @2 :Int64;
  directory @3 :Bool;
  use @4 :Use;
}

struct QuotaState {
  # As QuotaState in dfs/wire/quota.h.
  directory @0 :Data;
  user @1 :Text;
  quota @2 :Use;
  # The largest number stands for no limit.
  use @3 :Use;
  reserved @4 :Use;
}

struct Use {
  bytes @0 :UInt64;
  entries @1 :UInt64;
}
