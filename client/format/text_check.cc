// SPDX-License-Identifier: Apache-2.0
#include "client/format/text_check.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace millrace {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view name;  // as in "is an Avro file"
  std::string_view remedy;
};

struct KnownBeginning {
  std::string_view bytes;
  Format format;
};

constexpr std::string_view kUnpack = "unpack it first";
constexpr std::string_view kRecompress =
    "decompress it first, or compress it with gzip, zstd or bzip2, which Millrace reads";
constexpr std::string_view kConvert = "convert it to text first";

// UTF-32 comes before UTF-16, which begins alike.
constexpr KnownBeginning kBeginnings[] = {
    {"\xfd\x37zXZ\0"sv, {"an xz file", kRecompress}},
    {"\x04\x22\x4d\x18"sv, {"an lz4 file", kRecompress}},
    {"\x02\x21\x4c\x18"sv, {"an lz4 file", kRecompress}},
    {"\xff\x06\0\0sNaPpY"sv, {"a snappy file", kRecompress}},
    {"\x89LZO\0\r\n\x1a\n"sv, {"an lzo file", kRecompress}},
    {"LZIP\x01"sv, {"an lzip file", kRecompress}},
    {"PK\x03\x04"sv, {"a zip archive", kUnpack}},
    {"PK\x05\x06"sv, {"a zip archive", kUnpack}},
    {"7z\xbc\xaf\x27\x1c"sv, {"a 7z archive", kUnpack}},
    {"Rar!\x1a\x07"sv, {"a rar archive", kUnpack}},
    {"Obj\x01"sv, {"an Avro file", kConvert}},
    {"ARROW1\0\0"sv, {"an Arrow file", kConvert}},
    {"RCF\x01"sv, {"an RCFile", kConvert}},
    {"\x89HDF\r\n\x1a\n"sv, {"an HDF5 file", kConvert}},
    {"SQLite format 3\0"sv, {"an SQLite database", kConvert}},
    {"MILLRREC\x01\0\0\0"sv, {"a record file of Millrace", "read it by a job whose Input is RecordFiles"}},
    {"\xff\xfe\0\0"sv, {"text in UTF-32", "convert it to UTF-8 first (iconv -f UTF-32 -t UTF-8)"}},
    {"\0\0\xfe\xff"sv, {"text in UTF-32", "convert it to UTF-8 first (iconv -f UTF-32 -t UTF-8)"}},
    {"\xff\xfe"sv, {"text in UTF-16", "convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"}},
    {"\xfe\xff"sv, {"text in UTF-16", "convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"}},
};

unsigned ByteAt(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

// compress(1): codes of 9 to 16 bits, and two flags that have no meaning.
bool IsCompress(std::string_view first) {
  if (first.size() < 3 || !first.starts_with("\x1f\x9d")) return false;
  const unsigned bits = ByteAt(first, 2) & 0x1f;
  return bits >= 9 && bits <= 16 && (ByteAt(first, 2) & 0x60) == 0;
}

// Versions 1 to 6; later ones would look like letters, such as TAB.
bool IsSequenceFile(std::string_view first) {
  return first.size() >= 4 && first.starts_with("SEQ") && ByteAt(first, 3) >= 1 && ByteAt(first, 3) <= 6;
}

// The first header of a tar archive (POSIX.1-1988 and later): its checksum holds, by which its own place counts as
// blanks.
bool IsTar(std::string_view first) {
  constexpr unsigned kHeader = 512, kSum = 148, kSumBytes = 8, kMagic = 257;
  if (first.size() < kHeader || first.substr(kMagic, 5) != "ustar") return false;
  unsigned sum = kSumBytes * ' ';
  for (unsigned i = 0; i < kHeader; ++i) sum += i < kSum || i >= kSum + kSumBytes ? ByteAt(first, i) : 0;
  std::string_view digits = first.substr(kSum, kSumBytes);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  unsigned said = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), said, 8);
  return error == std::errc() && said == sum;
}

std::optional<Format> FormatOf(std::string_view first) {
  for (const KnownBeginning& known : kBeginnings) {
    if (first.starts_with(known.bytes)) return known.format;
  }
  if (IsCompress(first)) return Format{"a file of compress(1)", kRecompress};
  if (IsSequenceFile(first)) return Format{"a SequenceFile of Hadoop", "convert it to text first (hadoop fs -text)"};
  if (IsTar(first)) return Format{"a tar archive", kUnpack};
  return std::nullopt;
}

constexpr std::size_t kEndBytes = 8;

// Parquet: what the file begins with comes again at its end, after the length of the footer.
bool EndsAsParquet(std::string_view end, std::uint64_t file_length) {
  if (!end.ends_with("PAR1") && !end.ends_with("PARE")) return false;
  const std::uint64_t footer =
      ByteAt(end, 0) | ByteAt(end, 1) << 8 | ByteAt(end, 2) << 16 | static_cast<std::uint64_t>(ByteAt(end, 3)) << 24;
  return footer > 0 && footer <= file_length - 12;
}

// ORC: the last field of the postscript is the text "ORC", before the length of the postscript.
bool EndsAsOrc(std::string_view end) { return end.starts_with("\x82\xf4\x03\x03ORC"); }

std::optional<Format> FormatByEnd(std::string_view first, std::string_view end, std::uint64_t file_length) {
  const bool parquet = first.starts_with("PAR1") || first.starts_with("PARE");
  if (parquet && EndsAsParquet(end, file_length)) return Format{"a Parquet file", kConvert};
  if (first.starts_with("ORC") && EndsAsOrc(end)) return Format{"an ORC file", kConvert};
  return std::nullopt;
}

bool AsksForEnd(std::string_view first) {
  return first.starts_with("PAR1") || first.starts_with("PARE") || first.starts_with("ORC");
}

}  // namespace

Status CheckText(const std::string& name, std::string_view first_bytes, std::uint64_t file_length,
                 const ReadFileAt& read_at) {
  std::optional<Format> format = FormatOf(first_bytes);
  if (!format && read_at && file_length >= kEndBytes + 4 && AsksForEnd(first_bytes)) {
    std::string end;
    MILLRACE_TRY(read_at(file_length - kEndBytes, kEndBytes, &end));
    if (end.size() == kEndBytes) format = FormatByEnd(first_bytes, end, file_length);
  }
  if (!format) return Status::Ok();
  return Unsupported(Quote(name) + (read_at ? " is " : " decompresses to ") + std::string(format->name) +
                     ", and the job reads text in UTF-8; " + std::string(format->remedy) +
                     (read_at ? ", or have it read as it is by -D input.decompress=false" : ""));
}

}  // namespace millrace
