#include "schedulers/policies/simple/edf_settings.h"

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, EdfSettings& settings) {
  auto& [exclusive] = settings;
  keys.Flag("exclusive", &exclusive,
            "the next job starts when the maps and half of the reduces of the current one are done");
}

}  // namespace millrace::sched
