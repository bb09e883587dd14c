#include "schedulers/offering/ccs_settings.h"

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, CcsSettings& settings) {
  auto& [max_reducers] = settings;
  keys.Real("max_reducers", &max_reducers, {1, 16},
            "how many reduces a node holds, including those that copy, as a multiple of its reduce slots");
}

}  // namespace millrace::sched
