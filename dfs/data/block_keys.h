// BlockKeys: what a master tells a worker that has registered, so that it can tell who may read and write its blocks.
// Thread rule: as a value.
#pragma once

#include <string>

#include "base/ids/ids.h"

namespace millrace::dfs {

struct BlockKeys {
  NodeId node;  // the number of the worker's node
  // Keys of tokens, of tls::TokenKey::kBytes.
  std::string read;   // empty: everybody may read, as without TLS
  std::string write;  // empty: everybody may write; only masters of protocol level 1 give none
};

}  // namespace millrace::dfs
