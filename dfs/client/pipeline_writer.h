// SPDX-License-Identifier: Apache-2.0
// PipelineWriter implements BlockWriter. If the first node is on this machine and passes the descriptor of its
// unfinished file (kWriteLocalBlock), the data goes into that file and the packet headers go through the local socket.
// To any other node, both go by TCP. Thread rule: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/net/blocking_stream.h"
#include "dfs/client/block_writer.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {

class PipelineWriter final : public BlockWriter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // `stall` is how long the pipeline may make no progress. A first node that sends nothing at all is given up earlier,
  // after kSilence (dfs/wire/transfer.h); each other node is watched by its neighbour.
  PipelineWriter(std::uint64_t block, std::vector<ReplicaHost> pipeline, Micros stall,
                 std::optional<BlockContent> expected, std::function<TimePoint()> now = std::chrono::steady_clock::now,
                 std::shared_ptr<tls::Credentials> credentials = nullptr, std::string token = {});
  ~PipelineWriter() override;

  // Connects the pipeline. After a failure, only failed_nodes() and KeepNothing() may be used. Requires: this is the
  // first call, and the only Begin.
  Status Begin();
  Status Write(std::string_view data) override;
  Result<WrittenBlock> Finish() override;
  Result<WrittenBlock> Salvage(std::string* unacknowledged, std::vector<NodeId>* failed_nodes) override;
  [[nodiscard]] const std::vector<NodeId>& failed_nodes() const { return failed_nodes_; }
  void KeepNothing() { closed_ = true; }

 private:
  struct SentPacket {
    std::uint64_t offset;
    std::string data;
  };

  [[nodiscard]] const ReplicaHost& first() const { return pipeline_[0]; }
  Result<bool> BeginLocal(std::string_view request);
  Status BeginTcp(std::string_view request);
  Status SendPending(bool last);
  Status SendPacket(const Packet& packet, std::string_view data);
  Status ReceiveAck();
  Status Fail(Status why, std::vector<NodeId> nodes);
  void AddFailed(NodeId node);
  void HangUp();
  [[nodiscard]] BlockContent SentUpTo(std::uint64_t length) const;
  Status FinishAt(const ReplicaHost& place, std::uint64_t length, Micros stall);
  [[nodiscard]] WrittenBlock CloseAt(std::uint64_t length);
  void DiscardEverywhere();
  [[nodiscard]] Micros StallOf(const ReplicaHost& place) const;
  void NoteAnswer(const ReplicaHost& place, const Status& status);
  [[nodiscard]] std::uint64_t SalvageableLength();
  void AppendFrom(std::uint64_t length, std::string* out) const;

  const std::uint64_t block_;
  const std::vector<ReplicaHost> pipeline_;
  const Micros stall_;
  const std::optional<BlockContent> expected_;
  const std::shared_ptr<tls::Credentials> credentials_;
  const std::string token_;
  const Micros silence_;
  const std::function<TimePoint()> now_;
  TimePoint got_on_;  // the time at which bytes were last acknowledged, or first sent
  std::optional<net::BlockingStream> stream_;
  Fd file_;                                // the first node's file, in a local write
  std::string pending_;                    // bytes that do not fill a packet yet
  std::deque<SentPacket> sent_;            // not yet acknowledged
  std::string spare_;                      // a buffer to use again
  std::vector<std::uint32_t> chunk_crcs_;  // of all bytes sent
  std::uint64_t sent_bytes_ = 0, acked_bytes_ = 0;
  bool sent_last_ = false, finished_ = false, closed_ = false;
  Status failure_;
  Status first_spoiled_;  // the first node's disk failure on bytes that this writer put into its file; else OK
  std::vector<NodeId> failed_nodes_;
  std::string refusals_;  // the reasons of nodes that answered but did not keep the block
};

}  // namespace millrace::dfs
