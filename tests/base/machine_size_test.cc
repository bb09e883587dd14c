// SPDX-License-Identifier: Apache-2.0
// Tests the reading of memory and cores of machines and control groups, from files as Linux writes them.
#include "base/machine_size.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "base/file.h"

namespace millrace {
namespace {

constexpr std::uint64_t kKiB = 1024;

class MachineSizeTest : public ::testing::Test {
 protected:
  MachineSizeTest() { Write("/proc/meminfo", "MemTotal:       16309512 kB\nMemFree:          934244 kB\n"); }
  void Write(const std::string& path, const std::string& text) {
    const std::string file = root() + path;
    ASSERT_TRUE(MakeDirectories(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileDurably(file, text).ok());
  }
  [[nodiscard]] const std::string& root() const { return directory_.path(); }

 private:
  TempDir directory_ = TempDir::Make("millrace-memory-").value();
};

TEST_F(MachineSizeTest, WithoutGroupsItIsTheMachines) {
  EXPECT_EQ(MachineMemory(root()), 16309512 * kKiB);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(MachineMemory(root()), 16309512 * kKiB);
}

TEST_F(MachineSizeTest, AGroupAndThoseAboveItBindInVersion2) {
  Write("/proc/self/cgroup", "0::/system.slice/millrace.service\n");
  Write("/sys/fs/cgroup/system.slice/millrace.service/memory.max", "3000000000\n");
  Write("/sys/fs/cgroup/system.slice/memory.max", "max\n");
  EXPECT_EQ(MachineMemory(root()), 3'000'000'000u);
  Write("/sys/fs/cgroup/system.slice/memory.max", "2000000000\n");
  EXPECT_EQ(MachineMemory(root()), 2'000'000'000u);
}

TEST_F(MachineSizeTest, AContainersOwnRootBinds) {
  Write("/proc/self/cgroup", "0::/docker/1a2b\n");
  Write("/sys/fs/cgroup/memory.max", "1000000000\n");
  EXPECT_EQ(MachineMemory(root()), 1'000'000'000u);
}

TEST_F(MachineSizeTest, AGroupBindsInVersion1) {
  Write("/proc/self/cgroup", "6:cpu,cpuacct:/a\n5:memory:/docker/1a2b\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/docker/1a2b/memory.limit_in_bytes", "500000000\n");
  EXPECT_EQ(MachineMemory(root()), 500'000'000u);
}

TEST_F(MachineSizeTest, FilesThatMakeNoSenseBindNothing) {
  Write("/proc/self/cgroup", "nonsense\n:\n0:x\n0::relative\n");
  EXPECT_EQ(MachineMemory(root()), 16309512 * kKiB);
  Write("/proc/meminfo", "MemTotal:\n");
  EXPECT_EQ(MachineMemory(root()), 0u);
  EXPECT_EQ(MachineMemory("/nowhere"), 0u);
}

TEST_F(MachineSizeTest, CoresAreThoseThatThisProcessMayRunOn) {
  EXPECT_EQ(CoresOfMachine(root(), 64, 64).whole(), 64u);
  EXPECT_EQ(CoresOfMachine("/nowhere", 64, 64).whole(), 64u);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(CoresOfMachine(root(), 3, 3).whole(), 3u);
}

TEST_F(MachineSizeTest, AQuotaLeavesWholeCoresAndOneAtLeast) {
  Write("/proc/self/cgroup", "0::/system.slice/millrace.service\n");
  const std::string group = "/sys/fs/cgroup/system.slice/millrace.service/cpu.max";
  const struct {
    const char* text;
    std::uint64_t cores;
  } rows[] = {{"400000 100000\n", 4},  {"250000 100000\n", 2}, {"50000 100000\n", 1},
              {"1600000 100000\n", 8}, {"100000 25000", 4},    {"max 100000\n", 8},
              {"400000\n", 8},         {"400000 0\n", 8},      {"nonsense\n", 8}};
  for (const auto& row : rows) {
    Write(group, row.text);
    EXPECT_EQ(CoresOfMachine(root(), 8, 8).whole(), row.cores) << row.text;
  }
  Write(group, "600000 100000\n");
  Write("/sys/fs/cgroup/system.slice/cpu.max", "300000 100000\n");
  EXPECT_EQ(CoresOfMachine(root(), 8, 8).whole(), 3u) << "a group above it binds, too";
}

TEST_F(MachineSizeTest, AQuotaBindsInVersion1) {
  Write("/proc/self/cgroup", "6:cpu,cpuacct:/docker/1a2b\n5:memory:/docker/1a2b\n0::/\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/docker/1a2b/cpu.cfs_period_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/docker/1a2b/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CoresOfMachine(root(), 8, 8).whole(), 8u);
  Write("/sys/fs/cgroup/cpu/docker/1a2b/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(CoresOfMachine(root(), 8, 8).whole(), 2u);
}

TEST_F(MachineSizeTest, CoresAreTheMachinesOrWhatAGroupLeavesOfThem) {
  const auto cores = [this](unsigned affinity) { return CoresOfMachine(root(), affinity, 8); };
  Write("/proc/sys/kernel/random/boot_id", "6f2c-91\n");
  EXPECT_EQ(cores(8).count, 8);
  EXPECT_EQ(cores(8).shared_as, "6f2c-91") << "with all others that may use all of the machine";
  EXPECT_EQ(cores(3).count, 3);
  EXPECT_EQ(cores(3).shared_as, "") << "of a set of cores";
  Write("/proc/self/cgroup", "0::/system.slice/worker.service\n");
  Write("/sys/fs/cgroup/system.slice/worker.service/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(8).count, 8);
  Write("/sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores(8).count, 2.5) << "groups above bind, too";
  EXPECT_EQ(cores(8).shared_as, "");
  EXPECT_EQ(cores(2).count, 2);
  Write("/sys/fs/cgroup/system.slice/cpu.max", "nonsense\n");
  EXPECT_EQ(cores(8).count, 8);
}

TEST_F(MachineSizeTest, AGroupBindsCoresInVersion1) {
  Write("/proc/self/cgroup", "6:cpu,cpuacct:/docker/1a2b\n0::/\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CoresOfMachine(root(), 8, 8).count, 8);
  Write("/sys/fs/cgroup/cpu/docker/1a2b/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/docker/1a2b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CoresOfMachine(root(), 8, 8).count, 0.5);
}

TEST(ThisMachinesCoresTest, AreCounted) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_GE(CoresOfMachine().whole(), 1u);
  EXPECT_LE(CoresOfMachine().whole(), static_cast<std::uint64_t>(CPU_COUNT(&set)));
}

TEST(ThisMachinesMemoryTest, IsKnown) { EXPECT_GT(MachineMemory(), std::uint64_t{16} << 20); }

}  // namespace
}  // namespace millrace
