#include "schedulers/cluster/bad_records.h"

namespace millrace::sched {

bool BadRecords::Fail(const RecordPlace& record, std::uint32_t number, std::uint32_t launched, std::uint32_t most) {
  const auto known = records_.find(record);
  if (known != records_.end() && known->second != kKept) {
    if (number >= known->second) return false;
    ++forgiven_;  // the attempt was launched before the record was left out
    return true;
  }
  if (left_out_ >= most) return false;
  if (known == records_.end()) {
    records_.emplace(record, kKept);
    return false;
  }
  known->second = launched;
  forgiven_ += 2;
  in_doubt_ = ++left_out_ < most;
  return true;
}

std::vector<RecordPlace> BadRecords::LeftOutBy(std::uint32_t number) const {
  std::vector<RecordPlace> records;
  for (const auto& [record, from] : records_) {
    if (from != kKept && number >= from) records.push_back(record);
  }
  return records;
}

}  // namespace millrace::sched
