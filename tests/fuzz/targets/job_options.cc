// SPDX-License-Identifier: Apache-2.0
// -D options of a job: pairs, one a line, and what the job says of itself for them.
#include "client/job/job_options.h"

#include "client/job_client/job_description.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {"task.memory=64M\nmap.compress=zstd",
          "a.text=x=y\na.bool=yes\na.integer=-5\na.real=0.5\na.bytes=1K\na.duration=3s", "input.record_bytes=100",
          "a.choice=two\njob.slow_start=1e-3"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  JobOptions options;
  options.Text("a.text", "", "text");
  options.Choice("a.choice", "one", {"one", "two"}, "choice");
  options.Bool("a.bool", false, "bool");
  options.Integer("a.integer", 0, -10, 10, "integer");
  options.Real("a.real", 0, 0, 1, "real");
  options.Bytes("a.bytes", 0, 0, 1 << 20, "bytes");
  options.Duration("a.duration", 0, 0, 1'000'000, "duration");
  for (std::string_view rest = fuzz::View(data, size); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const Status set = options.SetPair(line);
    fuzz::Require(set.message().find('\n') == std::string::npos, "an error of two lines");
    (void)job::ParseParameter(line);
  }
  (void)options.Validate();
  fuzz::Require(options.integer("a.integer") >= -10 && options.integer("a.integer") <= 10,
                "an integer out of its range");
  fuzz::Require(options.real("a.real") >= 0 && options.real("a.real") <= 1, "a real number out of its range");
  fuzz::Require(options.bytes("a.bytes") <= 1 << 20 && options.duration("a.duration") <= 1'000'000,
                "bytes or duration out of range");
  return 0;
}
