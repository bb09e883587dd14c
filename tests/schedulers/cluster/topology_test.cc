// SPDX-License-Identifier: Apache-2.0
// The names of racks and datacenters, by their numbers.
#include "schedulers/cluster/topology.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace millrace::sched {
namespace {

using Names = std::pair<std::string, std::string>;

TEST(Topology, TellsTheNamesOfALocation) {
  Topology topology;
  const Location first = topology.Intern("r1", "east");
  const Location second = topology.Intern("r1", "west");
  const Location third = topology.Intern("", "west");
  EXPECT_EQ(topology.NamesOf(first), (Names{"r1", "east"}));
  EXPECT_EQ(topology.NamesOf(second), (Names{"r1", "west"})) << "another rack of the same name";
  EXPECT_EQ(topology.NamesOf(third), (Names{"", "west"}));
  EXPECT_EQ(topology.NamesOf(Location{}), (Names{"", ""}));
}

}  // namespace
}  // namespace millrace::sched
