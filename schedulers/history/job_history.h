// SPDX-License-Identifier: Apache-2.0
// JobHistory: the measurements of ended jobs, by program, for JoSS's filtering percentage, FRESH's profiles and cp's
// estimates.
//
// There is one record for each program (hash of the executable) and type of input (input_type.h). It gives three means
// over the jobs that succeeded: of a job's mean map time, of its mean reduce time and of its output ratio. A job that
// lacks one of these figures does not count towards that mean. The driver looks a job's profile up when the job is
// submitted (JobSpec::profile) and records the job when it has ended. The master keeps each record that Record returns
// in its store and puts it back with Restore; the simulator keeps one JobHistory in memory. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// A record in the store. The key holds the program and the input type, the value the sums as decimal text.
struct HistoryRecord {
  std::string key;
  std::string value;
};

class JobHistory {
 public:
  // Adds a job that has ended to the history. Returns the record to store. Returns nothing, and changes nothing, if the
  // job did not succeed or names no program.
  std::optional<HistoryRecord> Record(const JobState& job);
  // Returns the profile of the program over input of this type. The profile has runs = 0 if no such job was recorded.
  [[nodiscard]] JobProfile Lookup(const std::string& program, const std::string& input_type) const;
  // Puts a stored record back. Returns false, and changes nothing, if it is not a record that Record returned. Never
  // throws, whatever the bytes.
  [[nodiscard]] bool Restore(std::string_view key, std::string_view value);
  // Forgets everything. Returns the keys of the records to remove from the store.
  [[nodiscard]] std::vector<std::string> Clear();
  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  // The sum of one figure over the jobs that have it.
  template <class T>
  struct Sum {
    std::uint32_t jobs = 0;
    T total = 0;
  };
  struct Sums {
    std::uint32_t runs = 0;
    Sum<Micros> map_time, reduce_time;
    Sum<double> output_ratio;
  };

  static std::string Format(const Sums& sums);
  static std::optional<Sums> Parse(std::string_view text);

  std::map<std::string, Sums, std::less<>> records_;  // by key
};

}  // namespace millrace::sched
