// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/options.h"

#include "base/text.h"

namespace millrace::streaming {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string JoinPairs(const Pairs& pairs) {
  std::string text;
  const auto append = [&text](const std::string& part) {
    for (const char c : part) {
      if (c == '\\' || c == '\n') text.push_back('\\');
      text.push_back(c == '\n' ? 'n' : c);
    }
  };
  for (const auto& [name, value] : pairs) {
    append(name);
    text.push_back('=');
    append(value);
    text.push_back('\n');
  }
  return text;
}

Result<Pairs> SplitPairs(const std::string& text) {
  Pairs pairs;
  std::string line;
  const auto end_line = [&]() -> Status {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0 || line.find('\0') != std::string::npos)
      return Invalid(Quote(line) + " is not NAME=VALUE");
    pairs.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    line.clear();
    return Status::Ok();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'n' || text[i + 1] == '\\')) {
      line.push_back(text[++i] == 'n' ? '\n' : '\\');
    } else if (text[i] == '\n') {
      if (!line.empty()) MILLRACE_TRY(end_line());
    } else {
      line.push_back(text[i]);
    }
  }
  if (!line.empty()) MILLRACE_TRY(end_line());
  return pairs;
}

std::string EnvironmentName(std::string_view parameter) {
  std::string name(parameter);
  for (char& c : name) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!kept) c = '_';
  }
  return name;
}

}  // namespace millrace::streaming
