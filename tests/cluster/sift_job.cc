// SPDX-License-Identifier: Apache-2.0
// A job without reduces that has a named output: lines without a letter go to "bare".
#include <algorithm>
#include <string_view>

#include "client/api/job.h"

namespace {

struct Sift {
  static constexpr millrace::NamedOutput<"bare"> kBare{};
  using Outputs = millrace::NamedOutputs<kBare>;
  void Map(std::string_view line, auto& emit) {
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    if (std::ranges::any_of(line, letter)) {
      emit(line);
    } else {
      emit.To(kBare, line);
    }
  }
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Sift>(argc, argv); }
