// SPDX-License-Identifier: Apache-2.0
// Converts between the job client's values and the master's messages. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/protocol/master.capnp.h"
#include "client/job_client/job_types.h"

namespace millrace::job {

[[nodiscard]] Node Read(master::wire::NodeStatus::Reader in);
[[nodiscard]] GoState Read(master::wire::GoState state);
[[nodiscard]] MayGo::Answer Read(master::wire::GoAnswer::Reader in);
[[nodiscard]] ClusterStatus Read(master::wire::ClusterStatus::Reader in);
[[nodiscard]] CallerRights Read(master::wire::CallerRights::Reader in);
[[nodiscard]] SchedulerView Read(master::wire::SchedulerView::Reader in);
[[nodiscard]] Changes Read(master::wire::Changes::Reader in);
[[nodiscard]] Foretold Read(master::wire::Foretold::Reader in);
[[nodiscard]] Why Read(master::wire::Why::Reader in);
[[nodiscard]] SchedulerView::Wait Read(master::wire::SchedulerView::Wait::Reader in);

}  // namespace millrace::job
