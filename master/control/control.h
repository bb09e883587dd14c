// SPDX-License-Identifier: Apache-2.0
// Control is the master: it makes the parts of the master, hands each the others that it uses, loads their state from
// the store, and drives the work that comes from time (liveness, leases, copies of blocks, files of the operator).
//
// The parts run on one strand, without locks. A call of a service takes the parts that it needs; what it changes is one
// step (steps.h). No part knows Control, and a part knows only parts that were made before it; only the dispatcher
// reports outcomes, by functions. Capabilities of peers may outlive the parts (Steps::self). Thread rule: the control
// thread. Clocks, store, log and connections are passed in, so that a whole cluster runs in one thread under driven
// time.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/kv/rocks_store.h"
#include "base/log.h"
#include "base/random.h"
#include "base/release.h"
#include "base/rpc/background.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/transport.h"
#include "base/tls/expiry.h"
#include "base/tls/token.h"
#include "master/access/audit_log.h"
#include "master/access/caller.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/cluster/room_watch.h"
#include "master/control/access_file.h"
#include "master/control/backup_watch.h"
#include "master/control/block_tokens.h"
#include "master/control/certificate_watch.h"
#include "master/control/change_index.h"
#include "master/control/cluster_record.h"
#include "master/control/cluster_summary.h"
#include "master/control/commit_gate.h"
#include "master/control/database_age.h"
#include "master/control/disk_room.h"
#include "master/control/dispatcher.h"
#include "master/control/executables.h"
#include "master/control/expired_trash.h"
#include "master/control/forecasts.h"
#include "master/control/job_logs.h"
#include "master/control/master_clock.h"
#include "master/control/master_config.h"
#include "master/control/node_watch.h"
#include "master/control/open_files.h"
#include "master/control/replica_work.h"
#include "master/control/scheduler_choice.h"
#include "master/control/scheduler_file.h"
#include "master/control/scheduler_program.h"
#include "master/control/steps.h"
#include "master/control/watchers.h"
#include "master/control/what_helps.h"
#include "master/control/workers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

struct ControlDependencies {
  kj::Timer& timer;
  const Clock& clock;
  const KeyValueStore& store;
  rpc::CommitLog& commit_log;
  Random random;
  dfs::BlockNumbers block_numbers;
  Log log;
  std::unique_ptr<WatchedFile> scheduler_file = nullptr;  // none: the defaults
  // Backs up the store. Without it backups cannot be made.
  std::function<kj::Promise<BackupFacts>(const std::string& directory, const BackupPlan& plan)> back_up = nullptr;
  // Looks at the disk of the database. Without it there is always room.
  std::function<Result<Room>()> look_at_room = nullptr;
  // Reaches the workers' ports. Without it, workers are taken at their word.
  rpc::Dialer* dialer = nullptr;
  Meters meters = {};
  Release release = ThisRelease();
  // The key by which workers check the tokens of readers. Without this key (the case without TLS), readers are given no
  // tokens.
  std::optional<tls::TokenKey> token_key = {};
  std::unique_ptr<WatchedFile> access_file = nullptr;  // none: the rules of an empty one
  // The key by which workers check the tokens of writers, with and without TLS. Without this key everybody may write.
  std::optional<tls::TokenKey> write_key = {};
  // The store's spare log. While the disk has no room, the changes that make room go there. Without a spare log they
  // are refused.
  SpareRoom* spare = nullptr;
  // If true, checks with `dialer` that the process that registers as a worker is the one that answers at the worker's
  // address. With TLS the worker's certificate is enough.
  bool asks_workers = false;
  // Returns why the second copy of the database is not kept; "" if it is. Without this function there is no second
  // copy.
  std::function<std::string()> copy_problem = nullptr;
  // Returns the times at which the master's own certificates end. Without this function there is no TLS.
  std::function<tls::CertificateEnds()> certificates = nullptr;
  // Plays the engine forward, to foretell when jobs start and end. Without it nothing is foretold.
  rpc::Background* background = nullptr;
  // Where the program of the scheduler is started, and asked. Without these there can be none.
  rpc::Background* programs = nullptr;
  outside::Starter start_program = nullptr;
};

