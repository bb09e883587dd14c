// BlockKeys: the keys with which a registered worker checks the right to read and write its blocks. They come from its
// master. Thread rule: a value.
#pragma once

#include <string>

#include "base/ids/ids.h"

namespace millrace::dfs {

struct BlockKeys {
  NodeId node;  // the number of the worker's node
  // Token keys, of tls::TokenKey::kBytes each.
  std::string read;   // empty without TLS, when everybody may read; with TLS an empty key allows no reads
  std::string write;  // empty: everybody may write; only masters of protocol level 1 send none
};

}  // namespace millrace::dfs
