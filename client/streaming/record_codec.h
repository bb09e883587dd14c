// SPDX-License-Identifier: Apache-2.0
// Records as they go to a child and come from it (Io::kText, kTypedBytes, kRawBytes).
// Thread rule: one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/streaming/settings.h"

namespace millrace::streaming {

// Appends a record as a child reads it. `key` and `value` are what lies between map and reduce, or in a record file:
// with kTypedBytes they are whole objects.
void AppendRecord(Io io, std::string_view key, std::string_view separator, std::string_view value, std::string* out);

// Cuts what a child writes into records.
class RecordCutter {
 public:
  // `line` takes a line without its \n (kText), `pair` a key and a value (the others). Views live for the call.
  using OnLine = std::function<void(std::string_view line)>;
  using OnPair = std::function<void(std::string_view key, std::string_view value)>;
  RecordCutter(Io io, OnLine line, OnPair pair) : io_(io), line_(std::move(line)), pair_(std::move(pair)) {}

  // Takes the next bytes. After a failure, which Finish returns, the rest is dropped.
  void Take(std::string_view bytes);
  // Ends the last line, which may lack its \n. Returns kInvalid if the bytes end inside a record, if a line or an
  // object is longer than kLongestRecord, or if they are no records at all.
  [[nodiscard]] Status Finish();

  static constexpr std::size_t kLongestRecord = std::size_t{1} << 30;

 private:
  // Gives the whole records at the front of the bytes and returns how many bytes they have.
  std::size_t GiveLines(std::string_view bytes);
  std::size_t GivePairs(std::string_view bytes);
  // Returns the size of the pair at the front, and sets its parts; 0: more bytes are needed, or there is a failure.
  std::size_t PairAt(std::string_view bytes, std::string_view* key, std::string_view* value);

  const Io io_;
  const OnLine line_;
  const OnPair pair_;
  std::string open_;  // the beginning of a record
  Status status_;
};

}  // namespace millrace::streaming
