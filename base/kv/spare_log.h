// SpareLog: a file of fixed size whose bytes were all written when there was room, and in which a database's batches
// can be put down when its disk has none: they are written over what is there, which takes no further space. The
// batches continue the database from one of its operations on, and go into it once there is room. Thread rule: one
// thread at a time.
//
// The format: records one after the other from the beginning of the file; each is a header of 32 bytes (magic, length,
// the operation after which this log begins, the record's index, a crc32c of all that and of the payload) and the
// batch's changes. What follows the last whole record with the right operation and index is remains. Formatted by
// kMagic, which another format would change.
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

// What a store with a spare log offers to who decides when it is used.
class SpareRoom {
 public:
  virtual ~SpareRoom() = default;
  // Sets whether batches go into the spare log from the next one on, as long as they fit. Otherwise the next one goes
  // into the database, after all that is in the spare log. Any thread.
  virtual void UseSpare(bool use) = 0;
  // Returns how many bytes the spare log has left; 0 without one. Any thread.
  [[nodiscard]] virtual std::uint64_t spare_left() const = 0;
};

class SpareLog {
 public:
  // Makes an empty one of `bytes` bytes. It is on disk, with all its space, when this returns.
  static Status Make(const std::string& path, std::uint64_t bytes);
  // Returns kNotFound if there is none.
  static Result<SpareLog> Open(const std::string& path);

  [[nodiscard]] bool empty() const { return batches_.empty(); }
  [[nodiscard]] const std::vector<WriteBatch>& batches() const { return batches_; }
  [[nodiscard]] std::uint64_t after() const { return after_; }  // the operation after which the batches come
  // Returns how many operations the batches are, as the database counts them.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  [[nodiscard]] std::uint64_t left() const { return size_ - end_; }
  // Returns how many of those bytes the batch takes.
  [[nodiscard]] static std::uint64_t BytesOf(const WriteBatch& batch);
  // Adds a batch, which is on disk when this returns. `after` counts if the log is empty. Requires: it fits.
  Status Append(const WriteBatch& batch, std::uint64_t after);
  // Takes everything out; that is on disk when this returns.
  Status Clear();

 private:
  SpareLog(std::string path, Fd fd, std::uint64_t size) : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}
  [[nodiscard]] std::string Encode(const WriteBatch& batch) const;
  // Returns the batch at the end of what is known, or nothing if there are remains.
  [[nodiscard]] std::optional<WriteBatch> Next(std::string_view bytes);

  std::string path_;
  Fd fd_;
  std::uint64_t size_;
  std::uint64_t end_ = 0;  // of the records
  std::uint64_t after_ = 0;
  std::uint64_t operations_ = 0;
  std::vector<WriteBatch> batches_;
};

}  // namespace millrace
