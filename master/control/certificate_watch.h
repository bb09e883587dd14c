// SPDX-License-Identifier: Apache-2.0
// CertificateWatch knows when the certificates of the master and of its live workers end, and warns in the log before
// they do (base/tls/expiry.h). Thread rule: the control thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/tls/expiry.h"
#include "master/cluster/node_table.h"
#include "master/control/master_clock.h"

namespace millrace::master {

class CertificateWatch {
 public:
  // `own` returns the times at which the master's own certificates end; without it there is no TLS. Requires: the other
  // arguments outlive this.
  CertificateWatch(std::function<tls::CertificateEnds()> own, const MasterClock& clock, const NodeTable& nodes, Log log)
      : own_(std::move(own)), clock_(clock), nodes_(nodes), log_(std::move(log)) {}

  // Returns the ends of the certificates of the master, the authority and the live workers; none without TLS.
  [[nodiscard]] std::vector<tls::CertificateEnd> All() const;
  // Logs the warnings that are due. Requires: Warn is called now and then.
  void Warn();

 private:
  const std::function<tls::CertificateEnds()> own_;
  const MasterClock& clock_;
  const NodeTable& nodes_;
  const Log log_;
  tls::ExpiryLog warned_;
  std::optional<Micros> looked_;  // on the clock of Awake
};

}  // namespace millrace::master
