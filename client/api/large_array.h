// SPDX-License-Identifier: Apache-2.0
// LargeArray is an array whose elements a job reads or writes in random order. It lies in huge pages where the kernel
// gives them, which saves most of the misses of address translation. Pages that are never touched cost no memory.
// Thread rule: values.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "worker/task/collect/page_buffer.h"

namespace millrace {

template <class T>
class LargeArray {
 public:
  static_assert(std::is_trivially_copyable_v<T>, "a LargeArray begins as zero bytes");

  // Makes an array of `size` elements whose bytes are zero. Throws std::bad_alloc if there is no memory.
  explicit LargeArray(std::size_t size) : pages_(size * sizeof(T) + 1) {
    if (pages_.data() == nullptr) throw std::bad_alloc();
  }

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(pages_.data()); }
  [[nodiscard]] T& operator[](std::size_t i) const { return data()[i]; }

 private:
  map::PageBuffer pages_;
};

}  // namespace millrace
