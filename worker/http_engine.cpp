#include "worker/http_engine.hpp"

#include <new>
#include <stdexcept>
#include <utility>

#include <boost/asio/post.hpp>
#include <unistd.h>

namespace feedmill {
namespace {

namespace asio = boost::asio;

/// libcurl's global state: set up before the first handle, kept until the process ends.
void need_libcurl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

int events_of(Ready ready) {
  return (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0) |
         (ready.failed ? CURL_CSELECT_ERR : 0);
}

}  // namespace

HttpEngine::HttpEngine(asio::any_io_executor executor, std::size_t max_connections, std::size_t keep_alive,
                       Finished finished)
    : executor_(std::move(executor)),
      finished_(std::move(finished)),
      watches_(executor_, [this](int socket, Ready ready) { act(socket, events_of(ready)); }),
      alive_(std::make_shared<HttpEngine*>(this)),
      timer_(executor_) {
  need_libcurl();
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpEngine::watch_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpEngine::set_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, 0L);  // admission is ours: waiting in there costs wall clock
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(max_connections));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(keep_alive));
}

HttpEngine::~HttpEngine() {
  *alive_ = nullptr;
  timer_.cancel();
  idle_.clear();
  curl_multi_cleanup(multi_);  // closes the connections kept, through close_socket()
}

Easy HttpEngine::take_handle() {
  if (idle_.empty()) {
    Easy easy(curl_easy_init());
    if (easy == nullptr) throw std::bad_alloc();
    return easy;
  }
  Easy easy = std::move(idle_.back());
  idle_.pop_back();
  return easy;
}

void HttpEngine::give_back(Easy easy) {
  curl_easy_reset(easy.get());
  idle_.push_back(std::move(easy));
}

/// libcurl walks through its cache of addresses after every transfer. Ours is the one that counts: each transfer takes
/// out what the one before it has put in and looked up.
std::vector<std::string> HttpEngine::resolve_lines(const std::string& line) {
  std::vector<std::string> lines;
  if (line.empty()) return lines;
  if (!forget_line_.empty()) lines.push_back(std::move(forget_line_));
  const std::size_t port = line.find(':') + 1;
  forget_line_ = "-" + line.substr(1, line.find(':', port) - 1);
  lines.push_back(line);
  return lines;
}

void HttpEngine::add(CURL* easy) {
  if (curl_multi_add_handle(multi_, easy) != CURLM_OK) throw std::bad_alloc();
}

void HttpEngine::remove(CURL* easy) {
  curl_multi_remove_handle(multi_, easy);
}

int HttpEngine::watch_socket(CURL*, curl_socket_t socket, int what, void* data, void*) {
  HttpEngine& engine = *static_cast<HttpEngine*>(data);
  if (what == CURL_POLL_REMOVE) {
    engine.watches_.forget(socket);
  } else {
    engine.watches_.watch(socket, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
  }
  return 0;
}

/// libcurl may close a socket without having said CURL_POLL_REMOVE: the watch goes first.
int HttpEngine::close_socket(void* data, curl_socket_t socket) {
  static_cast<HttpEngine*>(data)->watches_.forget(socket);
  return ::close(socket);
}

int HttpEngine::set_timer(CURLM*, long milliseconds, void* data) {
  HttpEngine& engine = *static_cast<HttpEngine*>(data);
  if (milliseconds < 0) {
    engine.timer_.cancel();
    return 0;
  }
  if (milliseconds == 0) {  // most often; an early call does no harm, and is cheaper than a timer
    asio::post(engine.executor_, [alive = engine.alive_] {
      if (*alive != nullptr) (*alive)->act(CURL_SOCKET_TIMEOUT, 0);
    });
    return 0;
  }
  engine.timer_.expires_after(std::chrono::milliseconds(milliseconds));  // cancels the wait before
  engine.timer_.async_wait([alive = engine.alive_](boost::system::error_code error) {
    if (!error && *alive != nullptr) (*alive)->act(CURL_SOCKET_TIMEOUT, 0);
  });
  return 0;
}

/// Lets libcurl work, then wakes whoever's transfer has ended.
void HttpEngine::act(curl_socket_t socket, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, events, &running);
  int waiting = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &waiting)) {
    if (message->msg != CURLMSG_DONE) continue;
    void* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finished_(transfer, message->data.result);
  }
}

}  // namespace feedmill
