// SPDX-License-Identifier: Apache-2.0
// Place knows where a task is in its input, for the message of its failure. It says only what is certain: which record
// or key was being processed, or that none was yet, or that all were done.
// Thread rule: the task's thread, or a signal handler: Write allocates nothing, takes no lock and changes nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "client/job/attempt.h"

namespace millrace {

class Place {
 public:
  explicit Place(const TaskContext& context) : context_(context) {}
  virtual ~Place() = default;

  // Writes the place as the end of a message, "; at /in/a, byte 16" or "; after its last record", as far as there is
  // room. Returns the number of bytes written; 0 if nothing is known.
  [[nodiscard]] virtual std::size_t Write(std::span<char> out) const = 0;
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] Hook hook() const { return context_.hook(); }

 private:
  const TaskContext& context_;
};

// The place of a map. Empty for a map of numbers, which has no files, and for a map that notes its record, since the
// master then names the record.
class MapPlace final : public Place {
 public:
  // Requires: `attempt` outlives this.
  MapPlace(const MapAttempt& attempt, SplitBy split_by);
  [[nodiscard]] std::size_t Write(std::span<char> out) const override;

 private:
  const MapAttempt& attempt_;
  const SplitBy split_by_;
  const Counter& records_;
};

// The place of a reduce, which is the key: "; at the key "abc"".
class ReducePlace final : public Place {
 public:
  // Requires: `attempt` outlives this.
  explicit ReducePlace(const ReduceAttempt& attempt) : Place(attempt.context), attempt_(attempt) {}
  [[nodiscard]] std::size_t Write(std::span<char> out) const override;

 private:
  const ReduceAttempt& attempt_;
};

}  // namespace millrace
