#include "schedulers/sim/experiments/list.h"

#include "schedulers/sim/experiments/experiment.h"

namespace millrace::sched::experiments {

const std::vector<Experiment>& ListExperiments() {
  static const std::vector<Experiment> kExperiments = {
  };
  return kExperiments;
}

}  // namespace millrace::sched::experiments
