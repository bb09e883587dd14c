# SPDX-License-Identifier: Apache-2.0
@0xe9a4daf9b2c88505;
# What the master serves: its bootstrap capability, and what can be reached through it.
using Calls = import "/cancellation.capnp";
using Cxx = import "/capnp/c++.capnp";
using T = import "/base/protocol/dfs_types.capnp";
using N = import "/base/protocol/name.capnp";
using Task = import "/base/protocol/task.capnp";
using W = import "/base/protocol/worker.capnp";
$Cxx.namespace("millrace::master::wire");

interface Master extends(N.NameProvider) {
  jobs @0 () -> (service :JobService);
  register @1 (worker :WorkerInfo, control :W.WorkerControl) -> (node :UInt32, session :WorkerSession, settings :WorkerSettings) $Calls.allowCancellation;
  nodes @2 (after :UInt32) -> (nodes :List(NodeStatus), more :Bool);
  # Returns the nodes after number `after`, by rising number.
  drainNode @3 (nodes :List(UInt32), drained :Bool, force :Bool, reason :Text) -> ();
  # Drains all of them or none, or with `drained` false takes them back. Without `force` it is refused if no live node would be
  # left to take tasks and blocks, or too few for the replicas that files want and have. Taking back ends a maintenance, too.
  version @4 () -> (version :Text, cluster :Text, protocol :UInt32);
  # For `cluster` see base/cluster_id.h, for the others base/release.h. A worker asks for them before it registers, so that it
  # hands nothing over to another cluster, or to a master that would misunderstand it.
  unused @5 () -> ();          # listed the schedulers that there are, which every program knows by itself
  setScheduler @6 (name :Text, fallback :Text) -> ();
  # `name` is a name with parts, such as "fair+delay+ccs", or "external:NAME+ccs" with a program of the master's
  # directory, for which `fallback` decides where it does not (empty: as the scheduler file says). The program is started
  # first. Returns when the change is on disk.
  showScheduler @7 () -> (view :SchedulerView);
  backUp @8 (directory :Text, keep :UInt32) -> (operations :UInt64, bytes :UInt64, removed :UInt64, keeps :Bool);
  # Adds a backup of the database, as it is now, to a directory of the master's machine. Returns when it is on disk. Unless
  # `keep` is 0, removes the oldest backups of this cluster but for that many; `removed` says how many. `keeps` is false from a
  # master that does not know `keep`.
  unknownBlocks @9 (node :UInt32, after :UInt64, limit :UInt32) -> (blocks :List(T.Block), more :Bool);
  # Returns the blocks on this node that belong to no file, after id `after`, by rising id.
  discardUnknown @10 (node :UInt32) -> (blocks :UInt64);
  # Allows these blocks to be put aside, however many they are. Returns how many there are.
  forgetNodes @11 (nodes :List(UInt32), force :Bool) -> ();
  # Forgets all of them or none; only lost nodes can be forgotten. Without `force` it is refused while blocks are missing that
  # may be on them.
  explainWaits @12 (jobs :List(UInt32)) -> (waits :List(SchedulerView.Wait));
  # Returns why no further tasks of these jobs are launched, as far as it is known of them; of all if none is named. As many as an
  # answer holds.
  forgetPrograms @13 () -> (programs :UInt32);
  # Forgets what jobs that have ended showed of their programs (schedulers/history/job_history.h). Returns when that is on disk,
  # with how many records there were. Jobs that were submitted before keep what they were given.
  status @14 () -> (status :ClusterStatus);
  whoAmI @15 () -> (caller :CallerRights);
  mayGo @16 (nodes :List(UInt32)) -> (answers :List(GoAnswer), others :UInt32, away :UInt32);
  # Says of each of these nodes whether it may be taken away for good (master/cluster/clearance.h). `yes` stays true until somebody
  # takes the node back into use, or the database is found to be in doubt, also for a master that starts anew. `others` counts the
  # nodes in use, and `away` those that would be if they were not lost.
  backUpCopied @17 (directory :Text, problem :Text) -> ();
  # Says that what is in this directory of backups was copied elsewhere, or, unless `problem` is empty, why it was not. Returns
  # when that is on disk.
  maintainNodes @18 (nodes :List(UInt32), millis :UInt64, reason :Text, force :Bool) -> ();
  # Puts all of them or none into maintenance for this time (master/control/workers.h), or with no time ends it. Without `force` it
  # is refused if blocks would be on these nodes only. A master from before this call refuses it.
  changes @19 (since :ChangeCursor, liveOnly :Bool) -> (changes :Changes);
  # Returns what has changed since an earlier answer, whose `upTo` is `since`; everything if there was none. It costs what has
  # changed and not what there is. With `liveOnly`, a job that has ended counts as one that is gone. A caller of a master from before
  # this call asks for the lists.
}

