// SPDX-License-Identifier: Apache-2.0
// A job with a mapper for each INPUT: the first has record files of users and sums, as the job "accounts" writes them,
// the second lines "user name". It writes a letter to everyone who has both.
#include <string>
#include <string_view>
#include <utility>

#include "client/api/job.h"

namespace {

using Side = std::pair<bool, std::string>;  // whether it is the name, and the text

struct MapSums {
  using Input = millrace::TypedRecordFiles<std::string_view, std::uint64_t>;
  void Map(const auto& record, auto& emit) { emit(record.key, Side(false, std::to_string(record.value))); }
};

struct MapNames {
  explicit MapNames(millrace::TaskContext& context) : names_(context.counter("letters", "names")) {}
  void Map(std::string_view line, auto& emit) {
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), Side(true, line.substr(space + 1)));
    ++read_;
  }
  void FinishMap(auto&) { names_ += read_; }

 private:
  millrace::Counter& names_;
  std::int64_t read_ = 0;
};

struct Letters {
  using Mappers = millrace::Mappers<MapSums, MapNames>;
  using Key = std::string_view;
  using Value = Side;
  void Reduce(std::string_view, auto& sides, auto& emit) {
    std::string sum, name;
    for (const Side& side : sides) (side.first ? name : sum) = side.second;
    if (!sum.empty() && !name.empty()) emit("Dear " + name, sum);
  }
};

}  // namespace

int main(int argc, char** argv) { return millrace::Run<Letters>(argc, argv); }
