// SPDX-License-Identifier: Apache-2.0
#include "master/access/access_rules.h"

#include <utility>

#include "base/text.h"
#include "base/tls/peer_identity.h"
#include "base/toml_file.h"

namespace millrace::master {
namespace {

constexpr std::string_view kEverybody = "*";
constexpr const char* kAdministrators = "administrators";
constexpr const char* kGroups = "groups";
constexpr const char* kPools = "pools";
constexpr const char* kSubmit = "submit";
constexpr const char* kAdminister = "administer";

}  // namespace

// Reads one file: first the groups, then the lists that name them.
class AccessReader {
 public:
  explicit AccessReader(std::string file_name) : file_name_(std::move(file_name)) {}

  Result<AccessRules> Read(std::string_view text) {
    MILLRACE_ASSIGN(const std::vector<TomlEntry> entries, ReadToml(text, file_name_));
    for (const TomlEntry& entry : entries) MILLRACE_TRY(ReadGroup(entry));
    for (const TomlEntry& entry : entries) MILLRACE_TRY(ReadOther(entry));
    return std::move(rules_);
  }

 private:
  using Kind = TomlEntry::Kind;

  [[nodiscard]] Status Fail(const TomlEntry& entry, const std::string& why) const {
    std::string name;
    for (const std::string& part : entry.path) name += (name.empty() ? "" : ".") + Printable(part);
    return Invalid(file_name_ + ":" + std::to_string(entry.line) + ": " + name + ": " + why);
  }
  [[nodiscard]] Status Unknown(const TomlEntry& entry, const std::vector<std::string>& known) const {
    const auto nearest = Nearest(entry.path.back(), known);
    return Fail(entry, "no such setting; " + (nearest ? "did you mean " + *nearest + "?"
                                                      : "docs/operate/security.md says what an access file may have"));
  }
  [[nodiscard]] Status WrongName(const TomlEntry& entry, const std::string& name) const {
    return Fail(entry,
                Quote(name) +
                    " is not a name: names have 1 to 48 letters, digits and . _ - @ + and begin with a letter or a "
                    "digit");
  }
  [[nodiscard]] Status CheckList(const TomlEntry& entry) const {
    if (entry.kind == Kind::kList) return Status::Ok();
    return Fail(entry, "is not a list of names; write [\"ann\", \"@group\"]");
  }

  Status ReadGroup(const TomlEntry& entry) {
    if (entry.path[0] != kGroups) return Status::Ok();
    if (entry.path.size() == 1) {
      return entry.kind == Kind::kTable ? Status::Ok() : Fail(entry, "is not a section; write [groups]");
    }
    const std::string& group = entry.path[1];
    if (!tls::IsName(group)) return WrongName(entry, group);
    if (entry.path.size() > 2) return Fail(entry, "a group is a list of users");
    MILLRACE_TRY(CheckList(entry));
    AccessRules::Names& members = groups_[group];
    for (const std::string& name : entry.items) {
      if (name.starts_with('@') || name == kEverybody) {
        return Fail(entry, Quote(name) + " is not a user: a group has users alone");
      }
      if (!tls::IsName(name)) return WrongName(entry, name);
      members.insert(name);
      rules_.groups_of_[name].insert(group);
    }
    return Status::Ok();
  }

  Status ReadOther(const TomlEntry& entry) {
    if (entry.path[0] == kGroups) return Status::Ok();
    if (entry.path[0] == kPools) return ReadPool(entry);
    if (entry.path[0] != kAdministrators || entry.path.size() > 1) {
      return Unknown(entry, {kAdministrators, kGroups, kPools});
    }
    MILLRACE_ASSIGN(rules_.administrators_, ReadPeople(entry));
    return Status::Ok();
  }

  Status ReadPool(const TomlEntry& entry) {
    if (entry.path.size() == 1) {
      return entry.kind == Kind::kTable ? Status::Ok() : Fail(entry, "is not a section; write [pools.NAME]");
    }
    const std::string& name = entry.path[1];
    if (name.empty() || name.size() > kLongestName) {
      return Fail(entry, "the name of a pool has 1 to " + std::to_string(kLongestName) + " bytes");
    }
    if (entry.path.size() == 2 && entry.kind != Kind::kTable) {
      return Fail(entry, "is not a section; write [pools." + Printable(name) + "]");
    }
    AccessRules::Pool& pool = name == kEverybody ? rules_.all_ : rules_.pools_[name];
    if (entry.path.size() == 2) return Status::Ok();
    const std::string& key = entry.path[2];
    if (entry.path.size() > 3 || (key != kSubmit && key != kAdminister)) return Unknown(entry, {kSubmit, kAdminister});
    MILLRACE_ASSIGN((key == kSubmit ? pool.submit : pool.administer), ReadPeople(entry));
    return Status::Ok();
  }

  Result<AccessRules::People> ReadPeople(const TomlEntry& entry) const {
    MILLRACE_TRY(CheckList(entry));
    AccessRules::People people;
    std::string text;
    for (const std::string& name : entry.items) {
      MILLRACE_TRY(AddTo(&people, name, entry));
      text += (text.empty() ? "" : ", ") + (name == kEverybody ? "everybody" : name);
    }
    if (!text.empty()) people.text = std::move(text);
    return people;
  }

  Status AddTo(AccessRules::People* people, const std::string& name, const TomlEntry& entry) const {
    if (name == kEverybody) {
      people->everybody = true;
    } else if (name.starts_with('@')) {
      const auto group = groups_.find(name.substr(1));
      if (group == groups_.end()) {
        return Fail(entry, Quote(name) + " is not a group; [groups] has " + (groups_.empty() ? "none" : GroupNames()));
      }
      people->users.insert(group->second.begin(), group->second.end());
    } else if (tls::IsName(name)) {
      people->users.insert(name);
    } else {
      return WrongName(entry, name);
    }
    return Status::Ok();
  }

  [[nodiscard]] std::string GroupNames() const {
    constexpr std::size_t kMost = 200;  // bytes
    std::string names;
    for (const auto& [group, members] : groups_) {
      if (names.size() > kMost) return names + ", ...";
      names += (names.empty() ? "" : ", ") + group;
    }
    return names;
  }

  const std::string file_name_;
  AccessRules rules_;
  std::map<std::string, AccessRules::Names, std::less<>> groups_;
};

AccessRules::AccessRules() : administrators_{{"admin"}, false, "admin"} {
  all_.submit = People{{}, true, "everybody"};
  all_.administer = People{};
}

Result<AccessRules> AccessRules::Parse(std::string_view text, const std::string& file_name) {
  return AccessReader(file_name).Read(text);
}

const AccessRules::People& AccessRules::Of(std::string_view pool, std::optional<People> Pool::*list,
                                           const std::optional<People>& otherwise) const {
  const auto section = pools_.find(pool);
  return section != pools_.end() && section->second.*list ? *(section->second.*list) : *otherwise;
}

bool AccessRules::MaySubmit(std::string_view user, std::string_view pool) const {
  return SubmitOf(pool).Has(user) || MayAdminister(user, pool);
}

bool AccessRules::MayAdminister(std::string_view user, std::string_view pool) const {
  return AdministerOf(pool).Has(user) || IsAdministrator(user);
}

const AccessRules::Names& AccessRules::GroupsOf(std::string_view user) const {
  static const Names none;
  const auto found = groups_of_.find(user);
  return found == groups_of_.end() ? none : found->second;
}

std::vector<std::string> AccessRules::Pools() const {
  std::vector<std::string> names;
  for (const auto& [name, pool] : pools_) names.push_back(name);
  return names;
}

}  // namespace millrace::master
