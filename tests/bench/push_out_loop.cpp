// The yardstick of push_out.py: libcurl's multi interface on epoll and nothing else, posting one body to many URLs.
//   feedmill_push_out_loop URLS BODY AT_ONCE
// URLS is a file with a URL per line. Prints when it began, in microseconds since 1970, and its CPU seconds. Exit 1
// unless every response is 2xx.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <vector>

#include <curl/curl.h>

namespace {

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

/// The sockets and the timeout that libcurl waits for.
struct Waits {
  CURLM* multi = curl_multi_init();
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  long timeout_ms = -1;
};

/// libcurl's socket callback. `known`: not null if epoll has the socket already.
int watch(CURL*, curl_socket_t socket, int what, void* to, void* known) {
  Waits& waits = *static_cast<Waits*>(to);
  if (what == CURL_POLL_REMOVE) return epoll_ctl(waits.epoll, EPOLL_CTL_DEL, socket, nullptr), 0;
  epoll_event event{};
  event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
  event.data.fd = socket;
  epoll_ctl(waits.epoll, known != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  if (known == nullptr) curl_multi_assign(waits.multi, socket, to);
  return 0;
}

int note_timeout(CURLM*, long ms, void* to) {
  static_cast<Waits*>(to)->timeout_ms = ms;
  return 0;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

int main(int count, char** values) {
  if (count != 4) {
    std::fputs("usage: feedmill_push_out_loop URLS BODY AT_ONCE\n", stderr);
    return 64;
  }
  std::ifstream lines(values[1]), file(values[2]);
  std::vector<std::string> urls;
  for (std::string url; std::getline(lines, url);) urls.push_back(url);
  const std::string body(std::istreambuf_iterator<char>(file), {});
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  curl_global_init(CURL_GLOBAL_DEFAULT);
  curl_slist* headers = nullptr;
  for (const char* line :
       {"Content-Type: application/json", "webhook-id: 1795398110175-1", "webhook-timestamp: 1795398111",
        "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="})
    headers = curl_slist_append(headers, line);
  Waits waits;
  CURLM* const multi = waits.multi;
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &waits);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, note_timeout);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &waits);
  std::size_t next = 0, taken = 0;
  const auto ask_next = [&](CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_URL, urls[next++].c_str());
    curl_multi_add_handle(multi, easy);
  };
  const auto began = std::chrono::system_clock::now();
  for (int i = 0; i < std::atoi(values[3]) && next < urls.size(); ++i) {
    CURL* const easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);  // no host repeats: searching cached connections is expensive
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 15'000L);
    ask_next(easy);
  }
  int running = 0;
  std::array<epoll_event, 256> events;
  for (std::size_t done = 0; done < urls.size();) {
    const int found =
        epoll_wait(waits.epoll, events.data(), static_cast<int>(events.size()), static_cast<int>(waits.timeout_ms));
    if (found == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    for (int i = 0; i < found; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const int what = ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                       ((event.events & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                       ((event.events & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi, event.data.fd, what, &running);
    }
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      ++done;
      CURL* const easy = message->easy_handle;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      if (message->data.result == CURLE_OK && status / 100 == 2) ++taken;
      curl_multi_remove_handle(multi, easy);
      if (next < urls.size())
        ask_next(easy);
      else
        curl_easy_cleanup(easy);
    }
  }
  curl_multi_cleanup(multi);
  curl_slist_free_all(headers);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%lld %.3f\n",
      static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(began.time_since_epoch()).count()),
      seconds(usage.ru_utime) + seconds(usage.ru_stime));
  return taken == urls.size() ? 0 : 1;
}
