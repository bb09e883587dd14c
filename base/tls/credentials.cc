// SPDX-License-Identifier: Apache-2.0
#include "base/tls/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "base/tls/context.h"
#include "base/tls/tls_files.h"

namespace millrace::tls {
namespace {

// Distinguishes one state of a file from another.
struct FileStamp {
  std::int64_t seconds = 0, nanoseconds = 0, size = -1;
  std::uint64_t inode = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
using Stamps = std::array<FileStamp, 3>;

FileStamp StampOf(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_ctim.tv_sec, found.st_ctim.tv_nsec, found.st_size, found.st_ino};
}

Stamps StampsOf(const TlsFiles& files) { return {StampOf(files.ca), StampOf(files.certificate), StampOf(files.key)}; }

Result<std::shared_ptr<const Context>> Read(const TlsFiles& files) {
  CredentialTexts texts;
  MILLRACE_ASSIGN(texts.authorities, ReadWholeFile(files.ca));
  MILLRACE_ASSIGN(texts.own.certificate, ReadWholeFile(files.certificate));
  MILLRACE_ASSIGN(texts.own.key, ReadKeyFile(files.key));
  Result<std::shared_ptr<const Context>> made = Context::Make(std::move(texts));
  if (!made.ok()) return made.status().Within("TLS by " + files.ca + ", " + files.certificate + ", " + files.key);
  return made;
}

// Files that are replaced one after the other are read until none of them changes meanwhile.
Result<std::shared_ptr<const Context>> ReadTogether(const TlsFiles& files, Stamps* stamps) {
  while (true) {
    *stamps = StampsOf(files);
    Result<std::shared_ptr<const Context>> made = Read(files);
    if (made.ok() || StampsOf(files) == *stamps) return made;
  }
}

}  // namespace

struct Credentials::Impl {
  const TlsFiles files;  // not given: they came as texts
  const Log log;
  std::mutex mutex;
  Stamps stamps;  // the mutex guards this and the next
  std::shared_ptr<const Context> context;

  std::shared_ptr<const Context> Current() {
    const std::lock_guard lock(mutex);
    if (files.given()) LookAgain();
    return context;
  }

  void LookAgain() {
    if (StampsOf(files) == stamps) return;
    Result<std::shared_ptr<const Context>> made = ReadTogether(files, &stamps);  // a broken state is told of once
    if (made.ok()) {
      context = std::move(*made);
      log->info("the certificate of {} was renewed: {}", ToText(context->self()), files.certificate);
    } else {
      log->error("{}; the previous certificate stays in force", made.status().message());
    }
  }
};

Credentials::Credentials(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Credentials::~Credentials() = default;

Result<std::shared_ptr<Credentials>> Credentials::Load(TlsFiles files, Log log) {
  Stamps stamps;
  MILLRACE_ASSIGN(auto context, ReadTogether(files, &stamps));
  std::unique_ptr<Impl> impl(new Impl{std::move(files), std::move(log), {}, stamps, std::move(context)});
  return std::shared_ptr<Credentials>(new Credentials(std::move(impl)));
}

Result<std::shared_ptr<Credentials>> Credentials::From(const CredentialTexts& texts) {
  MILLRACE_ASSIGN(auto context, Context::Make(texts));
  std::unique_ptr<Impl> impl(new Impl{{}, MakeSilentLog(), {}, {}, std::move(context)});
  return std::shared_ptr<Credentials>(new Credentials(std::move(impl)));
}

Status Credentials::Replace(const CredentialTexts& texts) {
  MILLRACE_CHECK(!impl_->files.given(), "these come from files");
  MILLRACE_ASSIGN(auto context, Context::Make(texts));
  const std::lock_guard lock(impl_->mutex);
  impl_->context = std::move(context);
  return Status::Ok();
}

std::shared_ptr<const Context> Credentials::Current() { return impl_->Current(); }

PeerIdentity Credentials::self() { return Current()->self(); }

CertificateEnds Credentials::Ends() { return Current()->ends(); }

Result<CredentialTexts> Credentials::ForTask(const std::string& user, Micros now) {
  const std::shared_ptr<const Context> ours = Current();
  CredentialTexts texts;
  texts.authorities = ours->texts().authorities;
  MILLRACE_ASSIGN(texts.own, IssueToTask(ours->texts().own, user, {now, kTaskValidity}));
  return texts;
}

Result<std::shared_ptr<Credentials>> CredentialsOfUser() {
  const char* directory = std::getenv(kTlsEnvironment);
  Result<std::shared_ptr<Credentials>> loaded =
      LoadIfGiven(TlsFilesIn(directory == nullptr ? "" : directory), MakeSilentLog());
  if (!loaded.ok()) return loaded.status().Within("--tls or MILLRACE_TLS");
  return loaded;
}

Result<std::shared_ptr<Credentials>> LoadIfGiven(const TlsFiles& files, const Log& log) {
  if (!files.given()) return std::shared_ptr<Credentials>();
  return Credentials::Load(files, log);
}

Result<std::shared_ptr<Credentials>> LoadForDaemon(const TlsFiles& files, std::string_view host, Role role,
                                                   const Log& log) {
  const std::string warning = WarningOf(files, host);
  if (!warning.empty()) log->warn("{}", warning);
  MILLRACE_ASSIGN(auto credentials, LoadIfGiven(files, log));
  if (credentials == nullptr || credentials->self().role == role) return credentials;
  const std::string needed(NameOf(role));
  return Invalid(files.certificate + " is the certificate of " + ToText(credentials->self()) + ", and a " + needed +
                 " needs one of a " + needed + " (millrace ca issue DIR " + needed +
                 (role == Role::kWorker ? ":NAME" : "") + ")");
}

}  // namespace millrace::tls
