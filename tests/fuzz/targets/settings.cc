// SPDX-License-Identifier: Apache-2.0
// The scheduler file, and its canonical text in the journal.
#include "schedulers/policies/settings_file.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {sched::FormatSettings({}), "[fair]\nfair_share_timeout = \"2m\"\n[pools.ads]\nweight = 2\nmin_maps = 10\n",
          "[queues.a]\ncapacity = 50\n[queues.b]\ncapacity = 60\n", "[pool_defaults]\nweight = 1.5\n[pools.\"a b\"]\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::View(data, size);
  const auto parse = [](std::string_view t) { return sched::ParseSettings(t, "file"); };
  fuzz::RoundTrip(text, parse, sched::FormatSettings, "a scheduler file");
  fuzz::RoundTrip(text, sched::ReadSettings, sched::FormatSettings, "settings of the journal");
  return 0;
}
