// SPDX-License-Identifier: Apache-2.0
// CheckedFile is a file that operators change while the master runs. It comes into force only if it is valid. An
// invalid file changes nothing, and its mistake is kept for display. The last text in force is kept in the database. A
// master that starts and finds the file invalid or gone uses that copy, so that a typing error cannot take the cluster
// down at the next start. Thread rule: the control thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::master {

// Reports the changes of a file.
class WatchedFile {
 public:
  virtual ~WatchedFile() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  // Returns the text of the file now.
  virtual Result<std::string> Read() = 0;
  // Returns the text if it differs from the one returned last, otherwise nothing. A failure to read the file is
  // returned once. A change is returned only when two calls in a row have seen the file in the same state, so that
  // nobody reads a file that is being written. Requires: TakeChange is called now and then.
  virtual Result<std::optional<std::string>> TakeChange() = 0;
};

// Makes a WatchedFile that recognises a change by size, time of change and inode.
[[nodiscard]] std::unique_ptr<WatchedFile> WatchFile(std::string path);

class CheckedFile {
 public:
  // Puts a text in force. A refused text changes nothing, and the message says why, with file and line.
  using Take = std::function<Status(const std::string& text)>;
  enum class InForce {
    kFile,     // the file's present text, or its last one that was not refused
    kCopy,     // the text of the file in an earlier life of the master
    kNothing,  // no text of the file: the database has no copy
  };

  // If `file` is null, no text ever comes into force. The copy is kept under `key`.
  CheckedFile(std::unique_ptr<WatchedFile> file, std::string key) : file_(std::move(file)), key_(std::move(key)) {}

  // Puts the file's text in force at the start, or the copy if that text is refused. Returns why the text is refused,
  // or OK.
  Status Start(const KeyValueStore& store, Micros now, const Take& take);
  // Puts the file's text in force if it has changed. Returns the outcome, or nothing if the text has not changed.
  // Requires: Poll is called now and then.
  std::optional<Status> Poll(Micros now, const Take& take);
  // Returns true if Keep has something to write: a text that came into force, or the time at which the file was first
  // refused.
  [[nodiscard]] bool unkept() const { return unkept_; }
  void Keep(WriteBatch* batch);

  [[nodiscard]] std::string name() const { return file_ == nullptr ? "" : file_->name(); }
  [[nodiscard]] InForce in_force() const { return in_force_; }
  // Returns why the file's present text is not in force; empty if it is.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Returns one line that names the problem, the time at which it began and what is in force instead; if nothing is,
  // the line ends with `otherwise`.
  [[nodiscard]] std::string Line(const std::string& otherwise) const;

 private:
  Status Note(Micros now, const Status& taken, const std::string& text);

  std::unique_ptr<WatchedFile> file_;
  std::string key_;
  InForce in_force_ = InForce::kNothing;
  std::string problem_;
  std::optional<std::string> copy_;  // the last text that was in force
  Micros taken_ = 0;                 // when `copy_` came into force, since the epoch
  Micros refused_ = 0;               // when the file was first refused, since the epoch; 0: it is not refused
  bool unkept_ = false;
};

}  // namespace millrace::master
