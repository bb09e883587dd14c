// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/master.h"

#include <utility>

#include "base/cluster_id.h"
#include "master/control/cluster_record.h"
#include "master/service/master_service.h"
#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"

namespace millrace::simulated {

// The scheduler file, which does not change.
class MasterMachine::SettingsFile final : public master::WatchedFile {
 public:
  explicit SettingsFile(std::string text) : text_(std::move(text)) {}
  const std::string& name() const override { return name_; }
  Result<std::string> Read() override { return text_; }
  Result<std::optional<std::string>> TakeChange() override { return std::optional<std::string>(); }

 private:
  std::string name_ = "scheduler.toml";
  std::string text_;
};

MasterMachine::MasterMachine(Cluster& cluster)
    : cluster_(cluster),
      clock_(cluster.world()),
      host_(cluster.AddHost()),
      process_(cluster.world(), "master"),
      dialer_(cluster.network(), host_, process_),
      random_(cluster.world().Fork()) {
  const OptionSet declared = master::DeclareMasterOptions(&config_);
  (void)master::StoreClusterId(FormatClusterId(0, cluster.plan().seed), store_.get());
  const Plan& plan = cluster.plan();
  config_.scheduler = plan.scheduler;
  config_.lost_after = static_cast<Micros>(plan.lost_after * kSecond);
  config_.disconnect_grace = static_cast<Micros>(plan.disconnect_grace * kSecond);
  config_.startup_grace = static_cast<Micros>(plan.startup_grace * kSecond);
}

MasterMachine::~MasterMachine() = default;

void MasterMachine::Start() {
  if (control_ != nullptr) return;
  World& world = cluster_.world();
  process_.Start();
  store_->Reopen();
  const auto failed = [this, incarnation = process_.incarnation()](const Status& why) {
    cluster_.world().Do(0, [this, incarnation, why] {
      if (control_ != nullptr && process_.incarnation() == incarnation) cluster_.faults().LogFailed(why);
    });
  };
  commit_log_ = std::make_unique<DrivenCommitLog>(world, process_.timer(), *store_, cluster_.plan().commit, failed);
  commit_log_->SetDelay(log_delay_);
  if (!misled()) {
    commit_log_->Observe([&cluster = cluster_](const WriteBatch& batch) {
      cluster.checker().Journaled(batch);
      if (!batch.empty()) cluster.faults().Journaled();
    });
  }
  master::ControlDependencies seams{process_.timer(),
                                    clock_,
                                    *store_,
                                    *commit_log_,
                                    world.Fork(),
                                    [numbers = world.Fork()]() mutable { return numbers.Next(); },
                                    world.MakeLogOf("master"),
                                    std::make_unique<SettingsFile>(cluster_.plan().settings),
                                    nullptr,
                                    nullptr,
                                    &dialer_};
  seams.write_key = tls::TokenKey(std::string(tls::TokenKey::kBytes, 'k'));
  auto control = master::Control::Make(config_, std::move(seams));
  if (!control.ok()) {
    world.Note("the master does not start: " + control.status().message());
    if (!misled()) world.Fail("start", "the master does not start: " + control.status().message());
    commit_log_.reset();
    process_.Die();
    return;
  }
  control_ = *std::move(control);
  server_ = std::make_unique<rpc::Server>(process_.timer(), master::MakeMasterServices(*control_));
  cluster_.network().Serve(kMasterAddress, host_, process_, *server_);
  cluster_.checker().MasterStarted();
}

void MasterMachine::Kill(Death death) {
  if (control_ == nullptr) return;
  cluster_.network().Kill(host_, death);
  cluster_.network().StopServing(kMasterAddress);
  process_.Die();
  server_.reset();
  // Calls that wait for the disk hold sessions and leases, which refer to the Control. So it stays, but hears nothing
  // and has no time.
  commit_log_->Abandon();
  dead_.push_back({std::move(commit_log_), std::move(control_)});
}

void MasterMachine::LosePower() {
  Kill(Death::kSilent);
  store_->LosePower(random_);
}

void MasterMachine::HideDirectory() {
  if (hidden_ == nullptr) {
    hidden_ = std::exchange(store_, std::make_unique<LosingStore>());
    (void)master::StoreClusterId(FormatClusterId(1, cluster_.plan().seed), store_.get());
  }
  ++misled_times_;
}

void MasterMachine::SetBack(bool restored) {
  hidden_ = std::exchange(store_, std::move(image_));
  if (restored) {
    WriteBatch batch;
    master::Doubt::Announce(master::DoubtCause::kRestored, &batch);
    (void)store_->Write(batch, Durability::kSynced);
  }
  ++misled_times_;
  ++set_backs_;
}

void MasterMachine::GiveDirectoryBack() {
  if (hidden_ == nullptr) return;
  store_ = std::move(hidden_);
  if (set_backs_ % 2 == 1) ++set_backs_;
}

void MasterMachine::SetLogDelay(double seconds) {
  log_delay_ = seconds;
  if (commit_log_ != nullptr) commit_log_->SetDelay(seconds);
}

std::unique_ptr<LosingStore> MasterMachine::StoreAsOfNow() const {
  std::unique_ptr<LosingStore> copy = store_->Copy();
  if (commit_log_ != nullptr) (void)copy->Write(commit_log_->Pending(), Durability::kSynced);
  return copy;
}

}  // namespace millrace::simulated
