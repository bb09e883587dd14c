// SPDX-License-Identifier: Apache-2.0
// Tests the audit log's lines and what it does when they cannot be written, and who a caller is.
#include "master/access/audit_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "master/access/access_rules.h"
#include "master/access/caller.h"

namespace millrace::master {
namespace {

using testing::HasSubstr;
using tls::Role;

class AuditLogTest : public testing::Test {
 protected:
  AuditLog Make(const std::string& format = "text", bool reads = false) {
    LogOptions options;
    options.format = format;
    options.file = path_;
    return AuditLog(clock_, options, reads, MakeSilentLog());
  }
  [[nodiscard]] std::string Text() const { return ReadWholeFile(path_).value(); }

  const TempDir directory_ = std::move(*TempDir::Make("audit"));
  const std::string path_ = directory_.path() + "/audit.log";
  DrivenClock clock_{1769860800 * kSecond + 7 * kMillisecond};  // 2026-01-31T12:00:00.007Z
  const AccessRules rules_;
};

TEST_F(AuditLogTest, ALineSaysWhoWhatOnWhatAndHowItEnded) {
  AuditLog audit = Make();
  ASSERT_TRUE(audit.Open().ok());
  const Caller ann(rules_, audit, {"10.0.0.7", false, {Role::kClient, "ann"}});
  EXPECT_TRUE(ann.Audited("kill", "job3", Status::Ok()).ok());
  EXPECT_EQ(ann.Audited("kill", "job4", Denied("it is bob's")).message(), "it is bob's");
  EXPECT_EQ(ann.Audited("setScheduler", "", Invalid("no such")).code(), StatusCode::kInvalid);
  EXPECT_EQ(Text(),
            "2026-01-31T12:00:00.007Z allowed client:ann 10.0.0.7 kill job3\n"
            "2026-01-31T12:00:00.007Z denied client:ann 10.0.0.7 kill job4: it is bob's\n"
            "2026-01-31T12:00:00.007Z failed client:ann 10.0.0.7 setScheduler: no such\n");
  struct stat entry {};
  ASSERT_EQ(::stat(path_.c_str(), &entry), 0);
  EXPECT_EQ(entry.st_mode & 07, 0u) << "others do not read it";
}

TEST_F(AuditLogTest, AsJsonEachLineIsAnObject) {
  AuditLog audit = Make("json");
  const Caller task(rules_, audit, {"::1", true, {Role::kTask, "bob"}});
  (void)task.Audited("rename", AuditedPath("/a\"b") + " to " + AuditedPath("/c"), Denied("say \"no\""));
  const auto json = nlohmann::json::parse(Text());
  EXPECT_EQ(json, (nlohmann::json{{"time", "2026-01-31T12:00:00.007Z"},
                                  {"outcome", "denied"},
                                  {"role", "task"},
                                  {"user", "bob"},
                                  {"address", "::1"},
                                  {"call", "rename"},
                                  {"on", "\"/a\\\"b\" to \"/c\""},
                                  {"why", "say \"no\""}}));
}

TEST_F(AuditLogTest, NobodyForgesALine) {
  for (const char* format : {"text", "json"}) {
    AuditLog audit = Make(format);
    const Caller ann(rules_, audit, {"", false, {Role::kClient, "ann"}});
    const std::string forged = "/x\n2026-01-31T12:00:00.007Z allowed client:admin\x1b[2K\xff";
    (void)ann.Audited("remove", forged, NotFound(forged));
    (void)ann.Audited("remove", AuditedPath(forged), Status::Ok());
  }
  const std::string text = Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("remove \"/x\\n2026-01-31T12:00:00.007Z allowed client:admin\\x1b[2K\\xff\"\n"));
}

TEST_F(AuditLogTest, APathIsWrittenWholeHoweverLongItIs) {
  const std::string path = "/" + std::string(4000, 'p');
  EXPECT_EQ(AuditedPath(path), "\"" + path + "\"");
}

TEST_F(AuditLogTest, LooksAreWrittenIfAskedForOrRefused) {
  for (const bool reads : {false, true}) {
    AuditLog audit = Make("text", reads);
    const Caller ann(rules_, audit, {"", false, {Role::kClient, "ann"}});
    EXPECT_TRUE(ann.AuditedLook("stat", "/a", Status::Ok()).ok());
    EXPECT_FALSE(ann.AuditedLook("stat", "/b", NotFound("not there")).ok());
    EXPECT_FALSE(ann.AuditedLook("stat", "/c", Denied("no")).ok());
  }
  EXPECT_EQ(Text(),
            "2026-01-31T12:00:00.007Z denied client:ann - stat \"/c\": no\n"
            "2026-01-31T12:00:00.007Z allowed client:ann - stat \"/a\"\n"
            "2026-01-31T12:00:00.007Z failed client:ann - stat \"/b\": not there\n"
            "2026-01-31T12:00:00.007Z denied client:ann - stat \"/c\": no\n");
}

TEST_F(AuditLogTest, WithoutAFileNothingIsWritten) {
  AuditLog audit(clock_, {}, true, MakeSilentLog());
  ASSERT_TRUE(audit.Open().ok());
  EXPECT_EQ(Caller(rules_, audit, {}).Audited("kill", "job1", Denied("no")).code(), StatusCode::kDenied);
  EXPECT_FALSE(audit.writes());
  EXPECT_EQ(audit.problem(), "");
}

TEST_F(AuditLogTest, AFileThatCannotBeOpenedIsAFailureAtTheStart) {
  LogOptions options;
  options.file = directory_.path() + "/none/audit.log";
  AuditLog audit(clock_, options, false, MakeSilentLog());
  EXPECT_THAT(audit.Open().message(), HasSubstr("audit.log: "));
  EXPECT_THAT(audit.Open().message(), HasSubstr(options.file));
}

// A full disk is stood for by /dev/full, which takes no byte.
TEST_F(AuditLogTest, LinesThatCannotBeWrittenAreCountedAndTheGapIsNoted) {
  ASSERT_EQ(::symlink("/dev/full", path_.c_str()), 0);
  AuditLog audit = Make();
  ASSERT_TRUE(audit.Open().ok());
  const Caller ann(rules_, audit, {"10.0.0.7", false, {Role::kClient, "ann"}});
  EXPECT_TRUE(ann.Audited("kill", "job1", Status::Ok()).ok()) << "the call goes on";
  EXPECT_TRUE(ann.Audited("kill", "job2", Status::Ok()).ok());
  EXPECT_THAT(audit.problem(), HasSubstr("2 lines are lost so far"));
  EXPECT_THAT(audit.problem(), HasSubstr("No space left on device"));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_TRUE(ann.Audited("kill", "job3", Status::Ok()).ok());
  EXPECT_EQ(audit.problem(), "");
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("lost 2 lines: "));
  EXPECT_THAT(text, HasSubstr("allowed client:ann 10.0.0.7 kill job3\n"));
}

