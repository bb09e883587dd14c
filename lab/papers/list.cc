// SPDX-License-Identifier: Apache-2.0
#include "lab/papers/list.h"

namespace millrace::sim::experiments {

const std::vector<Experiment>& ListExperiments() {
  static const std::vector<Experiment> kExperiments = {
      {"lsap-locality", "local tasks of one round, dl against lsap", "Guo et al. 2012, figures 3, 4", LsapLocality},
      {"lsap-cost", "data locality cost of one round, dl, lsap-uniform and lsap", "Guo et al. 2012, figures 5 to 8",
       LsapCost},
      {"lsap-fairness", "fairness against locality under lsap-fair", "Guo et al. 2012, figure 9", LsapFairness},
  };
  return kExperiments;
}

}  // namespace millrace::sim::experiments
