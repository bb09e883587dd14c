// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/launch_order.h"

#include <gtest/gtest.h>

#include "tests/hex.h"

namespace millrace::sandbox {
namespace {

LaunchOrder Sample() {
  LaunchOrder order;
  order.executable = "/x/job";
  order.arguments = {"/x/job", "--millrace-task"};
  order.environment = {"A=b", ""};
  order.user = 70001;
  order.own_view = order.landlock = order.filter_tells = true;
  order.readable = {"/usr"};
  order.writable = {"/w", "/v"};
  order.hidden = {"/etc/millrace"};
  order.tmp_bytes = 1ULL << 40;
  order.processes = 7;
  order.cgroups = 3;
  order.filter = std::string("\0\1\2", 3);
  return order;
}

TEST(LaunchOrder, ComesBackAsItWas) {
  const auto read = DecodeLaunchOrder(Encode(Sample()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(Encode(*read), Encode(Sample()));
  EXPECT_EQ(read->user, 70001);
  EXPECT_EQ(read->environment, Sample().environment);
  EXPECT_TRUE(read->own_view && read->landlock && read->filter_tells);
  EXPECT_FALSE(read->user_namespace || read->own_processes || read->own_host_name);
  EXPECT_EQ(read->filter, Sample().filter);
}

TEST(LaunchOrder, NoUserIsNotTheFirstUser) {
  LaunchOrder order = Sample();
  order.user.reset();
  EXPECT_FALSE(DecodeLaunchOrder(Encode(order))->user.has_value());
}

TEST(LaunchOrder, IsWholeOrNotBelieved) {
  const std::string bytes = Encode(Sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(DecodeLaunchOrder(std::string_view(bytes).substr(0, size)).status().code(), StatusCode::kCorrupt) << size;
  EXPECT_FALSE(DecodeLaunchOrder(bytes + "x").ok());
}

// The worker and the launcher that it starts may be of two versions while packages are replaced.
TEST(LaunchOrder, HasTheBytesOfItsFieldsInTheirOrder) {
  const std::string bytes =
      Hex("06'/x/job'  02 06'/x/job' 0f'--millrace-task'  02 03'A=b' 00"
          "  00 01 01 00 00 01 01  71110100"  // its flags: the second says that there is a user; the user
          "  01 04'/usr'  02 02'/w' 02'/v'  01 0d'/etc/millrace'"
          "  808080808020 07 03000000 03 000102");
  EXPECT_EQ(Encode(Sample()), bytes);
}

}  // namespace
}  // namespace millrace::sandbox
