// SPDX-License-Identifier: Apache-2.0
#include "client/job/output_files.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace millrace {
namespace {

// Returns "part-m-00003" or "part-r-00003", as Hadoop does: with at least five digits. A named output's name replaces
// "part".
std::string PartName(const TaskId& task, std::string_view output = "part") {
  char end[32];
  std::snprintf(end, sizeof end, "-%c-%05u", task.reduce() ? 'r' : 'm', task.index);
  return std::string(output) + end;
}

}  // namespace

OutputFiles::OutputFiles(const TaskId& task, Make make)
    : task_(task), make_(std::move(make)), part_(make_(PartName(task))) {}

void OutputFiles::CountIn(std::atomic<std::uint64_t>& records) {
  counted_ = &records;
  part_->CountIn(records);
}

OutputFile& OutputFiles::Named(std::string_view output) {
  auto found = named_.find(output);
  if (found == named_.end()) {
    found = named_.emplace(output, make_(PartName(task_, output))).first;
    if (counted_ != nullptr) found->second->CountIn(*counted_);
  }
  return *found->second;
}

Status OutputFiles::status() const {
  MILLRACE_TRY(part_->status());
  for (const auto& [output, file] : named_) MILLRACE_TRY(file->status());
  return Status::Ok();
}

Status OutputFiles::Finish() {
  for (const auto& [output, file] : named_) MILLRACE_TRY(file->Finish());
  return part_->Finish();
}

void OutputFiles::Count(TaskContext& context) const {
  std::uint64_t records = part_->records(), bytes = part_->bytes();
  for (const auto& [output, file] : named_) {
    context.counter("outputs", output).Set(static_cast<std::int64_t>(file->records()));
    records += file->records(), bytes += file->bytes();
  }
  context.counter("millrace", "output_records").Set(static_cast<std::int64_t>(records));
  context.counter("millrace", "output_bytes").Set(static_cast<std::int64_t>(bytes));
}

}  // namespace millrace
