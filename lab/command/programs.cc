// SPDX-License-Identifier: Apache-2.0
#include "lab/command/programs.h"

#include <stdlib.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace millrace::cli {

void DeclarePrograms(console::Arguments& arguments, ProgramWords* words) {
  arguments.Flag("--confine", &words->confine,
                 "run external programs in a sandbox, in which they read the system's files and their own, change "
                 "nothing and reach nobody");
  arguments.List("--readable", &words->readable,
                 "a file or directory that a confined program may read as well; PYTHONPATH is passed on with it");
}

Result<outside::Launch> LaunchOf(const ProgramWords& words, const std::string& directory) {
  if (!words.confine) {
    if (!words.readable.empty()) return Invalid("--readable is for programs that are confined; add --confine");
    return outside::Launch(outside::LaunchHere);
  }
  sandbox::AloneOptions options{.directory = directory, .hidden = {"/etc/millrace"}};
  for (const std::string& path : words.readable) {
    const std::unique_ptr<char, decltype(&::free)> whole(::realpath(path.c_str(), nullptr), ::free);
    if (whole == nullptr) return Invalid("--readable " + Quote(path) + " does not exist");
    options.readable.emplace_back(whole.get());
  }
  if (const char* python = ::getenv("PYTHONPATH"); python != nullptr && !words.readable.empty())
    options.variables.push_back(std::string("PYTHONPATH=") + python);
  const auto alone = std::make_shared<std::unique_ptr<sandbox::Alone>>();
  return outside::Launch([options, alone](const std::string& program) -> Result<std::unique_ptr<LineChild>> {
    if (*alone == nullptr) {
      MILLRACE_ASSIGN(*alone, sandbox::Alone::Open(options));
    }
    return outside::LaunchAlone(**alone, program);
  });
}

void DeclareThinking(console::Arguments& arguments, std::string* think) {
  arguments.Text(
      "--think", think,
      "how long an external program thinks in the time of the simulation: a duration, or \"measured\": as long as "
      "it really does, so that no two runs are alike");
}

Result<std::optional<Micros>> ReadThinking(const std::string& think) {
  if (think == "measured") return std::optional<Micros>();
  const Result<Micros> time = ParseDuration(think);
  if (!time.ok()) return time.status().Within("--think");
  return std::optional<Micros>(*time);
}

}  // namespace millrace::cli
