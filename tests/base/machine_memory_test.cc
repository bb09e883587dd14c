// What machines and control groups say of memory, from files as Linux writes them.
#include "base/machine_memory.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace millrace {
namespace {

constexpr std::uint64_t kKiB = 1024;

class MachineMemoryTest : public ::testing::Test {
 protected:
  MachineMemoryTest() { Write("/proc/meminfo", "MemTotal:       16309512 kB\nMemFree:          934244 kB\n"); }
  void Write(const std::string& path, const std::string& text) {
    const std::string file = root() + path;
    ASSERT_TRUE(MakeDirectories(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileDurably(file, text).ok());
  }
  [[nodiscard]] const std::string& root() const { return directory_.path(); }

 private:
  TempDir directory_ = TempDir::Make("millrace-memory-").value();
};

TEST_F(MachineMemoryTest, WithoutGroupsItIsTheMachines) {
  EXPECT_EQ(MachineMemory(root()), 16309512 * kKiB);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(MachineMemory(root()), 16309512 * kKiB);
}

TEST_F(MachineMemoryTest, AGroupAndThoseAboveItBindInVersion2) {
  Write("/proc/self/cgroup", "0::/system.slice/millrace.service\n");
  Write("/sys/fs/cgroup/system.slice/millrace.service/memory.max", "3000000000\n");
  Write("/sys/fs/cgroup/system.slice/memory.max", "max\n");
  EXPECT_EQ(MachineMemory(root()), 3'000'000'000u);
  Write("/sys/fs/cgroup/system.slice/memory.max", "2000000000\n");
  EXPECT_EQ(MachineMemory(root()), 2'000'000'000u);
}

TEST_F(MachineMemoryTest, AContainersOwnRootBinds) {
  Write("/proc/self/cgroup", "0::/docker/1a2b\n");
  Write("/sys/fs/cgroup/memory.max", "1000000000\n");
  EXPECT_EQ(MachineMemory(root()), 1'000'000'000u);
}

TEST_F(MachineMemoryTest, AGroupBindsInVersion1) {
  Write("/proc/self/cgroup", "6:cpu,cpuacct:/a\n5:memory:/docker/1a2b\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/docker/1a2b/memory.limit_in_bytes", "500000000\n");
  EXPECT_EQ(MachineMemory(root()), 500'000'000u);
}

TEST_F(MachineMemoryTest, FilesThatMakeNoSenseBindNothing) {
  Write("/proc/self/cgroup", "nonsense\n:\n0:x\n0::relative\n");
  EXPECT_EQ(MachineMemory(root()), 16309512 * kKiB);
  Write("/proc/meminfo", "MemTotal:\n");
  EXPECT_EQ(MachineMemory(root()), 0u);
  EXPECT_EQ(MachineMemory("/nowhere"), 0u);
}

TEST(ThisMachinesMemoryTest, IsKnown) { EXPECT_GT(MachineMemory(), std::uint64_t{16} << 20); }

}  // namespace
}  // namespace millrace
