// The experiments, one function in a file of its own name each; list.cc says what each shows.
#pragma once

#include <vector>

#include "schedulers/sim/experiments/experiment.h"