# What a client was told up to. It gives back what it was given (master/control/change_index.h).
struct ChangeCursor {
  life @0 :UInt64;
  version @1 :UInt64;
  floor @2 :UInt64;
}

struct Changes {
  upTo @0 :ChangeCursor;
  anew @1 :Bool;               # what the caller knows from earlier answers is to be forgotten before this is applied
  more @2 :Bool;               # there is more to tell, which is to be asked for at once
  now @3 :Int64;               # the master's time, in microseconds since the epoch
  jobs @4 :List(JobStatus);    # those that have changed, as they are now
  jobsGone @5 :List(UInt32);   # those that are not remembered any more
  nodes @6 :List(NodeStatus);  # those that have changed in more than the time since the last heartbeat
  nodesGone @7 :List(UInt32);
  waits @8 :List(JobWaits);    # what is told of a job replaces what was told of it before
  scheduler @9 :SchedulerView; # absent: it has not changed. Its waits are in `waits`, and its time and cost here
  cost @10 :SchedulerView.Cost;
  waitsAt @11 :Int64;          # when the master last looked at the scheduler and the waits; 0: never

  struct JobWaits {
    job @0 :UInt32;
    waits @1 :List(SchedulerView.Wait);  # none: it waits for nothing
  }
}

enum GoState { unknown @0; lost @1; inUse @2; held @3; blocks @4; tasks @5; outputs @6; yes @7; doubt @8; }

struct GoAnswer {
  node @0 :UInt32;
  state @1 :GoState;
  blocks @2 :UInt64;           # that have too few replicas elsewhere, or are being written there; the next are among them
  damaged @3 :UInt64;          # those that are damaged and have no good replica
  tasks @4 :UInt32;            # that run there
  outputs @5 :UInt64;          # of maps, that reduces may need and no other node has
  lostBlocks @6 :UInt64;       # of a lost node: those that no other node has
  lostKnown @7 :Bool;          # the master has seen these there; otherwise they are all that are missing, wherever they may be
  lostFiles @8 :List(Data);    # some of the files that they belong to
}

# Who somebody is to the master, and what he may do as things are.
struct CallerRights {
  user @0 :Text;               # empty: there is no TLS, and he may do everything
  administrator @1 :Bool;
  groups @2 :List(Text);
  pools @3 :List(PoolRights);  # those that the access file names; the last, "*", stands for all others
  address @4 :Text;            # from which the master sees him come

  struct PoolRights {
    pool @0 :Text;
    submits @1 :Bool;
    administers @2 :Bool;
  }
}

# How the cluster is, in numbers, and what is wrong with it in words.
struct ClusterStatus {
  cluster @0 :Text;
  version @1 :Text;            # of the master, as is the next
  protocol @2 :UInt32;
  upMillis @3 :UInt64;         # since the master started
  scheduler @4 :Text;
  faults @5 :List(Text);       # why the cluster does not work, or data is missing: one line each
  warnings @6 :List(Text);     # what somebody should look at

  live @7 :UInt32;             # nodes; the next two are among them
  draining @8 :UInt32;         # being decommissioned, or decommissioned
  avoided @9 :UInt32;
  lost @10 :UInt32;            # those in maintenance are not among them
  awaited @11 :UInt32;         # may still come after a start of the master
  mapSlots @12 :UInt32;        # of live nodes, as are those below
  mapsRunning @13 :UInt32;
  reduceSlots @14 :UInt32;
  reducesRunning @15 :UInt32;
  capacity @16 :UInt64;        # bytes
  used @17 :UInt64;
  free @18 :UInt64;
  workers @19 :List(WorkerRelease);

