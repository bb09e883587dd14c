// SPDX-License-Identifier: Apache-2.0
// Helpers of the limit programs. A limit program is written by hand, with two threads and without any framework, and
// shows how fast a benchmark's job could be on this machine. An error ends the program, since only tests/bench/run uses
// these programs.
#pragma once

#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace millrace::limits {

inline constexpr int kThreads = 2;

[[noreturn]] inline void Die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

// Maps a whole file, with a page of zeros after it, so that vectors may be read across its end.
inline std::string_view MapFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) Die(path);
  const auto size = static_cast<std::size_t>(info.st_size);
  void* const room = ::mmap(nullptr, size + 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) Die(path);
  if (size > 0 && ::mmap(room, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) Die(path);
  ::close(fd);
  return {static_cast<const char*>(room), size};
}

// Makes the pages of a mapping present, without a page fault for each.
inline void Populate(std::string_view part) {
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) & ~std::uintptr_t{4095};
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size());
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);  // if this fails, page faults do it
}

// Returns zeroed memory in huge pages. Only Free frees it.
template <class T>
T* Huge(std::size_t count) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t bytes = (count * sizeof(T) + kPage - 1) & ~(kPage - 1);
  char* const room = static_cast<char*>(
      ::mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (room == MAP_FAILED) Die("mmap");
  char* const aligned = room + (-reinterpret_cast<std::uintptr_t>(room) & (kPage - 1));
  ::madvise(aligned, bytes, MADV_HUGEPAGE);
  return reinterpret_cast<T*>(aligned);
}
template <class T>
void Free(T* memory, std::size_t count) {
  ::munmap(memory, count * sizeof(T));
}

// Runs body(t) on each thread t.
template <class Body>
void InThreads(Body&& body) {
  std::vector<std::jthread> others;
  for (int t = 1; t < kThreads; ++t) others.emplace_back([&body, t] { body(t); });
  body(0);
}

// Returns the part of `text` for thread t, cut after a newline.
inline std::string_view PartOf(std::string_view text, int t) {
  const auto cut = [&](int i) {
    if (i == 0) return std::size_t{0};
    if (i == kThreads) return text.size();
    const std::size_t newline = text.find('\n', text.size() / kThreads * static_cast<std::size_t>(i));
    return newline == text.npos ? text.size() : newline + 1;
  };
  return text.substr(cut(t), cut(t + 1) - cut(t));
}

// Writer writes a file through a buffer of its own.
class Writer {
 public:
  explicit Writer(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)), buffer_(kRoom) {
    if (fd_ < 0) Die(path);
  }
  ~Writer() {
    Flush();
    ::close(fd_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void Put(std::string_view bytes) {
    if (bytes.size() > kRoom - used_) Flush();
    if (bytes.size() > kRoom) {
      WriteAll(bytes);
      return;
    }
    std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  // Does what Put does, but faster for short words. Requires: at least 16 bytes can be read from the start of `word`.
  void PutWord(std::string_view word) {
    if (word.size() > 16 || kRoom - used_ < 16) {
      Put(word);
      return;
    }
    std::memcpy(buffer_.data() + used_, word.data(), 16);
    used_ += word.size();
  }
  void Put(char c) {
    if (used_ == kRoom) Flush();
    buffer_[used_++] = c;
  }
  void PutNumber(std::uint64_t number) {
    char digits[20];
    std::size_t at = sizeof digits;
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    Put(std::string_view(digits + at, sizeof digits - at));
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 18;
  void Flush() { WriteAll({buffer_.data(), std::exchange(used_, 0)}); }
  void WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
      if (done < 0) Die(path_);
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  std::string path_;
  int fd_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

}  // namespace millrace::limits
