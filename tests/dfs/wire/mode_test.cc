// SPDX-License-Identifier: Apache-2.0
// Tests dfs/wire/mode.h. What chmod makes of a mode is that of chmod(1) of GNU coreutils 9.1, tried by hand.
#include "dfs/wire/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::dfs {
namespace {

TEST(ModeTest, IsShownAsLsShowsIt) {
  EXPECT_EQ(ModeText(0), "---------");
  EXPECT_EQ(ModeText(0754), "rwxr-xr--");
  EXPECT_EQ(ModeText(0421), "r---w---x");
  EXPECT_EQ(ModeText(01777), "rwxrwxrwt");
  EXPECT_EQ(ModeText(01770), "rwxrwx--T");
  EXPECT_EQ(OctalText(0), "000");
  EXPECT_EQ(OctalText(0640), "640");
  EXPECT_EQ(OctalText(01777), "1777");
}

TEST(ModeTest, ChangesAreThoseOfChmod) {
  const struct {
    const char* change;
    Mode from;
    bool directory;
    Mode to;
  } table[] = {
      {"0", 0777, false, 0},          {"640", 0777, false, 0640},    {"0640", 0, false, 0640},
      {"1777", 0, true, 01777},       {"755", 01777, true, 0755},    {"u+rwx,go-w", 0066, false, 0744},
      {"u+x", 0644, false, 0744},     {"+x", 0644, false, 0755},     {"a=r", 0777, false, 0444},
      {"go=", 0777, false, 0700},     {"=", 0777, false, 0},         {"ug=rw,o=", 0, false, 0660},
      {"g+rX", 0600, false, 0640},    {"g+rX", 0700, false, 0750},   {"g+rX", 0600, true, 0650},
      {"u-x,a+X", 0744, false, 0644}, {"+t", 0777, true, 01777},     {"a-t", 01777, true, 0777},
      {"u+t", 0777, true, 0777},      {"o-rwxt", 01777, true, 0770}, {"o=t", 0777, true, 01770},
      {"g=t", 0777, true, 0707},      {"a=rx", 01777, true, 0555},   {"u=", 01777, true, 01077},
  };
  for (const auto& row : table) {
    const Result<ModeChange> change = ModeChange::Parse(row.change);
    ASSERT_TRUE(change.ok()) << row.change << ": " << change.status().message();
    EXPECT_EQ(OctalText(change->Apply(row.from, row.directory)), OctalText(row.to)) << row.change;
  }
}

TEST(ModeTest, WhatIsNoModeIsRefused) {
  for (const char* text : {"", "8", "2777", "7777", "00000777", "rwx", "u", "u+y", "x+r", "u+r,", ",u+r", "u+r go+r",
                           "u+r-w", "-1", "0x1ff", "u+s"}) {
    const Result<ModeChange> change = ModeChange::Parse(text);
    EXPECT_EQ(change.status().code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(change.status().message(), testing::HasSubstr("is not a mode")) << text;
  }
}

}  // namespace
}  // namespace millrace::dfs
