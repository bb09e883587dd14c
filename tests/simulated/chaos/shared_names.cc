// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/shared_names.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "master/control/wire_codec.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"

namespace millrace::simulated {
namespace {

using dfs::wire::NameService;
using Kind = PathOp::Kind;

constexpr const char* kDirectory = "/shared";
constexpr std::uint64_t kPaths = 3;

std::string PathOf(std::uint64_t n) { return fmt::format("{}/p{}", kDirectory, n); }

}  // namespace

class SharedNames::Onlooker {
 public:
  Onlooker(SharedNames& shared, std::uint32_t number)
      : shared_(shared),
        cluster_(shared.cluster_),
        name_(fmt::format("onlooker{}", number)),
        random_(cluster_.world().Fork()),
        process_(cluster_.world(), name_),
        caller_(cluster_.world(), cluster_.network(), cluster_.AddHost(), process_) {
    process_.Start();
  }

  void Work(kj::WaitScope& scope) {
    constexpr double kPause = 0.3;  // seconds at most, of those who pause
    while (!cluster_.faults().over() && !cluster_.world().failure()) {
      if (random_.Below(2) == 0) Sleep(scope, kPause * random_.Unit());
      const std::string path = PathOf(random_.Below(kPaths));
      const std::uint64_t choice = random_.Below(20);
      if (choice < 4) {
        Make(scope, path);
      } else if (choice < 7) {
        Remove(scope, path);
      } else if (choice < 9) {
        const std::string to = PathOf(random_.Below(kPaths));
        if (to != path) Move(scope, path, to);
      } else if (choice < 15) {
        Look(scope, path);
      } else {
        List(scope);
      }
    }
    // Whoever is there in the end is asked until he answers.
    for (std::uint64_t n = 0; n < kPaths; ++n) {
      while (!cluster_.world().failure() && !Look(scope, PathOf(n))) Sleep(scope, 1);
    }
  }

 private:
  void Sleep(kj::WaitScope& scope, double seconds) { (void)Await(cluster_.world().Sleep(seconds), scope); }

  struct Asked {
    std::uint64_t began = 0, answered = PathOp::kNever;
    Status status;  // kCancelled: nobody can say whether it was done
  };
  [[nodiscard]] std::uint64_t Misled() const {
    return cluster_.master().misled() ? UINT64_MAX : cluster_.master().misled_times();
  }
  template <class Answer, class Start>
  Asked Ask(kj::WaitScope& scope, const std::string& what, const Start& start) {
    Asked asked;
    asked.began = ++shared_.moment_;
    const std::uint64_t misled = Misled();
    const auto answer = caller_.Call<Answer>(scope, what, [&](master::wire::Master::Client master) {
      return start(NamesOf(master)).then([](auto&& given) { return kj::mv(given); });
    });
    asked.status = answer.ok() ? Status::Ok() : answer.status();
    if (misled == UINT64_MAX || misled != Misled()) asked.status = Cancelled("the master was another one");
    if (asked.status.code() == StatusCode::kBusy) asked.status = Cancelled(asked.status.message());
    if (asked.status.code() != StatusCode::kCancelled) asked.answered = ++shared_.moment_;
    return asked;
  }
  void Note(const std::string& path, Kind kind, const Asked& asked, const std::string& what) {
    shared_.history_[path].push_back({kind, asked.began, asked.answered, name_ + " " + what});
  }
  // Notes a change that was done or may have been; a refusal says that the path was there, or was not.
  void NoteChange(const std::string& path, Kind kind, const Asked& asked, const std::string& what) {
    if (asked.status.ok() || asked.status.code() == StatusCode::kCancelled) return Note(path, kind, asked, what);
    if (asked.status.code() == StatusCode::kNotFound) return Note(path, Kind::kSeenAbsent, asked, what + ": not found");
    cluster_.world().Fail("names", what + ": " + asked.status.message());
  }