  files @20 :UInt64;
  directories @21 :UInt64;
  bytes @22 :UInt64;           # of files, each counted once
  blocks @23 :UInt64;
  missing @24 :UInt64;
  underReplicated @25 :UInt64; # as NameService.health says, as are the next two
  shortOfNodes @26 :UInt64;
  corruptReplicas @27 :UInt64;

  jobsRunning @28 :UInt32;
  jobsWaiting @29 :UInt32;     # nothing of them runs; jobsHeld and jobsAfter are among them
  full @30 :UInt32;            # live nodes whose disk is full
  ailing @31 :UInt32;          # live nodes with a slow disk, or that others cannot reach
  singleReplica @32 :UInt64;   # as NameService.health says
  faultCodes @33 :List(Text);  # of the lines above, in their order (base/notice.h)
  warningCodes @34 :List(Text);
  warningRisks @35 :List(Bool);  # whether the warning is of something that one failure more would turn into a fault
  backup @36 :BackupStatus;    # of the last backup of the database that the master knows of; null: of none
  maintained @37 :UInt32;      # nodes in maintenance, whether they are live or not
  onlyInMaintenance @38 :UInt64;  # blocks, as dfs/name/block_manager.h says
  jobsHeld @39 :UInt32;        # by their owners or operators
  jobsAfter @40 :UInt32;       # not held, and wait for the end of other jobs

  struct WorkerRelease {       # base/release.h
    version @0 :Text;
    protocol @1 :UInt32;
    nodes @2 :UInt32;          # live ones
  }
}

struct BackupStatus {
  made @0 :Int64;              # microseconds since the epoch, as is the next time
  ageMillis @1 :UInt64;
  directory @2 :Text;          # of the master's machine
  operations @3 :UInt64;       # up to which operation of the database it goes
  bytes @4 :UInt64;
  copied @5 :Int64;            # when a copy of the directory was last made or tried; 0: never
  copyProblem @6 :Text;        # why that failed; empty: it did not
}

# What the active scheduler says of itself (schedulers/core/policy_view.h).
struct SchedulerView {
  name @0 :Text;
  file @1 :Text;               # the path of the scheduler file; empty: there is none
  fileProblem @2 :Text;        # why the file's present content is not in force; empty: it is
  facts @3 :List(Fact);
  groups @4 :List(Group);      # pools or queues, as many as an answer holds
  waits @5 :List(Wait);        # jobs that wait, as many as an answer holds
  moreWaits @6 :UInt32;        # how many more there are
  moreGroups @7 :UInt32;
  moreFacts @8 :UInt32;

  deadlines @9 :List(Deadline);  # of a scheduler that decides by them, the first first, as many as an answer holds
  groupNoun @10 :Text;         # what the groups are: "pool", "queue"
  now @11 :Int64;              # the master's time, in microseconds since the epoch
  cost @12 :Cost;

  # What has been spent since the master's process began.
  struct Cost {
    deciding @0 :UInt64;       # nanoseconds in the engine and the policy
    events @1 :UInt64;         # that the engine took in
    masterCpu @2 :UInt64;      # microseconds of processor time of the whole process
  }