class CallerTest : public AuditLogTest {
 protected:
  Caller Of(Role role, const std::string& name) { return Caller(rules_, audit_, {"", false, {role, name}}); }
  AuditLog audit_ = AuditLog(clock_, {}, false, MakeSilentLog());
  AccessRules rules_ = AccessRules::Parse(R"(
administrators = ["ann"]
[groups]
web = ["bob", "eve"]
[pools.production]
submit = ["@web"]
administer = ["carl"]
)",
                                          "access.toml")
                           .value();
};

TEST_F(CallerTest, WithoutTlsEverybodyMayDoEverything) {
  const Caller anyone(rules_, audit_, {});
  EXPECT_EQ(anyone.user(), "");
  EXPECT_TRUE(anyone.IsAdministrator());
  EXPECT_TRUE(anyone.principal().superuser);
  EXPECT_EQ(anyone.OwnerOr("dora"), "dora");
  EXPECT_TRUE(anyone.CheckAdministers("drain nodes").ok());
  EXPECT_TRUE(anyone.CheckSubmits("production").ok());
  EXPECT_TRUE(anyone.CheckManages("kill", "job3", "bob", "production").ok());
  EXPECT_TRUE(anyone.CheckOwns("run a map again of", "job3", "bob").ok());
}

TEST_F(CallerTest, ATaskIsNeverMoreThanItsUserAndNoAdministrator) {
  const Caller client = Of(Role::kClient, "ann"), task = Of(Role::kTask, "ann");
  EXPECT_TRUE(client.IsAdministrator());
  EXPECT_TRUE(client.principal().superuser);
  EXPECT_FALSE(task.IsAdministrator());
  EXPECT_FALSE(task.principal().superuser);
  EXPECT_EQ(task.principal().user, "ann");
  EXPECT_EQ(task.OwnerOr("dora"), "ann");
  EXPECT_FALSE(task.CheckSubmits("any").ok());
  EXPECT_FALSE(task.CheckManages("kill", "job3", "ann", "any").ok());
  EXPECT_FALSE(task.CheckOwns("run a map again of", "job3", "ann").ok());
  EXPECT_EQ(Of(Role::kClient, "bob").principal().groups, AccessRules::Names{"web"});
}

