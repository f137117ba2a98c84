// What a document costs from its bytes to the arguments of its commit, in one thread, without sockets and Redis:
//   feedmill_hot_path SCENARIO ROUNDS
// a: first fetch, c: the same body again, d: one new and one edited post. Prints allocations and bytes allocated per
// feed, for 50 feeds of 30 posts; tests/bench/hot_path also counts instructions.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "storage/ingest/ingest.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "tests/support/live_memory.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {
namespace {

constexpr int feeds = 50, posts = 30;
constexpr Milliseconds clock_now{1'775'000'000'000};

/// Typical markup of a post, depending on `post` alone.
std::string text_of(unsigned post) {
  static constexpr const char* words[] = {"feed",   "reader", "the",  "of",     "and",   "news",
                                          "server", "month",  "will", "update", "about", "people"};
  std::mt19937 random(post);
  std::string text = "<p>";
  for (int i = 0; i < 220; ++i) {
    text += words[random() % std::size(words)];
    text += i % 40 == 39   ? "</p>\n<p>"
            : i % 55 == 54 ? " <a href=\"https://example.org/p/1?utm_source=x\">there</a> "
                           : " ";
  }
  return text + "<img src=\"https://example.org/i.png\" width=\"400\" height=\"300\" alt=\"x\"></p>";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// Posts `first` to `first` + 29, newest first; `edited`: the post with changed text.
std::string document(int feed, int first, int edited) {
  const bool atom = feed % 3 == 1;
  const std::string site = "https://site" + std::to_string(feed) + ".example/";
  std::string xml = atom ? "<feed xmlns='http://www.w3.org/2005/Atom'><title>Feed</title><link href='" + site + "'/>"
                         : "<rss version='2.0'><channel><title>Feed</title><link>" + site + "</link>";
  for (int n = first + posts - 1; n >= first; --n) {
    const std::string number = std::to_string(n), url = site + "post/" + number;
    const std::string text = escaped(text_of(static_cast<unsigned>(n)) + (n == edited ? "<p>Correction.</p>" : ""));
    const std::string date = "2026-03-" + std::to_string(10 + n % 18) + "T12:00:00Z";
    if (atom) {
      xml += "<entry><id>" + url + "</id><title>Post " + number + "</title><link href='" + url + "'/><updated>" + date +
             "</updated><author><name>An Author</name></author><content type='html'>" + text + "</content></entry>\n";
    } else {
      xml += "<item><guid isPermaLink='false'>" + url + "</guid><title>Post " + number + "</title><link>" + url +
             "</link><pubDate>" + date + "</pubDate><category>news</category><description>" + text +
             "</description></item>\n";
    }
  }
  return xml + (atom ? "</feed>" : "</channel></rss>");
}

FetchResult answer(const std::string& url, const std::string& body) {
  FetchResponse response;
  response.status = 200;
  response.url = url;
  response.headers = {{"content-type", "application/xml"}};
  response.body = body;
  return response;
}

/// A feed as stored after its first fetch.
struct Known {
  Claim claim;
  std::string url, first_body, next_body;
  std::vector<EntryRecord> stored;
  std::string items;
};

StoredSnapshot snapshot(const std::vector<EntryRecord>& read, const Known& known) {
  StoredSnapshot found;
  for (const EntryRecord& record : read) {
    StoredSnapshot::Guid& guid = found.guids.emplace_back();
    for (std::size_t i = 0; i < known.stored.size(); ++i) {
      if (known.stored[i].guid != record.guid) continue;
      guid.is = digest_mark(known.stored[i].digest) == digest_mark(record.digest) ? StoredSnapshot::Is::same
                                                                                  : StoredSnapshot::Is::different;
      if (guid.is == StoredSnapshot::Is::different) guid = {guid.is, "Entry:1", known.stored[i].fields};
    }
  }
  found.items = known.items;
  found.stored = known.stored.size();
  return found;
}

/// The parts of a refresh that do not wait: parses, decides, and encodes the commit's arguments for a server that does
/// not exist.
Commit refresh(Store& nowhere, const Known& known, const std::string& body, bool first) {
  FetchResult fetched = answer(known.url, body);
  Reading reading;
  StoredSnapshot found;
  std::vector<DigestMark> marks;
  std::vector<StoredGuid> stored;
  if (auto same = known_body(fetched, known.claim.state)) {
    reading = std::move(*same);
  } else {
    marks.reserve(known.stored.size());
    for (const EntryRecord& record : known.stored) {
      const DigestMark& mark = marks.emplace_back(digest_mark(record.digest));
      stored.push_back({record.guid, {}, {mark.data(), mark.size()}});
    }
    const StoredItems items = first ? StoredItems() : StoredItems(known.items, stored);
    ReadingOptions options;
    options.hash_items = true;
    options.items = &items;
    reading = read(fetched, known.claim.state, options);
    const auto& entries = std::get<Document>(reading).entries;
    if (first)
      found.guids.resize(entries.size());
    else
      found = snapshot(entries, known);
  }
  Exchange exchange;
  exchange.requested_url = known.url;
  Decision decision = decide(known.claim, std::move(reading), exchange, found, PolicyOptions(), clock_now);
  const Commit* const one = &decision.commit;
  if (Ingest(nowhere).commit(std::span(&one, 1)).front()) std::abort();  // fails without a server
  return std::move(decision.commit);
}

Known known_feed(int number) {
  Known known;
  known.url = "https://site" + std::to_string(number) + ".example/feed";
  known.claim.id = "0123456789abcdef0123456789abcdef:1-1";
  known.claim.feed_url = known.url;
  known.claim.now = known.claim.due = clock_now;
  known.first_body = document(number, 100 * number, -1);
  known.next_body = document(number, 100 * number + 1, 100 * number + 7);
  return known;
}

void store(Store& nowhere, Known& known) {
  FetchResult fetched = answer(known.url, known.first_body);
  ReadingOptions options;
  options.hash_items = true;
  Reading reading = read(fetched, known.claim.state, options);
  known.stored = std::get<Document>(reading).entries;
  Commit commit = refresh(nowhere, known, known.first_body, true);
  known.items = *commit.items;
  known.claim.state = commit.state;
}

int run(char scenario, int rounds) {
  Store nowhere(StoreOptions{.url = "unix:///nonexistent/feedmill.sock"});
  std::vector<Known> all;
  for (int i = 0; i < feeds; ++i) {
    all.push_back(known_feed(i));
    if (scenario != 'a') store(nowhere, all.back());
  }
  const Allocations before = allocations();
  for (int round = 0; round < rounds; ++round) {
    for (const Known& known : all) {
      refresh(nowhere, known, scenario == 'd' ? known.next_body : known.first_body, scenario == 'a');
    }
  }
  const Allocations after = allocations();
  const auto done = static_cast<double>(rounds * feeds);
  std::printf("%.1f %.0f\n", static_cast<double>(after.count - before.count) / done,
              static_cast<double>(after.bytes - before.bytes) / done);
  return 0;
}

}  // namespace
}  // namespace feedmill

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("feedmill_hot_path a|c|d ROUNDS\n", stderr);
    return 64;
  }
  return feedmill::run(argv[1][0], std::atoi(argv[2]));
}
