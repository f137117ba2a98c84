#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "tests/support/certificates.hpp"
#include "worker/http/http_shared.hpp"

namespace feedmill::tls_sessions_test {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Owned<BIO> memory(const std::string& pem) {
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

/// Fills a server's ticket with application data.
int fill_ticket(SSL* connection, void* bytes) {
  const auto& filling = *static_cast<const std::string*>(bytes);
  return SSL_SESSION_set1_ticket_appdata(SSL_get_session(connection), filling.data(), filling.size());
}

SSL_TICKET_RETURN take_ticket(SSL*, SSL_SESSION*, const unsigned char*, std::size_t, SSL_TICKET_STATUS status, void*) {
  const bool good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
  return good ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_IGNORE;
}

class TlsSessionsTest : public testing::Test {
 protected:
  TlsSessionsTest() {
    const test::Identity identity = test::Authority().issue({.names = {"DNS:a.example"}, .self_signed = true});
    const Owned<X509> certificate(PEM_read_bio_X509(memory(identity.certificate).get(), nullptr, nullptr, nullptr));
    const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(memory(identity.key).get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(server.get(), certificate.get());
    SSL_CTX_use_PrivateKey(server.get(), key.get());
    SSL_CTX_set_num_tickets(server.get(), 1);
    SSL_CTX_set_session_ticket_cb(server.get(), fill_ticket, take_ticket, &ticket);
  }

  /// Makes a handshake with the server known by `key`; returns whether a session was resumed.
  bool resumes(TlsSessions& sessions, const std::string& key) {
    const Owned<SSL_CTX> client(SSL_CTX_new(TLS_client_method()));
    sessions.attach(client.get(), key);
    const Owned<SSL> here(SSL_new(client.get())), there(SSL_new(server.get()));
    BIO *near = nullptr, *far = nullptr;
    BIO_new_bio_pair(&near, 1 << 17, &far, 1 << 17);
    SSL_set_bio(here.get(), near, near);
    SSL_set_bio(there.get(), far, far);
    SSL_set_connect_state(here.get());
    SSL_set_accept_state(there.get());
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(here.get());
      SSL_do_handshake(there.get());
    }
    EXPECT_TRUE(SSL_is_init_finished(here.get()) != 0 && SSL_is_init_finished(there.get()) != 0);
    char byte = 0;
    SSL_read(here.get(), &byte, 1);  // receives the ticket
    const bool resumed = SSL_session_reused(here.get()) != 0;
    SSL_shutdown(here.get());  // a connection closed without a shutdown discards its session
    return resumed;
  }

  const Owned<SSL_CTX> server{SSL_CTX_new(TLS_server_method())};
  std::string ticket;
};

TEST_F(TlsSessionsTest, DropOversizedTickets) {
  TlsSessions sessions;
  ticket.assign(1'000, 'x');
  EXPECT_FALSE(resumes(sessions, "usual"));
  EXPECT_TRUE(resumes(sessions, "usual"));
  ticket.assign(20'000, 'x');
  EXPECT_FALSE(resumes(sessions, "large"));
  EXPECT_FALSE(resumes(sessions, "large"));
  EXPECT_EQ(sessions.size(), 1U) << "the one of the last resumption";
}

TEST_F(TlsSessionsTest, AreBoundedInBytes) {
  TlsSessions sessions({.max_bytes = 64'000});
  ticket.assign(4'000, 'x');
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(resumes(sessions, std::to_string(i)));
  EXPECT_LE(sessions.size(), 16U);
  EXPECT_GE(sessions.size(), 8U);
  EXPECT_TRUE(resumes(sessions, "49"));
  EXPECT_FALSE(resumes(sessions, "0")) << "the least recently used";
}

}  // namespace
}  // namespace feedmill::tls_sessions_test
