// SPDX-License-Identifier: Apache-2.0
#include "base/tls/tls_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/address.h"
#include "base/file.h"
#include "base/text.h"

namespace millrace::tls {

void DeclareTlsOptions(OptionSet& options, TlsFiles* files) {
  options.Text("tls.ca", &files->ca, "",
               "PEM file with the certificate of the cluster's authority; it and the next two together turn on TLS");
  options.Text("tls.certificate", &files->certificate, "", "PEM file with this daemon's certificate");
  options.Text("tls.key", &files->key, "",
               "PEM file with that certificate's private key; all three files are read again when they are renewed");
}

Status CheckTlsFiles(const TlsFiles& files) {
  if (!files.given()) return Status::Ok();
  const struct {
    const char* name;
    const std::string& value;
  } all[] = {{"tls.ca", files.ca}, {"tls.certificate", files.certificate}, {"tls.key", files.key}};
  for (const auto& option : all) {
    if (option.value.empty())
      return Invalid(std::string(option.name) + " is not set; TLS needs tls.ca, tls.certificate and tls.key");
  }
  return Status::Ok();
}

std::string WarningOf(const TlsFiles& files, std::string_view host) {
  if (files.given() || IsLoopbackHost(host)) return {};
  return "without TLS, anyone who reaches " + (host.empty() ? "this machine" : std::string(host)) +
         " can read and change everything; `millrace ca` makes certificates (tls.ca, tls.certificate, tls.key)";
}

TlsFiles TlsFilesIn(const std::string& directory) {
  if (directory.empty()) return {};
  return {directory + "/ca.pem", directory + "/cert.pem", directory + "/key.pem"};
}

Status PutFile(const std::string& path, std::string_view text, int mode, bool replace) {
  const std::string written = path + ".new";
  if (::unlink(written.c_str()) != 0 && errno != ENOENT) return FromErrno(errno, "remove " + Quote(written));
  MILLRACE_ASSIGN(const Fd file, OpenFile(written, O_WRONLY | O_CREAT | O_EXCL, kForOwner));
  MILLRACE_TRY(WriteAll(file.get(), text, written));
  if (::fchmod(file.get(), static_cast<mode_t>(mode)) != 0 || ::fsync(file.get()) != 0)
    return FromErrno(errno, "write " + Quote(written));
  if (::renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, path.c_str(), replace ? 0 : RENAME_NOREPLACE) != 0) {
    const int error = errno;
    (void)::unlink(written.c_str());
    if (error == EEXIST) return Exists(path + " is there already");
    return FromErrno(error, "write " + Quote(path));
  }
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

Result<std::string> ReadKeyFile(const std::string& path) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDONLY));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return FromErrno(errno, "read " + Quote(path));
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%03o", static_cast<unsigned>(found.st_mode & 0777));
    return Denied(path + ": users other than its owner may read or change this key (mode " + mode +
                  "); run `chmod 600 " + path + "`, and make a new key if somebody may have read it");
  }
  return ReadWholeFile(path);
}

}  // namespace millrace::tls