  struct Fact {
    name @0 :Text;
    value @1 :Text;            # in words; a number with its unit
    hasNumber @2 :Bool;
    number @3 :Float64;
    unit @4 :Text;             # of the number; empty: it is a count
  }
  struct Deadline { job @0 :UInt32; at @1 :Int64; slack @2 :Int64; }  # both in microseconds
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
    preemptsAt @6 :Int64;      # when preemption takes slots back for the group, in microseconds since the epoch; 0: not as it stands
  }
  struct Wait {
    job @0 :UInt32;
    name @1 :Text;
    pool @2 :Text;
    reduces @3 :Bool;          # true: its reduces wait; false: its maps
    pending @4 :UInt32;        # tasks that wait for it
    running @5 :UInt32;        # tasks that have it
    reason @6 :Text;           # the cause and its numbers as a sentence
    slot @7 :Text;             # what it waits for: "map", "reduce", "permit"
    cause @8 :Text;            # WaitCause by name (schedulers/core/wait_view.h), and its numbers
    used @9 :UInt32;
    of @10 :UInt32;
    others @11 :List(UInt32);  # jobs that come before it, or may get the slot that frees next: some of them
    hasOtherCount @12 :Bool;
    otherCount @13 :UInt32;
    group @14 :Text;
    groupUsed @15 :UInt32;
    hasGroupShare @16 :Bool;
    groupShare @17 :Float64;
    since @18 :Int64;          # microseconds since the epoch, as is the next; 0: none
    until @19 :Int64;
    # Running tasks whose end frees what it waits for, how many of these were tried, and how many would leave it to the job
    # (schedulers/core/wait_view.h, NextFreed); all 0: nothing is known.
    nextRunning @20 :UInt32;
    nextTried @21 :UInt32;
    nextToIt @22 :UInt32;
  }
}

# ---- Workers ----

struct WorkerInfo {
  storage @0 :Text;            # the identity of the worker's directory; the same directory is the same node
  host @1 :Text;
  port @2 :UInt16;             # of the bulk server
  localSocket @3 :Text;
  rack @4 :Text;
  datacenter @5 :Text;
  mapSlots @6 :UInt32;
  reduceSlots @7 :UInt32;
  incarnation @8 :UInt64;      # drawn when the process starts; a worker that comes with another one has lost its tasks
  # What this incarnation has (base/protocol/settlement.h). An attempt is in at most one of the lists.
  running @9 :List(Task.Attempt);
  mapOutputs @10 :List(Task.Attempt);  # served here; the master has answered the report of their success
  done @11 :List(Task.Attempt);        # succeeded; the master has not answered the report
  failed @12 :List(Task.Attempt);      # failed; the master has not answered the report
  cluster @13 :Text;           # the cluster that the directory belongs to; a worker of another one is refused (kInvalid)
  name @14 :Text;              # worker.name; empty: it has none
  version @15 :Text;           # base/release.h
  protocol @16 :UInt32;
  sandbox @17 :Text;           # the parts of the sandbox of its tasks (base/sandbox/sandbox.h): "user, mounts"; "none"; empty: not told
  leaving @18 :Leaving;        # absent: its machine stays
  told @19 :Moment;            # the last that a master of this cluster told it of; absent: none
  cores @20 :Float64;          # that its tasks may use; 0: not told
  machine @21 :Text;           # workers that say the same share these cores with each other; empty: they are its own
}

# How far the master's database had come (base/cluster_id.h). A database that has not gone through a moment that a worker was told of is
# older than what the worker knows.
struct Moment {
  life @0 :UInt64;             # drawn when the master started
  number @1 :UInt64;           # rises with what is stored, from life to life
}

# The machine of a worker will be taken away.
struct Leaving {
  inMillis @0 :UInt64;         # from now
  reason @1 :Text;             # "spot notice"
}

struct WorkerSettings {
  heartbeatMillis @0 :UInt32;
  lostAfterMillis @1 :UInt32;  # the master gives the worker up after this long without a heartbeat
  killed @2 :List(Task.Attempt);       # attempts that are no longer wanted, and whose output is to be deleted
  forgotten @3 :List(UInt32);          # jobs whose files are to be deleted
  settled @4 :List(Task.Attempt);      # attempts whose end the master knows; their reports need not be repeated
  tokenKey @5 :Data;           # by which tokens of readers are checked (base/tls/token.h); empty without TLS
  moment @6 :Moment;           # absent: nothing can be stored now
  older @7 :Bool;              # the master's database is older than `told`
  writeKey @8 :Data;           # by which those of writers are (dfs/wire/write_order.h); there with and without TLS
}

