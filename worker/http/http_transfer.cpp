#include "worker/http/http_transfer.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <utility>

#include <openssl/ssl.h>

#include "storage/redis/test_point.hpp"
#include "worker/base/small_file.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/http_shared.hpp"
#include "worker/http/socket_bytes.hpp"

namespace feedmill {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t usual_head = 8U << 10U, most_head_of_small = 32U << 10U;

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK) throw std::logic_error(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
}

std::chrono::duration<double> seconds_of(CURL* easy, CURLINFO info) {
  curl_off_t microseconds = 0;
  curl_easy_getinfo(easy, info, &microseconds);
  return std::chrono::microseconds(microseconds);
}

/// Whether TLS is used, with the server or a proxy. libcurl follows no redirects, so nothing else can use it.
bool may_use_tls(const HttpRequest& request) {
  return request.proxy.has_value() || !request.url.starts_with("http://");
}

/// "https://example.org:8443" of a canonical URL.
std::string_view origin_text(std::string_view url) {
  return url.substr(0, url.find_first_of("/?#", url.find("://") + 3));
}

long long_of(CURL* easy, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

}  // namespace

CurlList::CurlList(const std::vector<std::string>& lines) {
  nodes_.reserve(lines.size());
  for (const std::string& line : lines) {
    nodes_.push_back(curl_slist{const_cast<char*>(line.c_str()), nullptr});  // libcurl only reads
    if (nodes_.size() > 1) nodes_[nodes_.size() - 2].next = &nodes_.back();
  }
}

HttpTransfer::HttpTransfer(HttpShared& shared, const HttpRequest& request, const std::string& resolve_line)
    : done(shared.engine.executor()),
      shared_(shared),
      networks_(request.post ? shared.posts : shared.networks),
      easy_(shared.engine.take_handle()),
      header_list_(request.header_lines),
      held_(shared.engine, resolve_line),
      resolve_list_(held_.lines()),
      deadline_(request.deadline),
      max_body_bytes_(
          std::min(request.max_body_bytes.value_or(shared.options.max_body_bytes), shared.options.max_body_bytes)),
      memory_(request.memory),
      stall_look_(steady_clock::now() + shared.options.stall_time),
      head_(shared.options, request.max_body_bytes ? most_head_of_small : shared.options.max_header_bytes) {
  if (request.proxy) proxy_port_ = request.proxy->port;
  if (may_use_tls(request)) {
    const Origin origin = origin_of(request.url);
    session_key_ = origin.host + ":" + std::to_string(origin.port) + " " + trust_of(request) + " " + request.pin;
    if (request.proxy) session_key_ += " " + request.proxy->url;
  }
  configure(request);
  shared_.engine.add(easy_.get());
}

HttpTransfer::~HttpTransfer() {
  if (memory_ != nullptr) memory_->on_granted({});
  shared_.engine.remove(easy_.get());
  shared_.engine.give_back(std::move(easy_));
  for (const std::string& network : places_) networks_.leave(network);
}

