#include "schedulers/policies/fair/fair_shelf.h"

#include <utility>

namespace millrace::sched {

void FairShelf::Insert(Member& member, const Key& key) {
  member.seated_ = key;
  seats_.Insert({key, member.id(), &member});
}

void FairShelf::Tidy() {
  const Seat loose = std::exchange(loose_, {});
  if (loose.member == nullptr) return;
  Erase(*loose.member);
  Insert(*loose.member, loose.key);
}

void FairShelf::Change(Member& member, const Key& key) {
  if (loose_.member != &member) Tidy();
  loose_ = key == member.seated_ ? Seat{} : Seat{key, member.id(), &member};
}

void FairShelf::Erase(Member& member) {
  if (loose_.member == &member) loose_ = {};
  seats_.Erase({member.seated_, member.id(), &member});
}

}  // namespace millrace::sched
