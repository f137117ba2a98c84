// The yardstick of push_out.py: libcurl's multi interface and nothing else, posting one body to many addresses.
//   feedmill_push_out_loop URLS BODY AT_ONCE      prints when it began, in microseconds since 1970, and its seconds of
//   CPU
// URLS has an address a line. Exit 1 unless each answers 2xx.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <curl/curl.h>

namespace {

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
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
  CURLM* const multi = curl_multi_init();
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
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 15'000L);
    ask_next(easy);
  }
  for (int running = 1; running > 0;) {
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      if (message->data.result == CURLE_OK && status / 100 == 2) ++taken;
      curl_multi_remove_handle(multi, easy);
      if (next < urls.size()) {
        ask_next(easy);
        running = 1;
      } else {
        curl_easy_cleanup(easy);
      }
    }
    if (running > 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
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
