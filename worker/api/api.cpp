#include "worker/api/api.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include "parsers/text/numbers.hpp"
#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/requests/requests.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/api/asks.hpp"
#include "worker/base/cancellation.hpp"
#include "worker/base/terminal.hpp"
#include "worker/discovery/discover.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/bearer.hpp"
#include "worker/listener/query.hpp"
#include "worker/lists/export.hpp"
#include "worker/lists/import.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::size_t longest_list = std::size_t{2} << 20U;           // reading it takes 36 MiB at most
constexpr std::size_t most_told = 100;                                // rows of a list that are no feeds
constexpr std::uint64_t longest_looked_at = std::uint64_t{4} << 20U;  // of a document behind an address
constexpr std::chrono::minutes longest_export{10};
constexpr std::size_t calls_per_look = 5;                               // as which an address that is asked counts
constexpr std::chrono::milliseconds first_look{20}, longest_look{250};  // for the answer to a request

/// "8f1c…" in quotes: equal for equal texts.
std::string entity_tag(std::string_view body) {
  const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
  return fmt::format("\"{:016x}{:016x}\"", hash.high64, hash.low64);
}

/// Whether If-None-Match names the tag (RFC 9110 §13.1.2); a list is looked through, weak tags count.
bool names_tag(std::string_view field, std::string_view tag) {
  return field == "*" || field.find(tag) != std::string_view::npos;
}

/// How long a client wants to wait for the answer to a request (RFC 7240), at most `most`.
std::chrono::milliseconds wished_wait(std::string_view prefer, std::chrono::milliseconds most) {
  const std::string wish = lower(prefer);
  if (wish.find("respond-async") != std::string::npos) return std::chrono::milliseconds(0);
  const std::size_t wait = wish.find("wait=");
  if (wait == std::string::npos) return most;
  const auto seconds = leading_number<std::uint32_t>(std::string_view(wish).substr(wait + 5), 0);
  return std::min<std::chrono::milliseconds>(most, std::chrono::seconds(std::min(seconds, 3600U)));
}

/// Idempotency-Key as it stands, or as a string in quotes.
std::string key_of(std::string_view field) {
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
  return std::string(field);
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return iequals(type, "application/json");
}

/// Whether our own policy closes the address.
bool is_refused(const Look& look) {
  const auto* const error = std::get_if<FetchError>(&look.fetched);
  return error != nullptr && (error->reason == Reason::egress_blocked || error->reason == Reason::egress_port);
}

boost::json::object discovery_json(const std::string& url, const Discovery& found, const std::vector<bool>& present,
                                   bool complete) {
  boost::json::array feeds, refused;
  for (std::size_t i = 0; i < found.feeds.size(); ++i) {
    const FoundFeed& feed = found.feeds[i];
    boost::json::array posts;
    for (const Fields& fields : feed.posts) {
      boost::json::object& post = posts.emplace_back(boost::json::object()).get_object();
      for (const auto& [name, value] : fields) post[name] = value;
    }
    feeds.push_back({{"url", feed.url},
                     {"title", visible(feed.title)},
                     {"format", feed.format},
                     {"entries", feed.entries},
                     {"found_in", to_string(feed.found_in)},
                     {"present", present[i]},
                     {"posts", std::move(posts)}});
  }
  for (const RefusedCandidate& one : found.refused) {
    refused.push_back({{"url", visible(one.url)}, {"detail", visible(one.reason)}});
  }
  const std::string trouble = found.look && !found.look->is_page() ? found.look->trouble() : std::string();
  return {{"url", url},
          {"complete", complete},
          {"feeds", std::move(feeds)},
          {"refused", std::move(refused)},
          {"trouble", trouble.empty() ? boost::json::value() : boost::json::value(visible(trouble))}};
}

