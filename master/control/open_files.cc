// SPDX-License-Identifier: Apache-2.0
#include "master/control/open_files.h"

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace millrace::master {

void OpenFiles::AwaitWriters(Micros grace) {
  for (const dfs::FileId file : files_.names().OpenFiles()) leases_.Await(file, grace);
}

Status OpenFiles::Renew(dfs::FileId file, std::uint64_t token) {
  if (!files_.names().FindOpen(file)) {
    return NotFound("file " + std::to_string(file) +
                    " is not being written any more; it was completed, or given up since its writer was silent for " +
                    FormatDuration(leases_.limit()) + " (dfs.lease_limit)");
  }
  leases_.Renew(file, token);
  return Status::Ok();
}

void OpenFiles::Drop(dfs::FileId file, std::uint64_t token) {
  if (files_.names().FindOpen(file)) {
    leases_.Drop(file, token);
  } else {
    leases_.Forget(file);
  }
}

Status OpenFiles::CheckNotHandedOver(dfs::FileId file) const {
  if (leases_.Has(file)) return Status::Ok();
  return Invalid("file " + std::to_string(file) +
                 " was handed over to the attempt that wrote it; whether it is kept is decided with the attempt");
}

Status OpenFiles::GiveUp(dfs::FileId file, std::string_view why) {
  const std::optional<dfs::OpenFile> open = files_.names().FindOpen(file);
  const dfs::Principal writer = callers_.PrincipalOf(open ? open->options.owner : std::string());
  Step step = steps_.Begin();
  MILLRACE_ASSIGN(const dfs::Namespace::Abandoned given_up, files_.Abandon(file, step.now, &step.batch, writer));
  steps_.FinishLazily(std::move(step));
  if (given_up.kept) log_->info("{} is closed with its synced data: {}", Quote(given_up.path), why);
  if (!given_up.not_kept.empty()) {
    log_->warn("the synced data of {} is removed, since {}: {}", Quote(given_up.path), why, given_up.not_kept);
  }
  return Status::Ok();
}

void OpenFiles::Expire() {
  for (const Leases::Lapsed& lease : leases_.Expire(clock_.Awake())) {
    const char* const why = lease.silent ? "its writer was silent for dfs.lease_limit" : "its writer went away";
    if (GiveUp(lease.file, why).ok()) log_->info("open file {} is given up: {}", lease.file, why);
  }
}

}  // namespace millrace::master
