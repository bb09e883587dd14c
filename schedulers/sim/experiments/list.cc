#include "schedulers/sim/experiments/list.h"

namespace millrace::sim::experiments {

const std::vector<Experiment>& ListExperiments() {
  static const std::vector<Experiment> kExperiments = {};
  return kExperiments;
}

}  // namespace millrace::sim::experiments