TEST_F(CallerTest, AWorkerIsNoUserAndIsRefusedNoFile) {
  const Caller worker = Of(Role::kWorker, "w1");
  EXPECT_EQ(worker.user(), "");
  EXPECT_FALSE(worker.IsAdministrator());
  EXPECT_TRUE(worker.principal().superuser);
  EXPECT_FALSE(worker.CheckAdministers("drain nodes").ok());
  EXPECT_FALSE(worker.CheckSubmits("any").ok());
  EXPECT_FALSE(worker.CheckManages("kill", "job3", "", "").ok());
}

TEST_F(CallerTest, AJobIsItsOwnersItsPoolsAdministratorsAndTheAdministrators) {
  struct Case {
    const char* user;
    bool submits, manages, owns;
  };
  for (const Case& c : {Case{"ann", true, true, true}, Case{"bob", true, true, true}, Case{"carl", true, true, false},
                        Case{"eve", true, false, false}, Case{"dora", false, false, false}}) {
    const Caller caller = Of(Role::kClient, c.user);
    EXPECT_EQ(caller.CheckSubmits("production").ok(), c.submits) << c.user;
    EXPECT_EQ(caller.CheckManages("kill", "job3", "bob", "production").ok(), c.manages) << c.user;
    EXPECT_EQ(caller.CheckOwns("run a map again of", "job3", "bob").ok(), c.owns) << c.user;
  }
}

TEST_F(CallerTest, ARefusalSaysWhoWhatWhyAndWhomToAsk) {
  const Caller dora = Of(Role::kClient, "dora");
  EXPECT_EQ(dora.CheckAdministers("drain nodes").message(),
            "client:dora may not drain nodes: that is for administrators (ann)");
  EXPECT_EQ(dora.CheckSubmits("production").message(),
            "client:dora may not submit to pool \"production\": that is for @web, for those who administer the pool "
            "(carl) and for administrators (ann); name another pool, or ask one of these");
  EXPECT_EQ(dora.CheckManages("kill", "job3", "bob", "production").message(),
            "client:dora may not kill job3: it is bob's; ask its owner, those who administer its pool \"production\" "
            "(carl) or an administrator (ann)");
  EXPECT_EQ(dora.CheckOwns("run a map again of", "job3", "bob").message(),
            "client:dora may not run a map again of job3: it is bob's; ask its owner or an administrator (ann)");
  for (const Status& refusal : {dora.CheckAdministers(""), dora.CheckSubmits("production"),
                                dora.CheckManages("", "", "bob", ""), dora.CheckOwns("", "", "bob")}) {
    EXPECT_EQ(refusal.code(), StatusCode::kDenied);
  }
}

TEST_F(CallerTest, TheRulesAreThoseOfNow) {
  const Caller dora = Of(Role::kClient, "dora");
  EXPECT_FALSE(dora.IsAdministrator());
  rules_ = AccessRules::Parse("administrators = [\"dora\"]\n", "access.toml").value();
  EXPECT_TRUE(dora.IsAdministrator());
  rules_ = AccessRules();
  EXPECT_FALSE(dora.IsAdministrator());
}

}  // namespace
}  // namespace millrace::master
