// SPDX-License-Identifier: Apache-2.0
#include "base/console/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/text.h"

namespace millrace::console {
namespace {

std::string InWords(std::int64_t number) { return std::to_string(number); }
std::string InWords(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", number);
  return text;
}

// Declares an option that takes a number from `least` to `most`; `what` is "a whole number" or "a number".
template <class N>
void AddNumber(CLI::App& app, const std::string& names, N* field, N least, N most, const std::string& what,
               const std::string& one_line) {
  const std::string range = InWords(least) + " to " + InWords(most);
  const auto check = [least, most, range, what](const std::string& word) -> std::string {
    N value = 0;
    const char* end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && at == end && value >= least && value <= most) return {};
    return Quote(word) + " is not " + what + " from " + range;
  };
  app.add_option(names, *field, one_line + "; " + range)->type_name("N")->check(check);
}

// Returns what CLI11 says of wrong arguments in the words of our own messages.
std::string InWords(const CLI::ParseError& wrong) {
  const std::string said = wrong.what();
  const std::string name = said.substr(0, said.find(": "));
  constexpr std::string_view kTooMany = ": At Most 1 required but received ";
  if (said.starts_with(name + ": 1 required ") && said.ends_with(" missing")) return name + " needs a value";
  if (const std::size_t at = said.find(kTooMany); at != said.npos)
    return name + " is given " + said.substr(at + kTooMany.size()) + " times; give it once";
  return said;
}

// Whether the word begins with a dash that is not the one of options, as programs for texts put in its place.
bool BeginsWithLongDash(std::string_view word) {
  constexpr std::string_view kDashes[] = {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212"};
  return std::ranges::any_of(kDashes, [word](std::string_view dash) { return word.starts_with(dash); });
}

// Shows the options where they stand: before the operands, behind which `millrace local` takes a command with options
// of its own.
class OptionsFirst : public CLI::Formatter {
 public:
  explicit OptionsFirst(std::string operands) : operands_(std::move(operands)) {}
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS]" + (operands_.empty() ? "" : " ") + operands_ + "\n";
  }

 private:
  std::string operands_;
};

std::string SettingLines(const OptionSet& settings) {
  std::string text = "For --set and for the file, with default and range:";
  for (const OptionInfo& option : settings.List()) {
    const std::string initial = option.default_text.empty() ? "empty" : option.default_text;
    text += "\n  " + option.name + "  (" + initial + (option.range.empty() ? "" : "; " + option.range) + ")  " +
            option.one_line;
  }
  return text;
}

}  // namespace

Arguments::Arguments(std::string verb, const std::string& operands, const std::string& one_line)
    : verb_(std::move(verb)), operands_text_(operands), app_(one_line, "millrace " + verb_) {
  app_.allow_extras();
  app_.formatter(std::make_shared<OptionsFirst>(operands_text_));
  app_.footer([this] { return Footer(); });
}

std::string Arguments::Footer() const {
  if (settings_ != nullptr) return SettingLines(*settings_);
  const std::string examples = examples_.empty() ? "" : "Examples:\n" + examples_ + "\n";
  if (offline_) return examples + "Exit status: 0 done, 1 failed, 2 wrong usage";
  return examples + "Which cluster: millrace --master HOST:PORT " + verb_ +
         " ..., or MILLRACE_MASTER\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the cluster cannot be reached";
}

void Arguments::Example(const std::string& arguments) {
  examples_ += "  millrace " + verb_ + (arguments.empty() ? "" : " " + arguments) + "\n";
}

void Arguments::Text(const std::string& names, std::string* field, const std::string& one_line) {
  app_.add_option(names, *field, one_line);
}

void Arguments::List(const std::string& names, std::vector<std::string>* field, const std::string& one_line) {
  app_.add_option(names, *field, one_line)->allow_extra_args(false);
}

void Arguments::Integer(const std::string& names, std::int64_t* field, std::int64_t least, std::int64_t most,
                        const std::string& one_line) {
  AddNumber(app_, names, field, least, most, "a whole number", one_line);
}

void Arguments::Number(const std::string& names, double* field, double least, double most,
                       const std::string& one_line) {
  AddNumber(app_, names, field, least, most, "a number", one_line);
}

void Arguments::Human(bool* field) {
  app_.set_help_flag("--help", "Print this help message and exit");
  Flag("-h,-H,--human", field, "show sizes as in 1.5 MiB");
}

void Arguments::Settings(OptionSet* options) {
  settings_ = options;
  Text("--config", &config_, "TOML file with options");
  List("--set", &pairs_, "one option, NAME=VALUE; may be repeated");
}

std::optional<int> Arguments::Parse(const std::vector<std::string>& args, const Console& console, std::size_t least,
                                    std::size_t most) {
  try {
    if (const Status read = Read(args, least, most); !read.ok()) {
      SayError(console, verb_, read);
      return kWrongUsage;
    }
  } catch (const CLI::CallForHelp&) {
    Printer(console) << app_.help();
    return kDone;
  } catch (const CLI::ParseError& wrong) {
    SayError(console, verb_, Invalid(InWords(wrong) + "; " + Hint()));
    return kWrongUsage;
  }
  return std::nullopt;
}

