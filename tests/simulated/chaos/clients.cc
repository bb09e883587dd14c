// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/clients.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "master/control/wire_codec.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {
namespace {

using dfs::wire::NameService;

// Turns the promise of a request, which has a type of its own, into a plain one.
template <class Promise>
auto Plain(Promise&& promise) {
  return promise.then([](auto&& answer) { return kj::mv(answer); });
}

}  // namespace

Client::Client(Cluster& cluster, std::uint32_t number)
    : cluster_(cluster),
      world_(cluster.world()),
      number_(number),
      random_(world_.Fork()),
      host_(cluster.AddHost()),
      process_(world_, "client" + std::to_string(number)),
      files_caller_(world_, cluster.network(), host_, process_),
      jobs_caller_(world_, cluster.network(), host_, process_),
      home_("/c" + std::to_string(number)) {
  process_.Start();
}

void Client::Start() {
  cluster_.checker().ActorBegins();
  world_.Run([this](kj::WaitScope& scope) {
    WorkWithJobs(scope);
    cluster_.checker().ActorEnds();
  });
  cluster_.checker().ActorBegins();
  world_.Run([this](kj::WaitScope& scope) {
    if (cluster_.plan().file_work) WorkWithFiles(scope);
    while (!cluster_.faults().over() || !cluster_.whole()) Sleep(scope, 1);
    Sleep(scope, 30);  // those who are to be waited for are back
    ReadAll(scope);
    cluster_.checker().ActorEnds();
  });
}

// ---- what both need ----

void Client::Sleep(kj::WaitScope& scope, double seconds) { (void)Await(world_.Sleep(seconds), scope); }

std::string Client::RandomData() {
  std::string data(40 + random_.Below(100), ' ');
  for (char& c : data) c = static_cast<char>('A' + random_.Below(26));
  return data;
}

std::uint64_t Client::Misled() const {
  return cluster_.master().misled() ? UINT64_MAX : cluster_.master().misled_times();
}

Status Client::Trust(Status status, std::uint64_t misled) const {
  if (misled != UINT64_MAX && misled == Misled()) return status;
  return Cancelled("the master was another one");
}

Client::Era Client::Now() const { return {cluster_.master().set_backs(), cluster_.master().doubts()}; }

bool Client::MayBeForGood(const Era& asked) const {
  return asked.set_backs % 2 == 1 ? !asked.doubts : cluster_.master().set_backs() != asked.set_backs;
}

void Client::Fence(kj::WaitScope& scope) {
  const std::string path = fmt::format("/fences{}/{}", home_, fences_++);
  Sleep(scope, 1);
  while (true) {
    const std::uint64_t misled = Misled();
    const auto made = files_caller_.Call<NameService::MakeDirectoryResults>(
        scope, "make a directory", [&](master::wire::Master::Client master) {
          auto request = NamesOf(master).makeDirectoryRequest();
          request.setPath(master::ToData(path));
          return Plain(request.send());
        });
    if (Trust(made.ok() ? Status::Ok() : made.status(), misled).ok()) return;
    Sleep(scope, 1);
  }
}

Client::FoundFile Client::FindFile(kj::WaitScope& scope, const std::string& path) {
  while (true) {
    const std::uint64_t misled = Misled();
    const auto found =
        files_caller_.Call<NameService::StatResults>(scope, "stat", [&](master::wire::Master::Client master) {
          auto request = NamesOf(master).statRequest();
          request.setPath(master::ToData(path));
          return Plain(request.send());
        });
    const Status status = Trust(found.ok() ? Status::Ok() : found.status(), misled);
    if (status.ok()) return {found->getStatus().getId(), found->getStatus().getReplication()};
    if (status.code() == StatusCode::kNotFound) return {};
    Sleep(scope, 1);
  }
}

void Client::Keep(const std::string& path, File file) {
  for (std::size_t i = 0; i < file.blocks.size(); ++i)
    cluster_.checker().Acknowledge(file.blocks[i], {file.data[i], file.replication, path});
  files_[path] = std::move(file);
}

void Client::Release(const File& file) {
  for (const std::uint64_t block : file.blocks) cluster_.checker().Release(block);
}

// ---- files ----

