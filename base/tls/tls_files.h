// SPDX-License-Identifier: Apache-2.0
// TlsFiles: the files with which a process takes part in a cluster with TLS, and the options that name them. All three
// are PEM files; if none is given there is no TLS. PutFile and ReadKeyFile write and read such files. Thread rule: a
// value, and free functions for any thread.
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

// Modes of files that PutFile writes.
inline constexpr int kForOwner = 0600;  // keys
inline constexpr int kForAll = 0644;    // certificates

// Writes a file durably with this mode, whatever the umask is: after a crash either the old file or the new one exists.
// Returns kExists if there is a file, unless `replace`. A link at the path is replaced, and never followed.
[[nodiscard]] Status PutFile(const std::string& path, std::string_view text, int mode, bool replace);

// Reads a file that holds a key. As ssh does, refuses a file that others than its owner may read or change, since a key
// that others may have read proves nothing; returns kDenied, with the command to run.
[[nodiscard]] Result<std::string> ReadKeyFile(const std::string& path);

}  // namespace millrace::tls
