// SPDX-License-Identifier: Apache-2.0
// The coroutines of a ReduceCopy, one for each worker to which it is connected.
#include <algorithm>
#include <array>
#include <utility>

#include "base/crc32c.h"
#include "worker/daemon/shuffle/fetch_wire.h"
#include "worker/daemon/shuffle/reduce_copy_impl.h"

namespace millrace::shuffle {
namespace {

constexpr std::size_t kFetchPieceBytes = std::size_t{256} << 10;
// A batch is expected to have so many bytes, which are what is lost at the most with a connection.
constexpr std::uint64_t kBatchBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMaxBatch = 64;

}  // namespace

Awaitable<void> ReduceCopy::Impl::Visit(std::shared_ptr<Impl> self, FetchPlace place, std::shared_ptr<Guest> guest) {
  const auto wire = co_await Wire::Connect(self->threads, place.host, place.port, self->options.stall);
  if (wire.ok() && !self->ended && !guest->given_up) {
    guest->wire = *wire;
    co_await self->FetchAll(*guest, place);
  }
  const Gate::Pass pass(self->gate);
  if (!pass || self->ended || guest->given_up) co_return;
  if (!wire.ok()) {
    for (const Ticket& ticket : self->schedule.NextBatch(place, kMaxFetch)) self->Failed(ticket, wire.status(), false);
  }
  self->Left(place);
  self->Schedule();
}

// Fetches until the place has nothing more that is wanted, or the connection fails.
Awaitable<void> ReduceCopy::Impl::FetchAll(Guest& guest, FetchPlace place) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kFetchPieceBytes);
  while (!ended && !guest.given_up) {
    std::vector<Ticket> batch = schedule.NextBatch(place, BatchLimit());
    if (batch.empty()) co_return;
    const bool in_step = co_await FetchBatch(*guest.wire, std::move(batch), buffer.get());
    if (!in_step && !ended && !guest.given_up) limit.Failed(std::chrono::steady_clock::now());
    if (!in_step || connections > limit.limit()) co_return;
  }
}

std::size_t ReduceCopy::Impl::BatchLimit() const {
  if (fetched_segments == 0) return kMaxBatch;
  const std::uint64_t mean = bytes_fetched / fetched_segments + 1;
  return std::clamp<std::size_t>(kBatchBytes / mean, 1, kMaxBatch);
}

// Fetches a batch. Returns true if the connection can take another one. A failure counts only for the output that it
// struck, since those after it were not tried.
Awaitable<bool> ReduceCopy::Impl::FetchBatch(Wire& wire, std::vector<Ticket> batch, char* buffer) {
  const Status asked = co_await Ask(wire, batch);
  if (!asked.ok()) {
    const Gate::Pass pass(gate);
    if (!pass || ended) co_return false;
    for (const Ticket& ticket : batch) Failed(ticket, asked, false);
    co_return false;
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Fetched fetched = co_await FetchSegment(wire, batch[i], i > 0, buffer);
    const Gate::Pass pass(gate);
    if (!pass || ended) co_return false;
    if (!fetched.status.ok()) Failed(batch[i], fetched.status, fetched.for_good);
    if (fetched.in_step) continue;
    for (++i; i < batch.size(); ++i) schedule.PutBack(batch[i]);
    co_return false;
  }
  co_return true;
}

Awaitable<Status> ReduceCopy::Impl::Ask(Wire& wire, const std::vector<Ticket>& batch) {
  FetchRequest request;
  request.partition = partition;
  for (const Ticket& ticket : batch) request.attempts.push_back(ticket.map);
  const std::string bytes = net::EncodeRequest(net::Operation::kFetchRuns, EncodeFetch(request));
  Status status = co_await wire.Write(bytes);
  if (!status.ok()) co_return status;
  std::string payload;
  const Result<net::Frame> frame = co_await wire.ReadReply(&payload);
  if (!frame.ok()) co_return frame.status();
  co_return net::ReplyStatus(*frame, payload, wire.peer());
}

