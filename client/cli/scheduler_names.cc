#include "client/cli/scheduler_names.h"

#include <algorithm>
#include <memory>

#include "schedulers/policies/catalog.h"

namespace millrace::cli {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    word.remove_prefix(std::min(word.find_first_not_of(kBlanks), word.size()));
    word = word.substr(0, word.find_last_not_of(kBlanks) + 1);
    words.emplace_back(word);
    begin = end + 1;
  }
  return words;
}

Result<std::vector<std::string>> ParseSchedulers(std::string_view text, const sched::Settings& settings) {
  const std::vector<std::string> words = SplitAtCommas(text);
  std::vector<std::string> names;
  for (const std::string& word : words) {
    if (word == "all") {
      for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
        if (std::find(words.begin(), words.end(), policy.name) == words.end()) names.push_back(policy.name);
      }
      continue;
    }
    std::string why;
    const std::unique_ptr<sched::Policy> policy = sched::MakePolicy(word, settings, &why);
    if (policy == nullptr) return Invalid(why);
    names.emplace_back(policy->name());
  }
  return names;
}

}  // namespace millrace::cli
