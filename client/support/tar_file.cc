// SPDX-License-Identifier: Apache-2.0
#include "client/support/tar_file.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/check.h"
#include "base/gzip.h"
#include "base/text.h"

namespace millrace::support {
namespace {

constexpr std::size_t kBlock = 512;

// A field of the header: octal digits and a NUL.
void PutOctal(std::string* header, std::size_t at, int digits, std::uint64_t value) {
  header->replace(at, static_cast<std::size_t>(digits),
                  Formatted("%0*llo", digits, static_cast<unsigned long long>(value)));
}

std::string HeaderOf(const ArchivedFile& file, Micros when) {
  MILLRACE_CHECK(file.name.size() <= 100 && !file.name.empty() && file.name[0] != '/', file.name);
  std::string header(kBlock, '\0');
  header.replace(0, file.name.size(), file.name);
  PutOctal(&header, 100, 7, 0600);
  PutOctal(&header, 108, 7, 0);  // user and group
  PutOctal(&header, 116, 7, 0);
  PutOctal(&header, 124, 11, file.bytes.size());
  PutOctal(&header, 136, 11, static_cast<std::uint64_t>(std::max<Micros>(0, when) / kSecond));
  header.replace(148, 8, 8, ' ');  // the sum counts itself as spaces
  header[156] = '0';               // a regular file
  header.replace(257, 5, "ustar");
  header.replace(263, 2, "00");
  const unsigned sum = std::accumulate(header.begin(), header.end(), 0U,
                                       [](unsigned so_far, char c) { return so_far + static_cast<unsigned char>(c); });
  PutOctal(&header, 148, 6, sum);
  header[154] = '\0';
  return header;
}

}  // namespace

std::string TarGz(const std::vector<ArchivedFile>& files, Micros when) {
  std::string tar;
  for (const ArchivedFile& file : files) {
    tar += HeaderOf(file, when);
    tar += file.bytes;
    tar.append((kBlock - file.bytes.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  return Gzip(tar);
}

}  // namespace millrace::support
