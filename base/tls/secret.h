// SPDX-License-Identifier: Apache-2.0
// Secrets that a program makes up, such as the token in the address of `millrace ui`. Thread rule: any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::tls {

// Returns `bytes` bytes from the system's random source, in hexadecimal.
[[nodiscard]] std::string MakeSecret(std::size_t bytes);

// Returns whether both are the same and not empty. The time that it takes tells nothing about where they differ.
[[nodiscard]] bool SameSecret(std::string_view shown, std::string_view secret);

}  // namespace millrace::tls
