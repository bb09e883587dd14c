// SPDX-License-Identifier: Apache-2.0
#include "base/tls/authority.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/tls/tls_files.h"

namespace millrace::tls {
namespace {

constexpr const char* kCertificate = "/ca.pem";
constexpr const char* kKey = "/ca-key.pem";

// Checks that nobody else can put files and links into a directory that keys are written to.
Status CheckPrivate(const std::string& path, const struct stat& found) {
  if (!S_ISDIR(found.st_mode)) return Invalid(path + " is not a directory; remove it, or move it away");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return Status::Ok();
  return Denied(path + ": users other than its owner may change this directory, where keys are kept; run `chmod 700 " +
                path + "`");
}

// The directory may be named by a link: its user has chosen it.
Status MakePrivateDirectory(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) return CheckPrivate(path, found);
  MILLRACE_TRY(MakeDirectories(path));
  return ::chmod(path.c_str(), 0700) == 0 ? Status::Ok() : FromErrno(errno, "make " + Quote(path));
}

// One within the authority's. A link there has been laid by somebody else, and is not followed.
Status MakeInnerDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return Status::Ok();
  if (errno != EEXIST) return FromErrno(errno, "make " + Quote(path));
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return FromErrno(errno, "look at " + Quote(path));
  return CheckPrivate(path, found);
}

Result<IssuedFiles> FactsOf(std::string name, std::string directory, const std::string& certificate) {
  MILLRACE_ASSIGN(const CertificateFacts facts, ReadFacts(certificate, directory));
  return IssuedFiles{std::move(name), std::move(directory), facts.until};
}

}  // namespace

Result<std::vector<FoundCertificate>> FindCertificates(const std::string& directory,
                                                       std::vector<std::string>* troubles) {
  MILLRACE_ASSIGN(std::vector<std::string> names, ListDirectory(directory));
  std::ranges::sort(names);
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (name.ends_with(".pem") && !name.ends_with("key.pem")) files.push_back(directory + "/" + name);
  }
  for (const std::string& name : names) {
    const std::string file = directory + "/" + name + "/cert.pem";
    if (::access(file.c_str(), F_OK) == 0) files.push_back(file);
  }
  std::vector<FoundCertificate> found;
  for (const std::string& file : files) {
    const Result<std::string> text = ReadWholeFile(file);
    const Result<std::vector<CertificateFacts>> all =
        text.ok() ? ReadAllFacts(*text, file) : Result<std::vector<CertificateFacts>>(text.status());
    if (!all.ok()) troubles->push_back(all.status().message());
    if (!all.ok()) continue;
    for (const CertificateFacts& facts : *all) found.push_back({facts.common_name, file, facts.from, facts.until});
  }
  if (found.empty() && troubles->empty())
    return NotFound(directory + " has no certificate, neither in *.pem nor in */cert.pem");
  return found;
}

// The key gets its name last, so an attempt that was killed can be told from an authority: without a certificate it has
// issued nothing and is made again, and with one it is finished.
Result<Authority> Authority::Init(const std::string& directory, const Validity& validity) {
  MILLRACE_TRY(MakePrivateDirectory(directory));
  MILLRACE_ASSIGN(const Fd lock, OpenFile(directory, O_RDONLY | O_DIRECTORY));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Busy(directory + ": another process makes an authority there");
  const std::string begun = directory + kKey + ".new", key = directory + kKey, certificate = directory + kCertificate;
  const auto is_there = [](const std::string& file) { return ::access(file.c_str(), F_OK) == 0; };
  if (is_there(certificate) && is_there(begun) && !is_there(key)) {
    MILLRACE_TRY(RenameFile(begun, key));
    MILLRACE_TRY(SyncDirectory(directory));
    return Open(directory);
  }
  for (const std::string& file : {key, certificate}) {
    if (is_there(file))
      return Exists(file + " exists already; the certificates that it has issued would be worthless without it");
  }
  MILLRACE_ASSIGN(KeyPair pair, MakeAuthority(validity));
  MILLRACE_TRY(PutFile(begun, pair.key, kForOwner, true));
  MILLRACE_TRY(PutFile(certificate, pair.certificate, kForAll, false));
  MILLRACE_TRY(RenameFile(begun, key));
  MILLRACE_TRY(SyncDirectory(directory));
  return Authority(directory, std::move(pair));
}

