// SPDX-License-Identifier: Apache-2.0
// Tests base/tls/sha256.h; the digests are those of the examples of FIPS 180-4, as sha256sum(1) prints them.
#include "base/tls/sha256.h"

#include <gtest/gtest.h>

namespace millrace::tls {
namespace {

TEST(Sha256Test, DigestsAreThoseOfTheStandard) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  for (int i = 0; i < 1000; ++i) pieces.Add(std::string(1000, 'a'));
  EXPECT_EQ(pieces.Hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") << "a million times a";
}

}  // namespace
}  // namespace millrace::tls
