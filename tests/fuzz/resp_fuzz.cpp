// Any bytes as replies of a Redis server → values or errors, whatever the command was (SECURITY B3).
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <vector>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/redis/placement.hpp"
#include "storage/store/store.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace feedmill;

/// A server that sends its scripted reply, whatever the request.
class Liar {
 public:
  Liar() {
    signal(SIGPIPE, SIG_IGN);
    char pattern[] = "/tmp/feedmill-resp-XXXXXX";
    fuzz::require(mkdtemp(pattern) != nullptr);
    path_ = std::string(pattern) + "/s";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    fuzz::require(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    fuzz::require(listen(listener_, 8) == 0);
    std::thread([this] { serve(); }).detach();  // runs until the process ends
  }
  ~Liar() {
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path(), ignored);
  }

  /// Sets the reply for new connections; earlier clients may still be waiting.
  void say(std::string_view answer) {
    const std::lock_guard lock(mutex_);
    answer_ = answer;
  }
  std::string url() const { return "unix://" + path_; }

 private:
  void serve() {
    for (;;) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      const std::string answer = [this] {
        const std::lock_guard lock(mutex_);
        return answer_;
      }();
      [[maybe_unused]] const auto sent = send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      shutdown(client, SHUT_WR);
      char block[65536];
      while (read(client, block, sizeof block) > 0) {
      }
      close(client);
    }
  }

  std::string path_;
  std::mutex mutex_;
  std::string answer_;
  int listener_ = -1;
};

}  // namespace

FEEDMILL_FUZZ_TARGET(resp_fuzz, data, size) {
  static Liar liar;
  if (size == 0) return 0;
  liar.say(fuzz::view(data + 1, size - 1));
  Store store(StoreOptions{.url = liar.url()});
  const std::vector<std::string> urls{"https://example.org/feed.xml"};
  const std::vector<EntryRecord> posts{{"a", "digest", 1, {{"title", "t"}}}, {"b", "digest", {}, {}}};
  const LookUp wanted{urls[0], posts};
  ClaimRequest request;
  request.worker = "worker";
  request.request = 1;
  Commit commit;
  commit.feed_url = urls[0];
  commit.claim = "worker:1-1";
  const Commit* const one = &commit;
  switch (data[0] % 13) {
    case 0:
      Ingest(store).claim(request);
      break;
    case 1:
      Ingest(store).look_up(std::span(&wanted, 1));
      break;
    case 2:
      Ingest(store).commit(std::span(&one, 1));
      break;
    case 3:
      Feeds(store).records(urls);
      break;
    case 4:
      Fleet(store).figures();
      break;
    case 5:
      EventStream(store).trim();
      break;
    case 6:
      EventStream(store).read("0", 10, Milliseconds(0));
      break;
    case 7:
      Feeds(store).wake(urls, Milliseconds(0), false);
      break;
    case 8:
      Entries(store).all_by_order(urls[0], 10, EntryCursor{5, "Entry:1"});
      break;
    case 9:
      Hosts(store).state("example.org");
      break;
    case 10:
      Ingest(store).unspread();
      break;
    case 11: {
      RedisAddress address = *parse_redis_url(liar.url());
      address.cluster = {{"127.0.0.1", 7000}};
      [[maybe_unused]] const auto failed = find_holder(address, Milliseconds(5000));
      fuzz::require(address.cluster.size() <= 17);
      break;
    }
    default:
      store.open();
      break;
  }
  return 0;
}
