// The experiments, one function a file of the same name; see list.cc for what each shows.
#pragma once

#include <vector>

#include "schedulers/sim/experiments/experiment.h"

namespace millrace::sched::experiments {


}  // namespace millrace::sched::experiments