struct WorkerStats {
  capacity @0 :UInt64;         # bytes of the file system that holds the worker's directory
  free @1 :UInt64;
  used @2 :UInt64;             # by blocks
  blocks @3 :UInt64;
  trashed @4 :UInt64;          # bytes of `used` that lie in the worker's trash
  noRoom @5 :Bool;             # attempts cannot start there, since the disk for their files is full
  disks @6 :List(DiskSyncs);   # those of which something is known
  certificateUntil @7 :Int64;  # microseconds since the epoch: when its certificate or its authority's ends; 0: it has none
  python @8 :Text;             # the program that python3 means to its tasks, "/usr/bin/python3.11"; empty: not known
}

# How long the recent syncs of a disk took (dfs/data/sync_meter.h).
struct DiskSyncs {
  disk @0 :Text;               # its directory
  syncs @1 :UInt32;
  medianMicros @2 :UInt64;
  worstMicros @3 :UInt64;
}

# Where a worker's bulk server is.
struct PeerAddress {
  host @0 :Text;
  port @1 :UInt16;
}

# A peer that a worker has looked at, and did not reach the last time; or to which a transfer could not connect.
struct UnreachedPeer {
  peer @0 :PeerAddress;
  failures @1 :UInt32;         # of looks, in a row; 0: it has not looked yet
  forMillis @2 :UInt64;        # since the first of them, or the transfer
}

interface WorkerSession {
  heartbeat @0 (stats :WorkerStats, progress :List(Task.Progress), unreached :List(UnreachedPeer)) -> (moment :Moment, look :List(PeerAddress));
  # Returns the last moment that is on disk. The worker should look whether it reaches the peers in `look` now, and say of whom it
  # does not from then on.
  reportBlocks @1 (blocks :List(T.Block), first :Bool, last :Bool) -> stream;
  # The report is made once in a session, at its beginning. The worker lists its blocks after it has made each removal that an
  # earlier session ordered, so that what it lists stays until this session orders otherwise.
  endReport @2 () -> ();
  blocksReceived @3 (blocks :List(T.Block)) -> ();
  blocksDeleted @4 (blocks :List(UInt64)) -> ();
  blockCorrupt @5 (block :UInt64) -> ();
  attemptDone @6 (done :Task.Done, bytesRead :UInt64, bytesShuffled :UInt64, bytesWritten :UInt64) -> ();
  # Returns when the end of the attempt is on disk. Until then the worker repeats the report after a reconnection.
  attemptFailed @7 (attempt :Task.Attempt, error :Text, lost :Bool, stderrTail :Text, record :Task.RecordPlace,
                    permanent :Bool) -> ();
  # `lost` says that it was not the attempt's own fault. `record` is the record that it was working on, if that is known.
  # `permanent` says that another attempt would fail in the same way.
  fetchFailed @8 (reduce :Task.Attempt, map :Task.Attempt, reason :Text, report :UInt32) -> ();
  # `report` rises with each report that this attempt makes. A report that is repeated after a reconnection keeps its number.
  reducePhase @9 (attempt :Task.Attempt, computing :Bool) -> ();
  # The reduce has copied everything, and computes or waits for `compute` (worker.capnp).
  leave @10 (reason :Text) -> ();
  # The worker's storage is gone. What it holds is lost at once, and so are its attempts. The session ends.
  offerTrash @11 (blocks :List(T.Block)) -> (wanted :List(UInt64));
  # Tells, before endReport, what the worker's trash holds. The worker brings back the blocks that are wanted.
  foretell @12 (leaving :Leaving) -> ();
  # The worker's machine will be taken away, so that what is there alone must be had elsewhere before; without `leaving` it stays
  # after all. What has changed is told at once, and each registration says how it stands.
  archiveLogs @13 (jobs :List(UInt32)) -> (orders :List(LogOrder));
  # Asks what to do with the logs of jobs that lie on the worker, with at most 100 jobs at a time. A master that does not know this
  # call keeps no archive.
}

enum LogFate {
  later @0;                    # the job goes on: ask again when it has ended here
  archive @1;                  # write the file of this job and node (dfs/wire/job_logs.h)
  leave @2;                    # do not archive them
}

struct LogOrder {
  job @0 :UInt32;
  fate @1 :LogFate;
  bytes @2 :UInt64;            # to archive: the most bytes of text that are kept
}

