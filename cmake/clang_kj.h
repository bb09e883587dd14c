// SPDX-License-Identifier: Apache-2.0
// Included first when clang compiles. KJ 0.9 leaves `const char* == StringPtr` to the reversed operator of C++20. Clang
// does not consider that operator, as the standard has required since P2468, because StringPtr has an operator!= too.
#pragma once

#include <kj/string.h>

namespace kj {
inline bool operator==(const char* a, const StringPtr& b) { return b == StringPtr(a); }
inline bool operator!=(const char* a, const StringPtr& b) { return !(b == StringPtr(a)); }
}  // namespace kj
