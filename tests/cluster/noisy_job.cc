// SPDX-License-Identifier: Apache-2.0
// A job that counts records, and whose maps leave much behind: -D noisy.prints lines on standard error, each of a
// hundred bytes that compress badly, and -D noisy.scratch bytes in their scratch directory. With -D noisy.endless they
// go on with both until they are killed.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "client/api/job.h"

namespace {

struct Noisy {
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(millrace::JobOptions& options) {
    options.Integer("noisy.prints", 0, 0, 1'000'000, "lines that each map prints");
    options.Integer("noisy.scratch", 0, 0, 1'000'000'000, "bytes that each map leaves in its scratch directory");
    options.Choice("noisy.endless", "no", {"no", "prints", "scratch"}, "what never ends");
  }
  explicit Noisy(millrace::TaskContext& context)
      : lines_(context.options().integer("noisy.prints")),
        bytes_(context.options().integer("noisy.scratch")),
        endless_(context.options().text("noisy.endless")),
        directory_(context.facts().scratch) {}

  millrace::Status Start(millrace::TaskContext& context) {
    if (context.facts().attempt.task.reduce()) return millrace::Status::Ok();
    std::fprintf(stderr, "lost and found\n");
    for (std::int64_t line = 0; line < lines_; ++line) Print();
    std::ofstream file(directory_ + "/left");
    for (std::int64_t left = bytes_; left > 0; left -= kBlock) file << std::string(kBlock, 'x');
    while (endless_ == "prints") Print();
    while (endless_ == "scratch") file << std::string(kBlock, 'x');
    return millrace::Status::Ok();
  }
  void Map(std::string_view, auto& emit) { emit(std::string_view("records"), 1); }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values) sum += value;
    emit(key, sum);
  }

 private:
  static constexpr std::int64_t kBlock = 1 << 16;

  void Print() {
    std::string line;
    while (line.size() < 99) line += static_cast<char>('!' + random_() % 94);
    std::fprintf(stderr, "%s\n", line.c_str());
  }

  const std::int64_t lines_, bytes_;
  const std::string endless_, directory_;
  std::minstd_rand random_{42};
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Noisy>(argc, argv); }
