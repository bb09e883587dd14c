// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::sched {

// What somebody keeps of each job, by the number of the job. Numbers rise for as long as a cluster lives, and they leap
// when a master is restored from a backup. So the entries stand in pages, and a page without entries takes a few bytes.
// An entry keeps its address until it is erased. Not for several threads.
template <typename T>
class JobTable {
 public:
  // Returns the entry of the job. Makes one if there is none.
  T& operator[](JobId job) {
    const std::size_t number = job.value / kEntries;
    if (pages_.size() <= number) pages_.resize(number + 1);
    Page& page = pages_[number];
    if (page.present == 0) page.entries = std::vector<T>(kEntries);
    page.present |= BitOf(job);
    return page.entries[job.value % kEntries];
  }

  // Return the entry; null if there is none.
  [[nodiscard]] T* Find(JobId job) { return Contains(job) ? &At(job) : nullptr; }
  [[nodiscard]] const T* Find(JobId job) const { return Contains(job) ? &At(job) : nullptr; }

  // Return the entry. Requires: there is one.
  [[nodiscard]] T& At(JobId job) { return pages_[job.value / kEntries].entries[job.value % kEntries]; }
  [[nodiscard]] const T& At(JobId job) const { return pages_[job.value / kEntries].entries[job.value % kEntries]; }

  [[nodiscard]] bool Contains(JobId job) const {
    const std::size_t number = job.value / kEntries;
    return number < pages_.size() && (pages_[number].present & BitOf(job)) != 0;
  }

  // Does nothing if there is no entry.
  void Erase(JobId job) {
    if (!Contains(job)) return;
    Page& page = pages_[job.value / kEntries];
    page.present &= ~BitOf(job);
    if (page.present == 0) {
      std::vector<T>().swap(page.entries);  // which gives its memory back
    } else {
      page.entries[job.value % kEntries] = T();
    }
  }

  // Calls visit(JobId, T&) for all entries, in the order of the numbers. `visit` neither makes nor erases entries.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    VisitPages(pages_, visit);
  }
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    VisitPages(pages_, visit);
  }

 private:
  static constexpr std::uint32_t kEntries = 64;  // one bit of `present` each
  struct Page {
    std::uint64_t present = 0;
    std::vector<T> entries;  // empty, or kEntries
  };

  [[nodiscard]] static std::uint64_t BitOf(JobId job) { return std::uint64_t{1} << job.value % kEntries; }

  // `Pages` is const or not.
  template <typename Pages, typename Visit>
  static void VisitPages(Pages& pages, Visit& visit) {
    for (std::size_t number = 0; number < pages.size(); ++number) {
      for (std::uint64_t left = pages[number].present; left != 0; left &= left - 1) {
        const auto entry = static_cast<std::uint32_t>(std::countr_zero(left));
        visit(JobId{static_cast<std::uint32_t>(number) * kEntries + entry}, pages[number].entries[entry]);
      }
    }
  }

  std::vector<Page> pages_;
};

}  // namespace millrace::sched
