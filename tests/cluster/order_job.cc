// SPDX-License-Identifier: Apache-2.0
// Sorts lines over all reduces. A line "throw" fails the map.
#include <stdexcept>

#include "client/api/job.h"

struct Order {
  using Key = std::string_view;
  using Value = millrace::Nothing;
  using Partition = millrace::TotalOrder;

  void Map(std::string_view line, auto& emit) {
    if (line == "throw") throw std::runtime_error("a line that it does not like");
    emit(line);
  }
};

int main(int argc, char** argv) { return millrace::Run<Order>(argc, argv); }
