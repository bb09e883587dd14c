// SPDX-License-Identifier: Apache-2.0
#include "client/process/task_messages.h"

#include <kj/exception.h>

#include "base/protocol/attempt_wire.h"
#include "base/protocol/task.capnp.h"
#include "dfs/wire/messages.h"

namespace millrace {
namespace {

namespace wire = task::wire;

std::string Str(capnp::Text::Reader text) { return {text.begin(), text.size()}; }
std::string Str(capnp::Data::Reader data) { return {reinterpret_cast<const char*>(data.begin()), data.size()}; }

InputPiece Decode(wire::InputPiece::Reader in) {
  auto piece = ReadMessage<InputPiece>(in, kInputPieceFields);
  for (const auto block : in.getBlocks()) piece.blocks.push_back(dfs::FromWire(block));
  return piece;
}

tls::CredentialTexts Decode(wire::Credentials::Reader in) {
  return {Str(in.getAuthorities()), {Str(in.getCertificate()), Str(in.getKey())}};
}

SetUp Decode(wire::SetUp::Reader in) {
  const auto job = in.getJob();
  SetUp out;
  out.job = JobId{job.getJob()};
  out.name = Str(job.getName());
  for (const auto parameter : job.getParameters()) {
    out.parameters.emplace_back(Str(parameter.getName()), Str(parameter.getValue()));
  }
  out.maps = job.getMaps();
  out.reduces = job.getReduces();
  out.output_directory = Str(job.getOutputDirectory());
  out.replication = job.getReplication();
  out.block_size = job.getBlockSize();
  out.owner = Str(job.getOwner());
  out.master = Str(in.getMaster());
  out.cluster = Str(in.getCluster());
  out.node = NodeId{in.getNode()};
  out.memory = in.getMemory();
  out.shared_directory = Str(in.getSharedDirectory());
  out.reserved_bytes = in.getReservedBytes();
  out.memory_limit = in.getMemoryLimit();
  out.credentials = Decode(in.getCredentials());
  return out;
}

template <class Wire>
void DecodeLaunch(Wire in, Launch* out) {
  out->attempt = FromWire(in.getAttempt());
  out->scratch = Str(in.getScratch());
  out->stdout_path = Str(in.getStdout());
  out->stderr_path = Str(in.getStderr());
}

MapLaunch Decode(wire::RunMap::Reader in) {
  MapLaunch out;
  DecodeLaunch(in, &out);
  for (const auto piece : in.getInputs()) out.inputs.push_back(Decode(piece));
  out.run_file = Str(in.getRunFile());
  const auto link = in.getLink();
  out.link = {link.getBytesPerSecond(), link.getCrossing(), link.getWaited(), link.getMaps()};
  for (const auto place : in.getLeftOut())
    out.left_out.push_back(ReadMessage<task::RecordPlace>(place, kRecordPlaceFields));
  out.record_note = Str(in.getRecordNote());
  return out;
}

ReduceLaunch Decode(wire::RunReduce::Reader in) {
  ReduceLaunch out;
  DecodeLaunch(in, &out);
  for (const auto segment : in.getSegments())
    out.segments.push_back({Str(segment.getFile()), ReadMessage<run::SegmentInfo>(segment, kSegmentFields)});
  return out;
}

Status CheckPieces(const MapLaunch& launch) {
  for (const InputPiece& piece : launch.inputs) {
    if (piece.offset <= piece.file_length && piece.length <= piece.file_length - piece.offset) continue;
    return Corrupt("task channel: a split of " + piece.path + " lies outside of the file");
  }
  return Status::Ok();
}

template <class List>
void EncodeCounters(const std::vector<CounterValue>& counters, List out) {
  for (std::size_t i = 0; i < counters.size(); ++i) {
    auto counter = out[static_cast<capnp::uint>(i)];
    counter.setGroup(counters[i].group);
    counter.setName(counters[i].name);
    counter.setValue(counters[i].value);
  }
}

void Encode(const TaskOutput& output, wire::Output::Builder out) {
  out.setPresent(true);
  out.setFile(output.file.file);
  out.setName(output.name);
  out.setBytes(output.file.bytes);
  auto blocks = out.initBlocks(static_cast<capnp::uint>(output.file.blocks.size()));
  for (capnp::uint i = 0; i < blocks.size(); ++i) dfs::ToWire(output.file.blocks[i], blocks[i]);
}

std::string OneLine(std::string text) {
  constexpr std::size_t kLongestLine = 4096;
  if (text.size() > kLongestLine) text.resize(kLongestLine);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

}  // namespace

Result<ToTask> DecodeToTask(const task::Message& message) {
  try {
    const auto root = message.Root<wire::ToTask>();
    switch (root.which()) {
      case wire::ToTask::SET_UP:
        return ToTask(Decode(root.getSetUp()));
      case wire::ToTask::MAP: {
        MapLaunch launch = Decode(root.getMap());
        MILLRACE_TRY(CheckPieces(launch));
        return ToTask(std::move(launch));
      }
      case wire::ToTask::REDUCE:
        return ToTask(Decode(root.getReduce()));
      case wire::ToTask::EXIT:
        return ToTask(Exit{});
      case wire::ToTask::CREDENTIALS:
        return ToTask(Decode(root.getCredentials()));
    }
  } catch (const kj::Exception& e) {
    return Corrupt(std::string("task channel: malformed message: ") + e.getDescription().cStr());
  }
  return Corrupt(
      "task channel: a message of a kind that this program does not know; was it built for another version?");
}

void EncodeReady(const std::string& error, capnp::MessageBuilder* message) {
  message->initRoot<wire::FromTask>().initReady().setError(OneLine(error));
}

void EncodeProgress(const AttemptId& attempt, double fraction, const std::string& status,
                    const std::vector<CounterValue>& counters, std::uint64_t emitted, capnp::MessageBuilder* message) {
  auto progress = message->initRoot<wire::FromTask>().initProgress();
  ToWire(attempt, progress.initAttempt());
  progress.setFraction(static_cast<float>(fraction));
  progress.setStatus(OneLine(status));
  progress.setEmitted(emitted);
  EncodeCounters(counters, progress.initCounters(static_cast<capnp::uint>(counters.size())));
}

void EncodeDone(const AttemptId& attempt, const std::vector<CounterValue>& counters,
                const std::vector<TaskOutput>& outputs, const AttemptUse& use, capnp::MessageBuilder* message) {
  auto done = message->initRoot<wire::FromTask>().initDone();
  ToWire(attempt, done.initAttempt());
  EncodeCounters(counters, done.initCounters(static_cast<capnp::uint>(counters.size())));
  auto used = done.initUse();
  used.setCpu(static_cast<std::uint64_t>(use.cpu));
  used.setWaited(static_cast<std::uint64_t>(use.waited));
  used.setStart(static_cast<std::uint64_t>(use.start));
  if (outputs.empty()) return;
  Encode(outputs.front(), done.initOutput());
  auto named = done.initNamed(static_cast<capnp::uint>(outputs.size() - 1));
  for (capnp::uint i = 0; i < named.size(); ++i) Encode(outputs[i + 1], named[i]);
}

void EncodeFailed(const AttemptId& attempt, const Status& failure, capnp::MessageBuilder* message) {
  auto failed = message->initRoot<wire::FromTask>().initFailed();
  ToWire(attempt, failed.initAttempt());
  failed.setError(OneLine(failure.message()));
  failed.setPermanent(failure.code() == StatusCode::kUnsupported);
}

}  // namespace millrace
