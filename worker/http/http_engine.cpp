#include "worker/http/http_engine.hpp"

#include <chrono>
#include <new>
#include <stdexcept>
#include <utility>

#include <boost/asio/post.hpp>
#include <unistd.h>

#include "worker/http/c_guard.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// Initialises libcurl's global state before the first handle; it is kept until the process ends.
void need_libcurl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

int events_of(Ready ready) {
  return (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0);
}

/// "example.org:443" of "example.org:443:192.0.2.1,[2001:db8::1]".
std::string host_and_port(const std::string& line) {
  return line.substr(0, line.find(':', line.find(':') + 1));
}

}  // namespace

HttpEngine::HttpEngine(asio::any_io_executor executor, std::size_t max_connections, std::size_t keep_alive,
                       Finished finished)
    : executor_(std::move(executor)),
      finished_(std::move(finished)),
      keep_alive_(keep_alive),
      open_(2 * (max_connections + keep_alive) + 1024),
      watches_(
          executor_, [this](int socket, Ready ready) { act(socket, events_of(ready)); },
          [this](const std::exception_ptr& error) { fail_all(error); }),
      alive_(std::make_shared<HttpEngine*>(this)),
      timer_(executor_) {
  need_libcurl();
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpEngine::watch_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpEngine::set_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, 0L);  // queueing in libcurl would use up the deadline
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(max_connections + keep_alive));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(max_connections + keep_alive));
}

HttpEngine::~HttpEngine() {
  *alive_ = nullptr;
  timer_.cancel();
  idle_.clear();
  curl_multi_cleanup(multi_);  // closes idle connections through close_socket()
}

Easy HttpEngine::take_handle() {
  if (idle_.empty()) {
    Easy easy(curl_easy_init());
    if (easy == nullptr) throw std::bad_alloc();
    idle_.reserve(++handles_);
    return easy;
  }
  Easy easy = std::move(idle_.back());
  idle_.pop_back();
  return easy;
}

void HttpEngine::give_back(Easy easy) noexcept {
  curl_easy_reset(easy.get());
  idle_.push_back(std::move(easy));
}

HttpEngine::Name* HttpEngine::hold(const std::string& line, std::vector<std::string>& lines) {
  if (line.empty()) return nullptr;
  const std::string key = host_and_port(line);
  for (const std::string& ended : ended_) {
    if (ended != key) lines.push_back("-" + ended);
  }
  lines.push_back(line);
  auto found = held_.find(key);
  if (found == held_.end()) {
    Name fresh;
    fresh.mark.push_back(key);
    found = held_.emplace(key, std::move(fresh)).first;
  }
  // Nothing below can fail.
  Name& name = found->second;
  ++name.users;
  while (!ended_.empty()) {
    if (ended_.front() == key) {
      name.mark.splice(name.mark.end(), ended_, ended_.begin());
    } else {
      held_.erase(held_.find(ended_.front()));
      ended_.pop_front();
    }
  }
  return &name;
}

void HttpEngine::let_go(Name& name) noexcept {
  if (--name.users == 0) ended_.splice(ended_.end(), name.mark);
}

void HttpEngine::add(CURL* easy) {
  sockets_.emplace(easy, -1);
  if (curl_multi_add_handle(multi_, easy) == CURLM_OK) return;
  sockets_.erase(easy);
  throw std::bad_alloc();
}

void HttpEngine::remove(CURL* easy) noexcept {
  curl_multi_remove_handle(multi_, easy);
  sockets_.erase(easy);
}

int HttpEngine::socket_of(CURL* easy) const {
  const auto found = sockets_.find(easy);
  return found == sockets_.end() ? -1 : found->second;
}

int HttpEngine::watch_socket(CURL* easy, curl_socket_t socket, int what, void* data, void*) {
  HttpEngine& engine = *static_cast<HttpEngine*>(data);
  const auto own = engine.sockets_.find(easy);
  if (own != engine.sockets_.end() && what != CURL_POLL_REMOVE) own->second = socket;
  CGuard guard;
  // CURL_POLL_REMOVE clears the interest but keeps the watch: the connection may be kept and watched again.
  guard.run([&] { engine.watches_.watch(socket, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0); });
  if (guard) engine.fail(easy, guard.error());
  return 0;  // other values would end all current and future transfers
}

void HttpEngine::opened(int socket) noexcept {
  watches_.forget(socket);
  const auto place = static_cast<std::size_t>(socket);
  if (place >= open_.size() || open_[place]) return;
  open_[place] = true;
  ++open_count_;
}

