// CompressChoice decides by the rule of compress_rule.h, for each map of a task process, whether its run is compressed.
// It measures the gain on a sample of the run's own first records, which it compresses and decompresses once.
//
// A sample is at most one frame, and all samples together are at most kSampleShare of the bytes of all the process's
// runs. While less than kLeastSample is left for a sample, the figures of the last sample are used. If the worker's
// link cannot be the limit, no samples are taken. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "worker/task/run/compress_rule.h"

namespace millrace::run {

inline constexpr double kSampleShare = 0.01;
inline constexpr std::size_t kLeastSample = 4096;

class CompressChoice {
 public:
  // Returns the figures of a sample, for one core that has nothing else to do.
  using Measure = std::function<CompressionFigures(std::string_view sample)>;
  // Measures with zstd level 1 and the thread's processor time, which other work on the machine does not change.
  CompressChoice();
  explicit CompressChoice(Measure measure);

  // Begins the next map. Returns false if its run will not be compressed, whatever its records are. `core_share` is
  // called when a decision is made. It returns the part of a core that the map gets when it wants a core: above 0, at
  // most 1.
  [[nodiscard]] bool Begin(const ShuffleLink& link, std::function<double()> core_share);
  // Returns true if the map's run of about `expected` raw bytes, which begins with these records, is to be compressed.
  [[nodiscard]] bool Choose(std::string_view first_records, std::uint64_t expected);

  [[nodiscard]] std::uint64_t sampled_bytes() const { return sampled_; }

 private:
  void Sample(std::string_view records);

  Measure measure_;
  ShuffleLink link_;
  std::function<double()> core_share_;
  CompressionFigures figures_;  // for a whole core
  bool compressed_ = false;
  std::uint64_t sampled_ = 0, expected_ = 0;  // bytes of all maps so far
};

// CoreShare returns the part of a core that the calling thread got since the CoreShare was made: the time in which the
// thread ran, divided by the time in which it ran or could have run. It is 1 if the kernel does not report the times
// (/proc/thread-self/schedstat).
class CoreShare {
 public:
  CoreShare() : begin_(Read()) {}
  [[nodiscard]] double operator()() const;

 private:
  struct Times {
    std::uint64_t ran = 0, waited = 0;  // ns
  };
  static Times Read();
  Times begin_;
};

}  // namespace millrace::run
