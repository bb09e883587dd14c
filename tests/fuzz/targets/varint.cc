// SPDX-License-Identifier: Apache-2.0
// Varints: the two readers of them (base/bytes.h, worker/task/run/varint.h) agree, and a number comes back.
#include "worker/task/run/varint.h"

#include "base/bytes.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (int shift = 0; shift < 64; shift += 7) {
    Encoder out;
    out.Varint(~std::uint64_t{0} >> shift);
    seeds.push_back(out.bytes());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  Decoder in(bytes);
  const std::uint64_t slow = in.Varint();
  std::uint64_t fast = 0;
  const char* end = run::GetVarint(bytes.data(), bytes.data() + bytes.size(), &fast);
  fuzz::Require((end == nullptr) == in.failed(), "one reader takes a varint that the other refuses");
  if (end == nullptr) return 0;
  fuzz::Require(slow == fast, "two readers read two numbers");
  fuzz::Require(bytes.size() - static_cast<std::size_t>(end - bytes.data()) == in.left(),
                "two readers end at two places");
  char out[run::kMaxVarintBytes];
  Encoder encoder;
  encoder.Varint(fast);
  fuzz::Require(std::string_view(out, static_cast<std::size_t>(run::PutVarint(out, fast) - out)) == encoder.bytes(),
                "two writers differ");
  return 0;
}
