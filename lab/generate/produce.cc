#include "lab/generate/produce.h"

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/thread.h"

namespace millrace::generate {
namespace {

class Production {
 public:
  Production(const Generator& generator, int fd, std::string_view path)
      : generator_(generator), fd_(fd), path_(path), start_(::lseek(fd, 0, SEEK_CUR)) {
    if ((::fcntl(fd, F_GETFL) & O_APPEND) != 0) start_ = -1;
  }

  void Work() {
    std::vector<char> buffer(generator_.most_bytes() + Generator::kSlack);
    while (const std::optional<std::uint64_t> chunk = Take()) {
      generator_.Fill(*chunk, buffer.data());
      const std::string_view bytes(buffer.data(), generator_.BytesOf(*chunk));
      Written(start_ >= 0 ? WriteInPlace(*chunk, bytes) : WriteInTurn(*chunk, bytes));
    }
  }
  Status End() {
    if (failure_.ok() && start_ >= 0) ::lseek(fd_, start_ + static_cast<off_t>(generator_.size()), SEEK_SET);
    return failure_;
  }

 private:
  std::optional<std::uint64_t> Take() {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok() || next_ == generator_.chunks()) return std::nullopt;
    return next_++;
  }
  Status WriteInPlace(std::uint64_t chunk, std::string_view bytes) {
    return WriteAllAt(fd_, bytes, static_cast<std::uint64_t>(start_) + chunk * generator_.chunk_bytes(), path_);
  }
  Status WriteInTurn(std::uint64_t chunk, std::string_view bytes) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return turn_ == chunk || !failure_.ok(); });
    if (!failure_.ok()) return Status::Ok();
    lock.unlock();
    return WriteAll(fd_, bytes, path_);
  }
  void Written(Status status) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    ++turn_;
    moved_.notify_all();
  }

  const Generator& generator_;
  const int fd_;
  const std::string path_;
  off_t start_;  // -1 if the file has no positions, as a pipe has none
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0, turn_ = 0;
  Status failure_;
};

}  // namespace

Status Produce(const Generator& generator, int fd, std::string_view path, unsigned threads) {
  Production production(generator, fd, path);
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) {
      Result<std::jthread> other = StartThread([&] { production.Work(); });
      if (!other.ok()) break;  // those that there are do it all
      others.push_back(*std::move(other));
    }
    production.Work();
  }
  return production.End();
}

}  // namespace millrace::generate
