@0xe9a4daf9b2c88505;
# What the master serves: its bootstrap capability and what hangs on it.
using Cxx = import "/capnp/c++.capnp";
using T = import "/base/protocol/dfs_types.capnp";
using N = import "/base/protocol/name.capnp";
using Task = import "/base/protocol/task.capnp";
using W = import "/base/protocol/worker.capnp";
$Cxx.namespace("millrace::master::wire");

interface Master extends(N.NameProvider) {
  jobs @0 () -> (service :JobService);
  register @1 (worker :WorkerInfo, control :W.WorkerControl) -> (node :UInt32, session :WorkerSession, settings :WorkerSettings);
  nodes @2 (after :UInt32) -> (nodes :List(NodeStatus), more :Bool);
  # By rising number, those after `after`.
  drainNode @3 (nodes :List(UInt32), drained :Bool, force :Bool) -> ();
  # All or none. Without `force` the last live nodes that take tasks and blocks are not drained.
  version @4 () -> (version :Text, cluster :Text);
  # cluster: base/cluster_id.h. A worker asks before it registers, so that it hands nothing over to another cluster.
  unused @5 () -> ();          # was: the schedulers that there are, which every program knows by itself
  setScheduler @6 (name :Text) -> ();
  # A name and parts, "fair+delay+ccs". Answered when it is on disk.
  showScheduler @7 () -> (view :SchedulerView);
  backUp @8 (directory :Text) -> (operations :UInt64, bytes :UInt64);
  # Adds a backup of the database, as of now, to a directory of the master's machine; answered when it is on disk.
  unknownBlocks @9 (node :UInt32, after :UInt64, limit :UInt32) -> (blocks :List(T.Block), more :Bool);
  # On this node, of no file; by rising id.
  discardUnknown @10 (node :UInt32) -> (blocks :UInt64);
  # They may be put aside though they are many; says how many there are.
  forgetNodes @11 (nodes :List(UInt32), force :Bool) -> ();
  # All or none, lost ones only. Without `force` not while blocks are missing that may be on them.
}

# What the scheduler in force would say of itself (schedulers/core/policy_view.h).
struct SchedulerView {
  name @0 :Text;
  file @1 :Text;               # the scheduler file; empty: there is none
  fileProblem @2 :Text;        # why the file as it now stands is not in force; empty: it is
  facts @3 :List(Fact);
  groups @4 :List(Group);      # pools or queues; as many as an answer holds
  waits @5 :List(Wait);        # jobs that wait; likewise
  moreWaits @6 :UInt32;        # that are not listed
  moreGroups @7 :UInt32;       # likewise
  moreFacts @8 :UInt32;        # likewise

  struct Fact { name @0 :Text; value @1 :Text; }
  struct Group {
    name @0 :Text;
    weight @1 :Float64;
    jobs @2 :UInt32;
    maps @3 :GroupSlots;
    reduces @4 :GroupSlots;
  }
  struct GroupSlots {
    running @0 :UInt32;
    demand @1 :UInt32;         # running and runnable tasks
    share @2 :Float64;
    minimum @3 :UInt32;
    maximum @4 :UInt32;
    hasMaximum @5 :Bool;
  }
  struct Wait {
    job @0 :UInt32;
    name @1 :Text;
    pool @2 :Text;
    reduces @3 :Bool;          # its reduces wait; else its maps
    pending @4 :UInt32;        # tasks of that kind
    running @5 :UInt32;
    reason @6 :Text;           # "waiting for a local slot since 3.2 s"
  }
}

# ---- workers ----

struct WorkerInfo {
  storage @0 :Text;            # identity of the worker's directory, made once: the same directory is the same node
  host @1 :Text;
  port @2 :UInt16;             # bulk server
  localSocket @3 :Text;
  rack @4 :Text;
  datacenter @5 :Text;
  mapSlots @6 :UInt32;
  reduceSlots @7 :UInt32;
  incarnation @8 :UInt64;      # drawn when the process started: the same one re-registers, another one lost its tasks
  # What this incarnation has (base/protocol/settlement.h); an attempt is in one of the lists.
  running @9 :List(Task.Attempt);
  mapOutputs @10 :List(Task.Attempt);  # served, and their success was answered
  done @11 :List(Task.Attempt);        # succeeded, but the report was not answered
  failed @12 :List(Task.Attempt);      # likewise
  cluster @13 :Text;           # to which the directory belongs; another one's worker is refused (kInvalid)
}