// Fetches one segment. `follows` says that it comes right after another one: whoever waits for its header then waits
// for the network, and not for the worker to find the segment.
auto ReduceCopy::Impl::FetchSegment(Wire& wire, const Ticket& ticket, bool follows, char* buffer)
    -> Awaitable<Fetched> {
  const std::string what = ToText(ticket.map) + " from " + wire.peer();
  std::array<char, kSegmentHeaderBytes> bytes;
  const Status read = co_await ReadMetered(wire, bytes.data(), bytes.size(), follows);
  if (!read.ok()) co_return Fetched{read.Within(what)};
  const Result<SegmentHeader> header = DecodeSegmentHeader({bytes.data(), bytes.size()});
  if (!header.ok()) co_return Fetched{header.status().Within(what)};
  if (header->attempt.task.index != ticket.map.task.index || header->attempt.number != ticket.map.number) {
    co_return Fetched{Corrupt(what + ": the worker sent another output than the one that was asked for")};
  }
  if (header->status != StatusCode::kOk) {
    const bool for_good = header->status == StatusCode::kNotFound || header->status == StatusCode::kInvalid;
    co_return Fetched{Status(header->status, what + ": the worker does not have it"), true, for_good};
  }
  const CopyFile::Extent extent = file.Reserve(header->segment.length);
  CopiedSegment segment{ticket.map.task.index, file.path(), header->segment};
  segment.segment.offset = extent.offset;
  std::uint32_t crc = 0;
  Status status = co_await ReceiveBytes(wire, extent, buffer, &crc);
  const bool in_step = status.ok();
  if (!in_step) status = status.Within(what);
  if (in_step && crc != header->segment.crc) status = Corrupt(what + ": its bytes fail their checksum");
  const Gate::Pass pass(gate);
  if (!status.ok() || !pass || ended) {
    file.Release(extent);
    co_return Fetched{status, in_step};
  }
  ++fetched_segments;
  bytes_fetched += extent.length;
  if (options.meter != nullptr) {
    options.meter->Segment(*metered, extent.length, header->segment.raw_length, std::chrono::steady_clock::now());
  }
  Keep(std::move(segment));
  co_return Fetched{Status::Ok(), true};
}

// Receives the bytes of a segment. A segment of no bytes makes one empty piece, which creates the file, because a
// segment names a file that exists.
Awaitable<Status> ReduceCopy::Impl::ReceiveBytes(Wire& wire, CopyFile::Extent extent, char* buffer,
                                                 std::uint32_t* crc) {
  std::uint64_t done = 0;
  do {
    const std::size_t size = std::min<std::uint64_t>(kFetchPieceBytes, extent.length - done);
    if (size > 0) {
      const Status read = co_await ReadMetered(wire, buffer, size, true);
      if (!read.ok()) co_return read;
      Arrived(size);
    }
    const std::string_view piece(buffer, size);
    auto write = [this, piece, crc, offset = extent.offset + done] {
      *crc = Crc32c(piece, *crc);
      return WritePiece(piece, offset);
    };
    const Status written = co_await net::OnDisk(threads, write);
    if (!written.ok()) {
      const Gate::Pass pass(gate);
      if (pass) Break(written);
      co_return written;
    }
    done += size;
  } while (done < extent.length);
  co_return Status::Ok();
}

void ReduceCopy::Impl::Arrived(std::size_t size) {
  const unsigned before = limit.limit();
  limit.Came(size, std::chrono::steady_clock::now());
  const Gate::Pass pass(gate);
  if (pass && limit.limit() > before) Schedule();
}

Awaitable<Status> ReduceCopy::Impl::ReadMetered(Wire& wire, char* out, std::size_t size, bool counts) {
  FetchMeter* const meter = counts ? options.meter : nullptr;
  const JobId job = metered.value_or(JobId());
  if (meter != nullptr) meter->Wait(job, std::chrono::steady_clock::now());
  Status status = co_await wire.Read(out, size);
  if (meter != nullptr) meter->Came(job, status.ok() ? size : 0, std::chrono::steady_clock::now());
  co_return status;
}

Status ReduceCopy::Impl::WritePiece(std::string_view piece, std::uint64_t offset) {
  const Gate::Pass pass(gate);
  if (!pass) return Cancelled("the copy was given up");
  return file.Write(piece, offset);
}

}  // namespace millrace::shuffle
