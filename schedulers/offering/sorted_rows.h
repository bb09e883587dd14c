// SPDX-License-Identifier: Apache-2.0
// SortedRows: a sorted sequence without duplicates, for elements that are small, change often and are walked from the
// front.
//
// The elements lie in order in rows of at most kMost, so that searches, changes and walks touch few cache lines and
// allocate next to nothing. A change costs O(log + kMost), and O(rows) when a row is split or merged; a step costs
// O(1). A change invalidates all iterators. Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace millrace::sched {

template <class T, class Before = std::less<T>>
class SortedRows {
  using Row = std::vector<T>;

 public:
  // Iterates over the elements in order. Requires: the end is not dereferenced.
  class Iterator {
   public:
    Iterator() = default;
    const T& operator*() const { return *at_; }
    const T* operator->() const { return at_; }
    Iterator& operator++() {
      if (++at_ != row_->data() + row_->size()) return *this;
      at_ = ++row_ == end_ ? nullptr : row_->data();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    friend class SortedRows;
    Iterator(const Row* row, const Row* end, const T* at) : row_(row), end_(end), at_(at) {}

    const Row* row_ = nullptr;
    const Row* end_ = nullptr;
    const T* at_ = nullptr;
  };

  [[nodiscard]] bool empty() const { return rows_.empty() || rows_.front().empty(); }
  [[nodiscard]] Iterator begin() const { return empty() ? end() : At(rows_.begin(), rows_.front().data()); }
  [[nodiscard]] Iterator end() const { return {}; }
  // Returns the first element that comes after the value.
  [[nodiscard]] Iterator Behind(const T& value) const {
    if (rows_.empty()) return end();
    auto row = RowOf(rows_, value);
    const auto at = std::upper_bound(row->begin(), row->end(), value, Before());
    if (at != row->end()) return At(row, &*at);
    return ++row == rows_.end() ? end() : At(row, row->data());
  }

  // Inserts the value. Requires: no element is equal to it.
  void Insert(const T& value) {
    if (rows_.empty()) rows_.emplace_back().reserve(kMost);
    auto row = RowOf(rows_, value);
    if (row->size() == kMost) row = Split(row, value);
    row->insert(std::lower_bound(row->begin(), row->end(), value, Before()), value);
  }
  // Erases the value. Requires: the value is an element.
  void Erase(const T& value) {
    const auto row = RowOf(rows_, value);
    row->erase(std::lower_bound(row->begin(), row->end(), value, Before()));
    if (row->empty()) {
      if (rows_.size() > 1) rows_.erase(row);  // the last is kept: it is soon wanted again
    } else if (row == rows_.begin() || !Merge(std::prev(row), row)) {
      if (std::next(row) != rows_.end()) Merge(row, std::next(row));
    }
  }

 private:
  static constexpr std::size_t kMost = 64;
  using Place = typename std::vector<Row>::iterator;

  [[nodiscard]] Iterator At(typename std::vector<Row>::const_iterator row, const T* at) const {
    return {&*row, rows_.data() + rows_.size(), at};
  }
  // Returns the row that contains the value, or would contain it. Requires: there are rows.
  template <class Rows>
  [[nodiscard]] static auto RowOf(Rows& rows, const T& value) {
    if (rows.size() == 1) return rows.begin();
    return std::prev(std::upper_bound(rows.begin() + 1, rows.end(), value,
                                      [](const T& of, const Row& row) { return Before()(of, row.front()); }));
  }
  // Splits the row in halves. Returns the half to which the value belongs.
  Place Split(Place row, const T& value) {
    Row upper;
    upper.reserve(kMost);
    upper.assign(row->begin() + kMost / 2, row->end());
    row->erase(row->begin() + kMost / 2, row->end());
    const Place behind = rows_.insert(std::next(row), std::move(upper));
    return Before()(value, behind->front()) ? std::prev(behind) : behind;
  }
  // Merges two neighbours if together they fill at most half a row. Returns true if it merged them.
  bool Merge(Place into, Place from) {
    if (into->size() + from->size() > kMost / 2) return false;
    into->insert(into->end(), from->begin(), from->end());
    rows_.erase(from);
    return true;
  }

  std::vector<Row> rows_;  // no row is empty, unless it is the only one
};

}  // namespace millrace::sched
