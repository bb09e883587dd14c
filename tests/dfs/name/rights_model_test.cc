// SPDX-License-Identifier: Apache-2.0
// Holds the rights of a Namespace against a model that knows paths and texts of modes alone: random trees, owners,
// groups and modes; random users ask for everything.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "dfs/name/namespace.h"
#include "tests/dfs/name/block_numbers.h"

namespace millrace::dfs {
namespace {

struct Entry {
  bool directory = false;
  std::string owner = {}, group = {};
  int mode = 0;
};

class Model {
 public:
  std::map<std::string, Entry> entries = {{"/", {true, "", "", 01777}}};

  [[nodiscard]] bool IsDirectory(const std::string& path) const {
    const auto it = entries.find(path);
    return it != entries.end() && it->second.directory;
  }
  [[nodiscard]] bool Has(const std::string& path) const { return entries.contains(path); }
  static std::string Up(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
  }

  // POSIX's rule (IEEE Std 1003.1, 4.5 "File Access Permissions"), on letters: r, w, x.
  [[nodiscard]] bool May(const std::string& path, const Principal& who, const std::string& letters) const {
    const Entry& e = entries.at(path);
    static const char* const kDigits[] = {"", "x", "w", "wx", "r", "rx", "rw", "rwx"};
    int digit = e.mode % 8;
    for (const std::string& group : who.groups) {
      if (group == e.group) digit = e.mode / 8 % 8;
    }
    if (who.user == e.owner) digit = e.mode / 64 % 8;
    const std::string has = kDigits[digit];
    for (const char letter : letters) {
      if (has.find(letter) == std::string::npos) return false;
    }
    return true;
  }
  // All directories on the way, from the root, as long as they are there.
  [[nodiscard]] std::vector<std::string> Way(const std::string& path) const {
    std::vector<std::string> way;
    if (path == "/") return way;
    for (std::size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
      if (!IsDirectory(directory)) break;
      way.push_back(directory);
    }
    return way;
  }
  [[nodiscard]] bool Reaches(const std::string& path, const Principal& who) const {
    for (const std::string& directory : Way(path)) {
      if (!May(directory, who, "x")) return false;
    }
    return true;
  }
  [[nodiscard]] bool Sticks(const std::string& path, const Principal& who) const {
    const Entry& directory = entries.at(Up(path));
    return directory.mode >= 01000 && who.user != directory.owner && who.user != entries.at(path).owner;
  }
  [[nodiscard]] std::set<std::string> At(const std::string& top) const {  // and below
    std::set<std::string> found;
    for (const auto& [path, entry] : entries) {
      if (path == top || path.starts_with(top == "/" ? "/" : top + "/")) found.insert(path);
    }
    return found;
  }

  [[nodiscard]] bool Allows(Wish wish, const std::string& path, const Principal& who) const {
    if (!Reaches(path, who)) return false;
    const bool there = Has(path), directory = IsDirectory(path);
    switch (wish) {
      case Wish::kLook:
        return true;
      case Wish::kList:
        return !directory || May(path, who, "rx");
      case Wish::kRead:
        return !there || directory || May(path, who, "r");
      case Wish::kChange:
        return !there || directory || May(path, who, "w");
      case Wish::kMakeDirectory:
        return there || May(Way(path).back(), who, "w");
      case Wish::kCreate:
        return directory || May(Way(path).back(), who, "w");
      case Wish::kReplace:
        if (directory) return true;
        return May(Way(path).back(), who, "w") && (!there || (May(path, who, "w") && !Sticks(path, who)));
      case Wish::kRemove:
        if (!there || path == "/") return true;
        if (!May(Up(path), who, "w") || Sticks(path, who)) return false;
        for (const std::string& below : At(path)) {
          if (below != path && (Sticks(below, who) || !May(Up(below), who, "rwx"))) return false;
        }
        return true;
      case Wish::kMeasure:
        for (const std::string& below : At(path)) {
          if (IsDirectory(below) && !May(below, who, "rx")) return false;
        }
        return true;
      case Wish::kSetMode:
        return !there || entries.at(path).owner == who.user;
    }
    return false;
  }
  [[nodiscard]] bool AllowsRename(const std::string& from, const std::string& to, const Principal& who) const {
    if (!Reaches(from, who) || !Reaches(to, who)) return false;
    if (Has(from) && from != "/" && (!May(Up(from), who, "w") || Sticks(from, who))) return false;
    return IsDirectory(to) ? May(to, who, "wx") : May(Way(to).back(), who, "w");
  }
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  std::string Path() {
    if (random_.Below(20) == 0) return "/";
    std::string path;
    for (std::uint64_t depth = 1 + random_.Below(4); depth > 0; --depth)
      path += "/" + std::string(1, static_cast<char>('a' + random_.Below(3)));
    return path;
  }
  std::string Name(const std::vector<std::string>& names) { return names[random_.Below(names.size())]; }
  // Generous often enough that deep paths are reached.
  int Mode() {
    const std::uint64_t kind = random_.Below(4);
    const int mode = kind == 0 ? 0777 : kind == 1 ? 0755 : static_cast<int>(random_.Below(01000));
    return mode + (random_.Below(5) == 0 ? 01000 : 0);
  }
  Random& random() { return random_; }

