// SPDX-License-Identifier: Apache-2.0
// A KeyValueStore in memory, for tests and simulated clusters. It passes the contract suite of the real one
// (tests/base/kv_test.cc). Thread rule: any thread.
#pragma once

#include <memory>

#include "base/kv/key_value_store.h"

namespace millrace {

[[nodiscard]] std::unique_ptr<KeyValueStore> MakeMemoryStore();

}  // namespace millrace
