// SPDX-License-Identifier: Apache-2.0
// SpareLog: a file of fixed size that takes a database's batches while its disk is full. All its bytes were written
// when there was room, and writing over them takes no further space. The batches continue the database from one of its
// operations on, and go into it once there is room. Thread rule: one thread at a time.
//
// Format: records one after the other from the beginning of the file. Each is a header of 32 bytes (magic, length, the
// operation after which this log begins, the record's index, a crc32c of all that and of the payload) and the batch's
// changes. Bytes after the last whole record with the right operation and index are remains of earlier use. kMagic
// identifies the format; another format would change it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace {

// The interface of a store to the code that decides when its spare log is used.
class SpareRoom {
 public:
  virtual ~SpareRoom() = default;
  // With `use`, batches go into the spare log from the next one on, as long as they fit. Otherwise the next batch goes
  // into the database, after all that is in the spare log. Any thread.
  virtual void UseSpare(bool use) = 0;
  // Returns the bytes left in the spare log; 0 if there is none. Any thread.
  [[nodiscard]] virtual std::uint64_t spare_left() const = 0;
};

class SpareLog {
 public:
  // Makes an empty log of `bytes` bytes. It is on disk, with all its space, when this returns.
  static Status Make(const std::string& path, std::uint64_t bytes);
  // Returns kNotFound if there is no spare log.
  static Result<SpareLog> Open(const std::string& path);

  [[nodiscard]] bool empty() const { return batches_.empty(); }
  [[nodiscard]] const std::vector<WriteBatch>& batches() const { return batches_; }
  [[nodiscard]] std::uint64_t after() const { return after_; }  // the operation that the batches follow
  // Returns the number of operations in the batches, as the database counts them.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  [[nodiscard]] std::uint64_t left() const { return size_ - end_; }
  // Returns the number of bytes that the batch takes in the log.
  [[nodiscard]] static std::uint64_t BytesOf(const WriteBatch& batch);
  // Adds a batch, which is on disk when this returns. `after` is used only if the log is empty. Requires: the batch
  // fits.
  Status Append(const WriteBatch& batch, std::uint64_t after);
  // Removes all batches. The removal is on disk when this returns.
  Status Clear();

 private:
  SpareLog(std::string path, Fd fd, std::uint64_t size) : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}
  [[nodiscard]] std::string Encode(const WriteBatch& batch) const;
  // Returns the batch at `end_`, or nothing if there are only remains.
  [[nodiscard]] std::optional<WriteBatch> Next(std::string_view bytes);

  std::string path_;
  Fd fd_;
  std::uint64_t size_;
  std::uint64_t end_ = 0;  // the end of the records
  std::uint64_t after_ = 0;
  std::uint64_t operations_ = 0;
  std::vector<WriteBatch> batches_;
};

}  // namespace millrace
