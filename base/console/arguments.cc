#include "base/console/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/text.h"

namespace millrace::console {
namespace {

std::string InWords(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", number);
  return text;
}

}  // namespace

Arguments::Arguments(std::string verb, const std::string& operands, const std::string& one_line)
    : verb_(std::move(verb)),
      operands_text_(operands),
      app_(one_line, "millrace " + verb_ + (operands.empty() ? "" : " " + operands)) {
  app_.allow_extras();
  app_.footer([this] {
    const std::string examples = examples_.empty() ? "" : "Examples:\n" + examples_ + "\n";
    if (offline_) return examples + "Exit status: 0 done, 1 failed, 2 wrong usage";
    return examples + "Which cluster: millrace --master HOST:PORT " + verb_ +
           " ..., or MILLRACE_MASTER\n"
           "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the cluster cannot be reached";
  });
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
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  const auto check = [least, most, range](const std::string& word) -> std::string {
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && at == end && value >= least && value <= most) return {};
    return Quote(word) + " is not a whole number from " + range;
  };
  app_.add_option(names, *field, one_line + "; " + range)->type_name("N")->check(check);
}

void Arguments::Number(const std::string& names, double* field, double least, double most,
                       const std::string& one_line) {
  const std::string range = InWords(least) + " to " + InWords(most);
  const auto check = [least, most, range](const std::string& word) -> std::string {
    double value = 0;
    const char* end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && at == end && value >= least && value <= most) return {};
    return Quote(word) + " is not a number from " + range;
  };
  app_.add_option(names, *field, one_line + "; " + range)->type_name("N")->check(check);
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
    SayError(console, verb_, Invalid(std::string(wrong.what()) + "; see millrace " + verb_ + " --help"));
    return kWrongUsage;
  }
  return std::nullopt;
}

Status Arguments::Read(const std::vector<std::string>& args, std::size_t least, std::size_t most) {
  // Only arguments before "--" can be options.
  const auto mark = std::find(args.begin(), args.end(), "--");
  std::vector<std::string> reversed(std::make_reverse_iterator(mark), args.rend());
  app_.parse(reversed);
  operands_ = app_.remaining();
  for (const std::string& operand : operands_) {
    if (operand.size() > 1 && operand[0] == '-') return UnknownOption(operand);
  }
  if (mark != args.end()) operands_.insert(operands_.end(), mark + 1, args.end());
  const std::string usage = "; usage: millrace " + verb_ + " [OPTIONS] " + operands_text_;
  if (operands_.size() < least) {
    return Invalid((operands_.empty() ? "no argument is given" : "too few arguments") + usage);
  }
  if (operands_.size() > most) return Invalid("unexpected argument " + Quote(operands_[most]) + usage);
  return Status::Ok();
}

Status Arguments::UnknownOption(const std::string& option) const {
  std::vector<std::string> known;
  for (const CLI::Option* declared : app_.get_options()) {
    for (const std::string& name : declared->get_lnames()) known.push_back("--" + name);
  }
  const std::optional<std::string> nearest = Nearest(option.substr(0, option.find('=')), known);
  return Invalid("unknown option " + Quote(option) +
                 (nearest ? "; did you mean " + *nearest + "?" : "; see millrace " + verb_ + " --help"));
}

Status UnknownVerb(const std::string& word, const std::vector<std::string>& verbs) {
  std::string all;
  for (const std::string& verb : verbs) all += (all.empty() ? "" : ", ") + verb;
  const std::optional<std::string> nearest = Nearest(word, verbs);
  return Invalid("no command " + Quote(word) + "; " +
                 (nearest ? "did you mean " + *nearest + "?" : "there are " + all));
}

}  // namespace millrace::console
