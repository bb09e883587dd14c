#include "worker/shuffle/reduce_copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <utility>

#include "base/crc32c.h"
#include "base/net/bulk_handler.h"
#include "worker/shuffle/copy_book.h"
#include "worker/shuffle/copy_file.h"
#include "worker/shuffle/fetch_wire.h"

namespace millrace::shuffle {

namespace asio = boost::asio;
using net::Awaitable;
using net::Wire;

namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kBatchBytes = std::uint64_t{4} << 20;  // expected; what is lost with a connection at the most
constexpr std::size_t kMaxBatch = 64;

// Lets work in until it is closed; Close returns when all that is inside has left.
class Gate {
 public:
  class Pass {
   public:
    explicit Pass(Gate& gate) : gate_(gate) {
      const std::lock_guard lock(gate.mutex_);
      inside_ = !gate.closed_;
      if (inside_) ++gate.inside_;
    }
    ~Pass() {
      const std::lock_guard lock(gate_.mutex_);
      if (inside_ && --gate_.inside_ == 0) gate_.empty_.notify_all();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    explicit operator bool() const { return inside_; }

   private:
    Gate& gate_;
    bool inside_;
  };

  void Close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    empty_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  unsigned inside_ = 0;
  bool closed_ = false;
};

struct Outcome {
  Status status;
  bool in_step = false;   // the connection is at the next segment header
  bool for_good = false;  // asking again gives the same
};

}  // namespace

// All of it runs on one strand, except for pieces that are written by disk threads. Whatever touches the file, the map
// output server or a callback holds a Pass, so that after Close it is only sockets that may still be winding down; for
// these a coroutine holds its Impl.
struct ReduceCopy::Impl : std::enable_shared_from_this<Impl> {
  Impl(net::BulkServer& server, const MapOutputServer& local_outputs, std::uint32_t of_partition, std::uint32_t maps,
       std::string path, CopyOptions given, CopyCallbacks told, Log log_to)
      : threads(server.threads()),
        strand(threads.MakeStrand()),
        timer(strand),
        local(local_outputs),
        partition(of_partition),
        options(given),
        callbacks(std::move(told)),
        log(std::move(log_to)),
        file(std::move(path)),
        book(partition, maps, options.retries, options.first_back_off) {}

  template <class F>
  void Post(F f) {
    asio::post(strand, [self = shared_from_this(), f = std::move(f)]() mutable {
      const Gate::Pass pass(self->gate);
      if (pass && !self->ended) f(*self);
    });
  }

  void Announced(const std::vector<Source>& sources);
  void LookUp(const Source& source);
  void Schedule();
  void SetTimer();

  static Awaitable<void> Visit(std::shared_ptr<Impl> self, Place place);
  Awaitable<void> FetchAll(Wire& wire, Place place);
  Awaitable<bool> FetchBatch(Wire& wire, std::vector<Ticket> batch, char* buffer);
  Awaitable<Status> Ask(Wire& wire, const std::vector<Ticket>& batch);
  Awaitable<Outcome> FetchSegment(Wire& wire, const Ticket& ticket, char* buffer);
  Awaitable<Status> ReceiveBytes(Wire& wire, CopyFile::Extent extent, char* buffer, std::uint32_t* crc);
  [[nodiscard]] Status WritePiece(std::string_view piece, std::uint64_t offset);
  [[nodiscard]] std::size_t BatchLimit() const;

  void Keep(CopiedSegment segment);
  void Failed(const Ticket& ticket, const Status& why, bool for_good);
  void Tell(const MapAttempt& map, const Status& why);
  void Break(const Status& why);
  void FinishIfComplete();
  void End();