Client::Outcome Client::Put(kj::WaitScope& scope, const std::string& path, std::vector<std::string> data,
                            bool overwrite, bool may_go) {
  const std::uint64_t misled = Misled();
  FileMaker maker(cluster_, files_caller_, host_);
  const auto not_written = [&](const Status& why) {
    world_.Note(fmt::format("client{} does not write {}: {}", number_, path, why.message()));
    return Outcome::kNotDone;
  };
  const Status created = Trust(maker.Create(scope, path, cluster_.plan().replication, overwrite), misled);
  if (!created.ok()) return not_written(created);
  for (const std::string& block : data) {
    if (may_go && cluster_.faults().WriterGoes()) return Outcome::kNotDone;
    const Status added = Trust(maker.AddBlock(scope, block), misled);
    if (!added.ok()) return not_written(added);
  }
  const auto old = files_.find(path);
  File before;
  if (old != files_.end()) {
    before = old->second;
    Release(before);
    files_.erase(old);
  }
  File file{maker.written().file, {}, std::move(data), cluster_.plan().replication};
  for (const Written::Block& block : maker.written().blocks) file.blocks.push_back(block.id);
  const Era asked = Now();
  const Status completed = Trust(maker.Complete(scope), misled);
  const bool for_good = MayBeForGood(asked);
  bool done = completed.ok();
  if (completed.code() == StatusCode::kCancelled) {
    Fence(scope);
    const std::uint64_t now = FindFileId(scope, path);
    done = now == file.id;
    if (!done && now != before.id)
      world_.Fail("names", fmt::format("{} is file {}, but was {} or {}", path, now, before.id, file.id));
  }
  if (done) {
    world_.Note(
        fmt::format("client{} wrote {}: file {}, blocks {}", number_, path, file.id, fmt::join(file.blocks, " ")));
    Keep(path, std::move(file));
  } else if (before.id != 0) {
    for_good ? Discard(scope, path) : Keep(path, std::move(before));
  }
  return done ? Outcome::kDone : Outcome::kNotDone;
}

// The writer of this file syncs it and leaves. The file appears with what was synced, and with nothing that was not
// written.
void Client::Stream(kj::WaitScope& scope, const std::string& path) {
  const std::uint64_t misled = Misled();
  Written written;
  std::vector<std::string> data;
  std::size_t synced = 0;
  {
    FileMaker maker(cluster_, files_caller_, host_);
    if (!Trust(maker.Create(scope, path, cluster_.plan().replication, false), misled).ok()) return;
    uncertain_.insert(path);
    for (std::uint64_t blocks = 1 + random_.Below(3); blocks > 0; --blocks) {
      data.push_back(RandomData());
      if (!Trust(maker.AddBlock(scope, data.back()), misled).ok()) break;
      const bool done = Trust(maker.Sync(scope), misled).ok();
      written = maker.written();
      if (!done) break;
      const Checker::AckedBlock acked{data[synced], cluster_.plan().replication, path};
      cluster_.checker().Acknowledge(written.blocks[synced++].id, acked);
    }
  }
  if (synced == 0) return;
  world_.Note(fmt::format("client{} synced {} blocks of {} and goes", number_, synced, path));
  std::uint64_t id = 0;
  Result<std::vector<BlockPlaces>> there = NotFound("not asked for");
  Status seen = there.status();
  while (!seen.ok()) {
    Sleep(scope, 1);
    const std::uint64_t then = Misled();
    there = Locate(files_caller_, scope, path, &id);
    seen = Trust(there.ok() ? Status::Ok() : there.status(), then);
    if (!seen.ok()) continue;
    Fence(scope);  // a master that dies before its disk knows will take the file for open again, for a while
    if (FindFileId(scope, path) != id) seen = Unavailable("not for good");
  }
  File file{written.file, {}, {}, cluster_.plan().replication};
  for (const BlockPlaces& block : *there) file.blocks.push_back(block.id);
  const auto same = [](std::uint64_t one, const Written::Block& other) { return one == other.id; };
  if (id != file.id || file.blocks.size() < synced || file.blocks.size() > written.blocks.size() ||
      !std::equal(file.blocks.begin(), file.blocks.end(), written.blocks.begin(), same))
    return world_.Fail("names", fmt::format("{} is file {} of {} blocks, and was synced as file {} of {}", path, id,
                                            file.blocks.size(), file.id, synced));
  data.resize(file.blocks.size());
  file.data = std::move(data);
  uncertain_.erase(path);
  Keep(path, std::move(file));
}

