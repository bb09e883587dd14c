#include "schedulers/offering/ccs_settings.h"

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, CcsSettings& settings) {
  auto& [max_reducers] = settings;
  keys.Real("max_reducers", &max_reducers, {1, 16},
            "with +ccs: reduces that a node holds, copying ones included, x its reduce slots");
}

}  // namespace millrace::sched