Result<Authority> Authority::Open(const std::string& directory) {
  const auto read = [&directory](const char* name) -> Result<std::string> {
    Result<std::string> text = name == kKey ? ReadKeyFile(directory + name) : ReadWholeFile(directory + name);
    if (text.status().code() == StatusCode::kNotFound)
      return NotFound(directory + " has no" + std::string(name).replace(0, 1, " ") +
                      "; make an authority by `millrace ca init " + directory + "`");
    return text;
  };
  KeyPair pair;
  MILLRACE_ASSIGN(pair.certificate, read(kCertificate));
  MILLRACE_ASSIGN(pair.key, read(kKey));
  return Authority(directory, std::move(pair));
}

std::string Authority::DirectoryOf(const PeerIdentity& identity) const {
  std::string name = ToText(identity);
  if (const std::size_t colon = name.find(':'); colon != name.npos) name[colon] = '-';
  return directory_ + "/" + name;
}

// The key comes before the certificate, and the authority's certificate before both: a reader that looks in between
// finds a pair that does not fit, keeps the old one and looks again.
Result<IssuedFiles> Authority::Put(const PeerIdentity& identity, const KeyPair& pair, bool with_key,
                                   bool replace) const {
  const std::string directory = DirectoryOf(identity);
  MILLRACE_TRY(MakePrivateDirectory(directory_));
  MILLRACE_TRY(MakeInnerDirectory(directory));
  MILLRACE_TRY(PutFile(directory + "/ca.pem", pair_.certificate, kForAll, replace));
  const std::string key_file = directory + "/key.pem";
  if (with_key) {
    // Until the certificate is there as well, the old key stays beside the new one: whoever reads the files meanwhile,
    // or after a crash, finds a pair.
    const Result<std::string> old = ReadWholeFile(key_file);
    MILLRACE_TRY(PutFile(key_file, pair.key + (old.ok() ? *old : std::string()), kForOwner, replace));
  }
  MILLRACE_TRY(PutFile(directory + "/cert.pem", pair.certificate, kForAll, replace));
  if (with_key) MILLRACE_TRY(PutFile(key_file, pair.key, kForOwner, true));
  return FactsOf(ToText(identity), directory, pair.certificate);
}

Result<IssuedFiles> Authority::Issue(const PeerIdentity& identity, const Validity& validity, bool replace) {
  if (!replace && ::access((DirectoryOf(identity) + "/cert.pem").c_str(), F_OK) == 0) {
    return Exists(DirectoryOf(identity) + " has a certificate of " + ToText(identity) +
                  "; `millrace ca renew` makes a new one for the same key, --force one with a new key");
  }
  MILLRACE_ASSIGN(const KeyPair pair, tls::Issue(pair_, identity, validity));
  return Put(identity, pair, true, true);
}

Result<IssuedFiles> Authority::Renew(const PeerIdentity& identity, const Validity& validity, bool new_key) {
  const std::string directory = DirectoryOf(identity);
  Result<std::string> key = ReadKeyFile(directory + "/key.pem");
  if (key.status().code() == StatusCode::kNotFound)
    return NotFound(directory + " has no key.pem; `millrace ca issue` makes a certificate with a new key");
  MILLRACE_TRY(key.status());
  MILLRACE_ASSIGN(const KeyPair pair, tls::Issue(pair_, identity, validity, new_key ? std::string() : *key));
  return Put(identity, pair, new_key, true);
}

Result<IssuedFiles> Authority::RenewOwn(const Validity& validity) {
  MILLRACE_ASSIGN(pair_, RenewAuthority(pair_, validity));
  MILLRACE_TRY(PutFile(directory_ + kCertificate, pair_.certificate, kForAll, true));
  return own();
}

Result<std::vector<PeerIdentity>> Authority::List() const {
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(directory_));
  std::vector<PeerIdentity> issued;
  for (std::string name : names) {
    if (::access((directory_ + "/" + name + "/cert.pem").c_str(), F_OK) != 0) continue;
    if (const std::size_t dash = name.find('-'); dash != name.npos) name[dash] = ':';
    const Result<PeerIdentity> identity = ParseIdentity(name);
    if (identity.ok()) issued.push_back(*identity);
  }
  return issued;
}

Result<IssuedFiles> Authority::own() const { return FactsOf("authority", directory_, pair_.certificate); }

}  // namespace millrace::tls
