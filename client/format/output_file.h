// SPDX-License-Identifier: Apache-2.0
// OutputFile buffers the records that are written to a file of the file system.
// Thread rule: one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace millrace {

class OutputFile {
 public:
  using Write = std::function<Status(std::string_view)>;
  using Close = std::function<Status()>;
  OutputFile(Write write, Close close) : write_(std::move(write)), close_(std::move(close)) {
    buffer_.reserve(kBufferBytes + kSlackBytes);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // From now on, sets `records` to the number of records so far whenever a record ends. Requires: `records` outlives
  // this.
  void CountIn(std::atomic<std::uint64_t>& records) { counted_ = &records; }

  // Returns the buffer to which a record is appended. Requires: EndRecord follows.
  [[nodiscard]] std::string& buffer() { return buffer_; }
  void EndRecord() { EndRecords(1); }
  // As EndRecord, for several that were appended.
  void EndRecords(std::uint64_t count) {
    counted_->store(records_ += count, std::memory_order_relaxed);
    if (buffer_.size() >= kBufferBytes) [[unlikely]]
      Flush();
  }
  // Notes a failure. The first one is kept: records appended after it are dropped, and Finish returns it.
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  [[nodiscard]] const Status& status() const { return status_; }
  // Hands on the buffered bytes and closes the file. If it returns OK, the file is on disk. A second call returns the
  // same as the first. Requires: nothing is appended afterwards.
  Status Finish() {
    if (!finished_) {
      finished_ = true;
      Flush();
      if (status_.ok()) status_ = close_();
    }
    return status_;
  }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::size_t kSlackBytes = std::size_t{64} << 10;

  void Flush() {
    if (status_.ok() && !buffer_.empty()) status_ = write_(buffer_);
    bytes_ += buffer_.size();
    buffer_.clear();
  }

  Write write_;
  Close close_;
  std::string buffer_;
  std::atomic<std::uint64_t> unseen_{0};
  std::atomic<std::uint64_t>* counted_ = &unseen_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  Status status_;
  bool finished_ = false;
};

}  // namespace millrace
