// SPDX-License-Identifier: Apache-2.0
// Redactor takes secrets out of text that is sent to others: log lines, answers of the master, and settings. It knows
// some secrets, which it finds wherever they are, and the places where secrets stand:
// - what follows a name such as "password", "db.token" or "--api-key", behind "=", ":" or a space
// - what stands before "@" in a URL
// - what follows "Bearer" or "Basic", and the rest of a line after "Authorization:" or "Cookie:"
// - the value of a job's option, -D NAME=VALUE, whatever its name is
// - private keys in PEM, and key ids of AWS
// It rather hides too much. It cannot find a secret that stands alone under a harmless name and was never told to it.
// Pure. Thread rule: a const object, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::support {

inline constexpr std::string_view kHidden = "[hidden]";

// Returns true if a setting, an option or a variable of this name may have a secret as its value: "db.password",
// "AWS_SECRET_ACCESS_KEY".
[[nodiscard]] bool NamesASecret(std::string_view name);

class Redactor {
 public:
  // A shorter secret is not looked for everywhere, since it would be found in other words.
  static constexpr std::size_t kShortest = 6;

  // Hides this secret wherever it is. Of a text of several lines, each line is a secret.
  void Hide(std::string_view secret);
  // Returns the text without secrets. Lines stay lines.
  [[nodiscard]] std::string Clean(std::string_view text) const;

 private:
  std::vector<std::string> known_;  // the longest first
};

}  // namespace millrace::support
