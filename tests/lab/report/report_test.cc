// SPDX-License-Identifier: Apache-2.0
#include "lab/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "client/format/decompressor.h"

namespace millrace::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// Undoes base64 letter by letter, in another way than it is done: bit by bit.
std::string FromBase64(std::string_view letters) {
  const std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  int bits = 0, held = 0;
  for (const char letter : letters) {
    if (letter == '=') break;
    const std::size_t value = kLetters.find(letter);
    EXPECT_NE(value, std::string_view::npos) << letter;
    for (int bit = 5; bit >= 0; --bit) {
      held = held << 1 | (value >> bit & 1);
      if (++bits == 8) {
        bytes += static_cast<char>(held);
        bits = held = 0;
      }
    }
  }
  return bytes;
}

std::string Unpacked(std::string_view packed) {
  EXPECT_EQ(packed.size() % 4, 0u);
  const std::string bytes = FromBase64(packed);
  std::string_view in = bytes;
  const auto gzip = MakeDecompressor(Compression::kGzip);
  std::string out;
  std::vector<char> piece(64 << 10);
  while (true) {
    auto size = gzip->Decompress(&in, piece.data(), piece.size());
    if (!size.ok()) {
      ADD_FAILURE() << size.status().message();
      return out;
    }
    out.append(piece.data(), size.value());
    if (size.value() < piece.size() && in.empty()) break;
  }
  EXPECT_TRUE(gzip->AtBorder());
  return out;
}

// The word by which the page's policy tells its own scripts from others.
std::string NonceOf(std::string_view page) {
  const std::string_view kBefore = "script-src 'nonce-";
  const std::size_t begin = page.find(kBefore) + kBefore.size();
  return std::string(page.substr(begin, page.find('\'', begin) - begin));
}

// The text of the element in which a report holds its document.
std::string DocumentOf(std::string_view page) {
  const std::string kBefore =
      "<script id=\"document\" type=\"application/json+gzip\" nonce=\"" + NonceOf(page) + "\">\n";
  const std::size_t from = page.find(kBefore);
  EXPECT_NE(from, std::string_view::npos);
  const std::size_t begin = from + kBefore.size();
  return Unpacked(page.substr(begin, page.find('\n', begin) - begin));
}

TEST(PackedTest, GzipGivesTheTextBack) {
  Random random(7);
  std::string noise;  // what no compressor makes smaller
  for (int i = 0; i < 700'001; ++i) noise += static_cast<char>(random.Below(256));
  for (const std::size_t size : {0ul, 1ul, 2ul, 3ul, 4ul, 262'143ul, 262'144ul, 262'145ul, 700'001ul}) {
    EXPECT_EQ(Unpacked(Packed(noise.substr(0, size))), noise.substr(0, size)) << size;
  }
  std::string repeated;
  while (repeated.size() < 3'000'000) repeated += "{\"job\":" + std::to_string(repeated.size()) + "},";
  const std::string packed = Packed(repeated);
  EXPECT_EQ(Unpacked(packed), repeated);
  EXPECT_LT(packed.size(), repeated.size() / 3);
}

TEST(ReportTest, HoldsTheDocumentAsItIs) {
  for (const std::string document : {R"({})", R"( {"schedulers": ["fair", "</script><script>alert(1)</script><!--"]} )",
                                     "{\"name\": \"\u2028\u2029\"}\n"}) {
    auto page = Page(document);
    ASSERT_TRUE(page.ok()) << page.status().message();
    EXPECT_EQ(DocumentOf(page.value()), document);
    EXPECT_THAT(page.value(), Not(HasSubstr("alert(1)")));
    EXPECT_THAT(page.value(), Not(HasSubstr("@DOCUMENT@")));
  }
}

TEST(ReportTest, WhoeverWroteAPartOfTheDocumentCannotNameItsOwnScriptsAsThePages) {
  const std::string one = NonceOf(Page(R"({"jobs": ["a"]})").value());
  EXPECT_EQ(one.size(), 32);
  EXPECT_EQ(one, NonceOf(Page(R"({"jobs": ["a"]})").value()));
  EXPECT_NE(one, NonceOf(Page(R"({"jobs": ["b"]})").value()));
  const std::string page = Page("{}").value();
  const std::string nonce = " nonce=\"" + NonceOf(page) + "\"";
  for (std::size_t at = page.find("<script"), end = page.find("</html>"); at < end; at = page.find("<script", at + 1)) {
    const std::string element = page.substr(at, page.find('>', at) - at);
    if (element.find("nonce") != std::string::npos) {
      EXPECT_THAT(element, HasSubstr(nonce));
    }
  }
  EXPECT_THAT(page, Not(HasSubstr("@NONCE@")));
}

TEST(ReportTest, IsOneFileThatAsksForNoOther) {
  const std::string page = Page("{}").value();
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* mark : {"<link", " src=", "@import", "@STYLE@", "@SCRIPTS@"}) {
    // The library names what its calls load; the page itself has none of these outside of scripts.
    const std::string head = page.substr(0, page.find("<script nonce"));
    EXPECT_THAT(head, Not(HasSubstr(mark)));
  }
}

TEST(ReportTest, RefusesWhatIsNoJsonObject) {
  for (const char* document : {"", " ", "[]", "7", "null", "{", "{\"a\":}", "{} {}", "{\"a\": \"\xff\"}"}) {
    const auto page = Page(document);
    ASSERT_FALSE(page.ok()) << document;
    EXPECT_EQ(page.status().code(), StatusCode::kInvalid);
    EXPECT_THAT(page.status().message(), HasSubstr("docs/schedulers/comparison.md"));
  }
}

TEST(ReportTest, IsWrittenWholeOrNotAtAll) {
  auto directory = TempDir::Make("report-");
  ASSERT_TRUE(directory.ok());
  const std::string path = directory.value().path() + "/report.html";
  ASSERT_TRUE(WriteReport("{}", path).ok());
  EXPECT_EQ(ReadWholeFile(path).value(), Page("{}").value());
  EXPECT_FALSE(WriteReport("no document", path).ok());
  EXPECT_EQ(ReadWholeFile(path).value(), Page("{}").value()) << "the old one is still there";
  const Status nowhere = WriteReport("{}", directory.value().path() + "/none/report.html");
  EXPECT_THAT(nowhere.message(), HasSubstr("none/report.html"));
  EXPECT_EQ(ListDirectory(directory.value().path()).value(), std::vector<std::string>{"report.html"});
}

}  // namespace
}  // namespace millrace::report
