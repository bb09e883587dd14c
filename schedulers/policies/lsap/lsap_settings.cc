// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/lsap_settings.h"

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, LsapSettings& settings) {
  auto& [batch_window, alpha, beta, ageing_half_life, bandwidths] = settings;
  auto& [rack, datacenter, off] = bandwidths;
  keys.Duration(
      "batch_window", &batch_window, kHour,
      "how long free slots are gathered; not set: not at all if 5% of the map slots are free, else up to 200 ms");
  keys.Real("alpha", &alpha, kAtLeast0, "weight of data locality against fairness in lsap-fair");
  keys.Real("beta", &beta, kAtLeast0, "cost of a task beyond the share of its group in lsap-fair");
  keys.Duration("ageing_half_life", &ageing_half_life, kDay,
                "time after which a waiting task costs half as much; 0: never");
  keys.Bandwidth("rack_bandwidth", &rack, "bytes a second between nodes of one rack, until it is measured");
  keys.Bandwidth("datacenter_bandwidth", &datacenter, "the same between racks of one datacenter");
  keys.Bandwidth("off_bandwidth", &off, "the same between datacenters");
}

}  // namespace millrace::sched
