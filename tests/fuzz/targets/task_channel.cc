// SPDX-License-Identifier: Apache-2.0
// The channel between worker and task: frames whose checksum is right around any bytes, read as the worker and as the
// task read them. The first byte: bit 0 whether the frame is the input's own, bit 1 who reads.
#include "base/bytes.h"
#include "base/protocol/task.capnp.h"
#include "client/process/task_messages.h"
#include "tests/fuzz/fuzz.h"
#include "worker/task/channel/channel.h"

using namespace millrace;

namespace {

std::string Body(capnp::MessageBuilder& message) { return task::EncodeFrame(message)->substr(task::kFrameHeaderBytes); }

std::string Frame(std::string_view body) {
  capnp::MallocMessageBuilder empty;
  empty.initRoot<task::wire::FromTask>();
  std::string frame = task::EncodeFrame(empty)->substr(0, 4);
  Encoder rest;
  rest.U32(static_cast<std::uint32_t>(body.size()));
  rest.U32(Crc32c(body));
  return frame + rest.bytes() + std::string(body);
}

void ReadAsWorker(const task::Message& message) {
  std::size_t sum = 0;
  const auto counters = [&](auto list) {
    for (const auto counter : list)
      sum += counter.getGroup().size() + counter.getName().size() + static_cast<std::size_t>(counter.getValue() & 1);
  };
  const auto root = message.Root<task::wire::FromTask>();
  switch (root.which()) {
    case task::wire::FromTask::READY:
      sum += root.getReady().getError().size();
      break;
    case task::wire::FromTask::PROGRESS:
      sum += root.getProgress().getStatus().size();
      counters(root.getProgress().getCounters());
      break;
    case task::wire::FromTask::DONE:
      counters(root.getDone().getCounters());
      for (const auto named : root.getDone().getNamed()) sum += named.getName().size() + named.getBlocks().size();
      for (const auto block : root.getDone().getOutput().getBlocks())
        sum += block.getNodes().size() + block.getBlock().getLength() % 2;
      break;
    case task::wire::FromTask::FAILED:
      sum += root.getFailed().getError().size();
      break;
  }
  fuzz::Require(sum < std::size_t{1} << 40, "sizes");
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  std::vector<std::string> seeds;
  const AttemptId attempt{};
  {
    capnp::MallocMessageBuilder m;
    EncodeReady("bad option", &m);
    seeds.push_back(std::string(1, 0) + Body(m));
  }
  {
    capnp::MallocMessageBuilder m;
    EncodeProgress(attempt, 0.5, "half", {{"g", "n", 7}}, 9, &m);
    seeds.push_back(std::string(1, 0) + Body(m));
  }
  {
    capnp::MallocMessageBuilder m;
    EncodeDone(attempt, {{"g", "n", 7}, {"g", "m", -7}}, {}, {}, &m);
    seeds.push_back(std::string(1, 0) + Body(m));
  }
  {
    capnp::MallocMessageBuilder m;
    auto setup = m.initRoot<task::wire::ToTask>().initSetUp();
    setup.setMaster("host:1");
    auto parameters = setup.initJob().initParameters(2);
    parameters[0].setName("a.b");
    parameters[0].setValue("c");
    seeds.push_back(std::string(1, 2) + Body(m));
  }
  {
    capnp::MallocMessageBuilder m;
    auto map = m.initRoot<task::wire::ToTask>().initMap();
    auto input = map.initInputs(1)[0];
    input.setLength(100);
    auto block = input.initBlocks(1)[0];
    block.initReplicas(2)[1].setHost("host");
    map.setRunFile("/run");
    seeds.push_back(std::string(1, 2) + Body(m));
  }
  {
    capnp::MallocMessageBuilder m;
    auto segment = m.initRoot<task::wire::ToTask>().initReduce().initSegments(2)[1];
    segment.setFile("/copy");
    segment.setLength(5);
    seeds.push_back(std::string(1, 2) + Body(m));
    seeds.push_back(std::string(1, 1) + *task::EncodeFrame(m));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const std::uint8_t how = draw.Byte();
  const std::string stream = (how & 1) != 0 ? std::string(draw.rest()) : Frame(draw.rest());
  task::FrameParser parser;
  for (std::size_t at = 0; at < stream.size(); at += 1000) {
    parser.Feed(std::string_view(stream).substr(at, 1000));
    while (true) {
      try {
        const auto message = parser.Next();
        if (!message.ok() || !message->has_value()) break;
        if ((how & 2) != 0) {
          (void)DecodeToTask(**message);
        } else {
          ReadAsWorker(**message);
        }
      } catch (const kj::Exception&) {
        break;  // malformed in spite of its checksum: the border that channel.h names
      }
    }
  }
  return 0;
}
