// SPDX-License-Identifier: Apache-2.0
#include "lab/report/report.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/gzip.h"
#include "base/local_place.h"
#include "base/tls/sha256.h"
#include "lab/report/page.h"

namespace millrace::report {
namespace {

std::string Base64(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) out += i <= count ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::string WithNonce(std::string_view page, const std::string& nonce) {
  constexpr std::string_view kPlace = "@NONCE@";
  std::string text;
  for (std::size_t place; (place = page.find(kPlace)) != std::string_view::npos;) {
    text += page.substr(0, place);
    text += nonce;
    page.remove_prefix(place + kPlace.size());
  }
  return text += page;
}

}  // namespace

Result<std::string> Page(std::string_view document) {
  const std::size_t first = document.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || document[first] != '{' || !nlohmann::json::accept(document)) {
    return Invalid(
        "cannot make a report: its document is not a JSON object; it is written as in docs/schedulers/comparison.md");
  }
  // The author of a part of the document cannot know the nonce, which depends on the whole document, and so on that
  // part.
  const std::string nonce = tls::Sha256Hex(document).substr(0, 32);
  constexpr std::string_view kMark = "@DOCUMENT@";
  const std::size_t mark = kPage.find(kMark);
  MILLRACE_CHECK(mark != std::string_view::npos, kMark);
  return WithNonce(kPage.substr(0, mark), nonce) + Packed(document) +
         WithNonce(kPage.substr(mark + kMark.size()), nonce);
}

Status WriteReport(std::string_view document, const std::string& path) {
  MILLRACE_ASSIGN(const std::string page, Page(document));
  return WriteLocalFile(path, page);
}

std::string Packed(std::string_view text) { return Base64(Gzip(text)); }

}  // namespace millrace::report
