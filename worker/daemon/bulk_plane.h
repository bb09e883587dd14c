// SPDX-License-Identifier: Apache-2.0
// BulkPlane is the real DataPlane. It runs the block server, the map output server and the reduce copies on one
// BulkServer. Events on that server's threads reach the control thread through the mailbox. Thread rule: the control
// thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/net/bulk_server.h"
#include "base/rpc/background.h"
#include "base/rpc/control_thread.h"
#include "dfs/data/block_server.h"
#include "dfs/data/block_store.h"
#include "worker/daemon/agent/data_plane.h"
#include "worker/daemon/shuffle/map_output_server.h"

namespace millrace::worker {

class BulkPlane final : public DataPlane {
 public:
  // Registers its operations with `server`. Whole map outputs are copied on `copies`, which should have no other work,
  // since that would have to wait for them. Requires: `server` is started afterwards, and all arguments outlive this.
  BulkPlane(net::BulkServer& server, dfs::BlockStore& blocks, const sandbox::TaskDirectories& directories,
            rpc::Mailbox& control, rpc::Background& background, rpc::Background& copies, shuffle::CopyOptions copy,
            Log log);
  ~BulkPlane() override;

  // Does what dfs::BlockServer::PassBy does.
  void PassBlocksBy(std::function<Result<Fd>(const Fd& block)> reopen) { blocks_.PassBy(std::move(reopen)); }
  void Observe(BlockEvents events) override;
  void AddMapOutput(const AttemptId& map, std::uint32_t partitions, const std::string& path,
                    std::function<void(Status)> then) override;
  void CopyMapOutput(const shuffle::Source& source, std::uint32_t partitions, const std::string& path,
                     std::function<void(Status)> then) override;
  void RemoveMapOutput(const AttemptId& map) override;
  void RemoveMapOutputs(JobId job) override;
  [[nodiscard]] std::uint64_t ServedBytes(JobId job) const override;
  // Returns the bytes of map outputs that were sent to other workers. Any thread.
  [[nodiscard]] std::uint64_t SentBytes() const { return outputs_.SentBytes(); }
  [[nodiscard]] std::unique_ptr<ReduceCopier> StartCopy(const AttemptId& reduce, std::uint32_t maps, std::string file,
                                                        shuffle::CopyCallbacks callbacks) override;
  [[nodiscard]] shuffle::FetchMeter::Figures FetchFigures(JobId job) const override;
  void Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) override;
  void ShowIncarnation(std::uint64_t incarnation) override { incarnation_.Is(incarnation); }
  void UseKeys(dfs::BlockKeys keys) override { blocks_.UseKeys(std::move(keys)); }
  void AllowWrite(std::uint64_t block, std::string token) override { blocks_.AllowWrite(block, std::move(token)); }

 private:
  net::BulkServer& server_;
  const sandbox::TaskDirectories& directories_;
  rpc::Mailbox& control_;
  rpc::Background& background_;
  rpc::Background& copies_;
  const std::shared_ptr<std::atomic<bool>> stop_ = std::make_shared<std::atomic<bool>>(false);
  shuffle::FetchMeter meter_;
  shuffle::CopyOptions copy_;
  Log log_;
  std::shared_ptr<BlockEvents> events_;  // read on the control thread only
  dfs::BlockServer blocks_;
  shuffle::MapOutputServer outputs_;
  net::IncarnationServer incarnation_;
};

}  // namespace millrace::worker
