// SPDX-License-Identifier: Apache-2.0
// Arguments: the command line of one verb, a client's or a daemon's. Options are declared on a CLI::App; everything
// else is an operand, taken byte for byte (CLI11's own positional lists would read "[a,b]" as two names). "--" ends the
// options, "-" is an operand.
// Thread rule: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/console/console.h"
#include "base/options.h"
#include "base/status.h"

namespace millrace::console {

// The most operands of a command that has no limit.
inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

class Arguments {
 public:
  // `verb` is the name of the command in messages, as in "fs put"; `operands` is for the usage line, as in "SOURCE...
  // TARGET".
  Arguments(std::string verb, const std::string& operands, const std::string& one_line);

  [[nodiscard]] CLI::App& options() { return app_; }
  // Adds a line to the examples at the end of --help: the arguments alone, as in "-r /old" for "millrace fs rm -r
  // /old".
  void Example(const std::string& arguments);
  // Declares that the command needs no cluster, so that its help does not explain how to name one.
  void Offline() { offline_ = true; }
  void Flag(const std::string& names, bool* field, const std::string& one_line) {
    app_.add_flag(names, *field, one_line);
  }
  void Text(const std::string& names, std::string* field, const std::string& one_line);
  // Declares an option that may be given more than once.
  void List(const std::string& names, std::vector<std::string>* field, const std::string& one_line);
  void Integer(const std::string& names, std::int64_t* field, std::int64_t least, std::int64_t most,
               const std::string& one_line);
  void Number(const std::string& names, double* field, double least, double most, const std::string& one_line);
  // Declares -h, -H and --human: sizes as people read them. As in ls, du and df, -h is then not the help.
  void Human(bool* field);
  // Lets an operand begin with a dash if `fits` returns true for it, as a mode such as -x does.
  void DashedOperands(std::function<bool(std::string_view)> fits) { dashed_ = std::move(fits); }
  // Lets long options have one dash, and their values begin with one, as find takes them: -size -10M.
  void OneDash() { one_dash_ = true; }

  // Declares the command line of a daemon: `--config FILE`, and `--set NAME=VALUE`, which may be given more than once.
  // Parse sets `options` from the file first and from --set then; --help lists them. Requires: `options` outlives this
  // object.
  void Settings(OptionSet* options);

  // Reads `args` (the words after the verb). Returns an exit status if the command is to end: 0 after --help, 2 after
  // wrong arguments (also fewer operands than `least` or more than `most`). One line has then explained what is wrong.
  [[nodiscard]] std::optional<int> Parse(const std::vector<std::string>& args, const Console& console,
                                         std::size_t least, std::size_t most);
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }
  [[nodiscard]] const std::string& verb() const { return verb_; }

 private:
  [[nodiscard]] std::string Footer() const;
  Status Read(const std::vector<std::string>& args, std::size_t least, std::size_t most);
  // Returns the words with two dashes before long options and their values behind "=". Requires: OneDash.
  [[nodiscard]] std::vector<std::string> WithTwoDashes(const std::vector<std::string>& words) const;
  [[nodiscard]] Status UnknownOption(const std::string& option) const;
  [[nodiscard]] std::string Hint() const;

  std::string verb_;
  std::string operands_text_;
  std::string examples_;
  bool offline_ = false;
  OptionSet* settings_ = nullptr;
  std::string config_;  // of Settings
  std::vector<std::string> pairs_;
  std::function<bool(std::string_view)> dashed_;
  bool one_dash_ = false;
  CLI::App app_;
  std::vector<std::string> operands_;
};

// A word that other programs have for a command, and the command here.
struct Synonym {
  std::string_view word, meant;
};

// Returns the failure for an unknown word where a tree of commands branches: "no command "nonsense"; did you mean ...".
// A synonym counts before a verb that is only spelt alike.
[[nodiscard]] Status UnknownVerb(const std::string& word, const std::vector<std::string>& verbs,
                                 std::span<const Synonym> synonyms = {});

}  // namespace millrace::console
