// SPDX-License-Identifier: Apache-2.0
// AccessRules holds the rules of the access file: who administers the cluster, which groups exist, and who may submit
// to a pool or administer it. An example of the file:
//
//   administrators = ["ann", "@ops"]       # without this line: ["admin"]
//   [groups]
//   ops = ["carl", "dora"]
//   [pools.production]
//   submit = ["@ops"]                      # besides those who administer the pool
//   administer = ["carl"]                  # the pool's jobs: kill, set the priority, read logs
//   [pools."*"]
//   submit = ["*"]                         # for each list that the section of another pool lacks
//
// A list names users, groups as "@ops", and everybody as "*". If neither the section of a pool nor [pools."*"] has the
// list, everybody may submit and nobody may administer. Administrators of the cluster may do everything in every pool.
// Thread rule: a value.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::master {

class AccessRules {
 public:
  using Names = std::set<std::string, std::less<>>;

  AccessRules();  // the rules of an empty file

  // Returns kInvalid, with file, line and reason, if the text is not TOML, or if it contains an unknown key, an invalid
  // name or a group that does not exist.
  [[nodiscard]] static Result<AccessRules> Parse(std::string_view text, const std::string& file_name);

  [[nodiscard]] bool IsAdministrator(std::string_view user) const { return administrators_.Has(user); }
  [[nodiscard]] bool MaySubmit(std::string_view user, std::string_view pool) const;
  [[nodiscard]] bool MayAdminister(std::string_view user, std::string_view pool) const;
  [[nodiscard]] const Names& GroupsOf(std::string_view user) const;
  // Returns the pools that have a section, by name.
  [[nodiscard]] std::vector<std::string> Pools() const;

  // These return the lists as they are written, for messages: "ann, @ops"; "nobody" for an empty one.
  [[nodiscard]] const std::string& Administrators() const { return administrators_.text; }
  [[nodiscard]] const std::string& SubmittersOf(std::string_view pool) const { return SubmitOf(pool).text; }
  [[nodiscard]] const std::string& AdministratorsOf(std::string_view pool) const { return AdministerOf(pool).text; }

  friend bool operator==(const AccessRules&, const AccessRules&) = default;

 private:
  friend class AccessReader;
  struct People {
    Names users;  // includes the members of its groups
    bool everybody = false;
    std::string text = "nobody";

    [[nodiscard]] bool Has(std::string_view user) const { return everybody || users.contains(user); }
    friend bool operator==(const People&, const People&) = default;
  };
  struct Pool {
    std::optional<People> submit, administer;
    friend bool operator==(const Pool&, const Pool&) = default;
  };

  [[nodiscard]] const People& SubmitOf(std::string_view pool) const { return Of(pool, &Pool::submit, all_.submit); }
  [[nodiscard]] const People& AdministerOf(std::string_view pool) const {
    return Of(pool, &Pool::administer, all_.administer);
  }
  [[nodiscard]] const People& Of(std::string_view pool, std::optional<People> Pool::*list,
                                 const std::optional<People>& otherwise) const;

  People administrators_;
  std::map<std::string, Names, std::less<>> groups_of_;  // by user
  std::map<std::string, Pool, std::less<>> pools_;
  Pool all_;  // the section [pools."*"]; it has both lists
};

}  // namespace millrace::master