struct WorkerSettings {
  heartbeatMillis @0 :UInt32;
  lostAfterMillis @1 :UInt32;  # without a heartbeat for so long the master gives the worker up
  killed @2 :List(Task.Attempt);       # of those reported: not wanted any more, nor what they wrote
  forgotten @3 :List(UInt32);          # jobs whose files may be deleted
  settled @4 :List(Task.Attempt);      # of those that are done: known here, the report need not be repeated
}

struct WorkerStats {
  capacity @0 :UInt64;         # bytes of the file system that holds the worker's directory
  free @1 :UInt64;
  used @2 :UInt64;             # by blocks
  blocks @3 :UInt64;
  trashed @4 :UInt64;          # bytes of `used` that lie in the worker's trash
}

interface WorkerSession {
  heartbeat @0 (stats :WorkerStats, progress :List(Task.Progress)) -> ();
  reportBlocks @1 (blocks :List(T.Block), first :Bool, last :Bool) -> stream;
  endReport @2 () -> ();
  blocksReceived @3 (blocks :List(T.Block)) -> ();
  blocksDeleted @4 (blocks :List(UInt64)) -> ();
  blockCorrupt @5 (block :UInt64) -> ();
  attemptDone @6 (done :Task.Done, bytesRead :UInt64, bytesShuffled :UInt64, bytesWritten :UInt64) -> ();
  # Answered when it is on disk; the worker repeats it after a reconnection until then.
  attemptFailed @7 (attempt :Task.Attempt, error :Text, lost :Bool, stderrTail :Text, record :Task.RecordPlace) -> ();
  # lost: not the attempt's own fault. record: the one that was under way, if it is known.
  fetchFailed @8 (reduce :Task.Attempt, map :Task.Attempt, reason :Text, report :UInt32) -> ();
  # report: rises with each that this attempt makes; one that is repeated after a reconnection keeps its number.
  reducePhase @9 (attempt :Task.Attempt, computing :Bool) -> ();
  # A reduce has copied everything and begins to compute.
  leave @10 (reason :Text) -> ();
  # The worker's storage is gone: what it holds is lost at once, and so are its attempts. The session ends.
  offerTrash @11 (blocks :List(T.Block)) -> (wanted :List(UInt64));
  # What the worker's trash holds, before endReport; it brings back those that are wanted.
}

struct NodeStatus {
  node @0 :UInt32;
  info @1 :WorkerInfo;
  alive @2 :Bool;
  draining @3 :Bool;
  drained @4 :Bool;            # everything on it has its replicas elsewhere
  stats @5 :WorkerStats;
  mapsRunning @6 :UInt32;
  reducesRunning @7 :UInt32;
  lastHeartbeatMillisAgo @8 :UInt64;
  unknownBlocks @9 :UInt64;    # on it, of no file
  unknownHeld @10 :Bool;       # too many of them: nothing is put aside unless `discardUnknown` says so
  awaited @11 :Bool;           # the master has just started, and this worker may still come, or has not listed its blocks
  avoidedBy @12 :List(UInt32);  # some of the jobs whose failed attempts keep all tasks away
  avoidedMillis @13 :UInt64;   # so long from now; 0: it is not avoided
}

# ---- jobs ----

enum SplitBy { block @0; file @1; fixedRecords @2; numbers @3; }  # numbers: no inputs, the maps make the data

struct JobRequest {
  name @0 :Text;
  owner @1 :Text;
  inputs @2 :List(Data);       # files, directories (their files, not those that begin with _ or .), globs
  output @3 :Data;             # must not exist
  reduces @4 :UInt32;
  parameters @5 :List(Task.Parameter);
  priority @6 :UInt8 = 2;      # 0 VERY_HIGH to 4 VERY_LOW
  executable @7 :Data;         # path in the file system, where the client stored it
  executableBytes @8 :UInt64;
  executableCrc @9 :UInt32;
  splitBy @10 :SplitBy;        # what the job's reader can be cut at
  recordBytes @11 :UInt32;     # of fixedRecords
  pool @12 :Text;
  deadlineMillis @13 :UInt64;  # from submission; 0: none
  token @14 :Text;             # drawn by the client: the same request sent twice is one job
  slowStart @15 :Float64 = 0.05;
  maxAttempts @16 :UInt32 = 4;
  mapTime @17 :UInt64;         # microseconds that a map is said to take; 0: nothing is said
  reduceTime @18 :UInt64;
  localityWaits @19 :List(UInt64);  # microseconds: for the rack, the datacenter, anywhere; empty: the scheduler's
  inputSample @20 :Data;       # the first bytes of the input, from which the master tells its type
  maps @21 :UInt32;            # of numbers: how many maps
  records @22 :UInt64;         # of numbers: how many of them, in ranges over the maps
  pack @23 :UInt64;            # bytes of small splits that share a map at most; 0: each has its own
  noSpeculation @24 :Bool;     # no second attempt of a task that runs
  maxFailedMaps @25 :UInt32;   # so many percent of the maps are left out before one that fails fails the job
  skipBadRecords @26 :UInt32;  # so many records of a map are left out before it fails for them
}

