// SPDX-License-Identifier: Apache-2.0
// Fuzzes the values of a daemon's options: `--set` pairs, bytes, durations, and a TOML file. The first byte says which.
#include "base/options.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "master/control/master_config.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  const auto kind = [](char which, const std::string& text) { return std::string(1, which) + text; };
  return {kind(0, "master.bind=0.0.0.0:1"),
          kind(0, "dfs.block_size=64MiB"),
          kind(0, "master.heartbeat=1.5s"),
          kind(0, "dfs.replication=3"),
          kind(1, "1.5 GB"),
          kind(1, "1024TiB"),
          kind(2, "250ms"),
          kind(2, "1.5h"),
          kind(2, "10"),
          kind(3, "[master]\nbind = \"a:1\"\nheartbeat = \"1s\"\n[dfs]\nreplication = 2\nblock_size = 1048576\n"),
          kind(3, "master = { scheduler = 'fair+delay' }\n")};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd file(::memfd_create("fuzz-options", MFD_CLOEXEC));
  static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  fuzz::Draw draw(fuzz::View(data, size));
  const std::uint8_t which = draw.Byte() % 4;
  const std::string text(draw.rest());
  (void)Quote(text);
  if (which == 1) {
    if (const auto bytes = ParseBytes(text); bytes.ok()) (void)FormatBytes(*bytes);
    return 0;
  }
  if (which == 2) {
    if (const auto duration = ParseDuration(text); duration.ok()) {
      fuzz::Require(*duration >= 0, "a duration below 0");
      (void)FormatDuration(*duration);
    }
    return 0;
  }
  master::MasterConfig config;
  OptionSet options = master::DeclareMasterOptions(&config);
  if (which == 0) {
    (void)options.SetPair(text);
  } else {
    fuzz::Require(::ftruncate(file.get(), 0) == 0 && WriteAllAt(file.get(), text, 0, path).ok(), "write");
    (void)options.LoadToml(path);
  }
  fuzz::Require(config.lease_grace >= 0, "an option out of its range");
  return 0;
}
