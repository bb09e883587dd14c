// SPDX-License-Identifier: Apache-2.0
#include "master/control/database_age.h"

#include <utility>

namespace millrace::master {

Status DatabaseAge::Load(const KeyValueStore& store) {
  MILLRACE_TRY(lineage_.Load(store));
  MILLRACE_ASSIGN(known_until_, ReadKnownUntil(store));
  return doubt_.Load(store);
}

bool DatabaseAge::Begin(std::uint64_t life, Step* step) {
  lineage_.Begin(life, &step->batch);
  const auto cause = doubt_.announced();
  if (cause) {
    BeginDoubt(*cause, step);
  } else if (doubt_.there_is()) {
    files_.SetDoubt(true);
  }
  StoreKnownUntil(step->now, &step->batch);
  return cause.has_value();
}

// A worker that was told of a moment knows that what was stored before it was there.
void DatabaseAge::Advance() {
  if (advanced_ == commits_.last()) return;
  WriteBatch batch;
  lineage_.Advance(&batch);
  StoreKnownUntil(steps_.Begin().now, &batch);
  tasks_.add(commits_.Commit(std::move(batch)).then([this, moment = lineage_.now()]() { kept_ = moment; }));
  advanced_ = commits_.last();
}

void DatabaseAge::BeginDoubt(DoubtCause cause, Step* step) {
  const bool new_doubt = !doubt_.there_is();
  doubt_.Begin(cause, step->now, length_, &step->batch);
  files_.SetDoubt(true);
  if (!new_doubt) return;
  log_->error("{}", doubt_.Line(step->now));
  jobs_.OpenGap(cause, known_until_, step);
}

void DatabaseAge::EndDoubt() {
  if (!doubt_.there_is()) return;
  Step step = steps_.Begin();
  if (!doubt_.EndIfOver(step.now, &step.batch)) return;
  files_.SetDoubt(false);
  log_->info("the database is no longer in doubt (master.doubt)");
  steps_.FinishLazily(std::move(step));
}

}  // namespace millrace::master
