// SPDX-License-Identifier: Apache-2.0
// ExternalSettings: the settings of `external`, which are the terms of the program that it asks.
#pragma once

#include <string_view>

#include "schedulers/core/outside.h"

namespace millrace::sched {

class KeyList;

struct ExternalSettings : OutsideTerms {
  static constexpr std::string_view kSection = "external";
  static constexpr std::string_view kOneLine = "The scheduler external: a program that orders the jobs.";
};

void Declare(KeyList& keys, ExternalSettings& settings);

}  // namespace millrace::sched