HttpReply http_reply_of(ApiReply reply, const Visit::Header& head) {
  const bool is_read = head.method() == http::verb::get || head.method() == http::verb::head;
  std::string tag;
  if (is_read && reply.status == 200) {
    tag = entity_tag(reply.body);
    if (names_tag(head[http::field::if_none_match], tag)) {
      reply.status = 304;
      reply.body.clear();
    }
  }
  HttpReply sent = http_reply(http::int_to_status(reply.status), reply.type, std::move(reply.body));
  if (!tag.empty()) {
    sent.set(http::field::etag, tag);
    sent.set(http::field::cache_control, "no-cache, private");
  }
  for (const auto& [name, value] : reply.headers) sent.set(name, value);
  return sent;
}

}  // namespace

/// A look behind an address: what the thread that looks has found, and whether it is to go on.
struct Api::Looking {
  Discovery discovery;  // the thread's until it is done
  std::string failed;   // likewise
  std::atomic<bool> gave_up = false, done = false;
};

/// One of the calls that may be under way; given up with the object.
class Api::Place {
 public:
  explicit Place(Api& api) : api_(api) { ++api_.calls_; }
  ~Place() { --api_.calls_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Api& api_;
};

Api::Api(asio::any_io_executor executor, Options options, const Config& config, MemoryBudget& memory,
         std::function<void()> asked, std::function<void(const char*)> bug)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      asked_(std::move(asked)),
      bug_(std::move(bug)),
      memory_(memory),
      store_([this] {
        StoreOptions store = options_.store;
        store.timeout = std::min<Milliseconds>(store.timeout, options_.patience);
        return store;
      }()) {
  set_config(config, options_.probe);
}

Api::~Api() {
  ending_ = true;
  look_threads_.join();
  thread_.join();
}

void Api::set_config(const Config& config, ProbeOptions probe) {
  probe.turns = probe_.turns;  // who was asked a moment ago is known still
  probe_ = std::move(probe);
  tokens_ = config.api_tokens;
  std::erase_if(buckets_, [&](const auto& one) { return !tokens_.contains(one.first); });
  hosts_ = HostRules(config);
  import_rate_ = config.schedule.import_rate;
}

/// Each token is compared, whichever it is.
const std::pair<const std::string, ApiToken>* Api::token_of(const Visit::Header& head) const {
  const std::string_view shown = head[http::field::authorization];
  const std::pair<const std::string, ApiToken>* found = nullptr;
  // A browser sends Basic by itself, for pages of others, too.
  if (!iequals(shown.substr(0, shown.find(' ')), "bearer")) return nullptr;
  for (const auto& row : tokens_) {
    if (shows_token(shown, row.second.token)) found = &row;
  }
  return found;
}

bool Api::may_call(const std::string& app) {
  const auto now = Clock::now();
  const auto [row, is_new] = buckets_.try_emplace(app, Bucket{options_.burst, now});
  Bucket& bucket = row->second;
  const std::chrono::duration<double> since = now - bucket.at;
  bucket = {std::min(options_.burst, bucket.left + since.count() * options_.a_second), now};
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

void Api::charge(const std::string& app, Clock::duration took) {
  const auto row = buckets_.find(app);
  if (row == buckets_.end()) return;  // its token went meanwhile
  row->second.left -= std::chrono::duration<double>(took) / std::chrono::duration<double>(options_.call_time);
}

asio::awaitable<HttpReply> Api::answer(Visit& visit) {
  if (tokens_.empty()) co_return http_reply(http::status::not_found);
  std::string failed;
  try {
    ApiReply reply = co_await call(visit);
    co_return http_reply_of(std::move(reply), visit.head());
  } catch (const std::exception& error) {
    if (is_cancellation(std::current_exception())) throw;
    failed = error.what();
  }
  bug_(failed.c_str());
  co_return http_reply_of(problem(500, "bug", "an unexpected error; please report it"), visit.head());
}

asio::awaitable<ApiReply> Api::call(Visit& visit) {
  const Visit::Header& head = visit.head();
  const auto* const token = token_of(head);
  if (token == nullptr) {
    ApiReply refused = problem("unauthorized", "show a token: Authorization: Bearer TOKEN");
    refused.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"feedmill\"");
    co_return refused;
  }
  ApiCall call;
  call.app = token->first;
  const bool asks = token->second.asks;  // the row may go while we wait
  if (!may_call(call.app)) {
    co_return problem("too_fast",
                      fmt::format("at most {} calls a second, {} at once", options_.a_second, options_.burst));
  }
  const std::string_view target = head.target();
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string path = percent_decoded(target.substr(0, mark)).value_or("");
  const http::verb method = head.method() == http::verb::head ? http::verb::get : head.method();
  const ApiRoute* route = nullptr;
  std::string allowed;
  for (const ApiRoute& one : api_routes()) {
    std::string item;
    if (!path.starts_with(api_base) || !is_at(one, std::string_view(path).substr(api_base.size()), item)) continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(http::to_string(one.method));
    if (one.method != method) continue;
    route = &one;
    call.item = item;
  }
  if (allowed.empty()) {
    co_return problem("no_such_resource", fmt::format("nothing is there; {}/openapi.json says what is", api_base));
  }
  if (route == nullptr) {
    ApiReply refused = problem("method_not_allowed", "there: " + allowed);
    refused.headers.emplace_back("Allow", allowed);
    co_return refused;
  }
  const bool asks_for = !route->op.empty() && route->op != "export";
  if (asks_for && !asks) co_return problem("read_only", "this token is for reading (asks = false)");
  if (calls_ >= options_.at_once) co_return problem("busy", "too many calls are under way");
  const Place place(*this);
  if (auto wrong = read_parameters(call, target.substr(std::min(mark + 1, target.size())), route->parameters)) {
    co_return *wrong;
  }
  if (!is_clean_text(call.item)) co_return problem("no_such_resource", "the path is no clean UTF-8");
  if (route->op == "import") co_return co_await import(call, visit);
  if (route->op == "export") co_return co_await export_list(call, visit);
  if (route->op == "discover") co_return co_await discover(call, visit);
  if (asks_for) co_return co_await ask(*route, call, visit);
  co_return co_await read(*route, call);
}

asio::awaitable<ApiReply> Api::read(const ApiRoute& route, const ApiCall& call) {
  if (route.read == nullptr) {  // nothing of it is in the store
    ApiReply description;
    description.body = api_description;
    co_return description;
  }
  const auto work = [&](Store& store) { return route.read({store, hosts_, stretches_, call}); };
  StoreResult<ApiReply> reply = co_await with_store(call.app, work);
  if (!reply) co_return store_is_away(reply.error());
  co_return std::move(*reply);
}

/// Nothing: the body is whole, or the client is gone.
asio::awaitable<std::optional<ApiReply>> Api::read_body(Visit& visit, std::uint64_t most) {
  const std::string_view coding = visit.head()[http::field::content_encoding];
  if (!coding.empty() && !iequals(coding, "identity")) {
    co_return problem("unsupported_media_type", "send the body without a content coding");
  }
  const auto refused = co_await visit.read_body({}, most);
  if (!refused) co_return std::nullopt;
  if (refused->result() == http::status::payload_too_large) {
    co_return problem("too_long", fmt::format("a body has {} KiB at most", most >> 10U));
  }
  co_return problem("bad_json", "the body cannot be read");
}

/// A list of subscriptions by the code of `feedmill import`, part by part: others are answered in between.
asio::awaitable<ApiReply> Api::import(const ApiCall& call, Visit& visit) {
  const std::string& user = call.get("user");
  const std::string_view unfit = user.empty() ? std::string_view() : unfit_name(user);
  if (!unfit.empty()) co_return problem("bad_parameter", fmt::format("user: {}", unfit));
  if (importing_) co_return problem("busy", "another list is being imported");
  importing_ = true;
  struct Ended {
    bool& importing;
    ~Ended() { importing = false; }
  };
  const Ended ended{importing_};
  if (auto refused = co_await read_body(visit, longest_list)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  const auto read = [&] { return read_subscriptions(visit.body()); };
  const SubscriptionList list = co_await run_on(thread_, read);
  std::size_t added = 0;
  for (std::size_t begin = 0; begin < list.feeds.size();) {
    const SubscriptionBatch batch = next_batch(list.feeds, begin);
    const auto put = [&](Store& store) -> StoreResult<std::size_t> {
      const auto is_new = add_batch(store, batch, list, added, import_rate_);
      if (!is_new) return is_new.error();
      const auto followed = put_into_channels(store, batch, user);
      if (!followed) return followed.error();
      return static_cast<std::size_t>(std::count(is_new->begin(), is_new->end(), true));
    };
    const auto done = co_await with_store(call.app, put);
    if (!done) co_return store_is_away(done.error());
    added += *done;
    begin += batch.size();
  }
  boost::json::array refused;
  const auto tell = [&](const RefusedRow& row) {
    if (refused.size() >= most_told) return;
    refused.push_back({{"line", row.line}, {"text", visible(row.text)}, {"detail", visible(row.reason)}});
  };
  std::ranges::for_each(list.broken, tell);
  std::ranges::for_each(list.refused, tell);
  co_return resource({{"result", "imported"},
                      {"added", added},
                      {"present", list.feeds.size() - added},
                      {"refused", list.refused.size() + list.broken.size()},
                      {"rows", std::move(refused)}});
}

/// All feeds, or those of a user, as OPML: part by part, so that nobody holds all of it, and others are answered in
/// between.
asio::awaitable<ApiReply> Api::export_list(const ApiCall& call, Visit& visit) {
  const std::string& user = call.get("user");
  const std::string_view unfit = user.empty() ? std::string_view() : unfit_name(user);
  if (!unfit.empty()) co_return problem("bad_parameter", fmt::format("user: {}", unfit));
  if (exporting_) co_return problem("busy", "another list is being exported");
  exporting_ = true;
  struct Ended {
    bool& exporting;
    ~Ended() { exporting = false; }
  };
  const Ended ended{exporting_};
  Export list(user);
  for (const auto until = Clock::now() + longest_export; !list.ended();) {
    const auto more = [&](Store& store) { return list.next(store); };
    const auto part = co_await with_store(call.app, more);
    // What was begun and cannot go on is not ended: whoever reads it sees that.
    if (!part && !visit.answered()) co_return store_is_away(part.error());
    if (!part || Clock::now() > until) break;
    if (!visit.answered()) {
      HttpReply head = http_reply(http::status::ok, "text/x-opml; charset=utf-8", {});
      const bool begun = co_await visit.begin(std::move(head));
      if (!begun || visit.head().method() == http::verb::head) co_return ApiReply();
    }
    if (part->empty()) continue;
    const bool taken = co_await visit.write(*part);
    if (!taken) co_return ApiReply();
  }
  if (list.ended()) co_await visit.end();
  co_return ApiReply();
}

/// What is behind an address, by the code of `feedmill discover`: on threads of its own, within the memory that all
/// documents share.
asio::awaitable<ApiReply> Api::discover(const ApiCall& call, Visit& visit) {
  const auto url = canonical_feed_url(call.get("url"));
  if (!url) co_return problem("bad_value", fmt::format("url: {}", visible(url.error())));
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  const auto known = [&](Store& store) { return Feeds(store).is_registered(*url); };
  const auto is_there = co_await with_store(call.app, known);
  if (!is_there) co_return store_is_away(is_there.error());
  MemoryBudget::Share share(memory_, 0);
  if (looking_.size() >= most_looks || looking_.contains(call.app) || !share.cover_reading(longest_looked_at)) {
    co_return problem("busy", "other addresses are being looked at");
  }
  const auto looking = std::make_shared<Looking>();
  co_await look(call, *url, looking);
  const Discovery& found = looking->discovery;
  if (found.look && is_refused(*found.look)) co_return problem("refused_address", visible(found.look->trouble()));
  std::vector<std::string> urls;
  for (const FoundFeed& feed : found.feeds) urls.push_back(feed.url);
  const auto look_up = [&](Store& store) { return Feeds(store).records(urls); };
  const auto records = co_await with_store(call.app, look_up);
  if (!records) co_return store_is_away(records.error());
  std::vector<bool> present;
  for (const auto& record : *records) present.push_back(record.has_value());
  co_return resource(discovery_json(*url, found, present, !looking->gave_up));
}

/// Whoever waits for it may go; the thread then gives up by itself.
asio::awaitable<void> Api::look(const ApiCall& call, const std::string& url, std::shared_ptr<Looking> looking) {
  struct Ended {
    Api& api;
    const std::string& app;
    Looking& looking;
    ~Ended() {
      api.looking_.erase(app);
      looking.gave_up = looking.gave_up || !looking.done;
    }
  };
  looking_.insert(call.app);
  const Ended ended{*this, call.app, *looking};
  ProbeOptions options = probe_;
  options.fetch.max_body_bytes = std::min(options.fetch.max_body_bytes, longest_looked_at);
  options.reading.max_body_bytes = options.fetch.max_body_bytes;
  options.gives_up = [this, looking] { return ending_ || looking->gave_up; };
  asio::post(look_threads_, [looking, url, options = std::move(options)] {
    try {
      Probe probe(options);
      feedmill::discover(probe, url, looking->discovery);
    } catch (const Interrupted&) {  // what was found until then is there
    } catch (const std::exception& error) {
      looking->failed = error.what();
    }
    looking->done = true;
  });
  asio::steady_timer timer(executor_);
  const auto until = Clock::now() + options_.look_time;
  while (!looking->done) {
    if (Clock::now() >= until) looking->gave_up = true;
    timer.expires_after(first_look);
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (!looking->failed.empty()) throw std::runtime_error(looking->failed);
  const std::size_t asked = 1 + looking->discovery.feeds.size() + looking->discovery.refused.size();
  charge(call.app, static_cast<std::int64_t>(calls_per_look * asked) * options_.call_time);
}

asio::awaitable<ApiReply> Api::ask(const ApiRoute& route, const ApiCall& call, Visit& visit) {
  const Visit::Header& head = visit.head();
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  if (!visit.body().empty() && !is_json(head[http::field::content_type])) {
    co_return problem("unsupported_media_type", "send Content-Type: application/json");
  }
  const std::string key = key_of(head["Idempotency-Key"]);
  if (key.empty() && head.count("Idempotency-Key") > 0) co_return problem("bad_key", "Idempotency-Key is empty");
  const auto until = Clock::now() + wished_wait(head["Prefer"], options_.wait);
  ApiAsk asking;
  const auto begin = [&](Store& store) { return begin_asking(store, route.op, call, visit.body(), key, asking); };
  const auto at_once = co_await with_store(call.app, begin);
  if (!at_once) co_return store_is_away(at_once.error());
  if (*at_once) co_return **at_once;
  asked_();
  asio::steady_timer timer(executor_);
  for (auto pause = first_look; Clock::now() < until; pause = std::min(2 * pause, longest_look)) {
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
    const auto look = [&](Store& store) { return look_for_answer(store, asking); };
    const auto answer = co_await with_store(call.app, look);
    if (answer && *answer) co_return **answer;
  }
  co_return waits_still(asking);  // the store may be away: it was asked all the same
}

void Api::note_error(const StoreError& error) {
  if (!is_transient(error)) return;
  last_error_ = error;
  last_error_at_ = Clock::now();
}

ApiReply Api::store_is_away(const StoreError& error) {
  if (is_transient(error)) return problem("store_away", "Redis does not answer; try again");
  return problem(500, "store_refused", visible(error.detail));
}

}  // namespace feedmill
