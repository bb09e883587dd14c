// SPDX-License-Identifier: Apache-2.0
// TaskDriver is the daemon's end of the channel to a task loop. The loop runs on a thread of the test.
#pragma once

#include <capnp/message.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/protocol/task.capnp.h"
#include "client/api/job.h"
#include "client/process/task_loop.h"
#include "tests/client/api/task_files.h"
#include "worker/task/channel/channel.h"
#include "worker/task/channel/record_note.h"

namespace millrace {

namespace wire = task::wire;

class TaskDriver {
 public:
  TaskDriver(JobBinding binding, TaskFiles& files, std::chrono::milliseconds interval = std::chrono::hours(1))
      : directory_(*TempDir::Make("task")), binding_(std::move(binding)) {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    channel_ = std::make_unique<task::Channel>(Fd(fds[0]));
    TaskLoopOptions options{TaskStorage(files, directory_.path()), interval, [this] { gone_ = true; }, Random(1)};
    thread_ = std::thread([this, fd = fds[1], options] {
      exit_status_ = RunTaskLoop({&binding_, 1}, Fd(fd), options);
    });
  }
  ~TaskDriver() {
    if (thread_.joinable()) Close();
  }

  // Closes the daemon's end. Returns the exit status of the loop.
  int Close() {
    channel_.reset();
    thread_.join();
    return exit_status_;
  }
  [[nodiscard]] bool noticed_end() const { return gone_; }
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  void Send(const std::function<void(wire::ToTask::Builder)>& fill) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<wire::ToTask>());
    EXPECT_TRUE(channel_->Write(message).ok());
  }
  task::Message Receive() {
    auto message = channel_->Read();
    EXPECT_TRUE(message.ok() && message->has_value());
    return std::move(**message);
  }

  // Returns the error in the task's Ready message; empty if it succeeded.
  std::string SetUpJob(std::uint32_t reduces, std::vector<std::pair<std::string, std::string>> parameters = {}) {
    Send([&](wire::ToTask::Builder to) {
      auto set_up = to.initSetUp();
      set_up.setMemory(8 << 20);
      auto job = set_up.initJob();
      job.setJob(3);
      job.setName("test");
      job.setReduces(reduces);
      const std::string output = "/out";
      job.setOutputDirectory(capnp::Data::Reader(reinterpret_cast<const kj::byte*>(output.data()), output.size()));
      auto list = job.initParameters(static_cast<capnp::uint>(parameters.size()));
      for (capnp::uint i = 0; i < list.size(); ++i) {
        list[i].setName(parameters[i].first);
        list[i].setValue(parameters[i].second);
      }
    });
    const task::Message message = Receive();
    EXPECT_TRUE(message.Root<wire::FromTask>().isReady());
    return message.Root<wire::FromTask>().getReady().getError().cStr();
  }

  struct Piece {
    std::string path, name;
    std::uint64_t file_length = 0, offset = 0, length = 0, block = 0;  // the one block contains the split's bytes
    std::uint32_t input = 0;
  };
  void LaunchMap(std::uint32_t task, const std::vector<Piece>& pieces, const std::string& run_file,
                 const std::string& stdout_path = "", double link_bytes_per_second = 0,
                 const std::vector<task::RecordPlace>& left_out = {}) {
    Send([&](wire::ToTask::Builder to) {
      auto map = to.initMap();
      map.setRecordNote(Path("note"));
      auto places = map.initLeftOut(static_cast<capnp::uint>(left_out.size()));
      for (capnp::uint i = 0; i < places.size(); ++i) {
        places[i].setInput(left_out[i].input);
        places[i].setOffset(left_out[i].offset);
        places[i].setNth(left_out[i].nth);
      }
      if (link_bytes_per_second > 0) {
        auto link = map.initLink();
        link.setBytesPerSecond(link_bytes_per_second);
        link.setCrossing(0.5);
        link.setWaited(1);
        link.setMaps(1);
      }
      map.initAttempt().setTask(task);
      map.getAttempt().setJob(3);
      map.setScratch(directory_.path());
      map.setRunFile(run_file);
      map.setStdout(stdout_path);
      auto inputs = map.initInputs(static_cast<capnp::uint>(pieces.size()));
      for (capnp::uint i = 0; i < inputs.size(); ++i) Fill(pieces[i], inputs[i]);
    });
  }
  // Launches reduce `task` over its segments in the run files, in the order of the files.
  void LaunchReduce(std::uint32_t task, const std::vector<std::string>& runs, std::uint32_t crc_error = 0) {
    Send([&](wire::ToTask::Builder to) {
      auto reduce = to.initReduce();
      reduce.initAttempt().setTask(task);
      reduce.getAttempt().setJob(3);
      reduce.getAttempt().setReduce(true);
      reduce.setScratch(directory_.path());
      auto segments = reduce.initSegments(static_cast<capnp::uint>(runs.size()));
      for (capnp::uint i = 0; i < segments.size(); ++i) {
        auto fd = OpenFile(runs[i], 0);
        const run::SegmentInfo info = (*run::ReadRunIndex(fd->get(), runs[i])).at(task);
        segments[i].setFile(runs[i]);
        segments[i].setOffset(info.offset);
        segments[i].setLength(info.length);
        segments[i].setRawLength(info.raw_length);
        segments[i].setRecords(info.records);
        segments[i].setCrc(info.crc ^ crc_error);
        segments[i].setCompressed(info.compressed);
        segments[i].setAnyOrder(info.order == run::RecordOrder::kAny);
      }
    });
  }

  // The end of an attempt. `error` is empty if the attempt succeeded. `counters` are those of the engine and of the
  // job, named "group.name".
  struct End {
    std::string error;
    std::map<std::string, std::int64_t> counters;
    bool output = false;
    std::string output_name;
    std::uint64_t output_bytes = 0;
    std::vector<std::string> named;                // the files of named outputs
    bool permanent = false;                        // another attempt would fail in the same way
    std::uint64_t cpu = 0, waited = 0, start = 0;  // ProcessorUse
  };
  End WaitForEnd() {
    while (true) {
      const task::Message message = Receive();
      const auto from = message.Root<wire::FromTask>();
      if (from.isProgress()) continue;
      if (from.isFailed())
        return {from.getFailed().getError().cStr(), {}, false, "", 0, {}, from.getFailed().getPermanent()};
      EXPECT_TRUE(from.isDone());
      End end;
      for (const auto counter : from.getDone().getCounters()) {
        end.counters[std::string(counter.getGroup().cStr()) + "." + counter.getName().cStr()] = counter.getValue();
      }
      const auto use = from.getDone().getUse();
      end.cpu = use.getCpu(), end.waited = use.getWaited(), end.start = use.getStart();
      const auto output = from.getDone().getOutput();
      end.output = output.getPresent();
      end.output_name = output.getName().cStr();
      end.output_bytes = output.getBytes();
      for (const auto named : from.getDone().getNamed()) end.named.emplace_back(named.getName().cStr());
      return end;
    }
  }

 private:
  static void Fill(const Piece& piece, wire::InputPiece::Builder input) {
    const auto data = [](const std::string& text) {
      return capnp::Data::Reader(reinterpret_cast<const kj::byte*>(text.data()), text.size());
    };
    input.setPath(data(piece.path));
    input.setName(data(piece.name));
    input.setFileLength(piece.file_length);
    input.setOffset(piece.offset);
    input.setLength(piece.length);
    input.setInput(piece.input);
    auto block = input.initBlocks(1)[0];
    block.setOffset(piece.offset);
    block.initBlock().setId(piece.block);
    block.getBlock().setLength(piece.length);
  }

  TempDir directory_;
  JobBinding binding_;
  std::unique_ptr<task::Channel> channel_;
  std::thread thread_;
  std::atomic<bool> gone_{false};
  int exit_status_ = -1;
};

// Adds a file of one block on this machine. Returns a Piece that contains the whole file.
inline TaskDriver::Piece AddLocal(TaskFiles& files, std::uint64_t block, const std::string& name,
                                  const std::string& bytes) {
  files.local[block] = bytes;
  files.tree->MakeFile("/in/" + name, bytes);
  return {"/in/" + name, name, bytes.size(), 0, bytes.size(), block};
}

}  // namespace millrace
