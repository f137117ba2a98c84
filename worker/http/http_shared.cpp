#include "worker/http/http_shared.hpp"

#include <algorithm>
#include <netinet/in.h>
#include <new>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <curl/curl.h>
#include <openssl/ssl.h>

#include "worker/egress/address_guard.hpp"
#include "worker/http/c_guard.hpp"

namespace feedmill {

using std::chrono::steady_clock;

HttpShared::HttpShared(boost::asio::any_io_executor executor, HttpClientOptions given, HttpEngine::Finished finished)
    : options(std::move(given)),
      networks(options.max_per_network),
      posts(options.max_posts_per_network),
      resumes(std::string_view(curl_version_info(CURLVERSION_NOW)->ssl_version).starts_with("OpenSSL")),
      own_until(steady_clock::now()),
      nat64_until(own_until),
      engine(std::move(executor), options.max_connections, options.keep_alive, std::move(finished)) {}

const EgressPolicy& HttpShared::egress() {
  const steady_clock::time_point now = steady_clock::now();
  if (now >= own_until) {
    if (const auto own = interface_addresses()) {
      options.egress.close_own(*own);
      own_until = now + own_addresses_age;
    }
  }
  return options.egress;
}

Refusal refusal_of(Egress verdict, std::string_view address, unsigned port) {
  if (verdict == Egress::blocked_port) {
    return {Reason::egress_port, "port " + std::to_string(port) + " is not open for requests"};
  }
  return {Reason::egress_blocked, std::string(address) + " is not a public address"};
}

/// Data attached to an SSL_CTX and freed with it: the owner and the key of its sessions.
struct TlsSessions::Binding {
  TlsSessions* sessions;
  std::string key;
};

/// OpenSSL's callbacks.
struct TlsSessions::Hooks {
  static int index() {
    static const int number = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &Hooks::free_binding);
    return number;
  }

  static void free_binding(void*, void* binding, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<Binding*>(binding);
  }

  static const Binding& binding_of(const SSL* connection) {
    return *static_cast<const Binding*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), index()));
  }

  /// A ticket has arrived. Returns 0: no reference was taken.
  static int on_new_session(SSL* connection, SSL_SESSION* session) {
    CGuard guard;  // a session that cannot be stored is dropped: the next handshake is a full one
    guard.run([&] {
      const Binding& binding = binding_of(connection);
      binding.sessions->put(binding.key, session);
    });
    return 0;
  }

  /// libcurl creates the SSL object after its last callback to us, so the session is set when the handshake begins.
  static void on_progress(const SSL* connection, int where, int) {
    CGuard guard;  // without a session, the handshake is a full one
    guard.run([&] { resume(connection, where); });
  }

  static void resume(const SSL* connection, int where) {
    const Binding& binding = binding_of(connection);
    if ((where & SSL_CB_HANDSHAKE_START) != 0 && SSL_get_session(connection) == nullptr) {
      const Session session = binding.sessions->take(binding.key);
      if (session != nullptr) SSL_set_session(const_cast<SSL*>(connection), session.get());
    }
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0 && SSL_session_reused(connection) != 0 &&
        SSL_version(connection) < TLS1_3_VERSION) {
      binding.sessions->put(binding.key, SSL_get_session(connection));
    }
  }
};

void TlsSessions::Free::operator()(SSL_SESSION* session) const {
  SSL_SESSION_free(session);
}

void TlsSessions::attach(SSL_CTX* context, std::string key) {
  auto binding = std::make_unique<Binding>(Binding{this, std::move(key)});
  if (SSL_CTX_set_ex_data(context, Hooks::index(), binding.get()) != 1) throw std::bad_alloc();
  static_cast<void>(binding.release());
  SSL_CTX_clear_options(context, SSL_OP_NO_TICKET);  // libcurl sets it, which leaves TLS 1.2 with session ids only
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, &Hooks::on_new_session);
  SSL_CTX_set_info_callback(context, &Hooks::on_progress);
}

void TlsSessions::put(const std::string& key, SSL_SESSION* session) {
  if (SSL_SESSION_is_resumable(session) == 0) return;
  const int size = i2d_SSL_SESSION(session, nullptr);
  if (size <= 0 || static_cast<std::size_t>(size) > options_.max_session_bytes) return;
  std::string serialised(static_cast<std::size_t>(size), '\0');
  auto* position = reinterpret_cast<unsigned char*>(serialised.data());
  i2d_SSL_SESSION(session, &position);

  while (by_key_.count(key) >= options_.max_per_key) {
    const auto [begin, end] = by_key_.equal_range(key);
    const auto oldest =
        std::min_element(begin, end, [](const auto& a, const auto& b) { return a.second->until < b.second->until; });
    erase(oldest->second);
  }
  const auto stated = std::chrono::seconds(SSL_SESSION_get_timeout(session));
  std::list<Kept> fresh;
  fresh.push_back(
      Kept{key, std::move(serialised), std::chrono::steady_clock::now() + std::min(stated, options_.max_age)});
  by_key_.emplace(fresh.front().key, fresh.begin());
  sessions_.splice(sessions_.begin(), fresh);
  bytes_ += size_of(sessions_.front());
  while (bytes_ > options_.max_bytes) erase(std::prev(sessions_.end()));
}

TlsSessions::Session TlsSessions::take(const std::string& key) {
  for (auto found = by_key_.find(key); found != by_key_.end(); found = by_key_.find(key)) {
    const std::string bytes = found->second->bytes;
    const bool alive = found->second->until > std::chrono::steady_clock::now();
    erase(found->second);
    auto position = reinterpret_cast<const unsigned char*>(bytes.data());
    if (alive) return Session(d2i_SSL_SESSION(nullptr, &position, static_cast<long>(bytes.size())));
  }
  return nullptr;
}

std::size_t TlsSessions::size_of(const Kept& kept) {
  constexpr std::size_t node = sizeof(Kept) + 128;  // plus the nodes of the list and the index
  return node + kept.key.size() + kept.bytes.size();
}

void TlsSessions::erase(Place place) {
  bytes_ -= size_of(*place);
  const auto [begin, end] = by_key_.equal_range(place->key);
  by_key_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == place; }));
  sessions_.erase(place);
}

}  // namespace feedmill
