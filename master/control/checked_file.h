// CheckedFile: a file that operators change while the master runs, and of which only what is right comes into force. A
// wrong file changes nothing, and its mistake is kept, to be shown. The text that came into force last is kept in the
// database: a master that starts, and finds the file wrong or gone, goes on with that copy, so that a slip of the pen
// never waits for the next start to take the cluster down. Thread rule: the control thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "master/control/watched_file.h"

namespace millrace::master {

class CheckedFile {
 public:
  // Takes a text in force. A text that it refuses changes nothing, and the message says why, with file and line.
  using Take = std::function<Status(const std::string& text)>;
  enum class InForce {
    kFile,     // what the file says, or said before it was refused
    kCopy,     // what it said in an earlier life of the master
    kNothing,  // nothing that it ever said, as far as the database knows
  };

  // `file` may be null: then there is none, and nothing is ever taken. The copy is kept under `key`.
  CheckedFile(std::unique_ptr<WatchedFile> file, std::string key) : file_(std::move(file)), key_(std::move(key)) {}

  // Takes the file at the start, or the copy if it is refused. Returns why the file is refused, or OK.
  Status Start(const KeyValueStore& store, Micros now, const Take& take);
  // Looks whether the file has changed, and takes it if so. Returns what came of that; nothing if it has not changed.
  // Requires: it is called now and then.
  std::optional<Status> Poll(Micros now, const Take& take);
  // Returns whether Keep has something to write: what came into force, or since when the file is refused.
  [[nodiscard]] bool unkept() const { return unkept_; }
  void Keep(WriteBatch* batch);

  [[nodiscard]] std::string name() const { return file_ == nullptr ? "" : file_->name(); }
  [[nodiscard]] InForce in_force() const { return in_force_; }
  // Returns why the file, as it is now, is not in force; empty when it is in force.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Returns the same with the time since when it is refused, and what is in force instead; `otherwise` says it for a
  // file that has left no copy.
  [[nodiscard]] std::string Line(const std::string& otherwise) const;

 private:
  Status Note(Micros now, const Status& taken, const std::string& text);

  std::unique_ptr<WatchedFile> file_;
  std::string key_;
  InForce in_force_ = InForce::kNothing;
  std::string problem_;
  std::optional<std::string> copy_;  // the last text that was in force
  Micros taken_ = 0;                 // when it came into force, since the epoch
  Micros refused_ = 0;               // since when the file is refused, since the epoch; 0: it is not
  bool unkept_ = false;
};

}  // namespace millrace::master
