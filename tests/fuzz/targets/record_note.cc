// SPDX-License-Identifier: Apache-2.0
// The note of the record under way, which user code may overwrite: it lies in its task's memory.
#include "worker/task/channel/record_note.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  std::vector<std::string> seeds;
  const TempDir directory = TempDir::Make("fuzz-note-").value();
  const std::string path = directory.path() + "/note";
  for (const task::RecordPlace& place : {task::RecordPlace{}, task::RecordPlace{1, 1 << 20, 2}}) {
    task::RecordNote note = task::RecordNote::Create(path).value();
    seeds.push_back(ReadWholeFile(path).value());
    note.Set(place);
    seeds.push_back(ReadWholeFile(path).value());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd file(::memfd_create("fuzz-note", MFD_CLOEXEC));
  static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  fuzz::Require(::ftruncate(file.get(), 0) == 0 && WriteAllAt(file.get(), fuzz::View(data, size), 0, path).ok(),
                "write");
  const auto read = task::ReadRecordNote(OpenFile(path, O_RDONLY));
  if (!read) return 0;
  task::RecordNote note = task::RecordNote::Create(path).value();
  note.Set(*read);
  fuzz::Require(ReadWholeFile(path).value() == fuzz::View(data, size), "a note is read that nobody has written");
  return 0;
}