enum JobState { waiting @0; running @1; succeeded @2; failed @3; killed @4; }

struct JobStatus {
  job @0 :UInt32;
  name @1 :Text;
  owner @2 :Text;
  state @3 :JobState;
  reason @4 :Text;             # why it failed or was killed
  priority @5 :UInt8;
  pool @6 :Text;
  output @7 :Data;
  submitted @8 :Int64;         # microseconds since the epoch; 0 below: not yet
  firstLaunch @9 :Int64;
  ended @10 :Int64;
  maps @11 :Phase;
  reduces @12 :Phase;
  copyFraction @13 :Float32;   # of the reduces, mean
  mapsLocal @14 :List(UInt32); # launches at node, rack, datacenter, off
  failedAttempts @15 :UInt32;
  killedAttempts @16 :UInt32;
  inputBytes @17 :UInt64;      # of all splits
  bytesRead @18 :UInt64;
  bytesShuffled @19 :UInt64;
  bytesWritten @20 :UInt64;    # output, once (not times replication)
  preemptedAttempts @21 :UInt32;
  speculativeAttempts @22 :UInt32;
  deadline @23 :Int64;         # microseconds since the epoch; 0: none
  mapsLeftOut @24 :UInt32;     # the job went on without these
  leftOut @25 :List(LeftOutMap);  # the first of them
  recordsLeftOut @26 :UInt32;
  leftOutRecords @27 :List(LeftOutRecord);  # the first of them
}

struct LeftOutMap {
  map @0 :UInt32;
  input @1 :Data;              # what it reads, for people
}

struct LeftOutRecord {
  map @0 :UInt32;
  path @1 :Data;               # empty: of numbers
  offset @2 :UInt64;           # where it begins in the file; of numbers: which
}

struct Phase {
  total @0 :UInt32;
  running @1 :UInt32;
  done @2 :UInt32;
  fraction @3 :Float32;        # of the whole phase, running attempts included
}

struct AttemptStatus {
  attempt @0 :Task.Attempt;
  node @1 :UInt32;
  host @2 :Text;
  state @3 :AttemptState;
  launched @4 :Int64;
  ended @5 :Int64;
  reason @6 :Text;
}
enum AttemptState { running @0; succeeded @1; failed @2; killed @3; lost @4; preempted @5; }

interface JobService {
  submit @0 (request :JobRequest) -> (job :UInt32);
  # Answered when the job is on disk; kBusy, to be asked again, while the master has just started and blocks may be on workers
  # that have not reported yet.
  status @1 (job :UInt32) -> (status :JobStatus);
  list @2 (after :UInt32, limit :UInt32, liveOnly :Bool) -> (jobs :List(JobStatus), more :Bool);
  watch @3 (job :UInt32, watcher :JobWatcher) -> (status :JobStatus, subscription :Subscription);
  # Pushes to the watcher until the subscription is dropped.
  kill @4 (job :UInt32, reason :Text) -> ();
  setPriority @5 (job :UInt32, priority :UInt8) -> ();
  counters @6 (job :UInt32, afterGroup :Text, afterName :Text) -> (counters :List(Task.Counter), more :Bool);
  # In order of group and name, those after the named one; after two empty texts: from the first.
  attempts @7 (job :UInt32, after :UInt32, limit :UInt32) -> (attempts :List(AttemptStatus), more :Bool);
  # In the order of launch, those after the first `after`.
  readLog @8 (attempt :Task.Attempt, stream :W.LogStream, offset :UInt64, limit :UInt32) -> (data :Data, size :UInt64);
  history @9 (job :UInt32, after :UInt64, limit :UInt32, offset :UInt64) -> (lines :List(Text), next :UInt64, more :Bool, numbers :List(UInt64), cut :Bool);
  # The journal's lines of the job (schedulers/journal/event_text.h) and the number of each: the journal of all jobs is in the
  # order of these. Job 0 has the lines of nodes and schedulers. A line may be longer than a message: `cut` says that the
  # last one goes on; `next` is then the number before it, and its rest comes to who asks with that as `after` and the
  # bytes of it that are known already as `offset`.
}

interface JobWatcher { changed @0 (status :JobStatus) -> (); }
interface Subscription {}