int HttpEngine::close_socket(void* data, curl_socket_t socket) {
  HttpEngine& engine = *static_cast<HttpEngine*>(data);
  engine.watches_.forget(socket);
  const auto place = static_cast<std::size_t>(socket);
  if (place < engine.open_.size() && engine.open_[place]) {
    engine.open_[place] = false;
    --engine.open_count_;
  }
  return ::close(socket);
}

bool HttpEngine::worth_keeping(std::string_view origin) {
  const std::size_t hash = std::hash<std::string_view>()(origin);
  Asked* const two = &asked_[hash % (asked_.size() / 2) * 2];
  const bool first = two[0].origin == hash || (two[1].origin != hash && two[0].at <= two[1].at);
  Asked& asked = two[first ? 0 : 1];
  const auto now = steady_clock::now();
  const bool again = asked.origin == hash && now - asked.at < std::chrono::minutes(1);
  asked = {hash, now};
  const std::size_t idle = open_count_ - std::min(open_count_, sockets_.size());
  return idle < keep_alive_ / 2 || (again && idle < keep_alive_);
}

int HttpEngine::set_timer(CURLM*, long milliseconds, void* data) {
  HttpEngine& engine = *static_cast<HttpEngine*>(data);
  CGuard guard;
  guard.run([&] { engine.start_timer(milliseconds); });
  if (guard) engine.fail_all(guard.error());  // affects all transfers
  return 0;
}

void HttpEngine::start_timer(long milliseconds) {
  timer_due_.reset();
  if (milliseconds < 0) {  // nothing left to do
    timer_set_.reset();
    timer_.cancel();
  } else if (milliseconds == 0) {  // the most common case; calling early is harmless and cheaper than a timer
    act_soon();
  } else {
    timer_due_ = steady_clock::now() + std::chrono::milliseconds(milliseconds);
    wait_for_timer();
  }
}

void HttpEngine::act_soon() {
  if (acts_soon_) return;
  asio::post(executor_, [alive = alive_] {
    if (*alive == nullptr) return;
    (*alive)->acts_soon_ = false;
    (*alive)->act_on_time();
  });
  acts_soon_ = true;
}

/// Each transfer moves the due time back and forth. A timer that ends too early is kept, because setting it costs a
/// system call. (An overdue timer is set again: its handler may have been lost when memory ran out.)
void HttpEngine::wait_for_timer() {
  if (timer_set_ && *timer_set_ <= *timer_due_ && steady_clock::now() < *timer_set_) return;
  timer_set_.reset();
  timer_.expires_at(*timer_due_);  // cancels the previous wait
  timer_.async_wait([alive = alive_](boost::system::error_code error) {
    if (!error && *alive != nullptr) (*alive)->timer_ended();
  });
  timer_set_ = timer_due_;
}

/// Calls libcurl, which sets the next due time or clears it.
void HttpEngine::act_on_time() {
  timer_due_.reset();
  act(CURL_SOCKET_TIMEOUT, 0);
  if (timer_due_ || acts_soon_) return;
  timer_set_.reset();
  timer_.cancel();
}

void HttpEngine::timer_ended() {
  if (!timer_set_ || steady_clock::now() < *timer_set_) return;  // it was set again while this was queued
  timer_set_.reset();
  if (!timer_due_) return;
  if (steady_clock::now() >= *timer_due_) {
    act_on_time();
    return;
  }
  try {
    wait_for_timer();
  } catch (...) {  // out of memory
    fail_all(std::current_exception());
  }
}

/// Fails a transfer for which libcurl will receive no events. May be called within libcurl's callbacks.
void HttpEngine::fail(CURL* easy, const std::exception_ptr& error) {
  if (!sockets_.contains(easy)) return;  // not a transfer: a connection being closed
  void* transfer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  finished_(transfer, CURLE_ABORTED_BY_CALLBACK, error);
}

void HttpEngine::fail_all(const std::exception_ptr& error) {
  for (const auto& [easy, socket] : sockets_) fail(easy, error);
}

/// Runs libcurl, then wakes the owners of finished transfers.
void HttpEngine::act(curl_socket_t socket, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, events, &running);
  int waiting = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &waiting)) {
    if (message->msg != CURLMSG_DONE) continue;
    void* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finished_(transfer, message->data.result, nullptr);
  }
}

}  // namespace feedmill
