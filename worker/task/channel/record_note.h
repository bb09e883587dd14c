// SPDX-License-Identifier: Apache-2.0
// RecordNote keeps the position of a map in its input, in a small file that its task maps into memory, so that the
// worker knows at which record the task's process died. The file is in one of two states: a record is under way, or
// none is.
//
// The layout is 4 words of 64 bits in the machine's order: mark; input << 32 | nth; offset; a checksum of the two words
// before it. The mark is written last and cleared first, so a half-written note counts as none. Thread rule: one
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace millrace::task {

// A record of a map's input: it begins at byte `offset` of input number `input` of the map, and is the `nth` (from 0)
// of the records that begin there.
struct RecordPlace {
  std::uint32_t input = 0;
  std::uint64_t offset = 0;
  std::uint32_t nth = 0;
  auto operator<=>(const RecordPlace&) const = default;
};

class RecordNote {
 public:
  // Makes the file, with no record under way.
  [[nodiscard]] static Result<RecordNote> Create(const std::string& path);
  RecordNote(RecordNote&& other) noexcept : words_(other.words_) { other.words_ = nullptr; }
  RecordNote& operator=(RecordNote&&) = delete;
  ~RecordNote();

  // Notes that the record is under way. The note stays until Clear, or for good if the process ends.
  void Set(const RecordPlace& place) {
    const std::uint64_t second = std::uint64_t{place.input} << 32 | place.nth;
    Store(1, second);
    Store(2, place.offset);
    Store(3, Check(second, place.offset));
    Store(0, kMark);
  }
  void Clear() { Store(0, 0); }

 private:
  static constexpr std::uint64_t kMark = 0x6d6c726e6f746531;
  static constexpr std::size_t kWords = 4;
  explicit RecordNote(std::uint64_t* words) : words_(words) {}
  // Stores the word. The stores happen in program order, even if the process is killed between them.
  void Store(std::size_t word, std::uint64_t value) {
    std::atomic_ref(words_[word]).store(value, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  static std::uint64_t Check(std::uint64_t second, std::uint64_t third) {
    return (second * 0x9e3779b97f4a7c15 ^ third) * 0xbf58476d1ce4e5b9 ^ kMark;
  }
  friend std::optional<RecordPlace> ReadRecordNote(const Result<Fd>& file);

  std::uint64_t* words_;
};

// Returns the record that was under way according to the file; nothing if the file was not opened, names no record, or
// is not a whole note. Reads no more than the size of a note.
[[nodiscard]] std::optional<RecordPlace> ReadRecordNote(const Result<Fd>& file);

}  // namespace millrace::task