/// HTTP §7, in the order of its table.
void HttpTransfer::configure(const HttpRequest& request) {
  CURL* const easy = easy_.get();
  const HttpClientOptions& options = shared_.options;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(request.deadline - steady_clock::now()).count();

  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_ERRORBUFFER, error_text_);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_QUICK_EXIT, 1L);
  set(easy, CURLOPT_TCP_NODELAY, 1L);
  // Fails if a stream of a connection still in use has left its buffer with the handle; that buffer is then reused.
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 32L << 10);

  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_UNRESTRICTED_AUTH, 0L);
  set(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(easy, CURLOPT_HTTP09_ALLOWED, 0L);
  set(easy, CURLOPT_PROXY, request.proxy ? request.proxy->url.c_str() : "");  // ignores the environment's proxies
  set(easy, CURLOPT_NOPROXY, request.proxy ? "" : "*");
  set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_PIPEWAIT, 0L);
  set(easy, CURLOPT_HTTP_VERSION,
      static_cast<long>(options.http2 && !request.http1 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L);
  set(easy, CURLOPT_FORBID_REUSE, shared_.engine.worth_keeping(origin_text(request.url)) ? 0L : 1L);  // HTTP X1
  set(easy, CURLOPT_MAXAGE_CONN, 60L);
  set(easy, CURLOPT_MAXLIFETIME_CONN, 600L);

  if (request.post) {
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.post->size()));
    set(easy, CURLOPT_POSTFIELDS, request.post->c_str());  // the request outlives the transfer
  }
  set(easy, CURLOPT_USERAGENT, request.user_agent.c_str());
  set(easy, CURLOPT_HTTPHEADER, header_list_.get());
  set(easy, CURLOPT_RESOLVE, resolve_list_.get());
  // We control libcurl's DNS cache. Addresses it resolves itself (literals) expire at once: at the end of each transfer
  // it scans all it keeps.
  set(easy, CURLOPT_DNS_CACHE_TIMEOUT, held_.lines().empty() ? 0L : -1L);
  set(easy, CURLOPT_RESOLVER_START_FUNCTION, &HttpTransfer::on_resolve);
  set(easy, CURLOPT_RESOLVER_START_DATA, this);
  set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);

  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(left, 1)));
  set(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options.max_body_bytes));

  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr));  // else libcurl parses all roots for every connection
  if (may_use_tls(request))
    trust(request);
  else
    set(easy, CURLOPT_CAINFO, static_cast<char*>(nullptr));
  if (!request.proxy) {  // libcurl copies these for every connection
    set(easy, CURLOPT_PROXY_CAPATH, static_cast<char*>(nullptr));
    set(easy, CURLOPT_PROXY_CAINFO, static_cast<char*>(nullptr));
  }
  if (!request.pin.empty()) set(easy, CURLOPT_PINNEDPUBLICKEY, request.pin.c_str());
  if (shared_.resumes) {
    set(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    set(easy, CURLOPT_SSL_CTX_FUNCTION, &HttpTransfer::on_tls);
    set(easy, CURLOPT_SSL_CTX_DATA, this);
  }

  set(easy, CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &HttpTransfer::on_body);
  set(easy, CURLOPT_WRITEDATA, this);
  set(easy, CURLOPT_OPENSOCKETFUNCTION, &HttpTransfer::on_open);
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  set(easy, CURLOPT_CLOSESOCKETFUNCTION, &HttpEngine::close_socket);
  set(easy, CURLOPT_CLOSESOCKETDATA, &shared_.engine);  // connections outlive this transfer
  set(easy, CURLOPT_PREREQFUNCTION, &HttpTransfer::on_request);
  set(easy, CURLOPT_PREREQDATA, this);
  set(easy, CURLOPT_NOPROGRESS, 0L);
  set(easy, CURLOPT_XFERINFOFUNCTION, &HttpTransfer::on_progress);
  set(easy, CURLOPT_XFERINFODATA, this);
}

/// Reads the feed's CA file here, because libcurl would block on a pipe's writer (SECURITY E11). If it cannot be read,
/// no CA is trusted and the handshake fails.
void HttpTransfer::trust(const HttpRequest& request) {
  if (request.ca_file.empty()) {
    set(easy_.get(), CURLOPT_CAINFO, shared_.options.ca_bundle.c_str());
    set(easy_.get(), CURLOPT_CAINFO_BLOB, static_cast<curl_blob*>(nullptr));
    return;
  }
  constexpr std::size_t most = std::size_t{1} << 20U;
  auto authorities = read_regular_file(request.ca_file, most);
  if (!authorities) trust_trouble_ = "ca_file " + request.ca_file + ": " + authorities.error();
  std::string text = authorities ? std::move(*authorities) : std::string();
  curl_blob blob{text.data(), text.size(), CURL_BLOB_COPY};
  set(easy_.get(), CURLOPT_CAINFO, static_cast<char*>(nullptr));
  set(easy_.get(), CURLOPT_CAINFO_BLOB, &blob);
}

bool HttpTransfer::refuse(Reason reason, std::string detail) {
  refusal_ = Refusal{reason, std::move(detail)};
  return false;
}

/// SECURITY E9: the proxy's address is exempt, and libcurl connects nowhere else.
Egress HttpTransfer::verdict_of_proxy(unsigned port) const {
  return port == proxy_port_ ? Egress::allowed : Egress::blocked_port;
}

