// SPDX-License-Identifier: Apache-2.0
#include "client/api/output_formats.h"

namespace millrace {

RecordOutput::Writer::Writer(OutputFile& file, const Random& random)
    : file_(file),
      records_(
          [&file](std::string_view bytes) {
            file.buffer().append(bytes);
            return file.status();
          },
          random) {}

void RecordOutput::Writer::Append(std::string_view key, std::string_view value) {
  file_.Fail(records_.Append(key, value));
  file_.EndRecord();
}

void RecordOutput::Writer::Finish() { file_.Fail(records_.Finish()); }

namespace internal {

void FailFixedLength(OutputFile& file, std::size_t got, std::size_t wanted) {
  file.Fail(Invalid("a record of " + std::to_string(got) + " bytes was emitted to an output of " +
                    std::to_string(wanted) + "-byte records"));
}

}  // namespace internal
}  // namespace millrace