  net::BulkServer::Threads& threads;
  const net::Executor strand;
  asio::steady_timer timer;  // to the next output whose rest ends
  const MapOutputServer& local;
  const std::uint32_t partition;
  const CopyOptions options;
  const CopyCallbacks callbacks;
  const Log log;
  CopyFile file;
  CopyBook book;
  Gate gate;
  std::set<std::shared_ptr<Wire>> wires;
  unsigned connections = 0;
  bool ended = false;  // complete, broken or destroyed
  std::uint64_t fetched_segments = 0;
  std::atomic<std::uint32_t> copied{0};
  std::atomic<std::uint64_t> bytes_fetched{0};
};

void ReduceCopy::Impl::Announced(const std::vector<Source>& sources) {
  for (const Source& source : sources) {
    if (book.Announce(source) && source.local) LookUp(source);
  }
  FinishIfComplete();
  Schedule();
}

void ReduceCopy::Impl::LookUp(const Source& source) {
  std::optional<MapOutputServer::Local> found = local.Find(source.map, partition);
  if (!found.has_value()) {
    Tell(source.map, NotFound(Name(source.map) + ": its output is not on this worker any more"));
    return;
  }
  Keep({source.map.map, std::move(found->path), found->segment});
}

void ReduceCopy::Impl::Schedule() {
  if (ended) return;
  book.Wake(std::chrono::steady_clock::now());
  while (connections < std::max(options.max_connections, 1u)) {
    std::optional<Place> place = book.Visit();
    if (!place.has_value()) break;
    if (!threads.Spawn(strand, Visit(shared_from_this(), std::move(*place)))) return;  // the plane is stopping
    ++connections;
  }
  SetTimer();
}

void ReduceCopy::Impl::SetTimer() {
  const auto next = book.next_wake();
  if (!next.has_value()) return;
  timer.expires_at(*next);
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self == nullptr || error) return;
    const Gate::Pass pass(self->gate);
    if (pass) self->Schedule();
  });
}

Awaitable<void> ReduceCopy::Impl::Visit(std::shared_ptr<Impl> self, Place place) {
  const auto wire = co_await Wire::Connect(self->threads, place.host, place.port, self->options.stall);
  if (wire.ok() && !self->ended) {
    self->wires.insert(*wire);
    co_await self->FetchAll(**wire, place);
    self->wires.erase(*wire);
  }
  const Gate::Pass pass(self->gate);
  if (!pass || self->ended) co_return;
  if (!wire.ok()) {
    for (const Ticket& ticket : self->book.NextBatch(place, kMaxFetch)) self->Failed(ticket, wire.status(), false);
  }
  --self->connections;
  self->book.Leave(place);
  self->Schedule();
}

// Until the place has nothing more that is wanted, or the connection fails.
Awaitable<void> ReduceCopy::Impl::FetchAll(Wire& wire, Place place) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  while (!ended) {
    std::vector<Ticket> batch = book.NextBatch(place, BatchLimit());
    if (batch.empty()) co_return;
    const bool in_step = co_await FetchBatch(wire, std::move(batch), buffer.get());
    if (!in_step) co_return;
  }
}

std::size_t ReduceCopy::Impl::BatchLimit() const {
  if (fetched_segments == 0) return kMaxBatch;
  const std::uint64_t mean = bytes_fetched / fetched_segments + 1;
  return std::clamp<std::size_t>(kBatchBytes / mean, 1, kMaxBatch);
}