bool HttpTransfer::egress_allows(Egress verdict, std::string_view address, unsigned port) {
  if (verdict != Egress::allowed) refusal_ = refusal_of(verdict, address, port);
  return verdict == Egress::allowed;
}

int HttpTransfer::on_resolve(void*, void*, void* transfer) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(1, [&] { return self.resolve(); });
}

curl_socket_t HttpTransfer::on_open(void* transfer, curlsocktype, curl_sockaddr* address) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(CURL_SOCKET_BAD, [&] { return self.open(*address); });
}

CURLcode HttpTransfer::on_tls(CURL*, void* context, void* transfer) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(CURLE_ABORTED_BY_CALLBACK, [&] { return self.start_tls(context); });
}

int HttpTransfer::on_request(void* transfer, char* peer, char*, int port, int) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(CURL_PREREQFUNC_ABORT, [&] { return self.request(peer, static_cast<std::uint16_t>(port)); });
}

int HttpTransfer::on_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(1, [&] { return self.look_at_progress(); });
}

std::size_t HttpTransfer::on_header(char* data, std::size_t, std::size_t size, void* transfer) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(std::size_t{0}, [&] { return self.take_header({data, size}); });
}

std::size_t HttpTransfer::on_body(char* data, std::size_t, std::size_t size, void* transfer) {
  HttpTransfer& self = *static_cast<HttpTransfer*>(transfer);
  return self.guard_.run(std::size_t{0}, [&] { return self.take_body({data, size}); });
}

/// Called if libcurl has no addresses of the host. It may parse a literal address, but must not resolve names
/// (HTTP D1).
int HttpTransfer::resolve() {
  if (held_.lines().empty()) return 0;
  refuse(Reason::dns_failed, "its addresses are no longer known");
  return 1;
}

/// Opens every connection (SECURITY E3). After a refusal libcurl tries the next address.
curl_socket_t HttpTransfer::open(const curl_sockaddr& address) {
  std::string text = text_of(&address.addr);
  sockaddr_in place{};  // IPv6 has its port in the same place
  std::memcpy(&place, &address.addr, sizeof place);
  const std::uint16_t port = text.empty() ? 0 : ntohs(place.sin_port);
  if (text.empty()) text = "its address";
  const Egress verdict = proxy_port_ != 0 ? verdict_of_proxy(port) : shared_.egress().check(&address.addr, port);
  if (!egress_allows(verdict, text, port)) return CURL_SOCKET_BAD;
  if (!enter_network(text, port)) return CURL_SOCKET_BAD;
  const int socket = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (socket >= 0) {
    opened_ = true;
    shared_.engine.opened(socket);
  }
  if (socket < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
    refuse(Reason::worker_memory, std::string("no socket for it: ") + std::strerror(errno));  // SECURITY T37
  }
  return socket;
}

/// A lack of slots or sockets is reported even if another address was tried: the cause is local and temporary. An
/// egress refusal is reported only if no other address was tried.
bool HttpTransfer::is_refused_everywhere() const {
  return !opened_ || refusal_->reason == Reason::worker_memory || refusal_->reason == Reason::worker_host_wait;
}

/// HTTP H8. Once the request is sent, `places_` holds one network: the peer's.
bool HttpTransfer::enter_network(std::string_view address, unsigned port) {
  const bool is_proxy = proxy_port_ != 0;  // networks are counted by server, not by proxy
  if (is_proxy || shared_.egress().opened_by_allow(address, static_cast<std::uint16_t>(port))) return true;
  std::string network = shared_.egress().network_of(address);
  places_.reserve(places_.size() + 1);  // so that a slot that is taken can be recorded
  if (!networks_.enter(network)) {
    crowded_ = network;
    return refuse(Reason::worker_host_wait, "too many requests in progress to the network of " + std::string(address));
  }
  places_.push_back(std::move(network));
  return true;
}

/// Called before a TLS connection. The attached data belongs to the connection, which outlives this transfer.
CURLcode HttpTransfer::start_tls(void* context) {
  shared_.sessions.attach(static_cast<SSL_CTX*>(context), session_key_);
  return CURLE_OK;
}

