// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, and two sessions that are joined in memory. Thread rule: the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/tls/certificates.h"
#include "base/tls/credentials.h"
#include "base/tls/session.h"

namespace millrace::tls {

// An authority whose certificates are valid now.
struct TestAuthority {
  TestAuthority() : pair(MakeAuthority({SystemClock().Now(), 24 * kHour}).value()) {}

  // The certificate is valid for a day; `age` is the time since it was issued.
  [[nodiscard]] CredentialTexts TextsOf(const std::string& common_name, Micros age = 0) const {
    const PeerIdentity identity = ParseIdentity(common_name).value();
    return {pair.certificate, Issue(pair, identity, {SystemClock().Now() - age, 24 * kHour}).value()};
  }
  [[nodiscard]] std::shared_ptr<Credentials> Of(const std::string& common_name, Micros age = 0) const {
    return Credentials::From(TextsOf(common_name, age)).value();
  }

  // Does what Of does, but also accepts a task's name, such as "task:ann", whose certificate a worker issues.
  [[nodiscard]] std::shared_ptr<Credentials> OfAnybody(const std::string& common_name) const {
    const PeerIdentity identity = ParseIdentity(common_name).value();
    if (identity.role != Role::kTask) return Of(common_name);
    return Credentials::From(Of("worker:w1")->ForTask(identity.name, SystemClock().Now()).value()).value();
  }

  KeyPair pair;
};

struct JoinedSessions {
  JoinedSessions(const std::shared_ptr<Credentials>& of_client, const std::shared_ptr<Credentials>& of_server,
                 std::optional<Role> wanted = {})
      : client(of_client->Current(), Side::kClient, "the server", wanted),
        server(of_server->Current(), Side::kServer, "the client") {}

  // Runs the handshake until neither side has more to send.
  void Handshake() {
    for (int turn = 0; turn < 10; ++turn) {
      client_done = client.Handshake();
      server.Feed(client.TakeOutput());
      server_done = server.Handshake();
      client.Feed(server.TakeOutput());
    }
  }

  Session client, server;
  Result<bool> client_done = false, server_done = false;
};

}  // namespace millrace::tls