Status Client::AskToRemove(kj::WaitScope& scope, const std::string& path) {
  const std::uint64_t misled = Misled();
  const auto removed =
      files_caller_.Call<NameService::RemoveResults>(scope, "remove", [&](master::wire::Master::Client master) {
        auto request = NamesOf(master).removeRequest();
        request.setPath(master::ToData(path));
        return Plain(request.send());
      });
  return Trust(removed.ok() ? Status::Ok() : removed.status(), misled);
}

void Client::Discard(kj::WaitScope& scope, const std::string& path) {
  while (!world_.failure()) {
    const Status status = AskToRemove(scope, path);
    if (status.ok() || status.code() == StatusCode::kNotFound) break;
    Sleep(scope, 1);
  }
  Fence(scope);
  world_.Note(fmt::format("client{} discarded {}, whose blocks may be gone", number_, path));
}

void Client::Remove(kj::WaitScope& scope, const std::string& path) {
  const Era asked = Now();
  const File file = files_.at(path);
  Release(file);
  const Status status = AskToRemove(scope, path);
  const bool for_good = MayBeForGood(asked);
  bool gone = status.ok();
  if (status.code() == StatusCode::kCancelled) {
    Fence(scope);
    gone = FindFileId(scope, path) == 0;
  } else if (!status.ok()) {
    world_.Fail("names", fmt::format("remove {}: {}", path, status.message()));
  }
  world_.Note(fmt::format("client{} removed {}: {}", number_, path, gone ? "done" : "not done"));
  files_.erase(path);
  if (gone) return;
  for_good ? Discard(scope, path) : Keep(path, file);
}

void Client::Rename(kj::WaitScope& scope, const std::string& from, const std::string& to) {
  const std::uint64_t misled = Misled();
  const auto renamed =
      files_caller_.Call<NameService::RenameResults>(scope, "rename", [&](master::wire::Master::Client master) {
        auto request = NamesOf(master).renameRequest();
        request.setFrom(master::ToData(from));
        request.setTo(master::ToData(to));
        return Plain(request.send());
      });
  const Status status = Trust(renamed.ok() ? Status::Ok() : renamed.status(), misled);
  bool done = status.ok();
  if (status.code() == StatusCode::kCancelled) {
    Fence(scope);
    const std::uint64_t id = files_.at(from).id, before = FindFileId(scope, from), after = FindFileId(scope, to);
    done = after == id;
    if ((before == id) == (after == id))
      world_.Fail("names", fmt::format("{} is file {} and {} is file {} after a rename of file {}", from, before, to,
                                       after, id));
  } else if (!status.ok()) {
    world_.Fail("names", fmt::format("rename {} to {}: {}", from, to, status.message()));
  }
  world_.Note(fmt::format("client{} renamed {} to {}: {}", number_, from, to, done ? "done" : "not done"));
  if (!done) return;
  File file = files_.at(from);
  files_.erase(from);
  Keep(to, std::move(file));
}

void Client::TrashAndUndelete(kj::WaitScope& scope, const std::string& path) {
  const std::uint64_t id = files_.at(path).id;
  const auto settle = [&](const char* what, const Status& said, std::uint64_t misled) {
    const Status status = Trust(said, misled);
    if (status.code() == StatusCode::kCancelled) {
      Fence(scope);
    } else if (!status.ok()) {
      world_.Fail("trash", fmt::format("{} {}, file {}: {}", what, path, id, status.message()));
    }
    world_.Note(fmt::format("client{} {} {}: {}", number_, what, path, status.ok() ? "done" : status.message()));
    return status.ok() || status.code() == StatusCode::kCancelled;
  };
  std::uint64_t misled = Misled();
  const auto trashed =
      files_caller_.Call<NameService::TrashResults>(scope, "trash", [&](master::wire::Master::Client master) {
        auto request = NamesOf(master).trashRequest();
        request.setPath(master::ToData(path));
        request.setOwner("chaos");
        return Plain(request.send());
      });
  if (!settle("trash", trashed.ok() ? Status::Ok() : trashed.status(), misled)) return;
  Sleep(scope, 5 * random_.Unit());
  while (FindFileId(scope, path) != id) {
    misled = Misled();
    const auto back =
        files_caller_.Call<NameService::UndeleteResults>(scope, "undelete", [&](master::wire::Master::Client master) {
          auto request = NamesOf(master).undeleteRequest();
          request.setPath(master::ToData(path));
          request.setOwner("chaos");
          return Plain(request.send());
        });
    if (!settle("undelete", back.ok() ? Status::Ok() : back.status(), misled)) return;
  }
}

