// SPDX-License-Identifier: Apache-2.0
#include "master/control/wire_codec.h"

#include <capnp/message.h>
#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <string>

namespace millrace::master {
namespace {

using ::testing::HasSubstr;

// Returns the result of FromWire for a valid request that `change` has changed.
Status StatusOf(const std::function<void(wire::JobRequest::Builder)>& change) {
  capnp::MallocMessageBuilder message;
  auto request = message.initRoot<wire::JobRequest>();
  request.setName("job");
  request.initInputs(1).set(0, ToData("/in"));
  request.setOutput(ToData("/out"));
  change(request);
  return FromWire(request.asReader()).status();
}

TEST(WireCodecTest, WhatNoClientOfOursSendsIsRefused) {
  EXPECT_TRUE(StatusOf([](wire::JobRequest::Builder) {}).ok());
  using Builder = wire::JobRequest::Builder;
  EXPECT_THAT(StatusOf([](Builder r) { r.initInputs(0); }).message(), HasSubstr("no input"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setReduces(1001); }).message(), HasSubstr("1001 reducers"));
  EXPECT_TRUE(StatusOf([](Builder r) { r.setReduces(1000); }).ok());
  EXPECT_THAT(StatusOf([](Builder r) { r.setPriority(5); }).message(), HasSubstr("priority 5"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setSlowStart(1.5); }).message(), HasSubstr("slow_start"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setSlowStart(std::numeric_limits<double>::quiet_NaN()); }).message(),
              HasSubstr("slow_start"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setMaxFailedMaps(101); }).message(), HasSubstr("max_failed_maps"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setSkipBadRecords(1001); }).message(), HasSubstr("skip_bad_records"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setMaxAttempts(0); }).message(), HasSubstr("max_attempts"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setDeadlineMillis(std::numeric_limits<std::uint64_t>::max()); }).message(),
              HasSubstr("deadline"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setPool(std::string(256, 'p')); }).message(), HasSubstr("pool"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setName(std::string(256, 'n')); }).message(), HasSubstr("name has 256 bytes"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setOwner(std::string(200'000, 'o')); }).message(), HasSubstr("owner"));
  EXPECT_THAT(StatusOf([](Builder r) { r.initParameters(1)[0].setName(std::string(300, 'p')); }).message(),
              HasSubstr("parameter"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setMapTime(std::numeric_limits<std::uint64_t>::max()); }).message(),
              HasSubstr("more than a day"));
  EXPECT_THAT(StatusOf([](Builder r) { r.initLocalityWaits(4); }).message(), HasSubstr("three locality waits"));
  EXPECT_THAT(StatusOf([](Builder r) { r.initLocalityWaits(1).set(0, ~std::uint64_t{0}); }).message(),
              HasSubstr("locality wait of more than a day"));
  EXPECT_THAT(StatusOf([](Builder r) { r.setSplitBy(static_cast<wire::SplitBy>(77)); }).message(),
              HasSubstr("splitting"));
  const auto numbers = [](Builder r, unsigned inputs, std::uint32_t maps) {
    r.setSplitBy(wire::SplitBy::NUMBERS);
    r.initInputs(inputs);
    r.setMaps(maps);
  };
  EXPECT_TRUE(StatusOf([&](Builder r) { numbers(r, 0, 100'000); }).ok());
  EXPECT_THAT(StatusOf([&](Builder r) { numbers(r, 0, 0); }).message(), HasSubstr("0 maps"));
  EXPECT_THAT(StatusOf([&](Builder r) { numbers(r, 0, 100'001); }).message(), HasSubstr("100001 maps"));
  EXPECT_THAT(StatusOf([&](Builder r) { numbers(r, 1, 1); }).message(), HasSubstr("names some"));
  const auto cuts = [](Builder r, unsigned inputs, unsigned mappers, wire::SplitBy last) {
    r.initInputs(inputs);
    auto list = r.initCuts(mappers);
    if (mappers > 0) list[mappers - 1].setSplitBy(last);
  };
  EXPECT_TRUE(StatusOf([&](Builder r) { cuts(r, 2, 2, wire::SplitBy::FILE); }).ok());
  EXPECT_TRUE(StatusOf([&](Builder r) { cuts(r, 2, 0, wire::SplitBy::FILE); }).ok());
  EXPECT_THAT(StatusOf([&](Builder r) { cuts(r, 3, 2, wire::SplitBy::FILE); }).message(),
              HasSubstr("3 inputs for 2 mappers"));
  EXPECT_THAT(StatusOf([&](Builder r) { cuts(r, 2, 2, wire::SplitBy::NUMBERS); }).message(), HasSubstr("not numbers"));
  EXPECT_THAT(StatusOf([&](Builder r) { cuts(r, 2, 2, static_cast<wire::SplitBy>(77)); }).message(),
              HasSubstr("splitting"));
}

JobRequest FullRequest() {
  JobRequest request;
  request.name = "words of\nall";
  request.owner = "ann";
  request.inputs = {"/a", std::string("/b\0\xff", 4)};
  request.output = "/out";
  request.reduces = 7;
  request.parameters = {{"grep.pattern", "a\tb"}, {"empty", ""}};
  request.priority = 4;
  request.executable = {"/.millrace/executables/ab12", std::uint64_t{1} << 40, 0xfedcba98};
  request.split_by = SplitBy::kFixed;
  request.record_bytes = 100;
  request.pool = "ads";
  request.deadline = 90 * kSecond;
  request.token = "0123abcd";
  request.slow_start = 0.375;
  request.max_attempts = 9;
  request.max_failed_maps = 10;
  request.skip_bad_records = 11;
  request.map_time = 30 * kSecond;
  request.reduce_time = 1;
  request.locality_waits = {0, 5 * kSecond, 7};
  request.input_sample = std::string("\0<p>", 4);
  request.maps = 12;
  request.records = std::uint64_t{1} << 50;
  request.pack = std::uint64_t{1} << 27;
  request.decompresses = true;
  request.uncut = {"/a"};
  request.cuts = {{SplitBy::kFile, true}, {SplitBy::kFixed, false}};
  request.no_speculation = true;
  request.after = {{3}, {4}};
  request.even_if_failed = true;
  request.held = true;
  return request;
}

TEST(WireCodecTest, ARequestArrivesAsItWasSent) {
  for (const JobRequest& request : {FullRequest(), [] {
                                      JobRequest least;  // all that may be left out is
                                      least.inputs = {"/a"};
                                      return least;
                                    }()}) {
    capnp::MallocMessageBuilder message;
    const auto out = message.initRoot<wire::JobRequest>();
    ToWire(request, out);
    const Result<JobRequest> read = FromWire(out.asReader());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, request);
  }
}

TEST(WireCodecTest, AStatusArrivesAsItWasSent) {
  JobStatus status;
  status.job = JobId{3};
  status.name = "words";
  status.owner = "ann";
  status.state = JobState::kFailed;
  status.reason = "why";
  status.priority = 1;
  status.pool = "ads";
  status.output = "/out";
  status.submitted = 11;
  status.first_launch = 12;
  status.ended = 13;
  status.maps = {14, 15, 16, 0.5};
  status.reduces = {17, 18, 19, 0.25};
  status.copy_fraction = 0.125;
  status.maps_at = {20, 21, 22, 23};
  status.failed_attempts = 24;
  status.killed_attempts = 25;
  status.preempted_attempts = 26;
  status.speculative_attempts = 27;
  status.maps_left_out = 28;
  status.left_out = {{3, "/in, bytes 7 to 9"}, {4, "numbers 0 to 9"}};
  status.records_left_out = 29;
  status.left_out_records = {{3, "/in", 1 << 30}, {4, "", 8}};
  status.deadline = 30;
  status.input_bytes = 31;
  status.bytes_read = 32;
  status.bytes_shuffled = 33;
  status.bytes_written = 34;
  status.after = {{1}, {2}};
  status.waits_for = {{2}};
  status.even_if_failed = true;
  status.held = true;
  status.queued = 35;
  capnp::MallocMessageBuilder message;
  const auto out = message.initRoot<wire::JobStatus>();
  ToWire(status, out);
  EXPECT_EQ(FromWire(out.asReader()), status);

  AttemptStatus attempt{ReduceAttemptId(JobId{3}, 4, 5), NodeId{6}, "host", AttemptState::kPreempted, 7, 8, "why"};
  const auto attempt_out = message.initRoot<wire::AttemptStatus>();
  ToWire(attempt, attempt_out);
  EXPECT_EQ(FromWire(attempt_out.asReader()), attempt);
}

TEST(WireCodecTest, TheStatusOfAFileArrivesAsItWasSent) {
  const dfs::FileStatus file{
      "/a/b",  false, std::uint64_t{1} << 40, 3, std::uint64_t{64} << 20, 1'700'000'000'000'000, "ann",
      "staff", 0640,  ~std::uint64_t{0}};
  dfs::FileStatus directory;
  directory.path = std::string("/\0\xff", 3);
  directory.directory = true;
  for (const dfs::FileStatus& status : {file, directory}) {
    capnp::MallocMessageBuilder message;
    const auto out = message.initRoot<dfs::wire::FileStatus>();
    dfs::ToWire(status, out);
    EXPECT_EQ(dfs::FromWire(out.asReader()), status);
  }
}

TEST(WireCodecTest, AStateOfANewerMasterHasNotEnded) {
  capnp::MallocMessageBuilder message;
  auto job = message.initRoot<wire::JobStatus>();
  job.setState(static_cast<wire::JobState>(5));
  EXPECT_EQ(FromWire(job.asReader()).state, JobState::kRunning);
  auto attempt = message.initRoot<wire::AttemptStatus>();
  attempt.setState(static_cast<wire::AttemptState>(6));
  EXPECT_EQ(FromWire(attempt.asReader()).state, AttemptState::kRunning);
}

TEST(WireCodecTest, AWorkerThatCannotBeIsRefused) {
  const auto status = [](const std::function<void(wire::WorkerInfo::Builder)>& change) {
    capnp::MallocMessageBuilder message;
    auto info = message.initRoot<wire::WorkerInfo>();
    info.setStorage("s");
    info.setHost("h");
    change(info);
    return Read(info.asReader()).status();
  };
  EXPECT_TRUE(status([](wire::WorkerInfo::Builder) {}).ok());
  EXPECT_FALSE(status([](wire::WorkerInfo::Builder w) { w.setStorage(""); }).ok());
  EXPECT_FALSE(status([](wire::WorkerInfo::Builder w) { w.setMapSlots(1'000'000); }).ok());
  EXPECT_FALSE(status([](wire::WorkerInfo::Builder w) { w.setRack(std::string(300, 'r')); }).ok());
}

TEST(WireCodecTest, ATaskThatInventsCountersDoesNotFillTheMaster) {
  capnp::MallocMessageBuilder message;
  auto done = message.initRoot<task::wire::Done>();
  auto counters = done.initCounters(5000);
  for (unsigned i = 0; i < counters.size(); ++i) {
    counters[i].setGroup("g");
    counters[i].setName("n" + std::to_string(i));
    counters[i].setValue(1);
  }
  EXPECT_EQ(ReadCounters(done.asReader().getCounters()).size(), kMostCountersOfTask + 1)
      << "too many, as is known then";
}

TEST(WireCodecTest, AJobIsInThePoolThatItNamesElseInItsOwners) {
  JobRecord record;
  record.request.owner = "ann";
  JobView view;
  view.record = &record;
  const auto pool = [&view] {
    capnp::MallocMessageBuilder message;
    const auto out = message.initRoot<wire::JobStatus>();
    Write(view, out);
    return std::string(out.asReader().getPool().cStr());
  };
  EXPECT_EQ(pool(), "ann");
  record.request.pool = "ads";
  EXPECT_EQ(pool(), "ads");
}

TEST(WireCodecTest, AttemptsRoundTrip) {
  capnp::MallocMessageBuilder message;
  const AttemptId attempt{{JobId{3}, TaskKind::kReduce, 17}, 2};
  auto out = message.initRoot<task::wire::Attempt>();
  ToWire(attempt, out);
  EXPECT_EQ(FromWire(out.asReader()), attempt);
}

}  // namespace
}  // namespace millrace::master
