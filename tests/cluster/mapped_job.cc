// SPDX-License-Identifier: Apache-2.0
// Looks numbers up in a mapped file of lines of eight bytes, and counts the bytes that it had to be copied of.
#include <charconv>
#include <string>

#include "client/api/job.h"

struct Mapped {
  static void Options(millrace::JobOptions& options) {
    options.Text("mapped.file", "", "file of lines of eight bytes");
    options.Require("mapped.file");
  }
  millrace::Status Start(millrace::TaskContext& context) {
    MILLRACE_ASSIGN(table_, context.MapFile(context.options().text("mapped.file")));
    return millrace::Status::Ok();
  }
  void Map(std::string_view line, auto& emit) {
    std::uint64_t number = 0;
    std::from_chars(line.data(), line.data() + line.size(), number);
    emit(line, table_.substr(number * 8, 7));
  }

 private:
  std::string_view table_;
};

int main(int argc, char** argv) { return millrace::Run<Mapped>(argc, argv); }
