# SPDX-License-Identifier: Apache-2.0
@0xd7f3c9e8a1b77404;
# What a worker daemon and its task processes say to each other over a socket pair (descriptor 3), one framed message after the
# other, and the parts of these messages that the master fills in. There are no interfaces here, so that jobs link no RPC code.
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
  parameters @2 :List(Parameter);   # what was given with -D: options of the job and of the engine (client/job/engine_options.h)
  maps @3 :UInt32;
  reduces @4 :UInt32;               # 0: the maps write the job's output
  outputDirectory @5 :Data;
  replication @6 :UInt32;           # of output files
  blockSize @7 :UInt64;             # of output files
  owner @8 :Text;
}

struct InputPiece {
  # A split: the bytes [offset, offset + length) of a file. A text record belongs to the split in which it starts.
  path @0 :Data;
  fileLength @1 :UInt64;
  offset @2 :UInt64;
  length @3 :UInt64;
  blocks @4 :List(T.LocatedBlock);  # those that hold the split's own bytes; the task looks up others when it needs them
  name @5 :Data;                    # the path below the input that named it ("sub/a.txt"); the base name if the input is the file itself
  input @6 :UInt32;                 # which of the job's inputs named it, from 0; a master that does not tell says 0
}

struct RecordPlace {
  # A record of a map's input: where it begins, and how many records before it are reported to begin at the same place.
  input @0 :UInt32;                 # which of the map's inputs
  offset @1 :UInt64;
  nth @2 :UInt32;
}

struct Segment {
  # The records of one map for this reduce, as a range of a file on this machine.
  file @0 :Text;
  offset @1 :UInt64;
  length @2 :UInt64;                # stored bytes
  rawLength @3 :UInt64;
  records @4 :UInt64;
  crc @5 :UInt32;                   # crc32c of the stored bytes
  compressed @6 :Bool;
  anyOrder @7 :Bool;                # true: the records are in any order, with each key once; false: by key
}

struct ToTask {
  union {
    setUp @0 :SetUp;
    map @1 :RunMap;
    reduce @2 :RunReduce;
    exit @3 :Void;
    credentials @4 :Credentials;    # in place of those that it has, from the next connection on; also in mid-attempt
  }
}

struct SetUp {
  job @0 :JobSetup;
  master @1 :Text;                  # host:port, for the file system
  node @2 :UInt32;                  # the worker's number
  memory @3 :UInt64;                # bytes for buffers (task.memory)
  cluster @4 :Text;                 # the cluster whose master it must be (base/cluster_id.h)
  sharedDirectory @5 :Text;         # for files that the job's tasks on this machine share; goes with the job
  reservedBytes @6 :UInt64;         # that stay free on its disk
  memoryLimit @7 :UInt64;           # bytes of private memory to which the process limits itself (RLIMIT_DATA); 0: none
  credentials @8 :Credentials;      # by which it is the job's owner to masters and workers; all empty without TLS
}

struct Credentials {
  # In PEM (base/tls/credentials.h). The worker has issued the certificate for this process.
  authorities @0 :Text;
  certificate @1 :Text;
  key @2 :Text;
}

struct RunMap {
  attempt @0 :Attempt;
  inputs @1 :List(InputPiece);
  runFile @2 :Text;                 # the file for the sorted output (worker/task/run); empty if the job has no reduces
  scratch @3 :Text;                 # a directory for this attempt alone, which the daemon removes
  stdout @4 :Text;                  # the files for the attempt's standard output and standard error
  stderr @5 :Text;
  link @6 :ShuffleLink;
  leftOut @7 :List(RecordPlace);    # the records that this attempt is not to give to the job
  recordNote @8 :Text;              # the file in which a job that may leave records out notes the current one (record_note.h)
}

struct ShuffleLink {
  # What the worker knows about moving a map's output (worker/task/run/compress_choice.h). All are 0 if it knows nothing.
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
  # A file of the file system that is written but not visible yet. The master gives it its name when the attempt may commit.
  present @0 :Bool;
  file @1 :UInt64;
  name @2 :Text;                    # "part-r-00003"; of a named output "late-r-00003"
  blocks @3 :List(T.WrittenBlock);
  bytes @4 :UInt64;
}

struct FromTask {
  union {
    ready @0 :Ready;                # answers setUp: the process can run attempts
    progress @1 :Progress;
    done @2 :Done;
    failed @3 :Failed;
  }
}

struct Ready {
  error @0 :Text;                   # why the job refuses its set-up, such as a bad -D value; empty: it does not
}

struct Progress {
  attempt @0 :Attempt;
  fraction @1 :Float32;             # how much of the attempt's input is done, from 0 to 1
  status @2 :Text;                  # as the job's code has set it
  counters @3 :List(Counter);       # totals so far
  emitted @4 :UInt64;               # rises while the job's code emits records, and while its Reduce takes values
}

struct Done {
  attempt @0 :Attempt;
  counters @1 :List(Counter);
  output @2 :Output;                # its part file; not present from a map of a job with reduces
  named @3 :List(Output);           # the files of the job's named outputs to which it wrote: they appear with `output`, or not at all
  use @4 :ProcessorUse;             # absent: the program is of a time when none told
}

struct ProcessorUse {
  # Of an attempt, in microseconds (schedulers/events/events.h).
  cpu @0 :UInt64;
  waited @1 :UInt64;
  start @2 :UInt64;
}

struct Failed {
  attempt @0 :Attempt;
  error @1 :Text;                   # one line
  permanent @2 :Bool;               # another attempt of the task would fail in the same way
}
