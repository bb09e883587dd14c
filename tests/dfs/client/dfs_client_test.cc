// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/dfs_client.h"

#include <gmock/gmock.h>
#include <kj/debug.h>

#include <thread>

#include "base/protocol/name.capnp.h"
#include "base/release.h"
#include "tests/dfs/client/client_fixture.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class DfsClientTest : public ClientTest {
 protected:
  DfsClientTest() : ClientTest(1) {}
};

TEST(DfsConnectTest, AClosedPortIsUnavailableAtOnce) {
  std::string address;
  {
    FakeNameServer gone;
    address = gone.address();
  }
  ClientOptions options;
  options.master = address;
  const auto client = DfsClient::Connect(options);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(client.status().message(), HasSubstr("cannot reach the master at " + address));
  EXPECT_THAT(client.status().message(), HasSubstr("is it running?"));
}

TEST(DfsConnectTest, WithPatienceItComesWhenTheMasterDoes) {
  FakeNameServer master;
  master.Stop();
  ClientOptions options;
  options.master = master.address();
  options.patience = 60 * kSecond;
  options.waiting = [&master] { master.Start(); };
  const auto client = DfsClient::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_EQ((*client)->Stat("/nowhere").status().code(), StatusCode::kNotFound);
}

TEST(DfsConnectTest, PatienceEnds) {
  FakeNameServer master;
  master.Stop();
  bool waited = false;
  ClientOptions options;
  options.master = master.address();
  options.patience = 50 * kMillisecond;
  options.waiting = [&waited] { waited = true; };
  const auto client = DfsClient::Connect(options);
  EXPECT_EQ(client.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(client.status().message(), HasSubstr("tried for 50 ms"));
  EXPECT_TRUE(waited);
}

TEST(DfsConnectTest, NobodyWaitsForANameThatMeansNothing) {
  ClientOptions options;
  options.master = "no-such-host.invalid:7700";
  options.patience = 3600 * kSecond;
  options.waiting = [] { ADD_FAILURE() << "waits"; };
  EXPECT_EQ(DfsClient::Connect(options).status().code(), StatusCode::kUnavailable);
}

TEST_F(DfsClientTest, FailuresOfTheMasterComeThrough) {
  const auto info = client_->Stat("/nowhere");
  EXPECT_EQ(info.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(info.status().message(), HasSubstr("/nowhere"));
  WriteFile("/a", "1");
  EXPECT_EQ(client_->Create("/a", {}).status().code(), StatusCode::kExists);
  EXPECT_EQ(client_->Open("/nowhere").status().code(), StatusCode::kNotFound);
}

TEST_F(DfsClientTest, AListOfManyPages) {
  std::vector<std::string> expected, got;
  for (const char* name : {"/a", "/b c", "/d\n", "/e\xff", "/f"}) {
    WriteFile(name, name);
    expected.emplace_back(name);
  }
  Ok(client_->List("/", [&](const FileStatus& info) {
    got.push_back(info.path);
    EXPECT_EQ(info.length, info.path.size());
    return true;
  }));
  EXPECT_EQ(got, expected);
  int seen = 0;
  Ok(client_->List("/", [&](const FileStatus&) { return ++seen < 3; }));
  EXPECT_EQ(seen, 3);
}

TEST_F(DfsClientTest, ACallOutlivesARestartOfTheMaster) {
  WriteFile("/a", "1");
  master_.Stop();
  std::thread caller([this] { EXPECT_EQ(client_->Stat("/a").value().length, 1u); });
  master_.Start();
  caller.join();
}

TEST_F(DfsClientTest, ACallToAMasterThatStaysAwayTimesOut) {
  ClientOptions options;
  options.master = master_.address();
  options.call_timeout = 200 * kMillisecond;
  const auto client = DfsClient::Connect(options).value();
  master_.Stop();
  const Status failed = client->Stat("/a").status();
  EXPECT_TRUE(failed.code() == StatusCode::kTimeout || failed.code() == StatusCode::kUnavailable) << failed.message();
  EXPECT_THAT(failed.message(), HasSubstr("/a"));
}

// A call that is made again at once, over a connection that the link still believes in, would keep the thread from all
// else: the end of that connection and its own deadline, too.
TEST_F(DfsClientTest, ACallThatBreaksEachTimeTakesNewConnectionsAndEndsInTime) {
  ClientOptions options;
  options.master = master_.address();
  options.call_timeout = 300 * kMillisecond;
  const auto client = DfsClient::Connect(options).value();
  unsigned tries = 0;
  const Status failed = client->Call("try", [&tries](const capnp::Capability::Client&, kj::AsyncIoContext&) {
    ++tries;
    return kj::Promise<void>(KJ_EXCEPTION(DISCONNECTED, "the peer has hung up"));
  });
  EXPECT_EQ(failed.code(), StatusCode::kTimeout) << failed.message();
  EXPECT_GE(tries, 2u);
  EXPECT_LE(tries, 20u) << "it waits between connections that do not last";
  Ok(client_->MakeDirectory("/others/go/on"));
}

TEST_F(DfsClientTest, ModesAndOwnersAreAskedFor) {
  Ok(client_->MakeDirectory("/d"));
  Ok(client_->MakeDirectory("/e", 01770));
  Ok(client_->SetMode("/d", 0640));
  Ok(client_->SetOwner("/d", "ann", ""));
  Ok(client_->SetOwner("/d", "", "team"));
  for (const char* call :
       {"makeDirectory /d 755", "makeDirectory /e 1770", "setMode /d 640", "setOwner /d ann:", "setOwner /d :team"}) {
    EXPECT_TRUE(master_.WasCalled(call)) << call;
  }
}

// The master of these tests knows neither the trash nor quotas, as one of the first release.
TEST_F(DfsClientTest, AMasterOfAnEarlierReleaseIsNamed) {
  const Status trash = client_->Trash("/d", true).status();
  EXPECT_EQ(trash.code(), StatusCode::kUnsupported);
  EXPECT_EQ(trash.message(),
            "the master at " + master_.address() +
                " is of an earlier release, which keeps no trash; a version after 0.1.0 is needed: upgrade "
                "it, or remove it at once (--skip-trash)");
  EXPECT_EQ(client_->Undelete("/d", 0, "").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(client_->ListTrash("", [](const Deletion&) { return true; }).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(client_->Time().status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(client_->SetQuota("/d", "", 1, {}).code(), StatusCode::kUnsupported);
  EXPECT_EQ(client_->GetQuotas("/d", "").status().message(),
            "the master at " + master_.address() +
                " is of an earlier release, which knows no quotas; a version after 0.1.0 is needed: upgrade it");
  EXPECT_TRUE(master_.Calls().empty()) << "nothing is removed instead";
}

TEST_F(DfsClientTest, OthersMayUseTheConnection) {
  Ok(client_->Call("use the bootstrap", [](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) {
    auto names = bootstrap.castAs<wire::NameProvider>().namesRequest().send().getService();
    auto request = names.makeDirectoryRequest();
    request.setOwner("x");
    return request.send().ignoreResult();
  }));
  EXPECT_TRUE(master_.WasCalled("makeDirectory "));
}

// Node 2 is too slow for two answers. What node 1 has read is not read again, and node 2 is not asked again for what it
// has said.
TEST_F(DfsClientTest, OnlyTheReplicasThatHaveNotAnsweredAreAskedAgain) {
  {
    const std::lock_guard lock(master_.mutex);
    master_.files["/f"] = {1, {{7, 1, {1_n, 2_n}, 0}, {8, 1, {1_n, 2_n}, 0}, {9, 1, {1_n}, 0}}};
    master_.slow = {2_n, 2_n, 2_n};
  }
  std::vector<std::pair<std::uint64_t, NodeId>> sound;
  Ok(client_->Verify("/f", true, [&](const CheckedReplica& replica) {
    EXPECT_EQ(replica.finding, ReplicaFinding::kSound);
    sound.emplace_back(replica.block, replica.node);
  }));
  EXPECT_THAT(sound, UnorderedElementsAre(Pair(7, 1_n), Pair(7, 2_n), Pair(8, 1_n), Pair(8, 2_n), Pair(9, 1_n)));
  EXPECT_THAT(master_.Calls(),
              ElementsAre("verify 7 on 1", "verify 7 on 2", "verify 8 on 1", "verify 8 on 2",  // all of the first page
                          "verify 7 on 2", "verify 8 on 2", "verify 7 on 2", "verify 9 on 1"));
}

// A caller that does not wait is told of each replica once.
TEST_F(DfsClientTest, WhoDoesNotWaitAsksOnce) {
  {
    const std::lock_guard lock(master_.mutex);
    master_.files["/f"] = {1, {{7, 1, {1_n, 2_n}, 0}}};
    master_.slow = {2_n, 2_n, 2_n};
  }
  std::vector<ReplicaFinding> findings;
  Ok(client_->Verify("/f", false, [&](const CheckedReplica& replica) { findings.push_back(replica.finding); }));
  EXPECT_THAT(findings, ElementsAre(ReplicaFinding::kSound, ReplicaFinding::kAsked));
  EXPECT_THAT(master_.Calls(), ElementsAre("verify 7 on 1", "verify 7 on 2"));
}

class OtherClusterTest : public DfsClientTest {
 protected:
  const std::string own_ = std::string(32, 'a'), other_ = std::string(32, 'b');
  void ServeOther() {
    master_.Stop();
    {
      const std::lock_guard lock(master_.mutex);
      master_.cluster = other_;
    }
    master_.Start();
  }
  void ExpectRefused(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr(own_));
    EXPECT_THAT(status.message(), HasSubstr(other_));
  }
};

TEST_F(OtherClusterTest, TheMasterOfAnotherClusterIsRefusedWithTheAdvice) {
  EXPECT_EQ(client_->Cluster(), own_);
  ClientOptions options;
  options.master = master_.address();
  options.cluster = own_;
  EXPECT_TRUE(DfsClient::Connect(options).ok());
  ServeOther();
  options.cluster_advice = "remove line 7";
  const Status refused = DfsClient::Connect(options).status();
  ExpectRefused(refused);
  EXPECT_THAT(refused.message(), HasSubstr("remove line 7"));
}

TEST_F(DfsClientTest, AMasterTwoProtocolLevelsAwayIsRefusedAndBothVersionsAreNamed) {
  ClientOptions options;
  options.master = master_.address();
  options.patience = 3600 * kSecond;
  options.waiting = [] { ADD_FAILURE() << "waits"; };
  const auto serve = [this](std::uint32_t protocol) {
    const std::lock_guard lock(master_.mutex);
    master_.protocol = protocol;
  };
  serve(kProtocolLevel + 1);
  EXPECT_TRUE(DfsClient::Connect(options).ok());
  serve(kProtocolLevel + 2);
  const Status refused = DfsClient::Connect(options).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("this client has version " + ToText(ThisRelease())));
  EXPECT_THAT(refused.message(), HasSubstr("9.9.9"));
  EXPECT_THAT(refused.message(), HasSubstr("upgrade this client"));
}

// It is no use to wait if the master is another cluster's, also if that master appears late.
TEST_F(OtherClusterTest, NobodyWaitsForTheMasterOfAnotherCluster) {
  ServeOther();
  ClientOptions options;
  options.master = master_.address();
  options.cluster = own_;
  options.patience = 3600 * kSecond;
  options.waiting = [] { ADD_FAILURE() << "waits"; };
  ExpectRefused(DfsClient::Connect(options).status());
  master_.Stop();
  options.waiting = [this] { master_.Start(); };
  ExpectRefused(DfsClient::Connect(options).status());
}

TEST_F(OtherClusterTest, ACallAfterAReconnectionToAnotherClusterIsNotMade) {
  WriteFile("/a", "1");
  ServeOther();
  ExpectRefused(client_->MakeDirectory("/d"));
  EXPECT_FALSE(master_.WasCalled("makeDirectory /d 755"));
}

TEST_F(OtherClusterTest, AFileIsNotTakenUpAgainInAnotherCluster) {
  const auto writer = Create("/a");
  Ok(writer->Write("1"));
  ServeOther();
  ExpectRefused(writer->Close());
  for (const std::string& call : master_.Calls()) EXPECT_FALSE(call.starts_with("resume")) << call;
}

}  // namespace
}  // namespace millrace::dfs