std::vector<std::string> Arguments::WithTwoDashes(const std::vector<std::string>& words) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (word.size() > 2 && word[0] == '-' && word[1] != '-' && app_.get_option_no_throw("-" + word) != nullptr)
      word.insert(0, "-");
    const CLI::Option* option = word.starts_with("--") ? app_.get_option_no_throw(word) : nullptr;
    const bool takes_value = option != nullptr && option->get_expected_min() > 0;
    if (takes_value && i + 1 < words.size()) word += "=" + words[++i];
    out.push_back(std::move(word));
  }
  return out;
}

Status Arguments::Read(const std::vector<std::string>& args, std::size_t least, std::size_t most) {
  // Only arguments before "--" can be options.
  const auto mark = std::find(args.begin(), args.end(), "--");
  std::vector<std::string> words(args.begin(), mark);
  if (one_dash_) words = WithTwoDashes(words);
  std::reverse(words.begin(), words.end());
  app_.parse(words);
  operands_ = app_.remaining();
  for (const std::string& operand : operands_) {
    if (operand.size() > 1 && operand[0] == '-' && !(dashed_ && dashed_(operand))) return UnknownOption(operand);
    if (BeginsWithLongDash(operand))
      return Invalid(Quote(operand) +
                     " begins with a dash that is not the - of options; type it anew, or put -- before "
                     "it if it is a name");
  }
  if (mark != args.end()) operands_.insert(operands_.end(), mark + 1, args.end());
  const std::string usage = "; usage: millrace " + verb_ +
                            (settings_ == nullptr ? " [OPTIONS]" : " [--config FILE] [--set NAME=VALUE]...") +
                            (operands_text_.empty() ? "" : " ") + operands_text_;
  if (operands_.size() < least) {
    return Invalid((operands_.empty() ? "no argument is given" : "too few arguments") + usage);
  }
  if (operands_.size() > most) return Invalid("unexpected argument " + Quote(operands_[most]) + usage);
  if (!config_.empty()) MILLRACE_TRY(settings_->LoadToml(config_));
  for (const std::string& pair : pairs_) MILLRACE_TRY(settings_->SetPair(pair));
  return Status::Ok();
}

Status Arguments::UnknownOption(const std::string& option) const {
  // The options of the program, as client/cli/cli.cc reads them.
  for (const std::string_view leading : {"--master", "--wait", "--tls", "--version"}) {
    if (settings_ == nullptr && option.substr(0, option.find('=')) == leading) {
      return Invalid("option " + Quote(option) + " stands before the command, as in: millrace " + std::string(leading) +
                     (leading == "--version" ? "" : " ... " + verb_));
    }
  }
  constexpr std::string_view kOfLocal[] = {"--workers", "--racks", "--datacenters", "--scheduler", "--set", "--keep"};
  const std::string name = option.substr(0, option.find('='));
  if (verb_ == "local run" && std::ranges::find(kOfLocal, name) != std::end(kOfLocal)) {
    return Invalid("option " + Quote(option) +
                   " is the cluster's, and stands before the word run, as in: millrace local " + name + " ... run");
  }
  if (name.find_first_not_of("0123456789.", 1) == name.npos)
    return Invalid(Quote(option) + " is no option, and nothing here takes a number below 0; " + Hint());
  std::vector<std::string> known;
  for (const CLI::Option* declared : app_.get_options()) {
    for (const std::string& known_name : declared->get_lnames()) known.push_back("--" + known_name);
  }
  const std::optional<std::string> nearest = Nearest((one_dash_ && !name.starts_with("--") ? "-" : "") + name, known);
  return Invalid("unknown option " + Quote(option) + "; " + (nearest ? "did you mean " + *nearest + "?" : Hint()));
}

std::string Arguments::Hint() const {
  if (settings_ == nullptr) return "see millrace " + verb_ + " --help";
  return "options are given as --set NAME=VALUE or in --config FILE (millrace " + verb_ + " --help lists them)";
}

Status UnknownVerb(const std::string& word, const std::vector<std::string>& verbs, std::span<const Synonym> synonyms) {
  const std::string no = "no command " + Quote(word) + "; ";
  for (const Synonym& synonym : synonyms) {
    if (synonym.word == word) return Invalid(no + "did you mean " + std::string(synonym.meant) + "?");
  }
  std::string all;
  for (const std::string& verb : verbs) all += (all.empty() ? "" : ", ") + verb;
  std::optional<std::string> nearest = Nearest(word, verbs);
  if (!nearest) {  // it may be a synonym that is spelt wrong
    std::vector<std::string> words;
    for (const Synonym& synonym : synonyms) words.emplace_back(synonym.word);
    if (const auto alike = Nearest(word, words))
      nearest = std::ranges::find(synonyms, std::string_view(*alike), &Synonym::word)->meant;
  }
  return Invalid(no + (nearest ? "did you mean " + *nearest + "?" : "there are " + all));
}

}  // namespace millrace::console
