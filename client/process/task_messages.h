// SPDX-License-Identifier: Apache-2.0
// The messages of base/protocol/task.capnp as plain structs, for the task's side of the channel.
// Thread rule: values.
#pragma once

#include <capnp/message.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/tls/credentials.h"
#include "client/job/counters.h"
#include "client/job/segments.h"
#include "client/job/task_context.h"
#include "client/process/processor_meter.h"
#include "dfs/client/dfs_client.h"
#include "dfs/wire/blocks.h"
#include "worker/task/channel/channel.h"
#include "worker/task/channel/record_note.h"
#include "worker/task/run/compress_choice.h"

namespace millrace {

struct SetUp {
  JobId job;
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::uint32_t maps = 0;
  std::uint32_t reduces = 0;
  std::string output_directory;
  std::uint32_t replication = 0;
  std::uint64_t block_size = 0;
  std::string owner;
  std::string master, cluster;
  NodeId node;
  std::uint64_t memory = 0;
  std::string shared_directory;      // for files that the job's tasks on this machine share
  std::uint64_t reserved_bytes = 0;  // bytes that stay free on the disk of that directory
  std::uint64_t memory_limit = 0;    // of the process; 0: none
  tls::CredentialTexts credentials;  // all empty without TLS
};

// The fields that the launches of maps and reduces share.
struct Launch {
  AttemptId attempt;
  std::string scratch, stdout_path, stderr_path;
};

struct InputPiece {
  std::string path;
  std::uint64_t file_length = 0, offset = 0, length = 0;
  std::vector<dfs::LocatedBlock> blocks;
  std::string name;
  std::uint32_t input = 0;  // the number of the job's input that named it
};

struct MapLaunch : Launch {
  std::vector<InputPiece> inputs;
  std::string run_file;
  run::ShuffleLink link;
  std::vector<task::RecordPlace> left_out;
  std::string record_note;
};

struct ReduceLaunch : Launch {
  std::vector<ReduceSegment> segments;
};

struct Exit {};

using ToTask = std::variant<SetUp, MapLaunch, ReduceLaunch, Exit, tls::CredentialTexts>;

// Decodes a message. Returns kCorrupt if it is malformed or of a kind that this program does not know.
[[nodiscard]] Result<ToTask> DecodeToTask(const task::Message& message);

// A file that does not have its name yet.
struct TaskOutput {
  std::string name;
  dfs::FileWriter::HandedOver file;
};

void EncodeReady(const std::string& error, capnp::MessageBuilder* message);
void EncodeProgress(const AttemptId& attempt, double fraction, const std::string& status,
                    const std::vector<CounterValue>& counters, std::uint64_t emitted, capnp::MessageBuilder* message);
// `outputs` are the files that the attempt wrote, the part file first.
void EncodeDone(const AttemptId& attempt, const std::vector<CounterValue>& counters,
                const std::vector<TaskOutput>& outputs, const AttemptUse& use, capnp::MessageBuilder* message);
// Encodes a failure; its message is made one line of at most 4 KiB. A kUnsupported failure is permanent: another
// attempt would fail in the same way.
void EncodeFailed(const AttemptId& attempt, const Status& failure, capnp::MessageBuilder* message);

}  // namespace millrace