/// Called before each request, also on reused connections.
int HttpTransfer::request(const char* peer, std::uint16_t port) {
  const Egress verdict = proxy_port_ != 0 ? verdict_of_proxy(port) : shared_.egress().check(peer, port);
  if (!egress_allows(verdict, peer, port)) return CURL_PREREQFUNC_ABORT;
  const std::string network = shared_.egress().network_of(peer);
  const bool entered = std::ranges::find(places_, network) != places_.end();  // else a reused connection
  if (!entered && !enter_network(peer, port)) return CURL_PREREQFUNC_ABORT;
  refusal_.reset();  // an earlier address may have been refused
  curl_tlssessioninfo* tls = nullptr;
  curl_easy_getinfo(easy_.get(), CURLINFO_TLS_SSL_PTR, &tls);
  if (tls != nullptr && tls->internals != nullptr) {
    const auto* const session = static_cast<const SSL*>(tls->internals);
    resumed_ = shared_.resumes && SSL_session_reused(session) != 0;
    const unsigned char* protocol = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(session, &protocol, &length);
    http2_ = length == 2;  // "h2"
  }
  // A reused connection may have died, so libcurl retries on a new one. If that rejects the stream, do not retry
  // further, as libcurl 8.14 does up to five times (HTTP P20).
  if (long_of(easy_.get(), CURLINFO_NUM_CONNECTS) > 1) {
    refuse(Reason::http_stream, "accepts no stream on a new connection");
    return CURL_PREREQFUNC_ABORT;
  }
  return CURL_PREREQFUNC_OK;
}

/// Called regularly while libcurl reads. Framing bytes (such as chunk extensions) appear in neither header nor body, so
/// a server that sends nothing else is detected by the bytes received on the socket. Not for HTTP/2, where transfers
/// share sockets, nor for 304, which has no body.
int HttpTransfer::look_at_progress() {
  const std::uint64_t content = head_.bytes() + body_.size();
  if (!head_.is_whole() || paused_until_ || long_of(easy_.get(), CURLINFO_RESPONSE_CODE) == 304 ||
      long_of(easy_.get(), CURLINFO_HTTP_VERSION) > CURL_HTTP_VERSION_1_1) {
    return 0;
  }
  if (content != content_seen_) {
    content_seen_ = content;
    received_then_.reset();
    return 0;
  }
  const std::uint64_t received = received_bytes(shared_.engine.socket_of(easy_.get()));
  if (!received_then_) received_then_ = received;
  if (received - *received_then_ <= shared_.options.max_body_bytes) return 0;
  refuse(Reason::limit_body, "more between the parts of its body than is read");
  return 1;
}

std::size_t HttpTransfer::take_header(std::string_view line) {
  const auto status = static_cast<int>(long_of(easy_.get(), CURLINFO_RESPONSE_CODE));
  std::optional<Refusal> refusal = head_.take(line, status);
  if (!refusal && memory_ != nullptr && head_.bytes() > usual_head && !memory_->cover(counted()))
    refusal = Refusal{Reason::worker_memory, "no memory for its header"};
  if (!refusal) return line.size();
  refusal_ = std::move(refusal);
  return 0;
}

std::size_t HttpTransfer::counted() const {
  return body_.size() + (head_.bytes() > usual_head ? head_.bytes() : 0);
}

std::size_t HttpTransfer::take_body(std::string_view bytes) {
  const std::size_t now = body_.size() + bytes.size();
  if (now > max_body_bytes_) {
    refuse(Reason::limit_body, "more body than is read");
    return 0;
  }
  curl_off_t length = 0;  // stated by the server, trusted up to a limit
  if (body_.empty()) {
    curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    length = std::clamp<curl_off_t>(length, 0, 1 << 20);
  }
  if (memory_ != nullptr) {
    const std::size_t head = counted() - body_.size();
    const bool whole = memory_->cover(head + std::max(now, static_cast<std::size_t>(length)));
    if (!whole && !memory_->cover(head + now)) {
      pause();
      return CURL_WRITEFUNC_PAUSE;
    }
  }
  if (body_.empty()) body_.reserve(static_cast<std::size_t>(length));
  body_.append(bytes);
  test_point("S5");
  return bytes.size();
}

/// Pauses until memory is granted or `memory_wait` is over (SECURITY M3).
void HttpTransfer::pause() {
  granted_ = false;
  memory_->on_granted({done.get_executor(), [this] {
                         granted_ = true;
                         done.cancel();
                       }});
  paused_until_ = steady_clock::now() + shared_.options.memory_wait;
  stirred_ = true;
  done.cancel();
}

