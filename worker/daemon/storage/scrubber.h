// SPDX-License-Identifier: Apache-2.0
// CheckBlock reads one block. Scrubber reads every block of a store within the period, in search of rot that no reader
// has met; ScrubSchedule chooses the order and the times. A bad block is reported at once. The scrubber takes only its
// start from the wall clock, so when that clock is set, nothing is read earlier, later or twice. Thread rule: the
// control thread; it reads on `background`, which should have no other work.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/protocol/dfs_types.capnp.h"
#include "base/rpc/background.h"
#include "base/status.h"
#include "dfs/data/block_store.h"
#include "worker/daemon/storage/scrub_schedule.h"

namespace millrace::worker {

// The result of reading a local replica.
struct CheckedBlock {
  dfs::StoredBlock block;  // the length is set if the block is sound
  dfs::wire::ReplicaState state = dfs::wire::ReplicaState::SOUND;
  Status why;  // why the block is not sound
};

// The bytes that are read from the disk at a time.
inline constexpr std::uint64_t kCheckPiece = std::uint64_t{1} << 20;

// Judge and CheckBlock say whether a local replica is sound. Thread rule: any thread; they block on the disk.
//
// Returns the verdict on the block after a check of a part of it ended with `status`.
[[nodiscard]] CheckedBlock Judge(const dfs::StoredBlock& block, const Status& status);
// Checks the whole block against its checksums. A block that was listed as damaged and is now sound is listed as sound
// again.
[[nodiscard]] CheckedBlock CheckBlock(dfs::BlockStore& blocks, std::uint64_t id);

struct ScrubOptions {
  Micros period = 0;
  std::uint64_t rate = 0;     // bytes a second at most
  std::string progress_file;  // when each block was last read; written every kSaveEvery, read after a restart
};

class Scrubber {
 public:
  static constexpr Micros kSaveEvery = 60 * kSecond;
  static constexpr Micros kLookAgain = 10 * kSecond;  // for blocks that have become more urgent, or if there were none

  // `found` is called for each block that is not sound. Requires: all references outlive this.
  Scrubber(kj::Timer& timer, const Clock& clock, dfs::BlockStore& blocks, rpc::Background& background,
           ScrubOptions options, std::function<void(const CheckedBlock&)> found);
  ~Scrubber() noexcept;
  void Start();  // once

 private:
  struct Reading;
  [[nodiscard]] Micros Now() const;
  kj::Promise<void> Cycle();
  kj::Promise<void> Wait(Micros until);
  kj::Promise<void> Read(std::shared_ptr<Reading> reading);
  kj::Promise<void> Save();
  kj::Promise<void> InBackground(std::function<void()> work);

  kj::Timer& timer_;
  const Clock& clock_;
  dfs::BlockStore& blocks_;
  rpc::Background& background_;
  const ScrubOptions options_;
  std::function<void(const CheckedBlock&)> found_;
  std::shared_ptr<ScrubSchedule> schedule_;
  Micros started_ = 0;                                  // the time at the start, by the wall clock
  kj::TimePoint origin_ = kj::origin<kj::TimePoint>();  // the same time, by the timer
  Micros saved_ = 0;
  kj::Promise<void> cycle_ = nullptr;  // last: it uses the members above
};

}  // namespace millrace::worker
