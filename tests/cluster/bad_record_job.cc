// SPDX-License-Identifier: Apache-2.0
// A job that counts the words of its records and fails at some: it aborts at one with ABORT in it, throws at THROW,
// leaves by exit(0) at EXIT, and at HANG does nothing any more. Records are lines, or, where MILLRACE_TEST_FIXED is
// defined, of input.record_bytes.
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "client/api/job.h"

namespace {

struct BadRecord {
#ifdef MILLRACE_TEST_FIXED
  using Input = millrace::FixedRecords<>;
#endif
  using Key = std::string_view;
  using Value = std::uint64_t;

  void Map(std::string_view record, auto& emit) {
    const auto has = [&](std::string_view word) { return record.find(word) != record.npos; };
    if (has("ABORT")) std::abort();
    if (has("THROW")) throw std::runtime_error("thrown on purpose");
    if (has("EXIT")) std::exit(0);
    while (has("HANG")) ::pause();
    for (std::size_t end = 0, begin; (begin = record.find_first_not_of(" \n", end)) != record.npos;) {
      end = std::min(record.find_first_of(" \n", begin), record.size());
      emit(record.substr(begin, end - begin), 1);
    }
  }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<BadRecord>(argc, argv); }
