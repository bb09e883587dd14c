// Patterns in paths, by one rule for `millrace fs`, for what jobs read, and for local files that are given to a job.
//
//   *        any letters, also none; never a slash
//   ?        one letter
//   [a-z0]   one of these letters, [!a-z] or [^a-z] one of the others; [[:digit:]] and the like are ASCII's classes
//   {a,b*}   each of these texts in turn, which may be patterns themselves and have slashes
//   \*       the star itself, and so for ? [ ] { } , and the backslash; before any other letter a backslash is itself
//
// A letter is a character of UTF-8, or a byte that belongs to none. A name that begins with a dot is matched only by a
// pattern that begins with one. A pattern stands for all that it matches; one that matches nothing stands for what
// bears it as its name, if that is there, as in shells. A path without * ? [ and { is no pattern, and a backslash is
// itself there. Pure. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::dfs {

[[nodiscard]] bool HasPattern(std::string_view path);
// Returns the path such that it stands for itself alone where a pattern may be given.
[[nodiscard]] std::string EscapePattern(std::string_view path);

// The pattern of one name.
class NamePattern {
 public:
  explicit NamePattern(std::string_view pattern);

  // Returns true if it stands for one name alone, which is text().
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
  // Reads what follows a bracket. Returns false, and takes nothing, if that is no set of letters.
  static bool TakeSet(std::string_view* rest, Item* item);

  std::vector<Item> items_;
  std::string text_;  // as far as it is literal
  bool literal_ = true;
};

// Returns the patterns without braces that a pattern stands for, in order. kInvalid if there are more than
// kMostAlternatives.
inline constexpr std::size_t kMostAlternatives = 1024;
[[nodiscard]] Result<std::vector<std::string>> AlternativesOf(std::string_view pattern);

// Which names are matched only by a pattern that begins like them.
enum class Hidden {
  kDots,   // those that begin with '.'
  kMarks,  // and those that begin with '_', which mark and log things beside the input of jobs
};

// What there is to match.
class PathTree {
 public:
  virtual ~PathTree() = default;
  // Returns the form of a path in which it is looked for and given back; a failure if there can be no such path.
  [[nodiscard]] virtual Result<std::string> Canonical(std::string_view path) = 0;
  [[nodiscard]] virtual Result<bool> Exists(const std::string& path) = 0;
  // Returns the names in a directory; none if it is not there or no directory.
  [[nodiscard]] virtual Result<std::vector<std::string>> NamesIn(const std::string& directory) = 0;
};

// Returns the paths that `path` stands for in the tree, sorted by their names, each once; none if it is a pattern that
// matches nothing. A path that is no pattern stands for itself and is not looked for.
[[nodiscard]] Result<std::vector<std::string>> ExpandPattern(PathTree& tree, std::string_view path, Hidden hidden);

}  // namespace millrace::dfs
