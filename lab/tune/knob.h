// SPDX-License-Identifier: Apache-2.0
// Knob: a setting of the scheduler file that is searched, and the values that are tried.
//
//   delay.rack_wait=100ms:30s     a range of numbers or of durations
//   pools.ads.weight=0.5:8
//   fresh.order=submit|johnson    a list
//
// Values are drawn from a range by equal factors if its ends are above 0 and differ by ten times or more, and else by
// equal steps. They have two digits, so that people can read and remember them: the results of neighbours differ by
// less than can be told. Thread rule: values and free functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/field.h"
#include "base/random.h"
#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::tune {

struct Knob {
  std::string key;                       // "delay.rack_wait", "pools.ads.weight"
  OptionType type = OptionType::kText;   // of the values
  std::vector<std::string> values = {};  // of a list; empty: a range
  double low = 0, high = 0;              // of a range; durations in seconds
};

// Returns the knob of a text as above. Returns kInvalid, with the text and what to do, if there is no such setting, or
// if it does not take an end of the range or a value of the list.
[[nodiscard]] Result<Knob> ParseKnob(const std::string& text);

// Returns the settings of this scheduler that are searched if nobody names any: those of its policy and of its parts
// that change when and where tasks run, but no promise to people (weights, shares and limits of pools, queues and
// users). None if it has no such settings.
[[nodiscard]] std::vector<Knob> KnobsOf(std::string_view scheduler);

// Returns a value at random, as the scheduler file writes it without quotes.
[[nodiscard]] std::string DrawValue(const Knob& knob, Random& random);

// Sets a setting by its key. Returns kInvalid if there is no such key or it does not take the value.
[[nodiscard]] Status SetByKey(const std::string& key, const std::string& value, sched::Settings* settings);

}  // namespace millrace::tune