class Control final : private kj::TaskSet::ErrorHandler {
 public:
  // Makes a Control and loads its state from the store. Returns kInvalid if the scheduler does not exist or
  // AccessFile::Load fails, kCorrupt if the database cannot be decoded, and the failure if the audit log cannot be
  // opened. The master starts in spite of an invalid scheduler file, or of an invalid access file that was valid
  // before. Requires: the store holds a cluster id (cluster_record.h).
  static Result<std::unique_ptr<Control>> Make(const MasterConfig& config, ControlDependencies seams);
  ~Control();

  // The parts that services are made of. Each lives as long as this.
  [[nodiscard]] const MasterConfig& config() const { return config_; }
  [[nodiscard]] const ControlDependencies& seams() const { return seams_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] const MasterClock& clock() const { return clock_; }
  [[nodiscard]] DiskRoom& room() { return room_; }
  [[nodiscard]] const SchedulerFile& scheduler_file() const { return scheduler_file_; }
  [[nodiscard]] const AccessFile& access_file() const { return access_file_; }
  [[nodiscard]] const Callers& callers() const { return callers_; }
  [[nodiscard]] FileSystem& files() { return files_; }
  [[nodiscard]] NodeTable& nodes() { return nodes_; }
  [[nodiscard]] JobTracker& jobs() { return jobs_; }
  [[nodiscard]] Watchers& watchers() { return watchers_; }
  [[nodiscard]] ChangeIndex& changes() { return changes_; }
  [[nodiscard]] const BlockTokens& tokens() const { return tokens_; }
  [[nodiscard]] Dispatcher& dispatcher() { return dispatcher_; }
  [[nodiscard]] Steps& steps() { return steps_; }
  [[nodiscard]] DatabaseAge& age() { return age_; }
  [[nodiscard]] BackupWatch& backups() { return backups_; }
  [[nodiscard]] NodeWatch& watch() { return watch_; }
  [[nodiscard]] Workers& workers() { return workers_; }
  [[nodiscard]] OpenFiles& open_files() { return open_files_; }
  [[nodiscard]] ReplicaWork& replicas() { return replicas_; }
  [[nodiscard]] SchedulerChoice& scheduler() { return scheduler_; }
  [[nodiscard]] SchedulerProgram& program() { return program_; }
  [[nodiscard]] JobLogs& job_logs() { return job_logs_; }
  [[nodiscard]] Forecasts& forecasts() { return forecasts_; }
  [[nodiscard]] WhatHelps& what_helps() { return what_helps_; }
  [[nodiscard]] SummaryParts summary() const;

 private:
  Control(const MasterConfig& config, ControlDependencies seams, SchedulerFile scheduler_file, AccessFile access_file);
  [[nodiscard]] Status Load();
  void ReadSubmissions(Step* step);  // notes what the audit log knows of jobs that the database lost
  // These come again and again. Each piece of their work is guarded: an exception is logged and the other work
  // continues, since a master that no longer finds lost workers is worse than one that left something undone.
  kj::Promise<void> Clockwork();
  kj::Promise<void> WatchRoom();
  void Tick(Micros late);
  void LookAtRoom();
  void NoteMovedReplicas();
  void KeepCopies();
  [[nodiscard]] bool MayStartJobs() const;
  void MarkAllJobs();
  void StartWaitingJobs();
  void taskFailed(kj::Exception&& exception) override;

  // In the order in which they use each other. The tasks, which use all others, end first.
  const MasterConfig config_;
  ControlDependencies seams_;
  Identity identity_;
  MasterClock clock_;
  CommitGate commits_;
  DiskRoom room_;
  SchedulerFile scheduler_file_;
  AccessFile access_file_;
  AuditLog audit_;
  Callers callers_;
  FileSystem files_;
  NodeTable nodes_;
  JobTracker jobs_;
  Watchers watchers_;
  ChangeIndex changes_;
  BlockTokens tokens_;
  Dispatcher dispatcher_;
  Steps steps_;
  DatabaseAge age_;
  BackupWatch backups_;
  NodeWatch watch_;
  Workers workers_;
  OpenFiles open_files_;
  ReplicaWork replicas_;
  SchedulerChoice scheduler_;
  SchedulerProgram program_;
  Forecasts forecasts_;
  WhatHelps what_helps_;
  Executables executables_;
  ExpiredTrash expired_trash_;
  JobLogs job_logs_;
  CertificateWatch certificates_;
  kj::TaskSet tasks_;
};

}  // namespace millrace::master
