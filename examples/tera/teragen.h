// SPDX-License-Identifier: Apache-2.0
// Makes input.records records for terasort, of 100 bytes each: a random key of 10 bytes, the 2 bytes 00 11, the
// record's number in 32 hexadecimal digits, 88 99 aa bb, 48 bytes of filler, cc dd ee ff. This is the layout of
// Hadoop's TeraGen. A record depends on its number and teragen.seed alone. The counter teragen.checksum is the sum of
// the records' CRC-32C.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "client/api/job.h"
#include "examples/tera/tera_record.h"

namespace millrace::examples {

struct TeraGen {
  using Input = Numbers;
  using Output = FixedOutput<kTeraRecordBytes>;

  static void Options(JobOptions& options) {
    options.Require("input.records");
    options.Integer("teragen.seed", 1, 0, std::numeric_limits<std::int64_t>::max(), "another seed makes other records");
  }

  explicit TeraGen(TaskContext& context)
      : seed_(static_cast<std::uint64_t>(context.options().integer("teragen.seed"))),
        checksum_(context.counter("teragen", "checksum")) {}

  void Map(std::uint64_t number, auto& emit) {
    char record[kTeraRecordBytes];
    Fill(seed_, number, record);
    checksum_.Add(Crc32c({record, sizeof record}));
    emit(std::string_view(record, sizeof record));
  }

  static void Fill(std::uint64_t seed, std::uint64_t number, char* record) {
    // so that streams of different numbers begin far apart
    Random random(Random(seed).Next() + number * 0xd1342543de82ef95u);
    const std::uint64_t key[2] = {random.Next(), random.Next()};
    std::memcpy(record, key, kTeraKeyBytes);
    std::memcpy(record + 10, "\x00\x11", 2);
    std::memset(record + 12, '0', 16);
    PutHex(number, record + 28);
    std::memcpy(record + 44, "\x88\x99\xaa\xbb", 4);
    for (int i = 0; i < 12; ++i) std::memset(record + 48 + 4 * i, "0123456789ABCDEF"[random.Next() >> 60], 4);
    std::memcpy(record + 96, "\xcc\xdd\xee\xff", 4);
  }

 private:
  static void PutHex(std::uint64_t number, char* out) {
    for (int i = 0; i < 16; ++i) out[i] = "0123456789ABCDEF"[(number >> (60 - 4 * i)) & 15];
  }

  std::uint64_t seed_;
  Counter& checksum_;
};

}  // namespace millrace::examples