// Until it is known which of the two numbers holds, the smaller one is wanted.
void Client::SetReplication(kj::WaitScope& scope, const std::string& path) {
  const std::uint64_t misled = Misled();
  File& file = files_.at(path);
  // If a block has damage that nobody has found yet, the bad replica may be the one that stays.
  const Checker& checker = cluster_.checker();
  const auto hurt = [&](std::uint64_t block) { return checker.IsHurt(block); };
  if (std::any_of(file.blocks.begin(), file.blocks.end(), hurt)) return;
  constexpr std::uint64_t kMost = 3;
  const auto replication = 1 + static_cast<std::uint32_t>(random_.Below(kMost));
  const auto want = [&](std::uint32_t wanted) {
    for (const std::uint64_t block : file.blocks) cluster_.checker().SetWanted(block, wanted);
  };
  want(std::min(file.replication, replication));
  const auto set = files_caller_.Call<NameService::SetReplicationResults>(
      scope, "set the replication", [&](master::wire::Master::Client master) {
        auto request = NamesOf(master).setReplicationRequest();
        request.setPath(master::ToData(path));
        request.setReplication(replication);
        return Plain(request.send());
      });
  const Status status = Trust(set.ok() ? Status::Ok() : set.status(), misled);
  std::uint32_t now = replication;
  if (status.code() == StatusCode::kCancelled) {
    Fence(scope);
    now = FindFile(scope, path).replication;
    if (now != replication && now != file.replication)
      world_.Fail("names",
                  fmt::format("{} has replication {}, not {} or {}", path, now, file.replication, replication));
  } else if (!status.ok()) {
    world_.Fail("names", fmt::format("set the replication of {}: {}", path, status.message()));
  }
  world_.Note(fmt::format("client{} wants {} replicas of {}, and had {}", number_, now, path, file.replication));
  file.replication = now;
  want(now);
}

void Client::ReadAndCompare(kj::WaitScope& scope, const std::string& path) {
  const std::uint64_t misled = Misled();
  std::uint64_t id = 0;
  const auto blocks = Locate(files_caller_, scope, path, &id);
  const Status status = Trust(blocks.ok() ? Status::Ok() : blocks.status(), misled);
  if (status.code() == StatusCode::kNotFound) return world_.Fail("names", path + " is gone: " + status.message());
  if (!status.ok()) return;
  const File& file = files_.at(path);
  if (id != file.id || blocks->size() != file.blocks.size())
    return world_.Fail("names", fmt::format("{} is file {}, not {}", path, id, file.id));
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const auto data = ReadBlock(cluster_, scope, host_, files_caller_, (*blocks)[i]);
    if (data.ok() && *data != file.data[i])
      return world_.Fail("content", fmt::format("block {} of {} has other bytes", file.blocks[i], path));
  }
}

void Client::ListAndCompare(kj::WaitScope& scope) {
  const std::uint64_t misled = Misled();
  const auto listed =
      files_caller_.Call<NameService::ListResults>(scope, "list", [&](master::wire::Master::Client master) {
        auto request = NamesOf(master).listRequest();
        request.setPath(master::ToData(home_));
        return Plain(request.send());
      });
  if (!Trust(listed.ok() ? Status::Ok() : listed.status(), misled).ok()) return;
  std::map<std::string, std::uint64_t> there;
  for (const auto entry : listed->getEntries()) {
    const auto path = entry.getPath().asChars();
    there[std::string(path.begin(), path.size())] = entry.getId();
  }
  for (const auto& [path, file] : files_) {
    if (!path.starts_with(home_ + "/")) continue;  // inputs of jobs lie elsewhere
    const auto found = there.find(path);
    if (found == there.end() || found->second != file.id)
      return world_.Fail("names", fmt::format("{} (file {}) was acknowledged and is not there", path, file.id));
    there.erase(found);
  }
  for (const std::string& path : uncertain_) there.erase(path);
  if (!there.empty()) world_.Fail("names", there.begin()->first + " is there and nobody made it");
}

