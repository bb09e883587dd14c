// SPDX-License-Identifier: Apache-2.0
// Measures how fast the file system writes and reads files, after TestDFSIO of Hadoop. Each map of DfsioWrite writes
// one file, its output. DfsioRead reads files, each in one map, and looks at every byte. Both count in the group dfsio:
//   files, bytes
//   io_micros      the sum over files of the time that writing or reading took. Writing ends with the hand-over of a
//                  file that is on disk; making the bytes does not count. Reading lasts from the first call to the last
//                  byte; looking at the bytes counts
//   rate           the sum over files of bytes per millisecond (that is, of kB/s)
//   rate_squared   the sum of their squares, for the deviation
//   checksum       the sum over files of their CRC-32C, which shows that the bytes read are those that were written
// The script dfsio beside this file runs either job, and prints the figures of TestDFSIO from the counters.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "client/api/job.h"

namespace millrace::examples {

// One file: its bytes, their checksum, and the time that it took.
struct FileIo {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  std::chrono::steady_clock::duration time{};

  void See(std::string_view piece) {
    crc = Crc32c(piece, crc);
    bytes += piece.size();
  }
  // Runs `work`, adds the time that it takes, and returns its result.
  template <class Work>
  auto Timed(Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    time += std::chrono::steady_clock::now() - begin;
    return result;
  }
  [[nodiscard]] std::int64_t micros() const {
    return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count(), 1);
  }
};

class DfsioCounters {
 public:
  explicit DfsioCounters(TaskContext& context)
      : files_(context.counter("dfsio", "files")),
        bytes_(context.counter("dfsio", "bytes")),
        io_micros_(context.counter("dfsio", "io_micros")),
        rate_(context.counter("dfsio", "rate")),
        rate_squared_(context.counter("dfsio", "rate_squared")),
        checksum_(context.counter("dfsio", "checksum")) {}

  void Add(const FileIo& file) {
    const auto bytes = static_cast<std::int64_t>(file.bytes);
    const std::int64_t rate = bytes * 1000 / file.micros();
    ++files_;
    bytes_ += bytes;
    io_micros_ += file.micros();
    rate_ += rate;
    rate_squared_ += rate * rate;
    checksum_ += file.crc;
  }

 private:
  Counter &files_, &bytes_, &io_micros_, &rate_, &rate_squared_, &checksum_;
};

// A piece of the file that is being written, and the counters for the file once it is on disk.
struct DfsioPiece {
  std::string_view bytes;
  FileIo& file;
  DfsioCounters& counters;
};

// Writes pieces one after the other, and measures the time that this takes.
struct DfsioOutput {
  template <class K, class V>
  static constexpr bool kTakes = std::same_as<K, DfsioPiece>;

  class Writer {
   public:
    Writer(OutputFile& file, const Random&) : file_(file) {}
    void Write(const DfsioPiece& piece, const Nothing&) {
      io_ = &piece.file;
      counters_ = &piece.counters;
      io_->Timed([&] {
        file_.buffer().append(piece.bytes);
        file_.EndRecord();
        return true;
      });
    }
    void Finish() {
      if (io_ != nullptr && io_->Timed([&] { return file_.Finish(); }).ok()) counters_->Add(*io_);
    }

   private:
    OutputFile& file_;
    FileIo* io_ = nullptr;
    DfsioCounters* counters_ = nullptr;
  };
};

// A file depends on its number, dfsio.size and dfsio.seed alone. Its pieces of 1 MiB have the same random bytes except
// for the first 16, which are the numbers of the file and of the piece. So no two pieces are the same, and making them
// costs next to nothing.
struct DfsioWrite {
  using Input = Numbers;
  using Output = DfsioOutput;
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

  static void Options(JobOptions& options) {
    options.Bytes("dfsio.size", std::uint64_t{128} << 20, 1, std::uint64_t{1} << 40, "length of a file");
    options.Integer("dfsio.seed", 1, 0, std::numeric_limits<std::int64_t>::max(), "another seed makes other bytes");
  }

  explicit DfsioWrite(TaskContext& context) : counters_(context), size_(context.options().bytes("dfsio.size")) {
    Random random(static_cast<std::uint64_t>(context.options().integer("dfsio.seed")));
    piece_.resize(kPieceBytes);
    for (std::size_t at = 0; at < kPieceBytes; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random.Next();
      std::memcpy(piece_.data() + at, &word, sizeof word);
    }
  }

  void Map(std::uint64_t number, auto& emit) {
    for (std::uint64_t at = 0; at < size_; at += kPieceBytes) {
      const std::uint64_t stamp[2] = {number, at / kPieceBytes};
      std::memcpy(piece_.data(), stamp, sizeof stamp);
      const std::string_view bytes = std::string_view(piece_).substr(0, size_ - at);
      file_.See(bytes);
      emit(DfsioPiece{bytes, file_, counters_});
    }
  }

 private:
  DfsioCounters counters_;
  std::uint64_t size_;
  std::string piece_;
  FileIo file_;
};

// Gives one record for each file: its measurements while it was read.
struct DfsioInput {
  using Record = FileIo;
  static constexpr SplitBy kSplitBy = SplitBy::kFile;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsStoredBytes = true;

  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    FileIo file;
    const auto see = [&](std::string_view piece) {
      file.See(piece);
      return true;
    };
    MILLRACE_TRY(file.Timed([&] { return source.Stream(split.offset, split.length, see); }));
    on_record(file, split.offset);
    return Status::Ok();
  }
};

// Writes a line for each file: its name, its length, its CRC-32C and the microseconds that reading it took, separated
// by TABs.
struct DfsioRead {
  using Input = DfsioInput;

  explicit DfsioRead(TaskContext& context) : context_(context), counters_(context) {}

  void Map(const FileIo& file, auto& emit) {
    counters_.Add(file);
    line_ = std::to_string(file.bytes) + "\t" + std::to_string(file.crc) + "\t" + std::to_string(file.micros());
    emit(context_.input_name(), line_);
  }

 private:
  TaskContext& context_;
  DfsioCounters counters_;
  std::string line_;
};

}  // namespace millrace::examples
