// SPDX-License-Identifier: Apache-2.0
#include "client/policy/policy.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace millrace::policy {
namespace {

// Says what it was told, and decides what it is made with.
struct Told : Policy {
  std::vector<std::string> Order(const Cluster& cluster, Slot slot) override {
    last = cluster;
    return slot == Slot::kMap ? std::vector<std::string>{"job2", "job1"} : IdsOf(cluster.Jobs());
  }
  std::vector<Launch> Place(const Cluster&) override { return launches; }
  std::vector<Kill> Preempt(const Cluster&) override { return kills; }
  std::optional<std::int64_t> Wake(const Cluster&) override { return wake; }
  Cluster last;
  std::vector<Launch> launches;
  std::vector<Kill> kills;
  std::optional<std::int64_t> wake;
};

struct Said {
  int status = 0;
  std::string text;
};
Said Say(Policy& policy, const std::string& lines) {
  std::istringstream source(lines);
  std::ostringstream sink;
  const int status = Serve(policy, "told ones", source, sink);
  return {status, sink.str()};
}

constexpr const char* kTold =
    "whole\n"
    "at now=1500000\n"
    "node id=n0 rack=r0 datacenter=dc0 maps=2 reduces=1 free_maps=2 free_reduces=1\n"
    "slots maps=2 reduces=1 permits=1\n"
    "job id=job1 name=a%20name%25 user=ada pool=p priority=HIGH submitted=7 order=0 maps=9 reduces=1 bytes=5000000000 "
    "map_time=3 profile_ratio=0.25 news=of%20later\n"
    "tasks job=job1 maps_pending=8 maps_running=1 maps_done=0 reduces_pending=1 reduces_running=0 reduces_done=0 "
    "computing=0 demand_maps=9 demand_reduces=0 demand_permits=0 offered=m failed=2 map_mean=11\n"
    "news of=later\n";

TEST(PolicyTest, KeepsWhatItIsTold) {
  Told policy;
  const Said said = Say(policy, std::string("hello 1 clock=live news=x\n") + kTold +
                                    "job id=job2 name=b order=1 maps=1\n"
                                    "refused what=order%20of%20job9 why=no\n"
                                    "decide question=3\n");
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.text,
            "hello 1 name=told%20ones kind=ranking\n"
            "order maps=job2,job1 reduces=job1,job2 permits=job1,job2\nseen 3\n");
  const Cluster& cluster = policy.last;
  EXPECT_EQ(cluster.now, 1'500'000);
  EXPECT_EQ(cluster.Slots(Slot::kMap), 2);
  EXPECT_EQ(cluster.Slots(Slot::kPermit), 1);
  EXPECT_EQ(cluster.nodes.at("n0").free_maps, 2);
  EXPECT_EQ(cluster.nodes.at("n0").rack, "r0");
  const Job& job = cluster.jobs.at("job1");
  EXPECT_EQ(job.name, "a name%");
  EXPECT_EQ(job.priority, "HIGH");
  EXPECT_EQ(job.bytes, 5'000'000'000);
  EXPECT_EQ(job.profile_ratio, 0.25);
  EXPECT_EQ(job.TaskTime(Slot::kMap), 11) << "its own tasks say more than the user";
  EXPECT_EQ(job.TaskTime(Slot::kReduce), std::nullopt);
  EXPECT_EQ(job.Running(Slot::kMap), 1);
  EXPECT_EQ(job.Demand(Slot::kMap), 9);
  EXPECT_EQ(job.Remaining(Slot::kMap), 9);
  EXPECT_TRUE(job.MayTake(Slot::kMap));
  EXPECT_FALSE(job.MayTake(Slot::kReduce));
  EXPECT_EQ(job.failed, 2);
  ASSERT_EQ(cluster.refused.size(), 1u);
  EXPECT_EQ(cluster.refused[0], std::pair(std::string("order of job9"), std::string("no")));
}

TEST(PolicyTest, WhatChangesReplacesWhatWas) {
  Told policy;
  (void)Say(policy, std::string("hello 1\n") + kTold +
                        "decide question=1\n"
                        "at now=2\n"
                        "job id=job1 priority=LOW\n"
                        "tasks job=job1 maps_running=3\n"
                        "lost id=n0\n"
                        "job id=job5 order=4\n"
                        "decide question=2\n");
  EXPECT_TRUE(policy.last.nodes.empty());
  EXPECT_EQ(policy.last.jobs.at("job1").priority, "LOW");
  EXPECT_EQ(policy.last.jobs.at("job1").user, "ada") << "it stays";
  EXPECT_EQ(policy.last.jobs.at("job1").map_mean, 0) << "it is left out where it is 0";
  EXPECT_FALSE(policy.last.jobs.at("job1").MayTake(Slot::kMap));
  EXPECT_TRUE(policy.last.refused.empty());
  (void)Say(policy, std::string("hello 1\n") + kTold + "ended job=job1\ndecide question=1\n");
  EXPECT_TRUE(policy.last.jobs.empty());
}

TEST(PolicyTest, SaysAllThatAPolicyDecides) {
  Told policy;
  policy.launches = {{"job1", "n0", Slot::kReduce}};
  policy.kills = {{"job2", Slot::kMap, 2, "make room = now"}};
  policy.wake = 77;
  const Said said = Say(policy, "hello 1\ndecide question=9\n");
  EXPECT_EQ(said.text,
            "hello 1 name=told%20ones kind=ranking\n"
            "preempt kind=map job=job2 tasks=2 reason=make%20room%20%3D%20now\n"
            "launch kind=reduce job=job1 node=n0\n"
            "order maps=job2,job1 reduces= permits=\n"
            "wake at=77\n"
            "seen 9\n");
}

TEST(PolicyTest, WhatItCannotUnderstandEndsIt) {
  for (const char* lines : {"hello 2 clock=live\n", "hello 1\ntasks job=job9 maps_running=1\n",
                            "hello 1\nat now=soon\n", "hello 1\njob id=job1 maps=9x\n"}) {
    Told policy;
    EXPECT_EQ(Say(policy, lines).status, 1) << lines;
  }
}

TEST(PolicyTest, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(Unquoted(Quoted(all)), all);
  EXPECT_EQ(Quoted(all).find_first_of(" =\n"), std::string::npos);
  EXPECT_EQ(Unquoted("%4"), "%4");
  EXPECT_EQ(Unquoted("%zz%"), "%zz%");
}

}  // namespace
}  // namespace millrace::policy
