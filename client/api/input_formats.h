// SPDX-License-Identifier: Apache-2.0
// Input formats: the types that a job may name as `using Input = ...`. A format is a type with
//   using Record = ...;                        the argument of Map; it lives for the call
//   static constexpr SplitBy kSplitBy;         how files may be cut between maps
//   static constexpr std::uint32_t kRecordBytes;
//   template <class OnRecord> static Status Read(ByteSource&, const Split&, const ReadOptions&, OnRecord&&);
//     on_record(Record, std::uint64_t offset of its first byte in the file), for the records that the split owns
//   static constexpr bool kReadsStoredBytes;   may be left out; true: compressed files are read as they are stored
//   static constexpr bool kReadsText;          may be left out; true: files known not to be text are refused
//
// Files whose first bytes are those of gzip, zstd or bzip2 are decompressed before Read sees them. Such a file is not
// cut: its split is the whole file. The source's Stream then gives the decompressed bytes, whose length is not known in
// advance. source.decompressed() is true, and no record has to be completed with ReadAt. The split's length and
// file_length are those of the stored file; offsets of records are those in the decompressed bytes.
// -D input.decompress=false turns decompression off.
//
// If a format reads text, files whose first bytes cannot be text are refused (client/format/text_check.h): xz, zip,
// Parquet, UTF-16 and others. The map that sees such a file fails, and is not tried again. -D input.decompress=false
// turns this check off, too. ReadLines and ReadLineChunks skip a byte order mark; a format that reads the source itself
// has to skip the mark with MarkSize.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "client/format/byte_source.h"
#include "client/format/chunk_reader.h"
#include "client/format/compound_codec.h"
#include "client/format/fixed_reader.h"
#include "client/format/line_reader.h"
#include "client/job/attempt.h"
#include "client/job/job_options.h"

namespace millrace {

struct ReadOptions {
  bool strip_cr = false;
  std::uint64_t record_bytes = 0;
  std::string_view name;  // of the input, as TaskContext::input_name()
};

// A record is a line (line_reader.h).
struct TextLines {
  using Record = std::string_view;
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsText = true;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions& options, OnRecord&& on_record) {
    return ReadLines(source, split, options.strip_cr, on_record);
  }
};

// A record is a chunk of many whole, consecutive lines, each with its \n (chunk_reader.h). This suits a Map that looks
// at few bytes of each line. The job counts chunks, not lines, as its input records.
struct TextChunks {
  using Record = std::string_view;
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsText = true;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions& options, OnRecord&& on_record) {
    return ReadLineChunks(source, split, options.strip_cr, std::ref(on_record));
  }
};

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

// A record is a line: the key is what comes before its first TAB, the value what comes after. Without a TAB, the whole
// line is the key.
struct KeyValueText {
  using Record = KeyValue;
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsText = true;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions& options, OnRecord&& on_record) {
    const auto on_line = [&](std::string_view line, std::uint64_t offset) {
      const std::size_t tab = line.find('\t');
      on_record(
          tab == std::string_view::npos ? KeyValue{line, {}} : KeyValue{line.substr(0, tab), line.substr(tab + 1)},
          offset);
    };
    return ReadLines(source, split, options.strip_cr, on_line);
  }
};

// A record has kBytes bytes; with FixedRecords<>, it has the number of bytes that -D input.record_bytes sets.
template <std::uint32_t kBytes = 0>
struct FixedRecords {
  using Record = std::string_view;
  static constexpr SplitBy kSplitBy = SplitBy::kFixed;
  static constexpr std::uint32_t kRecordBytes = kBytes;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions& options, OnRecord&& on_record) {
    return ReadFixedRecords(source, split, kBytes != 0 ? kBytes : options.record_bytes, on_record);
  }
};

struct WholeFile {
  std::string_view name;
  std::string_view bytes;
};

// A record is a file. Files are not cut.
struct WholeFiles {
  using Record = WholeFile;
  static constexpr SplitBy kSplitBy = SplitBy::kFile;
  static constexpr std::uint32_t kRecordBytes = 0;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions& options, OnRecord&& on_record) {
    return ReadWholeFile(source, split, [&](std::string_view bytes) {
      on_record(WholeFile{options.name, bytes}, std::uint64_t{0});
    });
  }
};

// A record is a file as it is stored: compressed files are not opened. This is for checksums, and for copies.
struct StoredFiles : WholeFiles {
  static constexpr bool kReadsStoredBytes = true;
};

// The records are the numbers from 0 upwards; nothing is read. -D input.records sets how many numbers there are, and
// -D input.maps the number of maps, each of which gets a range of them. This is for jobs that make their data.
struct Numbers {
  using Record = std::uint64_t;
  static constexpr SplitBy kSplitBy = SplitBy::kNumbers;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr std::uint32_t kMostMaps = 100'000;
  static void Declare(JobOptions& options);
  // Returns the range that the options ask for.
  static NumberRange Range(const JobOptions& options);
  template <class OnRecord>
  static Status Read(ByteSource&, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    for (std::uint64_t number = split.offset; number != split.end(); ++number) on_record(number, number);
    return Status::Ok();
  }
};

namespace internal {
using OnKeyValue = std::function<void(KeyValue, std::uint64_t)>;
[[nodiscard]] Status ReadRecordFile(ByteSource& source, const Split& split, const OnKeyValue& on_record);
}  // namespace internal

// A record is a key and a value of a record file (client/format/record_file.h), which has a compression of its own. The
// offset of a record is approximate.
struct RecordFiles {
  using Record = KeyValue;
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsStoredBytes = true;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    return internal::ReadRecordFile(source, split, std::ref(on_record));
  }
};

namespace internal {
// Returns the failure for a part of a record, "key" or "value", that is not of the type that the job reads.
[[nodiscard]] Status WrongPart(const Split& split, std::uint64_t offset, const char* part, std::size_t bytes);
}  // namespace internal

// RecordFiles with the types that a RecordOutput was given: Map gets a record whose `key` is a K and whose `value` is a
// V. A std::string_view lives for the call. A record whose bytes do not decode as these types fails the map; bytes of
// another type with the same length, such as an integer in place of a double, are not noticed.
template <class K, class V>
struct TypedRecordFiles {
  static_assert(Encodable<K> && Encodable<V>, "a key or a value of a record file is of a type with a Codec (codec.h)");
  struct Record {
    K key;
    V value;
  };
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsStoredBytes = true;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    Record record{};
    Status wrong;  // once this is a failure, the job gets no further record
    const auto decode = [&](KeyValue bytes, std::uint64_t offset) {
      if (!wrong.ok()) return;
      if (!Codec<K>::Decode(bytes.key, &record.key)) {
        wrong = internal::WrongPart(split, offset, "key", bytes.key.size());
      } else if (!Codec<V>::Decode(bytes.value, &record.value)) {
        wrong = internal::WrongPart(split, offset, "value", bytes.value.size());
      } else {
        on_record(std::as_const(record), offset);
      }
    };
    const Status read = internal::ReadRecordFile(source, split, std::ref(decode));
    return wrong.ok() ? read : wrong;
  }
};

}  // namespace millrace
