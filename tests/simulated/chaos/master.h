// SPDX-License-Identifier: Apache-2.0
// MasterMachine is the host of the master: its database on a disk that loses data, and the real Control behind real
// sessions. The master can die, be stopped, and start again from the contents of the disk. Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

#include "base/rpc/transport.h"
#include "master/control/control.h"
#include "tests/simulated/chaos/cluster.h"
#include "tests/simulated/chaos/disk.h"

namespace millrace::simulated {

class MasterMachine {
 public:
  explicit MasterMachine(Cluster& cluster);
  ~MasterMachine();

  [[nodiscard]] HostId host() const { return host_; }
  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] master::Control* control() { return control_.get(); }  // null while it is down
  // Returns the contents of the disk together with the changes that wait to be written. The master's memory must agree
  // with them.
  [[nodiscard]] std::unique_ptr<LosingStore> StoreAsOfNow() const;
  [[nodiscard]] const LosingStore& store() const { return *store_; }
  [[nodiscard]] const master::MasterConfig& config() const { return config_; }

  void Start();
  void Kill(Death death);
  void LosePower();
  // Sets the seconds by which the machine's wall clock is ahead. The setting survives deaths of the process.
  void SetClock(double seconds) { clock_.Move(seconds); }
  // Makes the disk refuse the next group.
  void RefuseLog() { store_->Refuse(Random(random_.Next())); }
  void ObeyLog() { store_->Obey(); }
  // Makes the disk take this many seconds longer for the database's writes. The setting survives a restart.
  void SetLogDelay(double seconds);
  void AtWrite(DrivenCommitLog::Moment moment) { commit_log_->AtWrite(std::move(moment)); }
  // HideDirectory makes the master run on a directory of a new cluster from its next start on; GiveDirectoryBack makes
  // it run on its own again.
  void HideDirectory();
  void GiveDirectoryBack();
  // TakeImage copies the master's directory as it is now. From its next start after SetBack on, the master runs on that
  // copy. With `restored`, the copy is marked as old, as a restored backup is; otherwise nothing marks it.
  // GiveDirectoryBack ends this state too.
  void TakeImage() { image_ = store_->Copy(); }
  [[nodiscard]] bool has_image() const { return image_ != nullptr; }
  void SetBack(bool restored);
  [[nodiscard]] bool misled() const { return hidden_ != nullptr; }
  // Returns a count that grows by one when the master is set back, and again when it is on its own directory. So the
  // count is odd while it runs on an old directory.
  [[nodiscard]] std::uint64_t set_backs() const { return set_backs_; }
  // Returns true if the master considers its database old, so that it removes nothing for good.
  [[nodiscard]] bool doubts() const { return control_ != nullptr && control_->age().Doubted(); }
  [[nodiscard]] std::uint64_t misled_times() const { return misled_times_; }

 private:
  class SettingsFile;
  class WallClock final : public Clock {
   public:
    explicit WallClock(const World& world) : world_(world) {}
    [[nodiscard]] Micros Now() const override { return world_.clock().Now() + ahead_; }
    void Move(double seconds) { ahead_ = static_cast<Micros>(seconds * kSecond); }

   private:
    const World& world_;
    Micros ahead_ = 0;
  };
  Cluster& cluster_;
  WallClock clock_;
  HostId host_;
  Process process_;
  Network::Dialer dialer_;
  Random random_;
  master::MasterConfig config_;
  std::unique_ptr<LosingStore> store_ = std::make_unique<LosingStore>();
  std::unique_ptr<LosingStore> hidden_;
  std::unique_ptr<LosingStore> image_;
  std::uint64_t misled_times_ = 0, set_backs_ = 0;
  double log_delay_ = 0;
  std::unique_ptr<DrivenCommitLog> commit_log_;
  std::unique_ptr<master::Control> control_;
  std::unique_ptr<rpc::Server> server_;
  struct Dead {
    std::unique_ptr<DrivenCommitLog> commit_log;
    std::unique_ptr<master::Control> control;
  };
  std::vector<Dead> dead_;
};

}  // namespace millrace::simulated
