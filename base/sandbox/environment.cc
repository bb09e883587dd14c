// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/environment.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

extern char** environ;

namespace millrace::sandbox {
namespace {

std::string_view NameOf(std::string_view variable) { return variable.substr(0, variable.find('=')); }

bool Inherited(std::string_view variable) {
  constexpr std::string_view kNames[] = {"PATH", "HOME", "USER",   "LOGNAME",        "SHELL",
                                         "LANG", "TZ",   "TMPDIR", "LD_LIBRARY_PATH"};
  const std::string_view name = NameOf(variable);
  return name.starts_with("LC_") || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

std::vector<std::string> PlainEnvironment() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (Inherited(*variable)) kept.emplace_back(*variable);
  }
  return kept;
}

void Confine(const LaunchOrder& order, std::vector<std::string>* variables) {
  std::erase_if(*variables, [](const std::string& variable) {
    const std::string_view name = NameOf(variable);
    return name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL" || name == "TMPDIR";
  });
  const std::string home = order.own_view || order.writable.empty() ? "/tmp" : order.writable.front();
  variables->push_back("HOME=" + home);
  variables->push_back("TMPDIR=" + home);
  variables->push_back("RES_OPTIONS=use-vc");  // names are looked up by TCP, which the gate lets through
}

}  // namespace millrace::sandbox
