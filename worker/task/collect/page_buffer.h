// SPDX-License-Identifier: Apache-2.0
// PageBuffer owns zeroed pages from the kernel; they are huge pages if the kernel gives these. Memory that is never
// touched costs nothing. Thread rule: one thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace millrace::map {

class PageBuffer {
 public:
  PageBuffer() = default;
  // Takes `size` bytes, aligned to a page; data() is null if the kernel refuses.
  explicit PageBuffer(std::size_t size) : size_(size) {
    void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    data_ = static_cast<char*>(base);
    ::madvise(data_, size_, MADV_HUGEPAGE);  // the kernel may ignore it
  }
  PageBuffer(PageBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PageBuffer() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace millrace::map
