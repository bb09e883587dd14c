// SPDX-License-Identifier: Apache-2.0
// What a child of a streaming job writes: its records do not depend on how its bytes arrive. A key comes back from its
// encoding for sorting.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/streaming/child_log.h"
#include "client/streaming/frame_child.h"
#include "client/streaming/key_fields.h"
#include "client/streaming/options.h"
#include "client/streaming/record_codec.h"
#include "client/streaming/typed_bytes.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;
using namespace millrace::streaming;

namespace {

// The records of the bytes, given in pieces of `size`; and whether they are whole.
std::pair<std::string, bool> Cut(Io io, std::string_view bytes, std::size_t size) {
  std::string records;
  RecordCutter cutter(
      io, [&](std::string_view line) { records.append(line).push_back('\n'); },
      [&](std::string_view key, std::string_view value) { AppendRecord(Io::kRawBytes, key, "", value, &records); });
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) cutter.Take(bytes.substr(0, size));
  const bool whole = cutter.Finish().ok();
  return {records, whole};
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  std::string typed, raw;
  AppendTypedText("key", &typed);
  AppendTypedInteger(7, &typed);
  AppendRecord(Io::kRawBytes, "key", "", "value", &raw);
  return {typed,
          raw,
          "key\tvalue\nreporter:counter:a,b,1\n",
          FrameHead('O', 3) + "abc",
          "-k1,2nr -k3.4",
          std::string("\x09\x08\x00\x00\x00\x01\x01\x07\xff\x0a\x00\x00\x00\x00", 14)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::View(data, size);
  for (const Io io : {Io::kText, Io::kTypedBytes, Io::kRawBytes})
    fuzz::Require(Cut(io, input, input.size()) == Cut(io, input, 3), "records depend on how their bytes arrive");
  std::string text, logged, scratch;
  (void)AppendAsText(input, &text);
  FrameCutter frames([](char, std::string_view) {});
  (void)frames.Take(input);
  ChildLog log({[](std::string_view, std::string_view, std::int64_t) {}, [](std::string_view) {},
                [&logged](std::string_view bytes) { logged.append(bytes); }});
  log.Take(input);
  log.End();
  fuzz::Require(log.LastLines().find('\n') == std::string::npos, "the last lines are more than one line");
  (void)SplitPairs(std::string(input));
  const auto ranges = ParseKeyRanges(input.substr(0, 40));
  const SortKey order(ranges.ok() ? *ranges : std::vector<KeyRange>{KeyRange{1, 1, 0, 0, true, false}}, ",");
  const Result<std::string_view> key = order.Decode(order.Encode(input, &scratch));
  fuzz::Require(key.ok() && *key == input, "a key does not come back");
  (void)order.Decode(input);
  return 0;
}