steady_clock::time_point HttpTransfer::next_look() {
  stirred_ = false;
  return std::min(paused_until_.value_or(stall_look_), deadline_);
}

bool HttpTransfer::go_on() {
  if (std::exchange(granted_, false)) {
    paused_until_.reset();
    stall_look_ = steady_clock::now() + shared_.options.stall_time;
    curl_easy_pause(easy_.get(), CURLPAUSE_CONT);  // may deliver the pending body and pause again
    return true;
  }
  const steady_clock::time_point now = steady_clock::now();
  if (stirred_ || paused_until_ || now < stall_look_ || now >= deadline_) return stirred_;
  stalled_ = !moves();
  stall_look_ = now + shared_.options.stall_time;
  return !stalled_;
}

/// Whether enough has arrived since the last check. Until the response begins only the deadline counts: slow servers
/// are not penalised. (Replaces libcurl's low-speed limit, which wakes the loop every second for every running
/// transfer.)
bool HttpTransfer::moves() {
  const HttpClientOptions& options = shared_.options;
  const std::uint64_t received = head_.bytes() + body_.size();
  const std::uint64_t least = options.stall_bytes_per_second * static_cast<std::uint64_t>(options.stall_time.count());
  const bool enough = received == 0 || stall_bytes_ == 0 || received - stall_bytes_ >= least;
  stall_bytes_ = received;
  return enough;
}

HttpFailure HttpTransfer::given_up() {
  if (guard_) return own_failure();
  if (paused_until_ && !stalled_) return failure(Reason::worker_memory, "no memory for more of its body");
  return with_what_came(stalled_ ? failure(Reason::http_stalled, "received almost nothing for too long")
                                 : failure(Reason::http_timeout, "no complete answer within the time allowed"));
}

/// HTTP §4: complete posts are useful even if the body is not complete.
HttpFailure HttpTransfer::with_what_came(HttpFailure ending) {
  const bool cut = ending.reason == Reason::limit_body || to_string(ending.reason).starts_with("http.");
  const bool has_document = head_.is_whole() && (head_.status() == 200 || head_.status() == 203);
  if (!cut || !has_document || body_.empty()) return ending;
  ending.headers = head_.take_fields();
  ending.body = std::move(body_);
  return ending;
}

void HttpTransfer::finish(CURLcode code, const std::exception_ptr& error) noexcept {
  if (finished) return;
  if (error) guard_.keep(error);
  code_ = code;
  finished = true;
  done.cancel();
}

HttpTrace HttpTransfer::trace() const {
  CURL* const easy = easy_.get();
  HttpTrace trace;
  trace.total = seconds_of(easy, CURLINFO_TOTAL_TIME_T);
  trace.connect = std::max(seconds_of(easy, CURLINFO_CONNECT_TIME_T), seconds_of(easy, CURLINFO_APPCONNECT_TIME_T));
  trace.first_byte = seconds_of(easy, CURLINFO_STARTTRANSFER_TIME_T);
  trace.wire_bytes = head_.bytes() + body_.size();
  trace.sent = long_of(easy, CURLINFO_REQUEST_SIZE) > 0;
  trace.connections_new = static_cast<std::uint32_t>(long_of(easy, CURLINFO_NUM_CONNECTS));
  trace.connections_resumed = resumed_ ? trace.connections_new : 0;
  char* peer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &peer);
  if (peer != nullptr) trace.peer = peer;
  trace.peer_port = static_cast<std::uint16_t>(long_of(easy, CURLINFO_PRIMARY_PORT));
  return trace;
}

HttpFailure HttpTransfer::failure(Reason reason, std::string detail) const {
  return HttpFailure{reason, std::move(detail), head_.status(), trace()};
}

HttpFailure HttpTransfer::own_failure() const {
  auto [reason, detail] = guard_.told();
  return failure(reason, std::move(detail));
}

HttpResult HttpTransfer::result() {
  if (guard_) return own_failure();
  if (code_ != CURLE_OK) return with_what_came(failure_of_code());
  if (!head_.is_whole()) return failure(Reason::http_truncated, "ends within its header");
  HttpResponse response;
  response.status = static_cast<int>(long_of(easy_.get(), CURLINFO_RESPONSE_CODE));
  response.trace = trace();
  response.headers = head_.take_fields();
  response.body = std::move(body_);
  return response;
}

