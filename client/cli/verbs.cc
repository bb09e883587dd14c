// SPDX-License-Identifier: Apache-2.0
#include "client/cli/verbs.h"

#include <algorithm>

#include "base/console/arguments.h"
#include "base/text.h"

namespace millrace::cli {

Words Names(const std::vector<Verb>& verbs) {
  Words names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  return names;
}

bool AsksForHelp(const std::string& word) { return word == "--help" || word == "-h" || word == "help"; }

int RunVerb(const Invocation& invocation, const std::string& command, const std::vector<Verb>& verbs,
            const Words& args) {
  const Words names = Names(verbs);
  const std::string shown = command.empty() ? "millrace" : "millrace " + command;
  if (args.empty()) {
    return invocation.Fail(command.empty() ? "command line" : command,
                           Invalid("a command is missing; " + shown + " --help lists them"), kWrongUsage);
  }
  if (AsksForHelp(args[0])) {
    std::size_t width = 0;
    for (const std::string& name : names) width = std::max(width, name.size());
    console::Printer out(invocation.console);
    out << "Usage: " << shown << " COMMAND ...; see " << shown << " COMMAND --help for more\n\n";
    for (const Verb& verb : verbs) out << "  " << console::Left(verb.name, width) << "  " << verb.one_line << "\n";
    return kDone;
  }
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.name == args[0]; });
  if (found == verbs.end()) {
    return invocation.Fail(command.empty() ? "command line" : command, console::UnknownVerb(args[0], names),
                           kWrongUsage);
  }
  return found->run(invocation, Words(args.begin() + 1, args.end()));
}

std::string FormatTable(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  std::vector<std::size_t> widths;
  for (auto& row : rows) {
    std::transform(row.begin(), row.end(), row.begin(), [](const std::string& cell) { return Printable(cell); });
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i + 1 < row.size() ? console::Left(row[i], widths[i] + 2) : row[i];
    text += "\n";
  }
  return text;
}

}  // namespace millrace::cli
