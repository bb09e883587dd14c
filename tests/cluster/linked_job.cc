// SPDX-License-Identifier: Apache-2.0
// A job that needs a shared library: it greets every line.
#include <string>
#include <string_view>

#include "client/api/job.h"

std::string Greet(const std::string& name);  // of libgreet.so

namespace {

struct Linked {
  void Map(std::string_view line, auto& emit) { emit(Greet(std::string(line))); }
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Linked>(argc, argv); }
