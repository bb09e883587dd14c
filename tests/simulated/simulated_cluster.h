// SPDX-License-Identifier: Apache-2.0
// SimulatedCluster is a whole cluster in one thread: the master's control strand and worker agents over the in-memory
// network, under driven time. The RPC stack, journal, engine and agents are real; only the parts that would touch
// processes, disks and sockets are synthetic. All random choices come from a seed.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/protocol/master.capnp.h"
#include "base/random.h"
#include "base/release.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/link.h"
#include "base/rpc/transport.h"
#include "base/tls/expiry.h"
#include "master/control/control.h"
#include "tests/fakes/memory_store.h"
#include "tests/fakes/pipe_network.h"
#include "tests/fakes/synthetic_worker.h"
#include "worker/daemon/agent/agent.h"

namespace millrace {

struct SimulatedOptions {
  std::uint64_t seed = 1;
  std::uint32_t workers = 50;
  std::int64_t map_slots = 2, reduce_slots = 1;
  std::uint32_t racks = 5, datacenters = 1;
  std::string scheduler = "fifo";
  std::string settings = {};  // the text of the scheduler file; empty: there is none
  worker::SyntheticTimes times = {};
  std::optional<Micros> forget_nodes_after = {};    // master.forget_nodes_after; none: the default
  std::optional<Micros> executable_retention = {};  // master.executable_retention; none: the default
  std::optional<Micros> trash_retention = {};       // dfs.trash_retention; none: the default
  std::optional<std::int64_t> job_logs_keep = {};   // master.job_logs_keep; none: the default
  std::optional<std::int64_t> history_jobs = {};    // master.history_jobs; none: the default
  Release master = ThisRelease();                   // the release that the master claims to be
  rpc::Background* background = nullptr;            // plays the master's engine forward; it outlives the cluster
  rpc::Background* programs = nullptr;              // of the master's scheduler; it outlives the cluster
  outside::Starter start_program = nullptr;
};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(const SimulatedOptions& options);
  ~SimulatedCluster() noexcept;

  // Runs everything that happens within `seconds`.
  void Advance(double seconds);
  // Stops the machine for `seconds`. Nothing runs meanwhile; afterwards all overdue timers fire at once.
  void Pause(double seconds);
  // Runs until no job lives, for at most `seconds`. Returns false if jobs still live then.
  bool RunUntilIdle(double seconds);

  // Adds a file of `blocks` blocks of 64 MiB, two replicas each.
  void AddFile(const std::string& path, std::uint32_t blocks);
  // Adds a file of one block. Worker 0 has its only replica, and has reported it.
  dfs::BlockId StoreFile(const std::string& path);
  // Submits through the RPC interface.
  void Submit(const std::string& input, const std::string& output, std::uint32_t reduces, const std::string& pool = {});
  // Submits without waiting for the answer.
  void SubmitAndForget(const std::string& input, const std::string& output);
  // Replaces the contents of the scheduler file.
  void WriteSettings(const std::string& text) { settings_ = text; }
  static constexpr const char* kThrows = "throw";           // with this text, the master's next look at the file throws
  [[nodiscard]] std::map<std::string, JobState> Outputs();  // the state of each job, by output

  // Breaks the worker's connections and allows none until Mend.
  void Cut(std::uint32_t worker);
  void Mend(std::uint32_t worker);
  // Announces that the worker's machine will be taken away in `seconds` or, without a value, that it stays after all.
  void Foretell(std::uint32_t worker, std::optional<double> seconds);
  // Sets the time that syncs of the worker's disk take from now on. At first they take ten milliseconds.
  void SetSyncs(std::uint32_t worker, Micros take);
  // Decommissions the worker, or takes it back into use, through the RPC interface.
  void Drain(std::uint32_t worker, bool drained);
  // The outcome of dialling the worker's port from now on; at first it is kListens.
  enum class Port { kListens, kSilent, kDeserted };
  void SetPort(std::uint32_t worker, Port port);
  // Sets the times at which the certificates of the master and of all workers end; at first there is no TLS. Only these
  // times exist, not the certificates.
  void SetCertificates(const tls::CertificateEnds& master, Micros workers) {
    certificates_ = master;
    worker_certificates_ = workers;
  }
  // What all workers say of their python3 from the next heartbeat on.
  void SetWorkerPython(std::string path) { worker_python_ = std::move(path); }
  // Sets the free bytes on the master's disk from now on. At first the disk has room.
  void SetFree(std::uint64_t bytes) { free_ = bytes; }
  // Sets the number of bytes left in the spare log of the master's store. At first there are none.
  void SetSpare(std::uint64_t bytes) { spare_.left = bytes; }
  // Returns the number of times that a submission was put off with kBusy.
  [[nodiscard]] int put_off() const { return put_off_; }
  // Makes the master process die, with everything in its memory, and start again.
  void RestartMaster();
  // From now on steps are written to disk, but calls that wait for them get no answer, until a master starts again.
  void LoseAnswers();
  // Returns the map outputs that the worker serves.
  [[nodiscard]] const std::set<AttemptId>& Served(std::uint32_t worker) const;

  // Restarts the master with another database, as if it were started with a wrong directory. Returns its earlier
  // database.
  std::unique_ptr<KeyValueStore> RestartMasterWith(std::unique_ptr<KeyValueStore> store);
  // A worker from outside the cluster, for RegisterAs.
  struct Stranger {
    std::string host;
    std::string cluster;
    std::string storage = {};  // empty: one of its own
    bool stays = false;        // it keeps its session, but answers no call
  };
  // Registers the stranger. Returns the master's answer.
  Status RegisterAs(const Stranger& stranger);
  [[nodiscard]] dfs::BlockStore& blocks(std::uint32_t worker);

  // Returns every line of the journal, in order.
  [[nodiscard]] std::vector<std::string> Journal() const;
  // Returns the number of journal lines that begin, after the time, with `event`.
  [[nodiscard]] std::size_t JournalLines(const std::string& event) const;
  [[nodiscard]] master::Control& control() { return *control_; }
  [[nodiscard]] double seconds() const;

 private:
  struct Worker;
  class Dialer;
  class Ports;
  class SettingsFile;
  class MuteLog;
  struct SyntheticJob {
    std::string input, output;
    std::uint32_t reduces = 0;
    std::string pool;
  };
  kj::Promise<void> Ask(const SyntheticJob& wanted);
  void StartMaster();
  void StopMaster();

  SimulatedOptions options_;
  Random random_;
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  DrivenClock clock_{kSecond};
  rpc::PipeNetwork network_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<MuteLog> commit_log_;
  master::MasterConfig config_;
  std::unique_ptr<Ports> ports_;
  std::string settings_;
  std::unique_ptr<master::Control> control_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Link> client_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::uint64_t free_ = std::uint64_t{1} << 40;
  struct Spare final : SpareRoom {
    void UseSpare(bool use) override { in_use = use; }
    [[nodiscard]] std::uint64_t spare_left() const override { return left; }
    std::uint64_t left = 0;
    bool in_use = false;
  };
  Spare spare_;
  tls::CertificateEnds certificates_;
  Micros worker_certificates_ = 0;
  std::string worker_python_;
  int put_off_ = 0;
  std::vector<master::wire::WorkerSession::Client> strangers_;  // of strangers that stay
  std::vector<kj::Promise<void>> unanswered_;
};

}  // namespace millrace
