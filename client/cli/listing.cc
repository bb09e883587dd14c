// SPDX-License-Identifier: Apache-2.0
#include "client/cli/listing.h"

#include <optional>

#include "base/text.h"

namespace millrace::cli {

void ListingOptions::Declare(console::Arguments& arguments, const std::string& columns) {
  arguments.Flag("-w,--wide", &wide, "show all columns whole, whatever the width of the terminal");
  arguments.Text("--format", &format, "show these columns, separated by commas: " + columns);
  arguments.Text("--sort", &sort, "sort by this column");
  arguments.Flag("-r,--reverse", &reverse, "in the opposite order");
  arguments.Flag("--no-head", &no_head, "leave the line with the names of the columns out");
  arguments.Flag("--totals", &totals, "print the sums also into a pipe; a terminal always shows them");
}

std::vector<std::string> ColumnNames(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  std::erase(names, "");
  return names;
}

Status UnknownColumn(const std::string& option, const std::string& name, const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
  const std::optional<std::string> nearest = Nearest(name, known);
  return Invalid(option + ": there is no column " + Quote(name) + "; " +
                 (nearest ? "did you mean " + *nearest + "?" : "there are " + all));
}

std::string CountsInWords(const std::vector<std::string>& words, const std::vector<std::string>& order) {
  std::string text;
  for (const std::string& word : order) {
    const auto count = std::ranges::count(words, word);
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + word;
  }
  return text;
}

}  // namespace millrace::cli
