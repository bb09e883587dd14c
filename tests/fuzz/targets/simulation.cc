// SPDX-License-Identifier: Apache-2.0
// Fuzzes the input of the simulator: a simulation file (first byte even) and a SWIM trace. Sizes are kept small: a file
// may ask for a million jobs, and gets them.
#include "lab/workload/simulation_file.h"
#include "lab/workload/swim.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

// Digits behind the third of a row go, so that an input cannot ask for more than memory holds.
std::string Small(std::string_view text) {
  std::string out;
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits <= 3 && c != 'e' && c != 'E') out += c;
    if (c == 'e' && digits == 0 && (out.empty() || out.back() < '0' || out.back() > '9')) out += c;  // not an exponent
  }
  return out;
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  return {std::string(1, 0) +
              "name = \"mixed\"\nseed = 7\nblock_size = \"128M\"\n[cluster]\nnodes = 10\nracks = 4\nmap_slots = "
              "4\nreduce_slots = 2\n"
              "[placement]\nkind = \"dfs\"\nreplication = 3\n[arrival]\nkind = \"poisson\"\nmean = "
              "\"30s\"\n[[jobs]]\nname = \"small\"\n"
              "count = 20\nmaps = { zipf = [1.2, 1, 40] }\nmap_time = { uniform = [\"9s\", \"60s\"] }\nmap_output = "
              "0.5\nreduces = 2\n"
              "reduce_time = { lognormal = [\"20s\", 0.4] }\n",
          std::string(1, 0) +
              "[cluster]\nnodes = 3\n[[jobs]]\nmaps = 2\nmap_time = [\"1s\"]\n[[cluster.failures]]\nnode = 1\nat = "
              "\"5s\"\n",
          std::string(1, 1) +
              "job0\t0\t0\t1000\t50\t20\njob1\t5\t5\t300\t0\t10\n# comment\n\njob2\t9\t4\t10\t10\t10\tinput\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const bool swim = draw.Flag();
  const std::string text = Small(draw.rest());
  if (swim) {
    (void)sim::ParseSwim(text, "trace", {});
  } else if (const auto file = sim::ParseSimulation(text, "file", {}); file.ok()) {
    (void)sim::SubmissionOrder(file->workload);
  }
  return 0;
}