Reason HttpTransfer::connect_reason() const {
  switch (long_of(easy_.get(), CURLINFO_OS_ERRNO)) {
    case ECONNREFUSED:
      return Reason::connect_refused;
    case ETIMEDOUT:
      return Reason::connect_timeout;
    default:
      return Reason::connect_failed;
  }
}

/// The proxy's response to CONNECT, if it is an error.
std::optional<HttpFailure> HttpTransfer::refused_by_proxy() const {
  const long answer = proxy_port_ == 0 ? 0 : long_of(easy_.get(), CURLINFO_HTTP_CONNECTCODE);
  if (answer < 300) return std::nullopt;
  const Reason reason = answer == 407   ? Reason::status_auth
                        : answer == 403 ? Reason::egress_blocked
                                        : Reason::connect_failed;
  return failure(reason, "the proxy answered " + std::to_string(answer) + " to CONNECT");
}

HttpFailure HttpTransfer::failure_of_code() const {
  if (auto refused = refused_by_proxy()) return std::move(*refused);
  const std::string_view said = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code_);
  const auto fail = [&](Reason reason) { return failure(reason, std::string(said)); };
  switch (code_) {
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
      if (refusal_) return failure(refusal_->reason, refusal_->detail);
      return fail(Reason::worker_bug);
    case CURLE_COULDNT_CONNECT:
      if (refusal_ && is_refused_everywhere()) return failure(refusal_->reason, refusal_->detail);
      return fail(connect_reason());
    case CURLE_OPERATION_TIMEDOUT:
      if (paused_until_) return failure(Reason::worker_memory, "no memory for more of its body");
      if (long_of(easy_.get(), CURLINFO_REQUEST_SIZE) > 0) return fail(Reason::http_timeout);
      // libcurl's clock may be slightly ahead of ours.
      if (steady_clock::now() + std::chrono::milliseconds(10) >= deadline_) return fail(Reason::http_timeout);
      return fail(seconds_of(easy_.get(), CURLINFO_NAMELOOKUP_TIME_T).count() > 0 ? Reason::connect_timeout
                                                                                  : Reason::dns_timeout);
    case CURLE_COULDNT_RESOLVE_HOST:
      if (refusal_) return failure(refusal_->reason, refusal_->detail);
      return fail(Reason::dns_not_found);
    case CURLE_COULDNT_RESOLVE_PROXY:
      return fail(Reason::dns_failed);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ISSUER_ERROR:
      return fail(Reason::tls_verify);
    case CURLE_SSL_CACERT_BADFILE:
      return trust_trouble_.empty() ? fail(Reason::tls_handshake) : failure(Reason::tls_handshake, trust_trouble_);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_USE_SSL_FAILED:
      return fail(Reason::tls_handshake);
    case CURLE_URL_MALFORMAT:
      return fail(Reason::url_invalid);
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return fail(Reason::http_stream);
    case CURLE_FILESIZE_EXCEEDED:
      return fail(Reason::limit_body);
    case CURLE_OUT_OF_MEMORY:  // also libcurl's own limit on header lines
      return head_.is_whole() ? fail(Reason::worker_memory) : failure(Reason::limit_header, "more header than is read");
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:  // newer versions, for such a line
      return failure(Reason::limit_header, "more header than is read");
#endif
    case CURLE_GOT_NOTHING:
      // After ALPN chose HTTP/2, the server did not speak it (libcurl 7.88; 8.14 returns CURLE_HTTP2; HTTP P20).
      return fail(http2_ ? Reason::http_stream : Reason::http_truncated);
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
      return fail(Reason::http_truncated);
    case CURLE_RECV_ERROR:  // a reset, malformed chunks, or a trailer above libcurl's own limit
      if (said.starts_with("Out of memory in chunked"))
        return failure(Reason::limit_header, "more trailer than is read");
      return fail(said.find("hunk") == said.npos ? Reason::http_truncated : Reason::http_malformed);
    default:
      return fail(Reason::http_malformed);
  }
}

}  // namespace feedmill
