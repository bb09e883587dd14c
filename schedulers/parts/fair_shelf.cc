#include "schedulers/parts/fair_shelf.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::sched {

std::vector<FairShelf::Row>::iterator FairShelf::RowOf(const Seat& seat) {
  const auto behind = std::upper_bound(rows_.begin() + 1, rows_.end(), seat,
                                       [](const Seat& of, const Row& row) { return Sooner(of, row.front()); });
  return std::prev(behind);
}

void FairShelf::TakeSeat(const Seat& seat) {
  seat.member->seated_ = seat.key;
  if (rows_.empty()) rows_.emplace_back().reserve(kMost);
  auto row = RowOf(seat);
  if (row->size() == kMost) {
    Row upper(row->begin() + kMost / 2, row->end());
    upper.reserve(kMost);
    row->resize(kMost / 2);
    row = rows_.insert(std::next(row), std::move(upper));
    if (Sooner(seat, row->front())) --row;
  }
  row->insert(
      std::lower_bound(row->begin(), row->end(), seat, [](const Seat& a, const Seat& b) { return Sooner(a, b); }),
      seat);
}

void FairShelf::LeaveSeat(Member& member) {
  const Seat seat{member.seated_, member.id(), &member};
  const auto row = RowOf(seat);
  row->erase(
      std::lower_bound(row->begin(), row->end(), seat, [](const Seat& a, const Seat& b) { return Sooner(a, b); }));
  // Rows stay at least half as full together as they may be.
  const auto merge = [this](std::vector<Row>::iterator into, std::vector<Row>::iterator from) {
    if (into->size() + from->size() > kMost / 2) return false;
    into->insert(into->end(), from->begin(), from->end());
    rows_.erase(from);
    return true;
  };
  if (row->empty()) {
    rows_.erase(row);
  } else if (row == rows_.begin() || !merge(std::prev(row), row)) {
    if (std::next(row) != rows_.end()) merge(row, std::next(row));
  }
}

void FairShelf::Tidy() {
  const Seat loose = std::exchange(loose_, {});
  if (loose.member == nullptr) return;
  LeaveSeat(*loose.member);
  TakeSeat(loose);
}

void FairShelf::Change(Member& member, const Key& key) {
  if (loose_.member != &member) Tidy();
  loose_ = key == member.seated_ ? Seat{} : Seat{key, member.id(), &member};
}

void FairShelf::Insert(Member& member, const Key& key) { TakeSeat({key, member.id(), &member}); }

void FairShelf::Erase(Member& member) {
  if (loose_.member == &member) loose_ = {};
  LeaveSeat(member);
}

}  // namespace millrace::sched
