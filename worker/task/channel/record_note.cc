// SPDX-License-Identifier: Apache-2.0
#include "worker/task/channel/record_note.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <string_view>

namespace millrace::task {

// The bytes are written, and the file is not only made longer, so that a full disk shows now and not later by a signal.
Result<RecordNote> RecordNote::Create(const std::string& path) {
  constexpr std::size_t kBytes = kWords * sizeof(std::uint64_t);
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDWR | O_CREAT | O_TRUNC));
  MILLRACE_TRY(WriteAll(file.get(), std::string(kBytes, '\0'), path));
  void* const words = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (words == MAP_FAILED) return FromErrno(errno, "map " + path);
  return RecordNote(static_cast<std::uint64_t*>(words));
}

RecordNote::~RecordNote() {
  if (words_ != nullptr) ::munmap(words_, kWords * sizeof(std::uint64_t));
}

std::optional<RecordPlace> ReadRecordNote(const Result<Fd>& file) {
  constexpr std::string_view kWhat = "the note of a record";
  std::array<std::uint64_t, RecordNote::kWords> words{};
  if (!file.ok()) return std::nullopt;
  const Result<std::uint64_t> size = FileSize(file->get(), kWhat);
  if (!size.ok() || *size != sizeof words) return std::nullopt;
  if (!ReadExactlyAt(file->get(), reinterpret_cast<char*>(words.data()), sizeof words, 0, kWhat).ok())
    return std::nullopt;
  if (words[0] != RecordNote::kMark || words[3] != RecordNote::Check(words[1], words[2])) return std::nullopt;
  return RecordPlace{static_cast<std::uint32_t>(words[1] >> 32), words[2], static_cast<std::uint32_t>(words[1])};
}

}  // namespace millrace::task
