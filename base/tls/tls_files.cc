#include "base/tls/tls_files.h"

#include "base/address.h"

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

}  // namespace millrace::tls
