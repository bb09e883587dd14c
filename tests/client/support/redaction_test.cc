// SPDX-License-Identifier: Apache-2.0
#include "client/support/redaction.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::support {
namespace {

TEST(RedactorTest, HidesWhatStandsWhereSecretsStand) {
  const struct {
    std::string text, clean;
  } cases[] = {
      {"password=hunter2 next", "password=[hidden] next"},
      {"db.password: hunter2", "db.password: [hidden]"},
      {"DB_PASSWORD='a b' next", "DB_PASSWORD='[hidden]' next"},
      {R"({"token":"hunter2","node":3})", R"({"token":"[hidden]","node":3})"},
      {R"({"line":"password=hunter2","node":3})", R"({"line":"password=[hidden]","node":3})"},
      {R"({"line":"{\"apiKey\": \"hun ter2\"}"})", R"({"line":"{\"apiKey\": \"[hidden]\"}"})"},
      {"run --api-key hunter2 in", "run --api-key [hidden] in"},
      {"run --api-key=hunter2 in", "run --api-key=[hidden] in"},
      {"http://ann:hunter2@host:80/x", "http://[hidden]@host:80/x"},
      {"http://ann:hun/ter2@host/x", "http://[hidden]@host/x"},
      {"http://host/?a=1&access_token=hunter2", "http://host/?a=1&access_token=[hidden]"},
      {"Authorization: Basic aHVudGVyMg== more", "Authorization: [hidden]"},
      {"sent Bearer hunter2 to it", "sent Bearer [hidden] to it"},
      {"-D colour=hunter2 -Dshape=hunter2 in", "-D colour=[hidden] -Dshape=[hidden] in"},
      {"'-D' 'colour=hun ter2' in", "'-D' 'colour=[hidden]' in"},
      {"id AKIAIOSFODNN7EXAMPLE here", "id [hidden] here"},
      {"s3.key = hunter2", "s3.key = [hidden]"},
  };
  const Redactor redactor;
  for (const auto& [text, clean] : cases) {
    EXPECT_EQ(redactor.Clean(text), clean);
    EXPECT_EQ(redactor.Clean("before\n" + text + "\nafter\n"), "before\n" + clean + "\nafter\n");
  }
}

TEST(RedactorTest, LeavesWhatIsNone) {
  const Redactor redactor;
  for (const std::string text :
       {"worker 3 at 10.0.0.7:7701 (/r1, dc) registered: 4 map and 2 reduce slots, 0 attempts running",
        R"({"healthy":true,"cluster":"0123456789abcdef0123456789abcdef"})", "tls.key = /etc/millrace/tls/key.pem",
        "http://host:80/a", "no password was given", "key 3", "the authority's that you know", ""}) {
    EXPECT_EQ(redactor.Clean(text), text);
  }
}

TEST(RedactorTest, HidesPrivateKeysWholeAndCut) {
  const Redactor redactor;
  const std::string begin = "-----BEGIN EC PRIVATE KEY-----", end = "-----END EC PRIVATE KEY-----";
  EXPECT_EQ(redactor.Clean("a\n" + begin + "\nMHcC\nAQEE\n" + end + "\nb"), "a\n[hidden]\nb");
  EXPECT_EQ(redactor.Clean("{\"m\":\"" + begin + "\\nMHcC\\n" + end + "\"}"), "{\"m\":\"[hidden]\"}");
  EXPECT_EQ(redactor.Clean("a\n" + begin + "\nMHcC\nAQEE"), "a\n[hidden]");
  EXPECT_EQ(redactor.Clean("a PRIVATE KEY----- b"), "a PRIVATE KEY----- b");
}

TEST(RedactorTest, HidesWhatItWasToldWhereverThatIs) {
  Redactor redactor;
  redactor.Hide("-----BEGIN PRIVATE KEY-----\nMHcCAQEE\nTail42\n-----END PRIVATE KEY-----\n");
  redactor.Hide("swordfish");
  redactor.Hide("swordfish-and-more");
  redactor.Hide("abc");
  EXPECT_EQ(redactor.Clean("xMHcCAQEEx Tail42 aswordfishb"), "x[hidden]x [hidden] a[hidden]b");
  EXPECT_EQ(redactor.Clean("swordfish-and-more"), "[hidden]");
  EXPECT_EQ(redactor.Clean("abc"), "abc") << "too short to be looked for everywhere";
}

TEST(NamesASecretTest, ByItsWords) {
  for (const char* name : {"password", "DB_PASSWORD", "db.passwd", "aws_secret_access_key", "apiKey", "api-key",
                           "X-Auth-Token", "s3.key", "auth"})
    EXPECT_TRUE(NamesASecret(name)) << name;
  for (const char* name : {"worker.name", "keys", "monkey", "author", "authority", "job.pool", ""})
    EXPECT_FALSE(NamesASecret(name)) << name;
}

}  // namespace
}  // namespace millrace::support
