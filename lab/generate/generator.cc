// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/generator.h"

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "lab/generate/kinds.h"
#include "lab/generate/text.h"

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

template <class Number>
Status InRange(std::string_view name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return Status::Ok();  // no comparison holds for NaN
  return Invalid(std::string(name) + " " + std::to_string(value) + " is not in " + std::to_string(least) + " to " +
                 std::to_string(most));
}

Status Check(const Shape& shape) {
  MILLRACE_TRY(InRange("exponent", shape.exponent, 0.1, 3.0));
  MILLRACE_TRY(InRange("vocabulary", shape.vocabulary, 0.1, 1e6));
  MILLRACE_TRY(InRange("growth", shape.growth, 0.1, 1.0));
  MILLRACE_TRY(InRange("line-words", shape.line_words, 1u, 1'000u));
  MILLRACE_TRY(InRange("ratings", shape.ratings, 1u, 10'000u));
  MILLRACE_TRY(InRange("line-bases", shape.line_bases, 1u, 10'000u));
  return InRange("centres", shape.centres, 1u, 65'536u);
}

}  // namespace

const std::vector<std::string>& Kinds() {
  static const std::vector<std::string> kinds = {"text", "ratings", "dna", "points", "edges", "tuples", "records"};
  return kinds;
}

Result<std::unique_ptr<Generator>> MakeGenerator(std::string_view kind, std::uint64_t size, std::uint64_t seed,
                                                 const Shape& shape) {
  MILLRACE_TRY(Check(shape));
  std::unique_ptr<Generator> made;
  if (kind == "ratings" && size > 0 && size < Ratings::kLeastBytes) {
    return Invalid("ratings of " + std::to_string(size) + " bytes: there must be " +
                   std::to_string(Ratings::kLeastBytes) + " at least");
  }
  if (kind == "text") made = std::make_unique<Text>(size, seed, shape);
  if (kind == "ratings") made = std::make_unique<Ratings>(size, seed, shape.ratings);
  if (kind == "dna") made = std::make_unique<Dna>(size, seed, shape.line_bases);
  if (kind == "points") made = std::make_unique<Points>(size, seed, shape.centres);
  if (kind == "edges") made = std::make_unique<Edges>(size, seed);
  if (kind == "tuples") made = std::make_unique<Tuples>(size, seed);
  if (kind == "records") made = std::make_unique<Records>(size, seed);
  if (made != nullptr) return made;
  const std::optional<std::string> nearest = Nearest(kind, Kinds());
  return Invalid("no data of the kind " + Quote(kind) + (nearest ? "; did you mean " + Quote(*nearest) + "?" : ""));
}

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
