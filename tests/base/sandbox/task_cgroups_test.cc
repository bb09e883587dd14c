// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/task_cgroups.h"

#include <gtest/gtest.h>

namespace millrace::sandbox {
namespace {

// As cgroups(7) and proc(5) describe the two files.
constexpr const char* kVersion2 = "0::/system.slice/millrace-worker.service\n";
constexpr const char* kVersion2Mounts =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kVersion1 = "8:pids:/\n4:memory:/box/1\n2:cpu,cpuacct:/box\n0::/\n";
constexpr const char* kVersion1Mounts =
    "22 1 0:20 / / rw - ext4 /dev/vda rw\n"
    "40 22 0:30 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 22 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "42 22 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

TEST(OwnCgroup, IsFoundInTheUnifiedHierarchy) {
  EXPECT_EQ(OwnCgroup(kVersion2, kVersion2Mounts, ""), "/sys/fs/cgroup/system.slice/millrace-worker.service");
  EXPECT_EQ(OwnCgroup(kVersion2, kVersion2Mounts, "memory"), "");
}

TEST(OwnCgroup, IsFoundInEachHierarchyOfVersion1) {
  EXPECT_EQ(OwnCgroup(kVersion1, kVersion1Mounts, "pids"), "/sys/fs/cgroup/pids");
  EXPECT_EQ(OwnCgroup(kVersion1, kVersion1Mounts, "cpu"), "/sys/fs/cgroup/cpu,cpuacct/box");
  EXPECT_EQ(OwnCgroup(kVersion1, kVersion1Mounts, "memory"), "/sys/fs/cgroup/memory/1") << "only /box is mounted";
  EXPECT_EQ(OwnCgroup(kVersion1, kVersion1Mounts, ""), "") << "version 2 is not mounted";
  EXPECT_EQ(OwnCgroup(kVersion1, kVersion1Mounts, "mem"), "");
}

TEST(OwnCgroup, IsNotBelowAMountWhoseNameOnlyBeginsLikeIt) {
  EXPECT_EQ(OwnCgroup("4:memory:/boxes/1\n", kVersion1Mounts, "memory"), "");
  EXPECT_EQ(OwnCgroup("4:memory:/box\n", kVersion1Mounts, "memory"), "/sys/fs/cgroup/memory");
}

TEST(ControllersFor, MemoryAndProcessesAreNeededAndTheProcessorIsTakenAlong) {
  EXPECT_EQ(ControllersFor("cpuset cpu io memory hugetlb pids rdma misc\n"), "+memory +pids +cpu");
  EXPECT_EQ(ControllersFor("memory pids\n"), "+memory +pids") << "as a session of systemd has them";
  EXPECT_EQ(ControllersFor("cpuset memory pids\n"), "+memory +pids") << "cpuset is another";
  EXPECT_EQ(ControllersFor("cpu memory\n"), "");
  EXPECT_EQ(ControllersFor("cpu pids\n"), "");
  EXPECT_EQ(ControllersFor(""), "");
}

// As the kernel's cgroup-v2.rst and cgroup-v1/memory.rst describe the files.
TEST(OutOfMemoryKills, AreCounted) {
  EXPECT_EQ(OutOfMemoryKills("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n"), 3U);
  EXPECT_EQ(OutOfMemoryKills("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2U);
  EXPECT_EQ(OutOfMemoryKills("low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\n"), 0U) << "the limit was met, nobody killed";
  EXPECT_EQ(OutOfMemoryKills(""), 0U);
}

TEST(OwnCgroup, NonsenseIsNoCgroup) {
  EXPECT_EQ(OwnCgroup("", "", "memory"), "");
  EXPECT_EQ(OwnCgroup("nonsense\n::\n", "a - b\n - \n", "memory"), "");
}

}  // namespace
}  // namespace millrace::sandbox
