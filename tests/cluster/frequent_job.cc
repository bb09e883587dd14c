// SPDX-License-Identifier: Apache-2.0
// A pipeline: counts words, and then orders those that are at least as frequent as the mean, by how frequent they are.
// What the second job is to do is known from the first one's counters.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include "client/api/pipeline.h"

struct Count {
  using Key = std::string_view;
  using Value = std::uint64_t;

  explicit Count(millrace::TaskContext& context)
      : words_(context.counter("frequent", "words")), different_(context.counter("frequent", "different")) {}
  void Map(std::string_view line, auto& emit) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) emit(line.substr(0, end), 1);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  void Reduce(std::string_view word, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    words_ += static_cast<std::int64_t>(sum);
    ++different_;
    emit(word, sum);
  }

 private:
  millrace::Counter& words_;
  millrace::Counter& different_;
};

struct Rank {
  using Key = std::pair<std::uint64_t, std::string>;
  using Value = millrace::Nothing;
  using Partition = millrace::TotalOrder;

  static void Options(millrace::JobOptions& options) {
    options.Integer("rank.least", 0, 0, 1'000'000'000, "the count of the rarest word");
    options.Choice("rank.wrong", "", {"", "throw", "hang"}, "what goes wrong");
  }
  millrace::Status Start(millrace::TaskContext& context) {
    least_ = static_cast<std::uint64_t>(context.options().integer("rank.least"));
    in_sample_ = context.facts().job_name == "sample";
    wrong_ = context.options().text("rank.wrong");
    return millrace::Status::Ok();
  }
  void Map(std::string_view line, auto& emit) {
    const std::size_t tab = line.find('\t');
    std::uint64_t count = 0;
    std::from_chars(line.data() + tab + 1, line.data() + line.size(), count);
    if (!in_sample_ && wrong_ == "throw") throw std::runtime_error("cannot rank " + std::string(line.substr(0, tab)));
    while (!in_sample_ && wrong_ == "hang") ::pause();
    if (count >= least_) emit(Key(count, line.substr(0, tab)));
  }

 private:
  std::uint64_t least_ = 0;
  bool in_sample_ = false;
  std::string wrong_;
};

struct Frequent {
  using Pipeline = millrace::Pipeline<Count, Rank>;

  static void Options(millrace::JobOptions& options) {
    options.Choice("frequent.wrong", "", {"", "throw", "hang"}, "what goes wrong in the second step");
  }
  static millrace::Status Drive(Pipeline& pipeline) {
    MILLRACE_ASSIGN(const millrace::StepResult counted,
                    pipeline.Run<Count>("count", pipeline.inputs(), pipeline.Temporary("counts"), {.reduces = 2}));
    const std::int64_t different = counted.counter("frequent", "different");
    const std::int64_t mean = different == 0 ? 0 : counted.counter("frequent", "words") / different;
    return pipeline
        .Run<Rank>("rank", {counted.output}, pipeline.output(),
                   {.parameters = {{"rank.least", std::to_string(mean)},
                                   {"rank.wrong", pipeline.options().text("frequent.wrong")}}})
        .status();
  }
};

int main(int argc, char** argv) { return millrace::RunPipeline<Frequent>(argc, argv); }