struct NodeStatus {
  node @0 :UInt32;
  info @1 :WorkerInfo;
  alive @2 :Bool;
  draining @3 :Bool;
  drained @4 :Bool;            # it may go
  stats @5 :WorkerStats;
  mapsRunning @6 :UInt32;
  reducesRunning @7 :UInt32;
  lastHeartbeatMillisAgo @8 :UInt64;
  unknownBlocks @9 :UInt64;    # blocks on it that belong to no file
  unknownHeld @10 :Bool;       # they are too many: none is put aside until `discardUnknown`
  awaited @11 :Bool;           # the master has just started, and the worker has not come or not listed its blocks
  avoidedBy @12 :List(UInt32);  # some of the jobs because of which it is avoided
  avoidedMillis @13 :UInt64;   # for how long it is still avoided; 0: it is not
  blocksLeft @14 :UInt64;      # of a draining or leaving node: how many of its blocks have too few replicas elsewhere
  leaving @15 :Leaving;        # absent: its machine stays, as far as is known. It is drained without being asked to
  outputsLeft @16 :UInt64;     # of a draining or leaving node: map outputs there that reduces may need and no other node has
  mayGo @17 :GoState;          # as Master.mayGo says
  ailing @18 :Text;            # why it is ailing although it is alive (master/cluster/node_judge.h); empty: it is well
  ailingMillis @19 :UInt64;    # for how long it has been ailing
  reason @20 :Text;            # why it drains or is in maintenance, as somebody said; empty: nobody said
  maintenanceMillis @21 :UInt64;  # for how long it still is in maintenance; 0: it is not
}

# ---- Jobs ----

enum SplitBy { block @0; file @1; fixedRecords @2; numbers @3; }  # numbers: there are no inputs, and the maps make the data

struct JobRequest {
  name @0 :Text;
  owner @1 :Text;
  inputs @2 :List(Data);       # files, globs, directories (their files, except those that begin with _ or .)
  output @3 :Data;             # must not exist
  reduces @4 :UInt32;
  parameters @5 :List(Task.Parameter);
  priority @6 :UInt8 = 2;      # 0 VERY_HIGH to 4 VERY_LOW
  executable @7 :Data;         # its path in the file system, where the client has stored it
  executableBytes @8 :UInt64;
  executableCrc @9 :UInt32;
  splitBy @10 :SplitBy;        # where the job's reader can begin
  recordBytes @11 :UInt32;     # for fixedRecords
  pool @12 :Text;
  deadlineMillis @13 :UInt64;  # from submission; 0: none
  token @14 :Text;             # drawn by the client, so that a request that is sent twice makes one job
  slowStart @15 :Float64 = 0.05;
  maxAttempts @16 :UInt32 = 4;
  mapTime @17 :UInt64;         # microseconds that a map takes, as the user says; 0: unknown
  reduceTime @18 :UInt64;
  localityWaits @19 :List(UInt64);  # microseconds: for the rack, the datacenter, anywhere; empty: as the scheduler is set
  inputSample @20 :Data;       # the first bytes of the input, by which the master tells its type
  maps @21 :UInt32;            # for numbers: how many maps there are
  records @22 :UInt64;         # for numbers: how many numbers are spread over the maps
  pack @23 :UInt64;            # the most bytes of small splits that share a map; 0: each split has its own
  noSpeculation @24 :Bool;     # a running task gets no second attempt
  maxFailedMaps @25 :UInt32;   # percent of the maps that may be left out; if more fail, the job fails
  skipBadRecords @26 :UInt32;  # records of a map that may be left out; if more are bad, the map fails
  decompresses @27 :Bool;      # files whose names say that they are compressed are not cut
  uncut @28 :List(Data);       # further files that are not cut, since their bytes say so: canonical paths
  cuts @29 :List(InputCut);    # how each of `inputs` is cut, in place of splitBy and decompresses; empty: as these say
  after @30 :List(UInt32);     # jobs: it starts when they have succeeded, and its input is looked at then
  evenIfFailed @31 :Bool;      # ... when they have ended in any way
  held @32 :Bool;              # it starts when it is released
}

