// TlsFiles: the files with which a process takes part in a cluster with TLS, and the options that name them. All three
// are PEM files; if none is given there is no TLS. Thread rule: a value.
#pragma once

#include <string>
#include <string_view>

#include "base/options.h"
#include "base/status.h"

namespace millrace::tls {

struct TlsFiles {
  std::string ca;           // the certificates of the trusted authorities
  std::string certificate;  // the certificate of this process
  std::string key;          // its private key

  [[nodiscard]] bool given() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

// Declares tls.ca, tls.certificate and tls.key.
void DeclareTlsOptions(OptionSet& options, TlsFiles* files);
// Returns a warning for the log of a daemon that listens at `host` without TLS; empty if the daemon uses TLS, or if
// only this machine can reach it.
[[nodiscard]] std::string WarningOf(const TlsFiles& files, std::string_view host);
// Returns kInvalid if only some of the files are named.
[[nodiscard]] Status CheckTlsFiles(const TlsFiles& files);
// Returns ca.pem, cert.pem and key.pem in the directory, as `millrace ca issue` makes them; no files if `directory` is
// empty.
[[nodiscard]] TlsFiles TlsFilesIn(const std::string& directory);

}  // namespace millrace::tls