void Client::WorkWithFiles(kj::WaitScope& scope) {
  constexpr std::uint64_t kPaths = 6;
  while (!cluster_.faults().over()) {
    Sleep(scope, 2 * random_.Unit());
    const std::string path = fmt::format("{}/f{}", home_, random_.Below(kPaths));
    const bool there = files_.contains(path);
    const std::uint64_t choice = random_.Below(11);
    if (choice < 4) {
      std::vector<std::string> data(1 + random_.Below(3));
      for (std::string& block : data) block = RandomData();
      (void)Put(scope, path, std::move(data), there, true);
    } else if (choice < 5 && there) {
      Remove(scope, path);
    } else if (choice < 6 && there && random_.Below(2) == 0) {
      TrashAndUndelete(scope, path);
    } else if (choice < 6 && there) {
      Rename(scope, path, fmt::format("{}/r{}", home_, names_++));
    } else if (choice < 7 && there) {
      SetReplication(scope, path);
    } else if (choice < 8 && there) {
      ReadAndCompare(scope, path);
    } else if (choice == 8) {
      Stream(scope, fmt::format("{}/s{}", home_, names_++));
    } else {
      ListAndCompare(scope);
    }
  }
}

void Client::ReadAll(kj::WaitScope& scope) {
  ListAndCompare(scope);
  for (const auto& [path, file] : files_) {
    for (std::size_t i = 0; i < file.blocks.size(); ++i) {
      Status why;
      for (int tries = 0; tries < 30; ++tries) {
        const auto blocks = Locate(files_caller_, scope, path, nullptr);
        why = blocks.ok() ? Status::Ok() : blocks.status();
        if (blocks.ok() && i < blocks->size()) {
          const auto data = ReadBlock(cluster_, scope, host_, files_caller_, (*blocks)[i]);
          if (data.ok() && *data != file.data[i])
            return world_.Fail("content", fmt::format("block {} of {} has other bytes", file.blocks[i], path));
          why = data.ok() ? Status::Ok() : data.status();
          if (why.ok()) break;
        }
        Sleep(scope, 2);
      }
      if (!why.ok()) {
        return world_.Fail("content", fmt::format("{} was acknowledged, {} good replicas of block {} exist, and it "
                                                  "cannot be read: {}",
                                                  path, cluster_.checker().GoodReplicas(file.blocks[i]), file.blocks[i],
                                                  why.message()));
      }
    }
  }
}

// ---- jobs ----

void Client::WorkWithJobs(kj::WaitScope& scope) {
  for (std::uint32_t i = 0; i < cluster_.plan().jobs; ++i) {
    Sleep(scope, 5 * random_.Unit());
    if (i > 0 && cluster_.faults().over()) return;
    RunJob(scope, i);
    if (world_.failure()) return;
  }
}

void Client::RunJob(kj::WaitScope& scope, std::uint32_t number) {
  std::vector<std::string> data(1 + random_.Below(cluster_.plan().most_maps));
  for (std::string& block : data) block = RandomData();
  std::string input;
  for (int tries = 0;; ++tries) {
    input = fmt::format("/in{}/{}.{}", home_, number, tries);
    if (Put(scope, input, data, false, false) == Outcome::kDone) break;
    Sleep(scope, 1);
  }
  const std::string output = fmt::format("/out{}/{}", home_, number);
  const auto reduces = static_cast<std::uint32_t>(random_.Below(cluster_.plan().most_reduces + 1));
  std::vector<std::string> expected;
  for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
    std::uint64_t sum = 0;
    for (const std::string& block : data) sum += MapValue(block, reduce);
    expected.push_back(OutputText(sum));
  }
  if (reduces == 0) {
    for (const std::string& block : data) expected.push_back(OutputText(MapValue(block, 0)));
  }
  const auto job = Submit(scope, "token of " + output, input, output, reduces);
  if (!job) return;
  world_.Note(fmt::format("client{} has {}: {} maps, {} reduces", number_, ToText(*job), data.size(), reduces));
  const bool succeeded = WaitForEnd(scope, *job);
  cluster_.checker().Ended(*job);
  if (succeeded) CompareOutput(scope, *job, output, expected, reduces > 0);
}

