// SPDX-License-Identifier: Apache-2.0
#include "client/job/lent_views.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

namespace millrace {
namespace {

// Pages of all LentViews of the process, for signal handlers. More than these do without copies.
struct LentPages {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  // 0: there are none
  std::atomic<Lent> what{Lent::kNothing};
};
constinit std::array<LentPages, 64> all_pages;

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Enough for the longest, and for many that are short before the pages have to be mapped again.
std::size_t AllBytes() { return LentViews::kMostBytes + 64 * PageBytes(); }

std::size_t WholePages(std::size_t bytes) { return (bytes + PageBytes() - 1) / PageBytes() * PageBytes(); }

}  // namespace

Lent WhatWasLent(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const LentPages& pages : all_pages) {
    const std::uintptr_t begin = pages.begin.load(std::memory_order_acquire);
    if (begin != 0 && at >= begin && at - begin < AllBytes()) return pages.what.load(std::memory_order_relaxed);
  }
  return Lent::kNothing;
}

LentViews::~LentViews() {
  if (pages_ == nullptr) return;
  all_pages[slot_].begin.store(0, std::memory_order_release);
  all_pages[slot_].taken.store(false, std::memory_order_release);
  munmap(pages_, AllBytes());
}

std::string_view LentViews::LendPages(std::string_view bytes) {
  Recall();
  if (!is_due_) {  // it only came to end the time of the one before
    is_due_ = true;
    until_next_ = kThenOneIn - 1;
    return bytes;
  }
  until_next_ = 1;
  if (lent_ < kFirst) ++lent_;
  is_due_ = lent_ < kFirst;
  if (bytes.empty() || bytes.size() > kMostBytes) return bytes;
  char* const room = Room(bytes.size());
  if (room == nullptr) return bytes;
  std::memcpy(room, bytes.data(), bytes.size());
  lent_bytes_ = bytes.size();
  return {room, bytes.size()};
}

void LentViews::Close() {
  const std::size_t size = WholePages(lent_bytes_);
  if (mprotect(pages_ + used_, size, PROT_NONE) != 0) std::memset(pages_ + used_, 0xDD, size);
  used_ += size;
  lent_bytes_ = 0;
}

char* LentViews::Room(std::size_t bytes) {
  if (pages_ == nullptr || used_ + WholePages(bytes) > AllBytes()) {
    if (is_refused_ || !MapPages()) {
      is_refused_ = true;
      return nullptr;
    }
    used_ = 0;
  }
  return pages_ + used_;
}

bool LentViews::MapPages() {
  void* const pages = mmap(pages_, AllBytes(), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | (pages_ == nullptr ? 0 : MAP_FIXED), -1, 0);
  if (pages == MAP_FAILED) return false;
  if (pages_ != nullptr) return true;
  for (slot_ = 0; slot_ < all_pages.size(); ++slot_) {
    if (all_pages[slot_].taken.exchange(true, std::memory_order_acquire)) continue;
    pages_ = static_cast<char*>(pages);
    all_pages[slot_].what.store(what_, std::memory_order_relaxed);
    all_pages[slot_].begin.store(reinterpret_cast<std::uintptr_t>(pages), std::memory_order_release);
    return true;
  }
  munmap(pages, AllBytes());
  return false;
}

}  // namespace millrace
