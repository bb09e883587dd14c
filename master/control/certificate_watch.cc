// SPDX-License-Identifier: Apache-2.0
#include "master/control/certificate_watch.h"

namespace millrace::master {

std::vector<tls::CertificateEnd> CertificateWatch::All() const {
  if (!own_) return {};
  const tls::CertificateEnds own = own_();
  std::vector<tls::CertificateEnd> all{{"the master's", own.own}, {"the authority's", own.authority}};
  for (const auto& [number, node] : nodes_.all()) {
    if (!node.alive || node.certificate_until == 0) continue;
    all.push_back({"that of " + NameOf(node), node.certificate_until});
  }
  return all;
}

void CertificateWatch::Warn() {
  constexpr Micros kLookEvery = 10 * kSecond;
  if (!own_ || (looked_ && clock_.Awake() - *looked_ < kLookEvery)) return;
  looked_ = clock_.Awake();
  for (const Notice& notice : warned_.Due(All(), clock_.Wall())) log_->warn("{}", notice.line);
}

}  // namespace millrace::master
