// SPDX-License-Identifier: Apache-2.0
// The version of Millrace, which every program reports.
#pragma once

namespace millrace {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace millrace