 private:
  Random random_;
};

TEST(RightsModel, EveryWishIsAllowedAsTheModelAllowsIt) {
  const std::uint64_t base = SeedFromSystem();
  const std::vector<std::string> users = {"ann", "bob", "eve"}, groups = {"", "team", "other"};
  const std::vector<Principal> people = {{.user = "ann", .groups = {"team"}, .superuser = false},
                                         {.user = "bob", .groups = {"team", "other"}, .superuser = false},
                                         {.user = "eve", .groups = {}, .superuser = false}};
  int allowed = 0, denied = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Drawing draw(base + round);
    Namespace names(SeededNumbers(7));
    Model model;
    WriteBatch batch;
    std::vector<BlockId> freed;
    for (int i = 0; i < 25; ++i) {
      const std::string path = draw.Path();
      bool blocked = model.Has(path);
      for (std::string up = Model::Up(path); up != "/"; up = Model::Up(up))
        blocked = blocked || (model.Has(up) && !model.IsDirectory(up));
      if (blocked) continue;
      for (std::string up = Model::Up(path); up != "/"; up = Model::Up(up)) model.entries.try_emplace(up, Entry{true});
      const bool directory = draw.random().Below(2) == 0;
      model.entries[path] = {directory};
      if (directory) {
        ASSERT_TRUE(names.MakeDirectory(path, "", 1, &batch).ok());
      } else {
        ASSERT_TRUE(names.Complete(*names.Create(path, {}, 1, &batch), {}, 1, &batch, &freed).ok());
      }
    }
    for (auto& [path, entry] : model.entries) {
      if (path == "/" && draw.random().Below(2) == 0) continue;
      entry = {entry.directory, draw.Name(users), draw.Name(groups), draw.Mode()};
      ASSERT_TRUE(names.SetOwner(path, entry.owner, entry.group, &batch).ok());
      ASSERT_TRUE(names.SetMode(path, static_cast<Mode>(entry.mode), &batch).ok());
    }
    const auto compare = [&](bool expected, const Status& got, const std::string& what) {
      (expected ? allowed : denied) += 1;
      EXPECT_EQ(got.code(), expected ? StatusCode::kOk : StatusCode::kDenied) << what << ": " << got.message();
    };
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
      const std::string path = draw.Path(), other = draw.Path();
      const Principal& who = people[draw.random().Below(people.size())];
      const auto wish = static_cast<Wish>(draw.random().Below(10));
      compare(model.Allows(wish, path, who), names.Check(wish, path, who),
              who.user + " wishes " + std::to_string(static_cast<int>(wish)) + " of " + path);
      compare(model.AllowsRename(path, other, who), names.CheckRename(path, other, who),
              who.user + " renames " + path + " to " + other);
      EXPECT_TRUE(names.Check(wish, path, Everybody()).ok());
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(allowed, 10'000) << "both happen";
  EXPECT_GT(denied, 10'000);
}

}  // namespace
}  // namespace millrace::dfs
