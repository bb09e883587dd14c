// SPDX-License-Identifier: Apache-2.0
#include "client/format/text_check.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using ::testing::HasSubstr;

Status Check(std::string_view file) {
  return CheckText("/in/f", file.substr(0, kTextCheckBytes), file.size(),
                   [file](std::uint64_t offset, std::uint64_t size, std::string* out) {
                     out->append(file.substr(offset, size));
                     return Status::Ok();
                   });
}

// A header of tar(5), of POSIX.1-1988.
std::string Tar(std::string_view magic) {
  std::string header(512, '\0');
  header.replace(0, 5, "a.txt");
  header.replace(100, 24, "0000644\0000001750\0000001750\0"sv);
  header.replace(124, 12, "00000000014\0"sv);
  header.replace(136, 12, "14723453211\0"sv);
  header.replace(156, 1, "0");
  header.replace(257, magic.size(), magic);
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 8, std::string(digits) + '\0' + ' ');
  return header + std::string(512, 'x');
}

// The first bytes of each are from the format's own specification.
TEST(TextCheckTest, FormatsAreToldByName) {
  const std::vector<std::pair<std::string, std::string>> known = {
      {"an xz file", "\xfd\x37zXZ\0\0\x04\xe6\xd6\xb4\x46"s},
      {"an lz4 file", "\x04\x22\x4d\x18\x64\x40\xa7"s},
      {"an lz4 file", "\x02\x21\x4c\x18\x64\x40"s},
      {"a snappy file", "\xff\x06\0\0sNaPpY\0"s},
      {"a zip archive", "PK\x03\x04\x14\0\0\0"s},
      {"a zip archive", "PK\x05\x06" + std::string(18, '\0')},
      {"a file of compress(1)", "\x1f\x9d\x90\x74\xd0"s},
      {"a 7z archive", "7z\xbc\xaf\x27\x1c\0\x04"s},
      {"a SequenceFile of Hadoop", "SEQ\x06\x19org.apache.hadoop.io.Text"s},
      {"an Avro file",
       "Obj\x01\x04\x14"
       "avro.codec"s},
      {"a Parquet file", "PAR1\x15\x04" + std::string(40, 'x') + "\x20\0\0\0PAR1"s},
      {"a Parquet file", "PARE\x15\x04" + std::string(40, 'x') + "\x20\0\0\0PARE"s},
      {"an ORC file", "ORC\x08\x03" + std::string(40, 'x') + "\x82\xf4\x03\x03ORC\x17"},
      {"an RCFile", "RCF\x01\0\x04"s},
      {"text in UTF-16",
       "\xff\xfe"
       "a\0"s},
      {"text in UTF-16",
       "\xfe\xff\0"
       "a"s},
      {"text in UTF-16", "\xff\xfe"s},
      {"text in UTF-32",
       "\xff\xfe\0\0"
       "a\0\0\0"s},
      {"text in UTF-32",
       "\0\0\xfe\xff\0\0\0"
       "a"s},
      {"a record file of Millrace", "MILLRREC\x01\0\0\0"s + std::string(20, 'm')},
      {"a tar archive", Tar("ustar\00000"sv)},
      {"a tar archive", Tar("ustar  "sv)},
  };
  for (const auto& [name, file] : known) {
    const Status status = Check(file);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << name;
    EXPECT_THAT(status.message(), HasSubstr("\"/in/f\" is " + name + ", and the job reads text in UTF-8; "));
    EXPECT_THAT(status.message(), HasSubstr("-D input.decompress=false"));
    EXPECT_TRUE(Check("x" + file).ok()) << name << " begins a file, and is nothing within one";
    EXPECT_TRUE(Check("\n" + file).ok());
  }
  EXPECT_THAT(Check("\xff\xfe").message(), HasSubstr("iconv -f UTF-16 -t UTF-8"));
}

