// SPDX-License-Identifier: Apache-2.0
// Notice: a problem that a daemon reports about itself or its cluster. It has a line for people and a code for scripts,
// which stays the same while the words change. docs/operate/operations.md has a row for each code. Thread rule: a
// value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

enum class NoticeLevel : std::uint8_t {
  kFault,    // something does not work, or data is missing
  kRisk,     // everything works, but one more failure would change that: it needs attention today
  kWarning,  // it needs attention some day
};

enum class NoticeCode : std::uint8_t {
  // faults of a cluster
  kReadOnly,
  kAwaitingWorkers,
  kJournalCopy,
  kNoWorkers,
  kAllDraining,
  kNoMapSlots,
  kMissingBlocks,
  // faults of a daemon alone
  kStarting,
  kStuck,
  kNoSession,
  // risks
  kSingleReplica,
  kMaintenanceBlocks,
  kCertificateEnded,
  // warnings
  kCertificateEnds,
  kSchedulerFile,
  kAccessFile,
  kAuditLog,
  kDatabaseDoubt,
  kBackupAge,
  kBackupCopy,
  kNodeLost,
  kNodeLeaving,
  kNodeAvoided,
  kNodeAiling,
  kNodeFull,
  kCorruptReplicas,
  kUnderReplicated,
  kShortOfNodes,
  kUnknownBlocks,
  kMixedVersions,
  kSchedulerRelieved,
};

struct NoticeKind {
  NoticeCode code;
  std::string_view name;  // "single-replica"
  NoticeLevel level;
};

// Returns all kinds, in the order of NoticeCode.
[[nodiscard]] std::span<const NoticeKind> NoticeKinds();
[[nodiscard]] const NoticeKind& KindOf(NoticeCode code);
[[nodiscard]] std::string_view NameOf(NoticeLevel level);  // "fault", "risk", "warning"

struct Notice {
  NoticeCode code;
  std::string line;  // what is wrong and what to do

  [[nodiscard]] std::string_view name() const { return KindOf(code).name; }
  [[nodiscard]] NoticeLevel level() const { return KindOf(code).level; }
};

}  // namespace millrace
