// SPDX-License-Identifier: Apache-2.0
// A job with named outputs: it sums the lines "user amount" of each user. Sums of 1000 and more go to record files
// "large", those below 100 to "small", and the others to the part files. -D accounts.hold has its reduces wait at this
// named pipe before they end, as long as there is one.
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "client/api/job.h"

namespace {

struct Accounts {
  static constexpr millrace::NamedOutput<"large", millrace::RecordOutput> kLarge{};
  static constexpr millrace::NamedOutput<"small"> kSmall{};
  using Outputs = millrace::NamedOutputs<kLarge, kSmall>;
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(millrace::JobOptions& options) {
    options.Text("accounts.hold", "", "a named pipe at which reduces wait");
  }
  millrace::Status Start(millrace::TaskContext& context) {
    hold_ = context.options().text("accounts.hold");
    return millrace::Status::Ok();
  }
  void Map(std::string_view line, auto& emit) {
    const std::size_t space = line.find(' ');
    std::uint64_t amount = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), amount);
    emit(line.substr(0, space), amount);
  }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  void Reduce(std::string_view user, auto& amounts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t amount : amounts) sum += amount;
    if (sum >= 1000) {
      emit.To(kLarge, user, sum);
    } else if (sum < 100) {
      emit.To(kSmall, user, sum);
    } else {
      emit(user, sum);
    }
  }
  void FinishReduce(auto&) {
    if (hold_.empty() || !std::filesystem::exists(hold_)) return;
    std::ifstream pipe(hold_);
    for (std::string line; std::getline(pipe, line);) {
    }
  }

 private:
  std::string hold_;
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Accounts>(argc, argv); }