// True if the connection can take another one. A failure counts for the output that it struck; those behind it were not
// tried.
Awaitable<bool> ReduceCopy::Impl::FetchBatch(Wire& wire, std::vector<Ticket> batch, char* buffer) {
  const Status asked = co_await Ask(wire, batch);
  if (!asked.ok()) {
    const Gate::Pass pass(gate);
    if (!pass || ended) co_return false;
    for (const Ticket& ticket : batch) Failed(ticket, asked, false);
    co_return false;
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Outcome outcome = co_await FetchSegment(wire, batch[i], buffer);
    const Gate::Pass pass(gate);
    if (!pass || ended) co_return false;
    if (!outcome.status.ok()) Failed(batch[i], outcome.status, outcome.for_good);
    if (outcome.in_step) continue;
    for (++i; i < batch.size(); ++i) book.PutBack(batch[i]);
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

Awaitable<Outcome> ReduceCopy::Impl::FetchSegment(Wire& wire, const Ticket& ticket, char* buffer) {
  const std::string what = Name(ticket.map) + " from " + wire.peer();
  std::array<char, kSegmentHeaderBytes> bytes;
  const Status read = co_await wire.Read(bytes.data(), bytes.size());
  if (!read.ok()) co_return Outcome{read.Within(what)};
  const Result<SegmentHeader> header = DecodeSegmentHeader({bytes.data(), bytes.size()});
  if (!header.ok()) co_return Outcome{header.status().Within(what)};
  if (header->attempt.map != ticket.map.map || header->attempt.number != ticket.map.number) {
    co_return Outcome{Corrupt(what + ": the worker sent another output than the one that was asked for")};
  }
  if (header->status != StatusCode::kOk) {
    const bool for_good = header->status == StatusCode::kNotFound || header->status == StatusCode::kInvalid;
    co_return Outcome{Status(header->status, what + ": the worker does not have it"), true, for_good};
  }
  const CopyFile::Extent extent = file.Reserve(header->segment.length);
  CopiedSegment segment{ticket.map.map, file.path(), header->segment};
  segment.segment.offset = extent.offset;
  std::uint32_t crc = 0;
  Status status = co_await ReceiveBytes(wire, extent, buffer, &crc);
  const bool in_step = status.ok();
  if (!in_step) status = status.Within(what);
  if (in_step && crc != header->segment.crc) status = Corrupt(what + ": its bytes fail their checksum");
  const Gate::Pass pass(gate);
  if (!status.ok() || !pass || ended) {
    file.Release(extent);
    co_return Outcome{status, in_step};
  }
  ++fetched_segments;
  bytes_fetched += extent.length;
  Keep(std::move(segment));
  co_return Outcome{Status::Ok(), true};
}

// A segment of no bytes makes one empty piece, which creates the file: a segment names a file that exists.
Awaitable<Status> ReduceCopy::Impl::ReceiveBytes(Wire& wire, CopyFile::Extent extent, char* buffer, std::uint32_t* crc) {
  std::uint64_t done = 0;
  do {
    const std::size_t size = std::min<std::uint64_t>(kPieceBytes, extent.length - done);
    if (size > 0) {
      const Status read = co_await wire.Read(buffer, size);
      if (!read.ok()) co_return read;
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

Status ReduceCopy::Impl::WritePiece(std::string_view piece, std::uint64_t offset) {
  const Gate::Pass pass(gate);
  if (!pass) return Cancelled("the copy was given up");
  return file.Write(piece, offset);
}

void ReduceCopy::Impl::Keep(CopiedSegment segment) {
  const CopyFile::Extent extent{segment.segment.offset, segment.segment.length};
  const bool remote = segment.file == file.path();
  if (!book.Keep(std::move(segment))) {
    if (remote) file.Release(extent);
    return;
  }
  copied = book.copied();
  FinishIfComplete();
}

void ReduceCopy::Impl::Failed(const Ticket& ticket, const Status& why, bool for_good) {
  if (ended) return;
  log->warn("copy for reduce {}: {}", partition, why.message());
  if (book.Fail(ticket, for_good, std::chrono::steady_clock::now())) Tell(ticket.map, why);
}

void ReduceCopy::Impl::Tell(const MapAttempt& map, const Status& why) {
  if (!ended && callbacks.failed) callbacks.failed(map, why);
}

void ReduceCopy::Impl::Break(const Status& why) {
  if (ended) return;
  End();
  if (callbacks.broken) callbacks.broken(why);
}

void ReduceCopy::Impl::FinishIfComplete() {
  if (ended || !book.complete()) return;
  End();
  if (callbacks.complete) callbacks.complete(book.TakeSegments(), bytes_fetched);
}

void ReduceCopy::Impl::End() {
  ended = true;
  timer.cancel();
  for (const std::shared_ptr<Wire>& wire : wires) wire->Abort();
}

ReduceCopy::ReduceCopy(net::BulkServer& server, const MapOutputServer& local, std::uint32_t partition,
                       std::uint32_t maps, std::string file, CopyOptions options, CopyCallbacks callbacks, Log log)
    : impl_(std::make_shared<Impl>(server, local, partition, maps, std::move(file), options, std::move(callbacks),
                                   std::move(log))) {
  if (maps == 0) impl_->Post([](Impl& impl) { impl.FinishIfComplete(); });
}

ReduceCopy::~ReduceCopy() {
  impl_->gate.Close();
  asio::post(impl_->strand, [impl = impl_] { impl->End(); });
}

void ReduceCopy::Ready(const std::vector<Source>& sources) {
  impl_->Post([sources](Impl& impl) { impl.Announced(sources); });
}

void ReduceCopy::Gone(const std::vector<MapAttempt>& attempts) {
  impl_->Post([attempts](Impl& impl) {
    for (const MapAttempt& attempt : attempts) impl.book.Withdraw(attempt);
  });
}

std::uint32_t ReduceCopy::copied() const { return impl_->copied; }
std::uint64_t ReduceCopy::bytes_fetched() const { return impl_->bytes_fetched; }

}  // namespace millrace::shuffle
