#include "schedulers/cluster/place_shelves.h"

namespace millrace::sched {

PlaceShelves::PlaceShelves(const std::vector<Shelf>& shelves) {
  if (shelves.empty()) return;
  slots_.resize(shelves.size() + shelves.size() / 2 + 1);
  for (const Shelf& shelf : shelves) {
    std::size_t at = Home(shelf.place);
    while (slots_[at].place != Shelf::kNowhere) at = Behind(at);
    slots_[at] = shelf;
  }
}

}  // namespace millrace::sched
