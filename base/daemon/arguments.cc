#include "base/daemon/arguments.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace millrace::daemon {
namespace {

std::string Describe(const OptionSet& options) {
  std::string text = "For --set and for the file, with default and range:\n";
  for (const OptionInfo& option : options.List()) {
    const std::string initial = option.default_text.empty() ? "empty" : option.default_text;
    text += "  " + option.name + "  (" + initial + (option.range.empty() ? "" : "; " + option.range) + ")  " +
            option.one_line + "\n";
  }
  return text;
}

Status Apply(const std::string& file, const std::vector<std::string>& settings, OptionSet& options) {
  if (!file.empty()) MILLRACE_TRY(options.LoadToml(file));
  for (const std::string& setting : settings) MILLRACE_TRY(options.SetPair(setting));
  return Status::Ok();
}

}  // namespace

std::optional<int> ParseArguments(const std::string& verb, const std::string& about,
                                  const std::vector<std::string>& args, OptionSet& options,
                                  const std::vector<Flag>& flags) {
  CLI::App app(about, "millrace " + verb);
  std::string file;
  std::vector<std::string> settings;
  app.add_option("--config", file, "TOML file with options");
  app.add_option("--set", settings, "one option, NAME=VALUE; may be repeated")->allow_extra_args(false);
  for (const Flag& flag : flags) app.add_flag(flag.name, *flag.given, flag.one_line);
  app.footer(Describe(options));
  Status applied;
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    applied = Apply(file, settings, options);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    applied = Invalid(std::string(e.what()) + "; options are given as --set NAME=VALUE or in --config FILE (millrace " +
                      verb + " --help lists them)");
  }
  if (applied.ok()) return std::nullopt;
  std::cerr << "millrace: " << verb << ": " << applied.message() << "\n";
  return 2;
}

}  // namespace millrace::daemon
