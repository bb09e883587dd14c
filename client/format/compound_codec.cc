// SPDX-License-Identifier: Apache-2.0
#include "client/format/compound_codec.h"

namespace millrace::internal {

void AppendEscaped(std::string_view bytes, std::string* out) {
  for (std::size_t zero; (zero = bytes.find('\0')) != bytes.npos; bytes.remove_prefix(zero + 1)) {
    out->append(bytes.substr(0, zero + 1));
    out->push_back('\xff');
  }
  out->append(bytes);
  out->append("\0\1", 2);
}

bool TakeEscaped(std::string_view* bytes, std::string* value) {
  value->clear();
  while (true) {
    const std::size_t zero = bytes->find('\0');
    if (zero == bytes->npos || zero + 1 == bytes->size()) return false;
    const char mark = (*bytes)[zero + 1];
    value->append(bytes->substr(0, zero));
    bytes->remove_prefix(zero + 2);
    if (mark == '\1') return true;
    if (mark != '\xff') return false;
    value->push_back('\0');
  }
}

}  // namespace millrace::internal
