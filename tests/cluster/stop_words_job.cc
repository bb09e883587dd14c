// SPDX-License-Identifier: Apache-2.0
// A job that counts the words that are not in a side file, and keeps a counter of those that are.
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>

#include "client/api/job.h"

namespace {

struct StopWords {
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(millrace::JobOptions& options) {
    options.Text("stop.list", "", "file of the words that do not count");
    options.Require("stop.list");
  }
  millrace::Status Start(millrace::TaskContext& context) {
    left_out_ = &context.counter("words", "left_out");
    MILLRACE_ASSIGN(const std::string list, context.ReadFile(context.options().text("stop.list")));
    std::istringstream words(list);
    for (std::string word; words >> word;) stop_.insert(word);
    return millrace::Status::Ok();
  }
  void Map(std::string_view line, auto& emit) {
    std::istringstream words{std::string(line)};
    for (std::string word; words >> word;) {
      if (stop_.contains(word)) {
        ++*left_out_;
      } else {
        emit(word, 1);
      }
    }
  }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }

 private:
  std::unordered_set<std::string> stop_;
  millrace::Counter* left_out_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<StopWords>(argc, argv); }
