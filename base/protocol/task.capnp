@0xd7f3c9e8a1b77404;
# What a worker daemon and its task processes say to each other over a socket pair (descriptor 3), one framed message
# after the other, and the parts of it that the master fills in. No interfaces: jobs link no RPC code for it.
using Cxx = import "/capnp/c++.capnp";
using T = import "/base/protocol/dfs_types.capnp";
$Cxx.namespace("millrace::task::wire");

struct Attempt {
  job @0 :UInt32;
  reduce @1 :Bool;
  task @2 :UInt32;
  number @3 :UInt32;
}

struct Parameter {
  name @0 :Text;
  value @1 :Text;
}

struct JobSetup {
  job @0 :UInt32;
  name @1 :Text;
  parameters @2 :List(Parameter);   # what -D gave, declared options of the job and of the engine (client/api/options)
  maps @3 :UInt32;
  reduces @4 :UInt32;               # 0: maps write the job's output
  outputDirectory @5 :Data;
  replication @6 :UInt32;           # of output files
  blockSize @7 :UInt64;             # of output files
  owner @8 :Text;
}

struct InputPiece {
  # A split: bytes [offset, offset + length) of a file. A text record belongs to the split in which it starts.
  path @0 :Data;
  fileLength @1 :UInt64;
  offset @2 :UInt64;
  length @3 :UInt64;
  blocks @4 :List(T.LocatedBlock);  # those that hold the split's own bytes; others are looked up when they are needed
  name @5 :Data;                    # path below the input that named it ("sub/a.txt"), of a file given itself its base name
}

struct RecordPlace {
  # A record of a map's input: where it begins, and how many records before it are said to begin there as well.
  input @0 :UInt32;                 # of those of the map
  offset @1 :UInt64;
  nth @2 :UInt32;
}

struct Segment {
  # One map's records for this reduce: a range of a file on this machine.
  file @0 :Text;
  offset @1 :UInt64;
  length @2 :UInt64;                # stored bytes
  rawLength @3 :UInt64;
  records @4 :UInt64;
  crc @5 :UInt32;                   # crc32c of the stored bytes
  compressed @6 :Bool;
  anyOrder @7 :Bool;                # records in any order, each key once; else by key
}

struct ToTask {
  union {
    setUp @0 :SetUp;
    map @1 :RunMap;
    reduce @2 :RunReduce;
    exit @3 :Void;
  }
}

struct SetUp {
  job @0 :JobSetup;
  master @1 :Text;                  # host:port, for the file system
  node @2 :UInt32;                  # the worker's number
  memory @3 :UInt64;                # bytes for buffers (task.memory)
  cluster @4 :Text;                 # whose master it must be (base/cluster_id.h)
}

struct RunMap {
  attempt @0 :Attempt;
  inputs @1 :List(InputPiece);
  runFile @2 :Text;                 # where the sorted output for the reduces goes (worker/task/run); empty when reduces is 0
  scratch @3 :Text;                 # a directory of the attempt's own; removed by the daemon
  stdout @4 :Text;                  # files that take the attempt's standard output and error
  stderr @5 :Text;
  link @6 :ShuffleLink;
  leftOut @7 :List(RecordPlace);    # records that this attempt is not to give to the job
  recordNote @8 :Text;              # where a job that may leave records out notes the one under way (record_note.h)
}

struct ShuffleLink {
  # What the worker knows of moving a map's output: worker/task/run/compress_rule.h. All 0: nothing.
  bytesPerSecond @0 :Float64;
  crossing @1 :Float64;
  waited @2 :Float64;
  maps @3 :UInt32;
}

struct RunReduce {
  attempt @0 :Attempt;
  segments @1 :List(Segment);       # in order of map task
  scratch @2 :Text;
  stdout @3 :Text;
  stderr @4 :Text;
}

struct Counter {
  group @0 :Text;
  name @1 :Text;
  value @2 :Int64;
}

struct Output {
  # A file of the file system, written and not yet visible: the master gives it its name when the attempt may commit.
  present @0 :Bool;
  file @1 :UInt64;
  name @2 :Text;                    # "part-r-00003"
  blocks @3 :List(T.WrittenBlock);
  bytes @4 :UInt64;
}

struct FromTask {
  union {
    ready @0 :Ready;                # after setUp: the process can run attempts
    progress @1 :Progress;
    done @2 :Done;
    failed @3 :Failed;
  }
}

struct Ready {
  error @0 :Text;                   # not empty: the job refuses its set-up (a bad -D value), and why
}

struct Progress {
  attempt @0 :Attempt;
  fraction @1 :Float32;             # 0 to 1 of the attempt's input
  status @2 :Text;                  # what user code set
  counters @3 :List(Counter);       # totals so far
}

struct Done {
  attempt @0 :Attempt;
  counters @1 :List(Counter);
  output @2 :Output;
}

struct Failed {
  attempt @0 :Attempt;
  error @1 :Text;                   # one line
}