struct InputCut {
  splitBy @0 :SplitBy;         # not `numbers`
  decompresses @1 :Bool;
}

enum JobState { waiting @0; running @1; succeeded @2; failed @3; killed @4; }

struct JobStatus {
  job @0 :UInt32;
  name @1 :Text;
  owner @2 :Text;
  state @3 :JobState;
  reason @4 :Text;             # why it failed or was killed; while it waits, for what besides slots
  priority @5 :UInt8;
  pool @6 :Text;
  output @7 :Data;
  submitted @8 :Int64;         # microseconds since the epoch, as are the next two; 0: not yet
  firstLaunch @9 :Int64;
  ended @10 :Int64;
  maps @11 :Phase;
  reduces @12 :Phase;
  copyFraction @13 :Float32;   # the mean over the reduces
  mapsLocal @14 :List(UInt32); # launches at node, rack, datacenter, off
  failedAttempts @15 :UInt32;
  killedAttempts @16 :UInt32;
  inputBytes @17 :UInt64;      # of all splits
  bytesRead @18 :UInt64;
  bytesShuffled @19 :UInt64;
  bytesWritten @20 :UInt64;    # of output; replicas do not count
  preemptedAttempts @21 :UInt32;
  speculativeAttempts @22 :UInt32;
  deadline @23 :Int64;         # microseconds since the epoch; 0: none
  mapsLeftOut @24 :UInt32;     # how many maps the job went on without
  leftOut @25 :List(LeftOutMap);  # the first of these
  recordsLeftOut @26 :UInt32;
  leftOutRecords @27 :List(LeftOutRecord);  # the first of these
  after @29 :List(UInt32);     # the jobs after which it was submitted
  waitsFor @30 :List(UInt32);  # those of them for whose end it still waits
  evenIfFailed @31 :Bool;
  held @32 :Bool;              # by its owner or an operator
  queued @33 :Int64;           # from when on it waits for slots; 0: not yet
  lost @28 :Bool;              # the database that knew the job was lost; `state` is then `killed`
}

struct LeftOutMap {
  map @0 :UInt32;
  input @1 :Data;              # what it reads, as text for people
}

struct LeftOutRecord {
  map @0 :UInt32;
  path @1 :Data;               # the file; empty: the record is a number
  offset @2 :UInt64;           # where it begins in the file, or which number it is
}

struct Phase {
  total @0 :UInt32;
  running @1 :UInt32;
  done @2 :UInt32;
  fraction @3 :Float32;        # how much of the phase is done, running attempts included
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
  # Returns when the job is on disk. Fails with kBusy, so that the caller asks again, while the master has just started and
  # blocks may be on workers that have not reported yet.
  status @1 (job :UInt32) -> (status :JobStatus);
  list @2 (after :UInt32, limit :UInt32, liveOnly :Bool) -> (jobs :List(JobStatus), more :Bool, forgotten :UInt32, forgottenUntil :Int64);
  # `forgotten` is the last job that is no longer remembered (master.history_jobs; 0: none), and `forgottenUntil` the time by which all
  # of these had ended.
  watch @3 (job :UInt32, watcher :JobWatcher) -> (status :JobStatus, subscription :Subscription);
  # Tells the watcher of changes until the subscription is dropped.
  kill @4 (job :UInt32, reason :Text) -> ();
  setPriority @5 (job :UInt32, priority :UInt8) -> ();
  counters @6 (job :UInt32, afterGroup :Text, afterName :Text) -> (counters :List(Task.Counter), more :Bool);
  # Returns the counters after the named one, in order of group and name; all if both names are empty.
  attempts @7 (job :UInt32, after :UInt32, limit :UInt32) -> (attempts :List(AttemptStatus), more :Bool);
  # Returns the attempts after the first `after`, in the order of launch.
  readLog @8 (attempt :Task.Attempt, stream :W.LogStream, offset :UInt64, limit :UInt32) -> (data :Data, size :UInt64) $Calls.allowCancellation;
  history @9 (job :UInt32, after :UInt64, limit :UInt32, offset :UInt64) -> (lines :List(Text), next :UInt64, more :Bool, numbers :List(UInt64), cut :Bool);
  # Returns the journal's lines of the job (schedulers/events/event_text.h), each with its number; the journal of all jobs is in
  # the order of the numbers. Job 0 has the lines of nodes and schedulers. A line may be longer than a message. Then `cut` says
  # that the last line goes on, and `next` is the number before it: the rest is had with that number as `after`, and with the
  # bytes of the line that are known already as `offset`.
  mapLaunch @10 (attempt :Task.Attempt) -> (setup :Task.JobSetup, inputs :List(Task.InputPiece), executable :Data, executableBytes :UInt64, executableCrc :UInt32);
  # Returns what a map attempt was launched with, so that it can be run again elsewhere. Once the job has ended this is known of
  # maps of which an attempt has failed, and not of all of them if there were many. `executable` is a path of the file system.
  submitLater @11 (request :JobRequest) -> (job :UInt32);
  # Does what submit does, for a job that may wait for others or for its release. A master that does not know the call does not
  # know these fields of the request either, and would start the job at once.
  hold @12 (job :UInt32) -> ();
  # Holds a job of which no task was launched, for its owner or, if the caller is not the owner, for an operator.
  release @13 (job :UInt32) -> ();
  foretell @14 (jobs :List(UInt32)) -> (foretold :List(Foretold), more :Bool, problem :Text);
  # Returns when the jobs, or all live ones if none are named, will probably start and end, as far as the answer holds. Of a job
  # that is missing nothing is said; `problem` says why if that is so of all.
  why @15 (job :UInt32, under :List(Text)) -> (why :Why);
  # Returns what is ahead of the job, and what would help it: each change is tried by playing the jobs forward. `under` are
  # schedulers to try; if there are none, the master tries some.
}

