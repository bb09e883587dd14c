// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "base/sandbox/call_filter.h"

namespace millrace::sandbox {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

SandboxSettings Whole() {
  SandboxSettings settings;
  settings.parts = Parts::All();
  settings.privileged = true;
  settings.users = {70000, 100};
  settings.hidden = {"/etc/millrace"};
  settings.processes = 50;
  return settings;
}

JobPlace Place(std::uint32_t job) {
  JobPlace place;
  place.job = JobId{job};
  place.executable = "/w/executables/x";
  place.readable = {"/w/jobs/" + std::to_string(job)};
  place.writable = {"/w/jobs/" + std::to_string(job) + "/scratch"};
  return place;
}

TEST(Parts, AreNamedInOneOrder) {
  EXPECT_EQ(ToText(Parts::All()), "user, mounts, processes, ipc, network, filter, landlock, cgroup");
  EXPECT_EQ(ToText(Parts()), "none");
  for (const Part part : kAllParts) EXPECT_EQ(ParsePart(ToText(part)), part);
  EXPECT_FALSE(ParsePart("root").has_value());
}

TEST(UserRange, IsReadAndNeverHoldsRootOrNobody) {
  const auto users = ParseUserRange("70000-70009");
  ASSERT_TRUE(users.ok());
  EXPECT_EQ(users->first, 70000U);
  EXPECT_EQ(users->count, 10U);
  for (const char* bad : {"", "5", "0-9", "9-5", "5-", "-5", "a-b", "5-9x", "70000-4294967295", "70000-99999999999"}) {
    const auto read = ParseUserRange(bad);
    EXPECT_EQ(read.status().code(), StatusCode::kInvalid) << bad;
    EXPECT_THAT(read.status().message(), HasSubstr("worker.task_users"));
  }
}

TEST(UserRange, JobsThatLiveTogetherHaveDifferentUsers) {
  const UserRange users{70000, 100};
  EXPECT_NE(UserOf(users, JobId{1}), UserOf(users, JobId{2}));
  EXPECT_EQ(UserOf(users, JobId{0}), 70000U);
  EXPECT_EQ(UserOf(users, JobId{99}), 70099U);
  EXPECT_EQ(UserOf(users, JobId{100}), 70000U);
}

TEST(PlanLaunch, DoesEveryPart) {
  const LaunchOrder order = PlanLaunch(Whole(), Place(3));
  EXPECT_EQ(order.user, 70003);
  EXPECT_TRUE(order.own_view && order.own_processes && order.landlock && order.filter_tells);
  EXPECT_FALSE(order.user_namespace);
  EXPECT_EQ(order.processes, 0U) << "the cgroup counts them";
  EXPECT_EQ(NamespacesOf(Whole(), Place(3)), CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET);
}

TEST(ReadableByAll, IsTheSystemAndWhatTheWorkerAdds) {
  SandboxSettings settings = Whole();
  settings.readable = {"/srv/tools"};
  const auto all = ReadableByAll(settings);
  ASSERT_TRUE(all);
  for (const char* place : {"/usr", "/opt", "/srv/tools"}) EXPECT_EQ(std::count(all->begin(), all->end(), place), 1);
  settings.parts.Remove(Part::kMounts);
  EXPECT_TRUE(ReadableByAll(settings)) << "Landlock limits it as well";
  settings.parts.Remove(Part::kLandlock);
  EXPECT_FALSE(ReadableByAll(settings));
}

TEST(PlanLaunch, ShowsTheJobItsOwnAndTheSystem) {
  const LaunchOrder order = PlanLaunch(Whole(), Place(3));
  EXPECT_THAT(order.readable, Contains("/w/executables/x"));
  EXPECT_THAT(order.readable, Contains("/usr"));
  for (const char* hidden : {"/", "/w", "/home", "/root", "/run", "/var", "/proc", "/sys", "/tmp"})
    EXPECT_THAT(order.readable, Not(Contains(hidden)));
  EXPECT_THAT(order.readable, Contains("/w/jobs/3"));
  EXPECT_EQ(order.writable, std::vector<std::string>{"/w/jobs/3/scratch"});
  EXPECT_EQ(order.hidden, std::vector<std::string>{"/etc/millrace"});
}

TEST(PlanLaunch, WithoutPrivilegeItIsAUserNamespace) {
  SandboxSettings settings = Whole();
  settings.privileged = false;
  settings.parts.Remove(Part::kUser);
  const LaunchOrder order = PlanLaunch(settings, Place(3));
  EXPECT_TRUE(order.user_namespace);
  EXPECT_FALSE(order.user.has_value());
  EXPECT_NE(NamespacesOf(settings, Place(3)) & CLONE_NEWUSER, 0);
  for (const Part part : {Part::kMounts, Part::kProcesses, Part::kIpc, Part::kNetwork}) settings.parts.Remove(part);
  EXPECT_EQ(NamespacesOf(settings, Place(3)), 0) << "no namespace is made for its own sake";
}

TEST(PlanLaunch, AJobThatMayUseTheNetworkHasTheWorkers) {
  JobPlace place = Place(3);
  place.network = true;
  EXPECT_EQ(NamespacesOf(Whole(), place) & CLONE_NEWNET, 0);
  EXPECT_FALSE(PlanLaunch(Whole(), place).filter_tells);
}

TEST(PlanLaunch, WithoutACgroupAUsersProcessesAreCounted) {
  SandboxSettings settings = Whole();
  settings.parts.Remove(Part::kCgroup);
  EXPECT_EQ(PlanLaunch(settings, Place(3)).processes, 50U);
  settings.parts.Remove(Part::kUser);
  EXPECT_EQ(PlanLaunch(settings, Place(3)).processes, 0U) << "the limit would count the worker's own";
  settings.privileged = false;
  EXPECT_EQ(PlanLaunch(settings, Place(3)).processes, 50U) << "a user namespace counts its own";
}

TEST(CallFilter, IsAProgramOfWholeInstructions) {
  for (const Sockets sockets : {Sockets::kAny, Sockets::kAsked, Sockets::kNone}) {
    const auto program = MakeCallFilter(sockets);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_GT(program->size(), 0U);
    EXPECT_EQ(program->size() % 8, 0U);
    EXPECT_LE(program->size() / 8, 4096U) << "the kernel takes no longer one";
  }
}

}  // namespace
}  // namespace millrace::sandbox
