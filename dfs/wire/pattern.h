// SPDX-License-Identifier: Apache-2.0
// Patterns in paths: one syntax for `millrace fs`, for the inputs of jobs, and for local files that are given to a job.
//
//   *        any number of letters, or none; never a slash
//   ?        one letter
//   [a-z0]   one of these letters, [!a-z] or [^a-z] any other letter; [[:digit:]] and the like are ASCII's classes
//   {a,b*}   each of these texts in turn, which may be patterns themselves and have slashes
//   \*       a plain star; the same for ? [ ] { } , and the backslash; before any other letter a backslash is plain
//
// A letter is a UTF-8 character, or a byte that is not part of one. A name that begins with a dot is matched only by a
// pattern that begins with a dot. A pattern stands for all that it matches. As in shells, one that matches nothing
// stands for the file of that very name, if it exists. A path without any of * ? [ { is not a pattern, and a backslash
// in it is plain. Pure. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::dfs {

[[nodiscard]] bool HasPattern(std::string_view path);
// Returns a text that stands for this path alone where a pattern may be given.
[[nodiscard]] std::string EscapePattern(std::string_view path);

// The pattern of one name.
class NamePattern {
 public:
  explicit NamePattern(std::string_view pattern);

  // Returns true if the pattern stands for one name alone, text().
  [[nodiscard]] bool literal() const { return literal_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool Matches(std::string_view name) const;

 private:
  struct Range {
    std::uint32_t low, high;
  };
  struct Item {
    enum class Kind { kLetter, kAnyLetter, kAnyLetters, kOneOf } kind = Kind::kLetter;
    std::uint32_t letter = 0;
    std::vector<Range> ranges = {};
    bool negated = false;
  };

  [[nodiscard]] static bool Fits(const Item& item, std::uint32_t letter);
  // Reads the text after a bracket. Returns false, and takes nothing, if it is not a set of letters.
  static bool TakeSet(std::string_view* rest, Item* item);

  std::vector<Item> items_;
  std::string text_;  // the plain letters; the whole name if literal_
  bool literal_ = true;
};

// Expands the braces of a pattern. Returns the patterns without braces, in order, or kInvalid if there are more than
// kMostAlternatives.
inline constexpr std::size_t kMostAlternatives = 1024;
[[nodiscard]] Result<std::vector<std::string>> AlternativesOf(std::string_view pattern);

// The names that are matched only by a pattern that begins with the same character.
enum class Hidden {
  kDots,   // names that begin with '.'
  kMarks,  // also names that begin with '_', which are markers and logs beside the input of jobs
};

// The tree of names in which patterns are matched.
class PathTree {
 public:
  virtual ~PathTree() = default;
  // Returns the form in which a path is looked up and returned, or a failure if no such path can exist.
  [[nodiscard]] virtual Result<std::string> Canonical(std::string_view path) = 0;
  [[nodiscard]] virtual Result<bool> Exists(const std::string& path) = 0;
  // Returns the names in a directory; none if it does not exist or is not a directory.
  [[nodiscard]] virtual Result<std::vector<std::string>> NamesIn(const std::string& directory) = 0;
};

// Returns the paths that `path` stands for in the tree, sorted by their names, each once; none if it is a pattern that
// matches nothing. A path that is not a pattern stands for itself and is not looked up.
[[nodiscard]] Result<std::vector<std::string>> ExpandPattern(PathTree& tree, std::string_view path, Hidden hidden);

}  // namespace millrace::dfs
