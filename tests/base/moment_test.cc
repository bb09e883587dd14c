// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/cluster_id.h"

namespace millrace {
namespace {

TEST(MomentTest, IsReadBackFromItsText) {
  for (const Moment moment : {Moment{1, 2}, Moment{~std::uint64_t{0}, ~std::uint64_t{0}}, Moment{}})
    EXPECT_EQ(ParseMoment(FormatMoment(moment)), moment);
}

TEST(MomentTest, NoOtherTextIsOne) {
  const std::string text = FormatMoment({0x1a, 2});
  for (const std::string& other :
       {std::string(), text.substr(1), text + " ", text + "0", "+" + text.substr(1),
        text.substr(0, 16) + "-" + text.substr(17), "000000000000001A " + text.substr(17), std::string(33, ' ')})
    EXPECT_FALSE(ParseMoment(other)) << other;
}

}  // namespace
}  // namespace millrace