std::optional<JobId> Client::Submit(kj::WaitScope& scope, const std::string& token, const std::string& input,
                                    const std::string& output, std::uint32_t reduces) {
  while (true) {
    const std::uint64_t misled = Misled();
    const auto submitted = jobs_caller_.Call<master::wire::JobService::SubmitResults>(
        scope, "submit", [&](master::wire::Master::Client master) {
          auto request = master.jobsRequest().send().getService().submitRequest();
          auto job = request.initRequest();
          job.setName("chaos");
          job.setOwner("chaos");
          job.initInputs(1).set(0, master::ToData(input));
          job.setOutput(master::ToData(output));
          job.setReduces(reduces);
          job.setExecutable(master::ToData("/job"));
          job.setToken(token);
          return Plain(request.send());
        });
    const Status status = Trust(submitted.ok() ? Status::Ok() : submitted.status(), misled);
    if (status.ok()) {
      const JobId job{submitted->getJob()};
      if (cluster_.plan().Has(Fault::kPoison) && number_ == 0) cluster_.faults().Poison(job);
      cluster_.checker().Accepted(job, token);
      return job;
    }
    // kBusy means that the master has just started and puts the call off.
    if (status.code() != StatusCode::kCancelled && status.code() != StatusCode::kBusy) {
      world_.Fail("jobs", "submit " + token + ": " + status.message());
      return std::nullopt;
    }
    Sleep(scope, 1);
  }
}

// A job may fail only because of what was done to it: workers that died with an attempt, one after another, tasks that
// hang, disks and networks that make them, or whatever else one fault can do.
bool Client::MayFail(const std::string& reason) {
  const auto is = [&reason](const char* part) { return reason.find(part) != std::string::npos; };
  if (is("was lost with its worker")) return cluster_.faults().count() >= 3;
  const Plan& plan = cluster_.plan();
  const bool may_stand_still = plan.Has(Fault::kTaskHang) || plan.Has(Fault::kDiskSlow) || plan.Has(Fault::kApart);
  return may_stand_still || (cluster_.faults().count() > 0 && !is("no progress for"));
}

bool Client::WaitForEnd(kj::WaitScope& scope, JobId job) {
  while (!world_.failure()) {
    Sleep(scope, 1);
    const std::uint64_t misled = Misled();
    const auto answer = jobs_caller_.Call<master::wire::JobService::StatusResults>(
        scope, "status", [&](master::wire::Master::Client master) {
          auto request = master.jobsRequest().send().getService().statusRequest();
          request.setJob(job.value);
          return Plain(request.send());
        });
    const Status status = Trust(answer.ok() ? Status::Ok() : answer.status(), misled);
    if (status.code() == StatusCode::kNotFound)
      world_.Fail("jobs", fmt::format("{} was accepted and is not known any more", ToText(job)));
    if (!status.ok()) continue;
    const auto state = answer->getStatus().getState();
    if (state == master::wire::JobState::WAITING || state == master::wire::JobState::RUNNING) continue;
    const bool succeeded = state == master::wire::JobState::SUCCEEDED;
    world_.Note(fmt::format("{} has {} {}", ToText(job),
                            succeeded ? "succeeded" : "failed:", answer->getStatus().getReason().cStr()));
    if (!succeeded && !MayFail(answer->getStatus().getReason().cStr())) {
      world_.Fail("jobs", fmt::format("{} has failed after {} faults: {}", ToText(job), cluster_.faults().count(),
                                      answer->getStatus().getReason().cStr()));
    }
    return succeeded;
  }
  return false;
}

void Client::CompareOutput(kj::WaitScope& scope, JobId job, const std::string& output,
                           const std::vector<std::string>& expected, bool reduces) {
  for (std::size_t file = 0; file < 2 * expected.size(); ++file) {
    const std::size_t part = file / 2;  // each task has a part file and a named output of the same bytes
    const std::string path =
        fmt::format("{}/{}-{}-{:05}", output, file % 2 == 0 ? "part" : "copy", reduces ? 'r' : 'm', part);
    while (!world_.failure()) {
      const std::uint64_t misled = Misled();
      const auto blocks = Locate(jobs_caller_, scope, path, nullptr);
      const Status status = Trust(blocks.ok() ? Status::Ok() : blocks.status(), misled);
      if (status.code() == StatusCode::kNotFound)
        return world_.Fail("output", fmt::format("{} has succeeded, and {} is not there", ToText(job), path));
      if (status.ok()) {
        std::string text;
        Status read;
        for (const BlockPlaces& block : *blocks) {
          const auto data = ReadBlock(cluster_, scope, host_, jobs_caller_, block);
          if (data.ok()) {
            text += *data;
          } else {
            read = data.status();
          }
        }
        if (read.ok() && text != expected[part])
          return world_.Fail("output", fmt::format("{}: {} is {}, not {}", ToText(job), path, text, expected[part]));
        if (read.ok()) break;
      }
      Sleep(scope, 2);
    }
  }
}

}  // namespace millrace::simulated
