// SPDX-License-Identifier: Apache-2.0
// Lines, chunks of lines, keys and values, and fixed records of hostile input: whatever the splits and the pieces in
// which the bytes come, the records are those of the file.
#include <algorithm>

#include "client/api/input_formats.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

class Pieces final : public ByteSource {
 public:
  Pieces(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    fuzz::Require(offset <= bytes_.size() && size <= bytes_.size() - offset, "asked for bytes beyond the file");
    while (size > 0) {
      const std::string copy(bytes_.substr(offset, std::min<std::uint64_t>(piece_, size)));  // so that views of it die
      if (!sink(copy)) break;
      offset += copy.size(), size -= copy.size();
    }
    return Status::Ok();
  }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    fuzz::Require(offset <= bytes_.size(), "asked for bytes beyond the file");
    out->append(bytes_.substr(offset, size));
    return Status::Ok();
  }

 private:
  std::string_view bytes_;
  std::size_t piece_;
};

using Found = std::vector<std::pair<std::uint64_t, std::string>>;

std::string Lines(std::string_view bytes, bool strip_cr) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t newline = bytes.find('\n', at);
    std::string_view line = bytes.substr(at, newline - at);
    if (strip_cr && newline != bytes.npos && line.ends_with('\r')) line.remove_suffix(1);
    (out += line) += newline == bytes.npos ? "" : "\n";
    if (newline == bytes.npos) break;
    at = newline + 1;
  }
  return out;
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  const std::string head("\x03\x02\x05\x01", 4);
  return {head + "one\ntwo\tvalue\n\nlast", head + "a\r\nb\r\n\r\n",
          head + std::string(300, 'x') + "\n" + std::string(80, '\n'), head, head + "\xef\xbb\xbfone\r\ntwo"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const std::size_t split_bytes = 1 + draw.Number(63), piece = 1 + draw.Number(15), fixed = 1 + draw.Number(31);
  const ReadOptions options{.strip_cr = draw.Flag(), .record_bytes = fixed, .name = "file"};
  const std::string_view file = draw.rest().substr(0, 4096);
  std::string lines, chunks, pairs, records;
  for (std::size_t at = 0; at < file.size(); at += split_bytes) {
    const Split split{"file", at, std::min(split_bytes, file.size() - at), file.size()};
    Pieces source(file, piece);
    const auto newline = [&](std::string& out, std::string_view line, std::uint64_t offset) {
      (out += line) += file.find('\n', offset) == file.npos ? "" : "\n";
    };
    fuzz::Require(TextLines::Read(source, split, options,
                                  [&](std::string_view line, std::uint64_t at_) { newline(lines, line, at_); })
                      .ok(),
                  "lines");
    fuzz::Require(
        TextChunks::Read(source, split, options, [&](std::string_view chunk, std::uint64_t) { chunks += chunk; }).ok(),
        "chunks");
    const auto on_pair = [&](KeyValue pair, std::uint64_t offset) {
      fuzz::Require(pair.key.find('\t') == pair.key.npos, "a key with a TAB");
      const bool tab = file.substr(offset).substr(pair.key.size()).starts_with('\t');
      newline(pairs, std::string(pair.key) + (tab ? "\t" : "") + std::string(pair.value), offset);
    };
    fuzz::Require(KeyValueText::Read(source, split, options, on_pair).ok(), "keys and values");
    const Status read =
        FixedRecords<>::Read(source, split, options, [&](std::string_view record, std::uint64_t offset) {
          fuzz::Require(record.size() == fixed && offset == records.size(), "a record of another length or place");
          records += record;
        });
    fuzz::Require(read.ok() == (file.size() % fixed == 0), "fixed records of a file that is no whole number of them");
  }
  const std::string expected = Lines(file.substr(MarkSize(file)), options.strip_cr);
  fuzz::Require(lines == expected, "lines of splits are not those of the file");
  fuzz::Require(chunks == expected, "chunks of splits are not the file");
  fuzz::Require(pairs == expected, "keys and values of splits are not those of the file");
  fuzz::Require(file.size() % fixed != 0 || records == file, "records of splits are not the file");
  return 0;
}
