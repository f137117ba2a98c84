#include "tests/support/tls_port.hpp"

#include <fstream>
#include <stdexcept>

#include "storage/redis/redis_address.hpp"
#include "storage/store/store.hpp"
#include "tests/support/free_port.hpp"

namespace feedmill::test {

bool redis_tls_is_built() {
  return objection_to_redis_url("rediss://host").empty();
}

CertificateWish TlsPort::usual() {
  return {.names = {"IP:127.0.0.1", "DNS:localhost"}, .usage = "serverAuth"};
}

TlsPort::TlsPort(const RedisServer& server, const CertificateWish& wish) : server_(server) {
  const Files own = write("server", authority_.issue(wish));
  set({"tls-cert-file", own.certificate, "tls-key-file", own.key, "tls-ca-cert-file", authority_.file(),
       "tls-auth-clients", "no", "bind", "127.0.0.1"});
  port_ = free_port();
  const std::string answer = redis_command(server_, {"CONFIG", "SET", "tls-port", std::to_string(port_)});
  if (answer != "OK") throw std::runtime_error("redis-server opens no TLS port: " + answer);
}

void TlsPort::present(const CertificateWish& wish) {
  const Files own = write("server", authority_.issue(wish));
  set({"tls-cert-file", own.certificate, "tls-key-file", own.key});
}

void TlsPort::ask_for_certificates(bool ask) {
  set({"tls-auth-clients", ask ? "yes" : "no"});
}

void TlsPort::speak(const std::string& versions) {
  set({"tls-protocols", versions});
}

std::string TlsPort::url(const std::string& host, const std::string& user) const {
  return "rediss://" + user + ":" + user + "@" + host + ":" + std::to_string(port_);
}

std::vector<std::string> TlsPort::arguments() const {
  const std::string own = (server_.directory() / "server").string();
  return {"--tls-cert-file",
          own + ".crt",
          "--tls-key-file",
          own + ".key",
          "--tls-ca-cert-file",
          authority_.file(),
          "--tls-auth-clients",
          "no",
          "--tls-port",
          std::to_string(port_),
          "--bind",
          "127.0.0.1"};
}

TlsPort::Files TlsPort::write(const std::string& name, const Identity& identity) const {
  const std::string path = (server_.directory() / name).string();
  Files files{path + ".crt", path + ".key"};
  std::ofstream(files.certificate) << identity.certificate;
  std::ofstream(files.key) << identity.key;
  std::filesystem::permissions(files.key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return files;
}

void TlsPort::set(const std::vector<std::string>& settings) const {
  std::vector<std::string> words{"CONFIG", "SET"};
  words.insert(words.end(), settings.begin(), settings.end());
  const std::string answer = redis_command(server_, words);
  if (answer != "OK") throw std::runtime_error("redis-server and TLS: " + answer);
}

}  // namespace feedmill::test
