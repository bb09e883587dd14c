// SPDX-License-Identifier: Apache-2.0
// Small files that daemons keep: the mark beside the master's database, and when blocks were read in search of rot. The
// first byte says which.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kv/committed_mark.h"
#include "tests/fuzz/fuzz.h"
#include "worker/daemon/storage/scrub_schedule.h"

using namespace millrace;

namespace {

std::string Mark(std::uint64_t number) {
  const TempDir directory = TempDir::Make("fuzz-mark-").value();
  fuzz::Require(CommittedMark::Make(directory.path() + "/mark", number).ok(), "make");
  return ReadWholeFile(directory.path() + "/mark").value();
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  return {std::string(1, 0) + Mark(0), std::string(1, 0) + Mark(~std::uint64_t{0}),
          std::string(1, 0) + Mark(7).substr(0, 512) + Mark(8).substr(0, 512),
          std::string(1, 1) + worker::ScrubSchedule(1000 * kSecond, "", 0).Text(),
          std::string(1, 1) + "1 1000\n2 2000\n3 -5\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd file(::memfd_create("fuzz-stored", MFD_CLOEXEC));
  static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  fuzz::Draw draw(fuzz::View(data, size));
  if (draw.Flag()) {
    const Micros now = static_cast<Micros>(draw.Number(std::uint64_t{1} << 50));
    worker::ScrubSchedule schedule(1000 * kSecond, draw.rest(), now);
    const auto next = schedule.Choose({{1, 100}, {2, 0}, {3, std::uint64_t{1} << 30}}, now);
    fuzz::Require(next.has_value() && next->block.id >= 1 && next->block.id <= 3, "no block is next");
    fuzz::Require(next->at <= now + 1001 * kSecond, "the next block is read after its period");
    const std::string text = schedule.Text();
    fuzz::Require(worker::ScrubSchedule(1000 * kSecond, text, now).Text() == text, "a schedule does not come back");
    return 0;
  }
  fuzz::Require(::ftruncate(file.get(), 0) == 0 && WriteAllAt(file.get(), draw.rest(), 0, path).ok(), "write");
  auto mark = CommittedMark::Open(path);
  if (!mark.ok()) return 0;
  const std::uint64_t number = mark->number();
  fuzz::Require(mark->Raise(number + (number + 1 == 0 ? 0 : 1)).ok(), "raise");
  const auto again = CommittedMark::Open(path);
  fuzz::Require(again.ok() && again->number() == mark->number(), "a mark does not come back");
  return 0;
}