  void Make(kj::WaitScope& scope, const std::string& path) {
    const Asked asked = Ask<NameService::MakeDirectoryResults>(scope, "make a directory", [&](auto names) {
      auto request = names.makeDirectoryRequest();
      request.setPath(master::ToData(path));
      return request.send();
    });
    NoteChange(path, Kind::kMake, asked, "mkdir " + path);
  }
  void Remove(kj::WaitScope& scope, const std::string& path) {
    const Asked asked = Ask<NameService::RemoveResults>(scope, "remove", [&](auto names) {
      auto request = names.removeRequest();
      request.setPath(master::ToData(path));
      request.setRecursive(true);  // what is moved to a directory goes into it
      return request.send();
    });
    NoteChange(path, Kind::kTake, asked, "rm " + path);
  }
  void Move(kj::WaitScope& scope, const std::string& from, const std::string& to) {
    const Asked asked = Ask<NameService::RenameResults>(scope, "rename", [&](auto names) {
      auto request = names.renameRequest();
      request.setFrom(master::ToData(from));
      request.setTo(master::ToData(to));
      return request.send();
    });
    const std::string what = "mv " + from + " " + to;
    if (asked.status.code() == StatusCode::kExists) {  // in `to`, where it would have gone
      Note(from, Kind::kSeenThere, asked, what + ": exists");
      return Note(to, Kind::kSeenThere, asked, what + ": exists");
    }
    NoteChange(from, Kind::kTake, asked, what);
    if (asked.status.code() != StatusCode::kNotFound) NoteChange(to, Kind::kMake, asked, what);
  }
  // Returns true if there was an answer.
  bool Look(kj::WaitScope& scope, const std::string& path) {
    const Asked asked = Ask<NameService::StatResults>(scope, "stat", [&](auto names) {
      auto request = names.statRequest();
      request.setPath(master::ToData(path));
      return request.send();
    });
    if (asked.status.code() == StatusCode::kCancelled) return false;
    Note(path, asked.status.ok() ? Kind::kSeenThere : Kind::kSeenAbsent, asked,
         "stat " + path + ": " + (asked.status.ok() ? "there" : asked.status.message()));
    return true;
  }
  void List(kj::WaitScope& scope) {
    std::set<std::string> there;
    const Asked asked = Ask<NameService::ListResults>(scope, "list", [&](auto names) {
      auto request = names.listRequest();
      request.setPath(master::ToData(kDirectory));
      return request.send().then([&there](auto&& listed) {
        for (const auto entry : listed.getEntries()) there.insert(master::ToString(entry.getPath()));
        return kj::mv(listed);
      });
    });
    if (asked.status.code() == StatusCode::kCancelled) return;
    for (std::uint64_t n = 0; n < kPaths; ++n) {
      const bool seen = there.contains(PathOf(n));
      Note(PathOf(n), seen ? Kind::kSeenThere : Kind::kSeenAbsent, asked,
           "ls, with" + std::string(seen ? " " : "out ") + PathOf(n));
    }
  }

  SharedNames& shared_;
  Cluster& cluster_;
  const std::string name_;
  Random random_;
  Process process_;
  MasterCaller caller_;
};

SharedNames::SharedNames(Cluster& cluster, std::uint32_t clients) : cluster_(cluster) {
  for (std::uint32_t n = 0; n < clients; ++n) clients_.push_back(std::make_unique<Onlooker>(*this, n));
}
SharedNames::~SharedNames() = default;

void SharedNames::Start() {
  at_work_ = clients_.size();
  for (const auto& client : clients_) {
    cluster_.checker().ActorBegins();
    cluster_.world().Run([this, &client = *client](kj::WaitScope& scope) {
      client.Work(scope);
      Ended();
      cluster_.checker().ActorEnds();
    });
  }
}

void SharedNames::Ended() {
  if (--at_work_ > 0 || cluster_.world().failure()) return;
  for (const auto& [path, history] : history_) {
    cluster_.checker().count().answers += history.size();
    if (IsLinearizable(history)) continue;
    for (const std::string& line : Explain(history)) cluster_.world().Note("  " + line);
    cluster_.world().Fail("linearizable", path + ": what was told about it has no order; the lines above say what");
  }
}

}  // namespace millrace::simulated
