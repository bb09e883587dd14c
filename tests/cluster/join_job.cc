// SPDX-License-Identifier: Apache-2.0
// A job that joins its first input with its second by what stands before the TAB of a line, and so has to know which
// input a record is of: the files of both bear one name. Its output is key, left, right, and the files of both.
// -D join.hold has its maps wait at this named pipe for its end, as long as there is one.
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"

namespace {

struct Join {
  using Input = millrace::KeyValueText;
  using Key = std::string_view;
  using Value = std::string_view;  // the number of the input, the text, a space and the file

  static void Options(millrace::JobOptions& options) {
    options.Text("join.hold", "", "a named pipe at which maps wait");
  }
  explicit Join(millrace::TaskContext& context) : context_(context) {}
  millrace::Status Start(millrace::TaskContext& context) {
    if (context.facts().attempt.task.reduce()) return millrace::Status::Ok();
    const std::string hold(context.options().text("join.hold"));
    if (hold.empty() || !std::filesystem::exists(hold)) return millrace::Status::Ok();
    std::ifstream pipe(hold);
    for (std::string line; std::getline(pipe, line);) {
    }
    return millrace::Status::Ok();
  }
  void Map(const millrace::KeyValue& record, auto& emit) {
    if (context_.input_name() != "part-r-00000") throw std::runtime_error("another name than the test's files have");
    value_ = std::to_string(context_.input_index());
    value_.append(record.value).append(" ").append(context_.input_path());
    emit(record.key, value_);
  }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    std::vector<std::string> sides[2];
    for (const std::string_view value : values) {
      if (value[0] != '0' && value[0] != '1') throw std::runtime_error("a record of neither input");
      sides[value[0] - '0'].emplace_back(value.substr(1));
    }
    for (const std::string& left : sides[0]) {
      for (const std::string& right : sides[1]) emit(key, left + "\t" + right);
    }
  }

  millrace::TaskContext& context_;
  std::string value_;
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Join>(argc, argv); }
