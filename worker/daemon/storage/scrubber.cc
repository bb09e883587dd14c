// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/scrubber.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {

using dfs::wire::ReplicaState;

CheckedBlock Judge(const dfs::StoredBlock& block, const Status& status) {
  if (status.ok()) return {block, ReplicaState::SOUND, status};
  const bool absent = status.code() == StatusCode::kNotFound;
  return {block, absent ? ReplicaState::ABSENT : ReplicaState::CORRUPT, status};
}

CheckedBlock CheckBlock(dfs::BlockStore& blocks, std::uint64_t id) {
  dfs::StoredBlock block{id, 0};
  const auto check = [&]() -> Status {
    MILLRACE_TRY(blocks.Verify(id, 0, 0));  // this finds a block whose data are gone, which is then not listed any more
    MILLRACE_ASSIGN(const dfs::OpenBlock open, blocks.Open(id));
    block.length = open.length;
    block.crc = open.content().crc;
    for (std::uint64_t at = 0; at < open.length; at += kCheckPiece) {
      MILLRACE_TRY(blocks.Verify(id, at, std::min(kCheckPiece, open.length - at)));
    }
    return blocks.Relist(id);
  };
  const Status status = check();
  return Judge(block, status);
}

struct Scrubber::Reading {
  dfs::StoredBlock block;
  std::uint64_t at = 0;  // the next byte
  Status status;
};

Scrubber::Scrubber(kj::Timer& timer, const Clock& clock, dfs::BlockStore& blocks, rpc::Background& background,
                   ScrubOptions options, std::function<void(const CheckedBlock&)> found)
    : timer_(timer),
      clock_(clock),
      blocks_(blocks),
      background_(background),
      options_(std::move(options)),
      found_(std::move(found)) {}

Scrubber::~Scrubber() noexcept = default;

void Scrubber::Start() {
  // Lost or unreadable progress costs only time, since the blocks then count as new.
  const Result<std::string> saved = ReadWholeFile(options_.progress_file);
  saved_ = started_ = clock_.Now();
  origin_ = timer_.now();
  schedule_ = std::make_shared<ScrubSchedule>(options_.period, saved.ok() ? *saved : std::string(), saved_);
  cycle_ = Cycle().eagerlyEvaluate(
      [](kj::Exception&& exception) { MILLRACE_CHECK(false, rpc::FromException(exception).message()); });
}

Micros Scrubber::Now() const { return started_ + (timer_.now() - origin_) / kj::MICROSECONDS; }

kj::Promise<void> Scrubber::InBackground(std::function<void()> work) {
  auto done = kj::newPromiseAndFulfiller<void>();
  const auto tell = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>(kj::mv(done.fulfiller));
  background_.Run(std::move(work), [tell] { (*tell)->fulfill(); });
  return kj::mv(done.promise);
}

kj::Promise<void> Scrubber::Wait(Micros until) {
  return timer_.afterDelay(std::max<Micros>(0, until - Now()) * kj::MICROSECONDS);
}

kj::Promise<void> Scrubber::Cycle() {
  const auto next = std::make_shared<std::optional<ScrubSchedule::Next>>();
  // While a background call is under way, the schedule belongs to it: nothing else is done meanwhile.
  return InBackground([next, schedule = schedule_, &blocks = blocks_, now = Now()] {
           *next = schedule->Choose(blocks.List(), now);
         })
      .then([this, next]() -> kj::Promise<void> {
        const Micros now = Now();
        if (now >= saved_ + kSaveEvery) return Save();
        if (!*next || (*next)->at > now + kLookAgain) return Wait(now + kLookAgain);
        return Wait((*next)->at).then([this, next] {
          schedule_->Began((*next)->block.id, Now());
          return Read(std::make_shared<Reading>(Reading{(*next)->block, 0, Status::Ok()}));
        });
      })
      .then([this] { return Cycle(); });
}

// Reads a piece. That takes at least as long as it would at the highest rate that is allowed.
kj::Promise<void> Scrubber::Read(std::shared_ptr<Reading> reading) {
  const std::uint64_t size = std::min(kCheckPiece, reading->block.length - reading->at);
  const double seconds = static_cast<double>(size) / static_cast<double>(options_.rate);
  const Micros until = Now() + static_cast<Micros>(seconds * static_cast<double>(kSecond));
  return InBackground([reading, size, &blocks = blocks_] {
           const bool listed = blocks.Length(reading->block.id).has_value();  // otherwise it was removed on order
           if (listed) reading->status = blocks.Verify(reading->block.id, reading->at, size);
           if (!listed) reading->status = Cancelled("removed meanwhile");
         })
      .then([this, reading, size, until]() -> kj::Promise<void> {
        reading->at += size;
        const bool bad = !reading->status.ok() && reading->status.code() != StatusCode::kCancelled;
        if (bad) found_(Judge(reading->block, reading->status));
        if (!reading->status.ok() || reading->at >= reading->block.length) return Wait(until);
        return Wait(until).then([this, reading] { return Read(reading); });
      });
}

kj::Promise<void> Scrubber::Save() {
  saved_ = Now();
  return InBackground([schedule = schedule_, file = options_.progress_file] {
    (void)WriteFileDurably(file, schedule->Text());  // a block whose check is not saved is read once more
  });
}

}  // namespace millrace::worker
