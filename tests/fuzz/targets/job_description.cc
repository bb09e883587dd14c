// SPDX-License-Identifier: Apache-2.0
// The line in which a job's executable says what it is, or which options it sets.
#include "client/job_client/job_description.h"

#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {
      R"({"millrace_job":1,"name":"wordcount","split_by":"block","record_bytes":0})",
      R"({"millrace_job":1,"name":"terasort","split_by":"fixed","record_bytes":100,"prepares":true})",
      R"({"millrace_job":1,"name":"rounds","split_by":"block","record_bytes":0,"pipeline":true})",
      R"({"millrace_job":1,"name":"gen","split_by":"numbers","record_bytes":0,"maps":4,"records":1000,"map_only":true})",
      R"({"millrace_job":2,"name":"join","split_by":"file","record_bytes":0,"mappers":[{"split_by":"block"},{"split_by":"file"}]})",
      R"({"millrace_job":1,"name":"whole","split_by":"file","record_bytes":0})",
      R"({"millrace_prepared":{"order.cuts":"abc","job.reducers":"4"}})",
      R"({"millrace_prepared":{}})"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line = fuzz::View(data, size);
  const auto described = job::ParseDescription("job", line);
  fuzz::Require(described.ok() || described.status().message().find('\n') == std::string::npos,
                "an error of two lines");
  const bool numbers = described.ok() && described->split_by == SplitBy::kNumbers;
  fuzz::Require(numbers || !described.ok() || (described->maps == 0 && described->records == 0),
                "maps without numbers");
  (void)job::ParsePrepared("job", line);
  return 0;
}