struct Why {
  made @0 :Int64;              # when the jobs were played forward, in microseconds since the epoch, as are all times here
  problem @1 :Text;            # why nothing can be said; the rest is empty then
  job @2 :PlayedJob;           # as things stand
  ahead @3 :List(PlayedJob);   # the first jobs of which tasks run, or will be launched before the first one of this job
  aheadCount @4 :UInt32;       # all of these jobs
  tried @5 :List(TriedChange);
}

struct PlayedJob {
  job @0 :UInt32;
  start @1 :Int64;             # 0: unknown
  end @2 :Int64;               # 0: unknown
  whyNoStart @3 :Text;
  whyNoEnd @4 :Text;
}

struct TriedChange {
  kind @0 :Kind;
  name @1 :Text;               # the priority, the pool or the scheduler
  untried @2 :Text;            # why it was not tried; the rest is empty then
  job @3 :PlayedJob;           # with the change
  mapSlots @4 :UInt32;         # of a node that is added
  reduceSlots @5 :UInt32;
  later @6 :List(LaterJob);    # the first other jobs that end later with the change, the latest first
  laterCount @7 :UInt32;       # all of these jobs
  laterSum @8 :Int64;          # the times of all of these together
  unknown @9 :UInt32;          # the other jobs of which it is not known

  enum Kind { priority @0; pool @1; node @2; scheduler @3; }
  struct LaterJob { job @0 :UInt32; by @1 :Int64; }
}

struct Foretold {
  job @0 :UInt32;
  made @1 :Int64;              # when this was said, in microseconds since the epoch, as are all times here
  start @2 :ForetoldTime;      # null: it has started
  end @3 :ForetoldTime;
}

struct ForetoldTime {
  at @0 :Int64;                # 0: unknown
  why @1 :Text;                # why it is unknown
  intervals @2 :List(Interval);  # none: there are too few records
  records @3 :UInt32;          # of statements that came true or not, from which the intervals follow, or that there are
  elsewhere @4 :UInt32;        # of these: under another scheduler
  stated @5 :UInt32;           # statements of this kind, of the last ones, with an interval of 90 percent
  held @6 :UInt32;             # of these: those that held

  struct Interval { percent @0 :UInt8; from @1 :Int64; to @2 :Int64; }
}

interface JobWatcher { changed @0 (status :JobStatus) -> (); }
interface Subscription {}
