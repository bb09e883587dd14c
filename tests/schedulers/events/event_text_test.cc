// SPDX-License-Identifier: Apache-2.0
#include "schedulers/events/event_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace millrace::sched {
namespace {

AttemptId Attempt(std::uint32_t job, TaskKind kind, std::uint32_t index, std::uint32_t number) {
  return {{JobId{job}, kind, index}, number};
}

TEST(EventText, ReadsAsItsHeaderSays) {
  EXPECT_EQ(FormatEvent(17, NodeJoined{NodeId{1}, "r1", "east", {2, 1}}),
            "17 NodeJoined node=n1 rack=r1 datacenter=east maps=2 reduces=1");
  EXPECT_EQ(FormatEvent(17, NodeJoined{NodeId{1}, "r1", "east", {2, 1}, 1.5, "6f-1"}),
            "17 NodeJoined node=n1 rack=r1 datacenter=east maps=2 reduces=1 cores=1.5 machine=6f-1");
  EXPECT_EQ(FormatEvent(18, AttemptSucceeded{Attempt(3, TaskKind::kMap, 0, 1), 5, 0, {70, 8, 900}}),
            "18 AttemptSucceeded attempt=job3.m.0.1 input_bytes=5 cpu=70 waited=8 start=900");
  JobSpec spec;
  spec.name = "word count";
  spec.maps = {{64, {NodeId{1}, NodeId{2}}}, {10, {NodeId{4}}}, {0, {}}};
  spec.reduces = 2;
  EXPECT_EQ(
      FormatEvent(18, JobSubmitted{JobId{3}, spec}),
      "18 JobSubmitted job=job3 name=word%20count priority=NORMAL maps=64:n1,n2;10:n4;0: reduces=2 slow_start=0.05 "
      "max_attempts=4");
  EXPECT_EQ(FormatEvent(19, AttemptLaunched{Attempt(3, TaskKind::kMap, 0, 1), NodeId{1}}),
            "19 AttemptLaunched attempt=job3.m.0.1 node=n1");
  EXPECT_EQ(FormatEvent(-20, FetchFailed{Attempt(3, TaskKind::kReduce, 5, 0), Attempt(3, TaskKind::kMap, 0, 1)}),
            "-20 FetchFailed reduce=job3.r.5.0 map_attempt=job3.m.0.1");
  EXPECT_EQ(FormatEvent(0, AttemptFailed{Attempt(3, TaskKind::kMap, 0, 1), "100% =\n\xff"}),
            "0 AttemptFailed attempt=job3.m.0.1 reason=100%25%20%3D%0A%FF");
  EXPECT_EQ(FormatEvent(0, AttemptFailed{Attempt(3, TaskKind::kMap, 0, 1), "a", RecordPlace{2, 4096, 1}}),
            "0 AttemptFailed attempt=job3.m.0.1 reason=a record=2:4096:1");
  EXPECT_EQ(FormatEvent(0, ReplicasMoved{{JobId{3}, TaskKind::kMap, 1}, {NodeId{1}, NodeId{7}}}),
            "0 ReplicasMoved map=job3.m.1 replicas=n1,n7");
  EXPECT_EQ(FormatEvent(7, OutputMoved{{{JobId{3}, TaskKind::kMap, 1}, 2}, NodeId{7}}),
            "7 OutputMoved attempt=job3.m.1.2 to=n7");
}

TEST(EventText, UnknownKeysAreIgnoredAndMissingOnesHaveTheirDefaults) {
  const auto timed = ParseEvent("5 JobSubmitted colour=gold job=job2");
  ASSERT_TRUE(timed.has_value());
  EXPECT_EQ(timed->time, 5);
  EXPECT_EQ(std::get<JobSubmitted>(timed->event).job, JobId{2});
  EXPECT_EQ(std::get<JobSubmitted>(timed->event).spec, JobSpec());
  EXPECT_TRUE(std::get<NodeDrained>(ParseEvent("5 NodeDrained node=n1")->event).drained);
  EXPECT_EQ(std::get<NodeJoined>(ParseEvent("5 NodeJoined node=n1 maps=2")->event).cores, 0)
      << "as it was written once";
  EXPECT_EQ(std::get<AttemptSucceeded>(ParseEvent("5 AttemptSucceeded attempt=job3.m.0.1")->event).use, ProcessorUse());
}

TEST(EventText, WhatIsNotAnEventIsNothing) {
  for (const char* line : {"",
                           " ",
                           "5",
                           "5 ",
                           "NodeLost node=n1",
                           "x NodeLost node=n1",
                           "5 NodeLost",
                           "5 NodeLost node=",
                           "5 NodeLost node=1",
                           "5 NodeLost node=n",
                           "5 NodeLost node=n-1",
                           "5 NodeLost node=n4294967296",
                           "5 NodeLost node=n1x",
                           "5 AttemptFailed attempt=job1.m.0.0 record=",
                           "5 AttemptFailed attempt=job1.m.0.0 record=1:2",
                           "5 AttemptFailed attempt=job1.m.0.0 record=1:2:3:4",
                           "5 NodeLost n1",
                           "5 nodelost node=n1",
                           "5 NodeExploded node=n1",
                           "99999999999999999999 NodeLost node=n1",
                           "5 NodeLost node=n1\n",
                           "5 NodeJoined node=n1 maps=-1",
                           "5 NodeJoined node=n1 rack=a%",
                           "5 NodeJoined node=n1 rack=%2",
                           "5 NodeJoined node=n1 rack=%zz",
                           "5 NodeJoined node=n1 rack=%2a",
                           "5 NodeJoined node=n1 rack=a\tb",
                           "5 NodeDrained node=n1 drained=2",
                           "5 JobSubmitted job=job1 maps=1",
                           "5 JobSubmitted job=job1 maps=1:n1;",
                           "5 JobSubmitted job=job1 maps=;1:",
                           "5 JobSubmitted job=job1 maps=1:n1,",
                           "5 JobSubmitted job=job1 maps=1:,n1",
                           "5 JobSubmitted job=job1 maps=:n1",
                           "5 JobSubmitted job=job1 priority=URGENT",
                           "5 JobSubmitted job=job1 slow_start=half",
                           "5 AttemptLost attempt=job1.m.0",
                           "5 AttemptLost attempt=job1.x.0.0",
                           "5 AttemptLost attempt=1.m.0.0",
                           "5 AttemptLost attempt=job1.m.0.0.0",
                           "5 AttemptLost attempt=...",
                           "5 ReplicasMoved map=job1.m.0.0"}) {
    EXPECT_FALSE(ParseEvent(line).has_value()) << line;
  }
}

TEST(EventText, AttemptsReadBothWays) {
  EXPECT_EQ(ToText(Attempt(3, TaskKind::kMap, 17, 0)), "job3.m.17.0");
  EXPECT_EQ(ParseAttempt("job3.r.17.4294967295"), Attempt(3, TaskKind::kReduce, 17, 4294967295U));
  EXPECT_EQ(ToText(TaskId{JobId{3}, TaskKind::kReduce, 2}), "job3.r.2");
  EXPECT_FALSE(ParseAttempt("job3.r.17").has_value());
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::uint32_t Number() { return static_cast<std::uint32_t>(random_() >> random_() % 32); }
  std::string Bytes() {
    std::string bytes(random_() % 12, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  std::vector<NodeId> Nodes() {
    std::vector<NodeId> nodes(random_() % 4);
    for (NodeId& node : nodes) node = {Number()};
    return nodes;
  }
  TaskId Task() { return {{Number()}, static_cast<TaskKind>(random_() % 2), Number()}; }
  AttemptId Attempt() { return {Task(), Number()}; }
  Priority AnyPriority() { return static_cast<Priority>(random_() % 5); }
  JobSpec Spec() {
    JobSpec spec;
    spec.name = Bytes();
    spec.user = Bytes();
    spec.pool = Bytes();
    spec.priority = AnyPriority();
    spec.reduces = Number();
    spec.slow_start = std::ldexp(random_(), -static_cast<int>(random_() % 90));
    spec.max_attempts = Number();
    spec.skip_bad_records = Number();
    spec.deadline = Number();
    spec.map_time = Number();
    spec.reduce_time = Number();
    spec.locality_waits.assign(random_() % 4, Micros{Number()});
    spec.no_speculation = random_() % 2 == 0;
    spec.program = Bytes();
    spec.input_type = Bytes();
    spec.profile = {Number(), Number(), Number(), std::ldexp(random_(), -static_cast<int>(random_() % 90))};
    spec.maps.resize(random_() % 5);
    for (MapInput& map : spec.maps) map = {std::uint64_t{Number()} << random_() % 32, Nodes()};
    return spec;
  }
  Event Any() {
    switch (random_() % std::variant_size_v<Event>) {
      case 0:
        return NodeJoined{{Number()}, Bytes(), Bytes(), {Number(), Number()}, std::ldexp(random_(), -20), Bytes()};
      case 1:
        return NodeLost{{Number()}};
      case 2:
        return NodeDrained{{Number()}, random_() % 2 == 0};
      case 3:
        return JobSubmitted{{Number()}, Spec()};
      case 4:
        return JobKilled{{Number()}, Bytes()};
      case 5:
        return JobPrioritySet{{Number()}, AnyPriority()};
      case 6:
        return AttemptLaunched{Attempt(), {Number()}};
      case 7:
        return AttemptSucceeded{Attempt(), Number(), Number(), {Number(), Number(), Number()}};
      case 8:
        if (random_() % 2 == 0) return AttemptFailed{Attempt(), Bytes()};
        return AttemptFailed{Attempt(), Bytes(),
                             RecordPlace{Number(), std::uint64_t{Number()} << random_() % 32, Number()}};
      case 9:
        return AttemptLost{Attempt(), Bytes()};
      case 10:
        return FetchFailed{Attempt(), Attempt()};
      case 11:
        return AttemptPreempted{Attempt(), Bytes()};
      case 12:
        return AttemptProgressed{Attempt(), Number()};
      case 13:
        if (random_() % 3 == 0) return ReduceCopied{Attempt()};
        return random_() % 2 == 0 ? Event(ReduceComputing{Attempt()}) : Event(ComputeGranted{Attempt()});
      case 14:
        return BandwidthMeasured{{Number()}, {Number()}, Number()};
      case 15:
        return NodeSpace{{Number()}, Number()};
      case 16:
        if (random_() % 2 == 0) return JobGivenUp{{Number()}, Bytes()};
        if (random_() % 2 == 0) return JobHeld{{Number()}, random_() % 2 == 0};
        return JobEvicted{{Number()}};
      case 17:
        if (random_() % 2 == 0) return OutputMoved{Attempt(), {Number()}};
        return SchedulerSet{Bytes(), Bytes()};
      default:
        return ReplicasMoved{Task(), Nodes()};
    }
  }
  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
};

TEST(EventText, AnyEventReadsBackAsItself) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator generator(seed);
  for (int i = 0; i < 20000; ++i) {
    const Event event = generator.Any();
    const Micros time = static_cast<Micros>(generator.Number()) - generator.Number();
    const std::string line = FormatEvent(time, event);
    ASSERT_EQ(line.find('\n'), std::string::npos) << line;
    const auto back = ParseEvent(line);
    ASSERT_TRUE(back.has_value()) << line;
    ASSERT_EQ(back->time, time);
    ASSERT_TRUE(event == back->event) << line;
  }
}

// Damaged lines and noise may be parsed or not, but nothing crashes, and what is parsed reads back as itself.
TEST(EventText, HostileBytesDoNoHarm) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator generator(seed);
  std::mt19937& random = generator.random();
  int parsed = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string line = i % 10 == 0 ? generator.Bytes() + generator.Bytes() : FormatEvent(i, generator.Any());
    for (auto changes = random() % 4; changes > 0 && !line.empty(); --changes) {
      const std::size_t at = random() % line.size();
      switch (random() % 4) {
        case 0:
          line[at] = static_cast<char>(random());
          break;
        case 1:
          line.erase(at, 1 + random() % 5);
          break;
        case 2:
          line.insert(at, line.substr(random() % line.size(), random() % 20));
          break;
        default:
          line.resize(at);
      }
    }
    const auto timed = ParseEvent(line);
    (void)ParseAttempt(line);
    if (!timed) continue;
    ++parsed;
    const auto again = ParseEvent(FormatEvent(timed->time, timed->event));
    const auto* job = std::get_if<JobSubmitted>(&timed->event);
    if (job != nullptr && std::isnan(job->spec.slow_start)) continue;
    ASSERT_TRUE(again && timed->event == again->event) << line;
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace millrace::sched