// Text that begins like one of them, and every beginning that is too short to tell.
TEST(TextCheckTest, TextIsNotTakenForOneOfThem) {
  for (const std::string_view text : std::vector<std::string_view>{"",
                                                                   "\n",
                                                                   "PK",
                                                                   "PK is a pair of letters\n",
                                                                   "SEQ",
                                                                   "SEQ\tUENCE\n",
                                                                   "SEQ 6\n",
                                                                   "SEQ\n",
                                                                   "SEQ\0"sv,
                                                                   "Obj",
                                                                   "Object\n",
                                                                   "Obj 1\n",
                                                                   "PAR1",
                                                                   "PAR1\n",
                                                                   "PAR1 and PAR1",
                                                                   "PARE PARE",
                                                                   "PAR1PAR1PAR1",
                                                                   "ORC",
                                                                   "ORC\n",
                                                                   "ORCs and an ORC\n",
                                                                   "ORC ORC.",
                                                                   "7z\n",
                                                                   "7z archives\n",
                                                                   "RCF",
                                                                   "Rar!\n",
                                                                   "MILLRREC",
                                                                   "MILLRREC is how one begins\n",
                                                                   "ARROW1\n",
                                                                   "ARROW1 \0"sv,
                                                                   "LZIP\n",
                                                                   "SQLite format 3\n",
                                                                   "\xef\xbb\xbftext with a mark\n",
                                                                   "\xff",
                                                                   "\xfe",
                                                                   "\xfd\x37zXZ",
                                                                   "\x1f\x9d",
                                                                   "\x1f\x9d\x70",
                                                                   "\x1f\x9d\x08",
                                                                   "\x1f\x8b\x08\x00 is opened\n",
                                                                   "\0\0"sv,
                                                                   "\0\0\0\0"sv,
                                                                   "\xc3\xa9t\xc3\xa9\n",
                                                                   "\xfft\xe9 in Latin-1\n"}) {
    EXPECT_TRUE(Check(text).ok()) << text;
  }
  std::string tar = Tar("ustar\00000"sv);
  tar[0] = 'b';
  EXPECT_TRUE(Check(tar).ok()) << "its checksum does not hold";
  EXPECT_TRUE(Check(Tar("ustar\00000"sv).substr(0, 511)).ok());
}

TEST(TextCheckTest, LettersOfAnyKindAreText) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    while (text.size() < 600 && random.Below(300) != 0) {
      switch (random.Below(8)) {
        case 0:
          text += '\n';
          break;
        case 1:
          text += {static_cast<char>(0xc3), static_cast<char>(0x80 + random.Below(0x40))};
          break;
        case 2:
          for (const char c : {'P', 'A', 'R', '1'}) text += c;
          break;
        case 3:
          for (const char c : {'O', 'R', 'C'}) text += c;
          break;
        default:
          text += static_cast<char>(' ' + random.Below(95));
      }
    }
    ASSERT_TRUE(Check(text).ok()) << text;
  }
}

TEST(TextCheckTest, TheEndIsReadOnlyWhereItTells) {
  int reads = 0;
  const auto read_at = [&](std::uint64_t, std::uint64_t, std::string*) -> Status {
    ++reads;
    return Unavailable("no replica");
  };
  EXPECT_TRUE(CheckText("f", "some text\n", 1000, read_at).ok());
  EXPECT_EQ(CheckText("f", "PK\x03\x04", 1000, read_at).code(), StatusCode::kUnsupported);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(CheckText("f", "PAR1\x15\x04", 1000, read_at).message(), "no replica");
  EXPECT_EQ(CheckText("f", "ORC\x08\x03", 1000, read_at).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(CheckText("f", "PAR1", 4, read_at).ok());
  EXPECT_EQ(reads, 2);
}

TEST(TextCheckTest, OfWhatAFileDecompressesToTheEndIsNotKnown) {
  EXPECT_TRUE(CheckText("f.gz", "PAR1\x15\x04", 1000, nullptr).ok());
  const Status status = CheckText("f.gz", Tar("ustar\00000"sv), 1000, nullptr);
  EXPECT_EQ(status.message(),
            "\"f.gz\" decompresses to a tar archive, and the job reads text in UTF-8; unpack it first");
}

}  // namespace
}  // namespace millrace
