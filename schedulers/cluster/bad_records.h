// BadRecords: the records at which attempts of one map failed, and the ones among them that later attempts leave out
// (Dean and Ghemawat, "MapReduce", OSDI 2004, section 4.6).
//
// Once two attempts have failed at a record, attempts launched later leave it out; at most `most` records are left out.
// The failures that found the record are forgiven: they do not count towards JobSpec::max_attempts. Until a second
// attempt shows whether a record is to blame, one first failure is forgiven, too, so that N bad records take 2N + 1
// attempts whatever max_attempts is. All other failures count. A failure at a record that the attempt was to leave out
// counts as well, so that the attempts of a map are bounded whatever workers report. The class is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "schedulers/events/events.h"

namespace millrace::sched {

class BadRecords {
 public:
  // Records that attempt `number` failed at the record, when `launched` attempts of the map had been launched. Returns
  // true if the failure shows that the record is bad, and not the node. Requires: most > 0, the same at every call.
  bool Fail(const RecordPlace& record, std::uint32_t number, std::uint32_t launched, std::uint32_t most);
  // Returns the number of failures that do not count.
  [[nodiscard]] std::uint32_t forgiven() const {
    return forgiven_ + (in_doubt_ && records_.size() > left_out_ ? 1 : 0);
  }
  [[nodiscard]] std::uint32_t left_out() const { return left_out_; }
  // LeftOut returns all records that are left out, and LeftOutBy those that attempt `number` is to leave out. Both are
  // in order.
  [[nodiscard]] std::vector<RecordPlace> LeftOut() const {
    return LeftOutBy(std::numeric_limits<std::uint32_t>::max());
  }
  [[nodiscard]] std::vector<RecordPlace> LeftOutBy(std::uint32_t number) const;

 private:
  static constexpr std::uint32_t kKept = 0;
  std::map<RecordPlace, std::uint32_t> records_;  // the first attempt that leaves it out; kKept: it failed once
  std::uint32_t left_out_ = 0;
  std::uint32_t forgiven_ = 0;
  bool in_doubt_ = true;  // another record may be left out
};

}  // namespace millrace::sched
