// CompressChoice: decides for each map of a task process whether its run is compressed, by compress_rule.h. What
// compressing brings is seen on a sample of the run's own first records, compressed and decompressed once.
//
// Samples are a frame at most, and together no more than kSampleShare of the bytes of all the process's runs; while
// there is no room for one, and none of less than kLeastSample is taken, the last one's figures hold. A worker whose
// link cannot be the limit takes none. Thread rule: one thread.
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
  // Figures of a sample, of one core that has nothing else to do.
  using Measure = std::function<CompressionFigures(std::string_view sample)>;
  // By zstd level 1 and the thread's processor time, of which a stranger's work takes nothing.
  CompressChoice();
  explicit CompressChoice(Measure measure);

  // The next map; false: its run is not compressed, whatever its records are. `core_share` is asked when it comes to a
  // decision: the part of a core that the map gets when it wants one, above 0 to 1.
  [[nodiscard]] bool Begin(const ShuffleLink& link, std::function<double()> core_share);
  // Whether its run of about `expected` raw bytes, of which the first are at hand, is compressed.
  [[nodiscard]] bool Choose(std::string_view first_records, std::uint64_t expected);

  [[nodiscard]] std::uint64_t sampled_bytes() const { return sampled_; }

 private:
  void Sample(std::string_view records);

  Measure measure_;
  ShuffleLink link_;
  std::function<double()> core_share_;
  CompressionFigures figures_;  // of a whole core
  bool compressed_ = false;
  std::uint64_t sampled_ = 0, expected_ = 0;  // bytes of all maps so far
};

// The part of a core that the calling thread got since it was made, of the time in which it ran or could have run; 1
// where the kernel does not tell (/proc/thread-self/schedstat).
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
