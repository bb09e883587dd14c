// SPDX-License-Identifier: Apache-2.0
// Output formats: the types that a job may name as `using Output = ...`. A format is a type with
//   template <class K, class V> static constexpr bool kTakes;   true if it can write such a record
//   class Writer { Writer(OutputFile&, Random); template <...> void Write(const K&, const V&); void Finish(); }
// The OutputFile remembers a failure. A Writer that must know whether the file was closed well calls OutputFile::Finish
// itself.
// Thread rule: one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/random.h"
#include "client/format/codec.h"
#include "client/format/compound_codec.h"
#include "client/format/output_file.h"
#include "client/format/record_file.h"

namespace millrace {

// Each record is a line: key TAB value, or the key alone when the value is Nothing.
struct TextOutput {
  template <class K, class V>
  static constexpr bool kTakes = TextValue<K>&& TextValue<V>;

  class Writer {
   public:
    Writer(OutputFile& file, const Random&) : file_(file) {}
    void Finish() {}
    template <class K, class V>
    void Write(const K& key, const V& value) {
      std::string& out = file_.buffer();
      Codec<K>::AppendText(key, &out);
      if constexpr (!std::same_as<V, Nothing>) {
        out.push_back('\t');
        Codec<V>::AppendText(value, &out);
      }
      out.push_back('\n');
      file_.EndRecord();
    }

   private:
    OutputFile& file_;
  };
};

namespace internal {
void FailFixedLength(OutputFile& file, std::size_t got, std::size_t wanted);
}

// Records are kBytes long each, with nothing between them: the key's bytes as its Codec writes them, then the value's.
// A record of another length fails the task.
template <std::size_t kBytes>
struct FixedOutput {
  static_assert(kBytes > 0, "FixedOutput<N>: a record has at least one byte");
  template <class K, class V>
  static constexpr bool kTakes = Encodable<K>&& Encodable<V>;

  class Writer {
   public:
    Writer(OutputFile& file, const Random&) : file_(file) {}
    void Finish() {}
    template <class K, class V>
    void Write(const K& key, const V& value) {
      const std::string_view key_bytes = Codec<K>::Encode(key, &key_scratch_);
      const std::string_view value_bytes = Codec<V>::Encode(value, &value_scratch_);
      if (key_bytes.size() + value_bytes.size() != kBytes) [[unlikely]] {
        internal::FailFixedLength(file_, key_bytes.size() + value_bytes.size(), kBytes);
        return;
      }
      file_.buffer().append(key_bytes).append(value_bytes);
      file_.EndRecord();
    }

   private:
    OutputFile& file_;
    std::string key_scratch_, value_scratch_;
  };
};

// Writes a record file (client/format/record_file.h): key and value as their Codecs write them.
struct RecordOutput {
  template <class K, class V>
  static constexpr bool kTakes = Encodable<K>&& Encodable<V>;

  class Writer {
   public:
    // `random` supplies the file's marker.
    Writer(OutputFile& file, const Random& random);
    template <class K, class V>
    void Write(const K& key, const V& value) {
      Append(Codec<K>::Encode(key, &key_scratch_), Codec<V>::Encode(value, &value_scratch_));
    }
    void Finish();

   private:
    void Append(std::string_view key, std::string_view value);

    OutputFile& file_;
    RecordWriter records_;
    std::string key_scratch_, value_scratch_;
  };
};

}  // namespace millrace
