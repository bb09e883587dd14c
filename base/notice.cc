// SPDX-License-Identifier: Apache-2.0
#include "base/notice.h"

#include <array>

namespace millrace {
namespace {

constexpr std::array kKinds = {
    NoticeKind{NoticeCode::kReadOnly, "read-only", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kAwaitingWorkers, "awaiting-workers", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kJournalCopy, "journal-copy", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kNoWorkers, "no-workers", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kAllDraining, "all-draining", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kNoMapSlots, "no-map-slots", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kMissingBlocks, "missing-blocks", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kStarting, "starting", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kStuck, "stuck", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kNoSession, "no-session", NoticeLevel::kFault},
    NoticeKind{NoticeCode::kSingleReplica, "single-replica", NoticeLevel::kRisk},
    NoticeKind{NoticeCode::kMaintenanceBlocks, "maintenance-blocks", NoticeLevel::kRisk},
    NoticeKind{NoticeCode::kCertificateEnded, "certificate-ended", NoticeLevel::kRisk},
    NoticeKind{NoticeCode::kCertificateEnds, "certificate-ends", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kSchedulerFile, "scheduler-file", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kAccessFile, "access-file", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kAuditLog, "audit-log", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kDatabaseDoubt, "database-doubt", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kBackupAge, "backup-age", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kBackupCopy, "backup-copy", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kNodeLost, "node-lost", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kNodeLeaving, "node-leaving", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kNodeAvoided, "node-avoided", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kNodeAiling, "node-ailing", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kNodeFull, "node-full", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kCorruptReplicas, "corrupt-replicas", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kUnderReplicated, "under-replicated", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kShortOfNodes, "short-of-nodes", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kUnknownBlocks, "unknown-blocks", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kMixedVersions, "mixed-versions", NoticeLevel::kWarning},
    NoticeKind{NoticeCode::kSchedulerRelieved, "scheduler-relieved", NoticeLevel::kWarning},
};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].code != static_cast<NoticeCode>(i)) return false;
  }
  return kKinds.size() == static_cast<std::size_t>(NoticeCode::kSchedulerRelieved) + 1;
}
static_assert(InOrder(), "each code has its line, in the order of NoticeCode");

}  // namespace

std::span<const NoticeKind> NoticeKinds() { return kKinds; }

const NoticeKind& KindOf(NoticeCode code) { return kKinds[static_cast<std::size_t>(code)]; }

std::string_view NameOf(NoticeLevel level) {
  switch (level) {
    case NoticeLevel::kFault:
      return "fault";
    case NoticeLevel::kRisk:
      return "risk";
    case NoticeLevel::kWarning:
      break;
  }
  return "warning";
}

}  // namespace millrace
