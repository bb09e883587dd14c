// SPDX-License-Identifier: Apache-2.0
// Prints docs/operate/options.md from the declarations of options.
#include <iostream>
#include <string>

#include "base/program.h"
#include "client/job/engine_options.h"
#include "master/control/master_config.h"
#include "worker/daemon/agent/worker_config.h"

namespace {

void PrintSection(const std::string& title, const std::string& text, const millrace::OptionSet& options) {
  std::cout << "\n## " << title << "\n" << text << "\n\n| option | default | range | |\n|---|---|---|---|\n";
  for (const millrace::OptionInfo& option : options.List()) {
    std::cout << "| `" << option.name << "` | " << (option.default_text.empty() ? "" : "`" + option.default_text + "`")
              << " | " << option.range << " | " << option.one_line << " |\n";
  }
}

}  // namespace

int main() {
  millrace::SetInheritedRight();
  millrace::master::MasterConfig master;
  millrace::worker::WorkerConfig worker;
  millrace::EngineOptions engine;
  millrace::OptionSet job;
  millrace::DeclareEngineOptions(&job, &engine);
  std::cout
      << "# Options\n\nPrinted from their declarations; `tests/docs/check_options` holds this page against them.\n";
  PrintSection(
      "millrace master",
      "In a TOML file (`--config FILE`) or as `--set name=value`. A table is a prefix: `[master]` and `bind = ...`.",
      millrace::master::DeclareMasterOptions(&master));
  PrintSection("millrace worker", "Likewise.", millrace::worker::DeclareWorkerOptions(&worker));
  PrintSection("Every job", "As `-D name=value`, besides the options that the job declares itself.", job);
}
