// SPDX-License-Identifier: Apache-2.0
// Listing: the table of a verb such as `job list`, of which the user may choose columns and order. It fits the terminal
// (base/console/table.h). Thread rule: one thread.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/table.h"
#include "base/status.h"

namespace millrace::cli {

// A number, or a text behind equal numbers.
using SortKey = std::pair<double, std::string>;

// The options that all listings have.
struct ListingOptions {
  std::string format, sort;
  bool wide = false, reverse = false, no_head = false, totals = false;
  // Declares them. `columns` names those that --format and --sort take.
  void Declare(console::Arguments& arguments, const std::string& columns);
};

// Splits "a,b" and lowers its letters; empty names are left out.
[[nodiscard]] std::vector<std::string> ColumnNames(const std::string& list);
// Returns kInvalid: `option` names the column `name`, and there are `known`.
[[nodiscard]] Status UnknownColumn(const std::string& option, const std::string& name,
                                   const std::vector<std::string>& known);

template <class T>
struct Field {
  std::string name;  // for --format and --sort
  console::Column column;
  std::function<std::string(const T&)> text;
  std::function<SortKey(const T&)> key;  // not set: the text is the key
  bool extra = false;                    // shown only if it is named, or with --wide
};

template <class T>
class Listing {
 public:
  explicit Listing(std::vector<Field<T>> fields) : fields_(std::move(fields)) {}

  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Field<T>& field : fields_) names.push_back(field.name);
    return names;
  }

  // Returns kInvalid if --format or --sort names a column that does not exist.
  [[nodiscard]] Status Check(const ListingOptions& options) const {
    for (const std::string& name : ColumnNames(options.format)) {
      if (Find(name) == nullptr) return UnknownColumn("--format", name, Names());
    }
    if (!options.sort.empty() && SortField(options) == nullptr) return UnknownColumn("--sort", options.sort, Names());
    return Status::Ok();
  }

  // Sorts the elements if that is asked for. Requires: the options were checked.
  void Sort(const ListingOptions& options, std::vector<T>* elements) const {
    if (const Field<T>* by = options.sort.empty() ? nullptr : SortField(options)) {
      std::ranges::stable_sort(*elements, {},
                               [by](const T& one) { return by->key ? by->key(one) : SortKey(0, by->text(one)); });
    }
    if (options.reverse) std::ranges::reverse(*elements);
  }

  // Returns the table. Requires: the options were checked.
  [[nodiscard]] std::string Text(const ListingOptions& options, const std::vector<T>& elements,
                                 const console::Console& console) const {
    std::vector<const Field<T>*> chosen;
    std::vector<console::Column> columns;
    for (const std::string& name : ColumnNames(options.format)) {
      chosen.push_back(Find(name));
      columns.push_back(chosen.back()->column);
      columns.back().worth = console::kAlwaysShown;  // it was asked for
    }
    for (const Field<T>& field : fields_) {
      if (!options.format.empty() || (field.extra && !options.wide)) continue;
      chosen.push_back(&field);
      columns.push_back(field.column);
    }
    std::vector<std::vector<std::string>> rows;
    for (const T& element : elements) {
      rows.emplace_back();
      for (const Field<T>* field : chosen) rows.back().push_back(field->text(element));
    }
    return console::LayOut(columns, rows, console::TableWidth(console, options.wide), !options.no_head);
  }

 private:
  [[nodiscard]] const Field<T>* Find(const std::string& name) const {
    const auto found = std::ranges::find(fields_, name, &Field<T>::name);
    return found == fields_.end() ? nullptr : &*found;
  }
  [[nodiscard]] const Field<T>* SortField(const ListingOptions& options) const {
    const std::vector<std::string> names = ColumnNames(options.sort);
    return names.size() == 1 ? Find(names[0]) : nullptr;
  }

  std::vector<Field<T>> fields_;
};

// Returns "3 running, 2 waiting" for the words, each as often as it stands there, in the order of `order`.
[[nodiscard]] std::string CountsInWords(const std::vector<std::string>& words, const std::vector<std::string>& order);

}  // namespace millrace::cli
