// SPDX-License-Identifier: Apache-2.0
// A job with a Group: it writes the way of each user through the pages, in order of time, from lines "time user page".
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "client/api/job.h"

namespace {

struct Ways {
  using Key = std::pair<std::string, std::uint64_t>;  // user and time
  using Value = std::string_view;

  static const std::string& Group(const Key& key) { return key.first; }
  void Map(std::string_view line, auto& emit) {
    std::uint64_t time = 0;
    std::from_chars(line.data(), line.data() + line.size(), time);
    const std::size_t user = line.find(' ') + 1, page = line.find(' ', user) + 1;
    emit(Key(line.substr(user, page - user - 1), time), line.substr(page));
  }
  void Reduce(const Key& first, auto& pages, auto& emit) {
    std::string way;
    for (const std::string_view page : pages)
      way.append(" ").append(page).append("+").append(std::to_string(pages.key().second - first.second));
    emit(first.first, std::to_string(first.second) + way);
  }
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Ways>(argc, argv); }
