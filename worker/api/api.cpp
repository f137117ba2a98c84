#include "worker/api/api.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include "parsers/text/strings.hpp"
#include "storage/queues/requests.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/terminal.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::chrono::seconds longest_debt{10};                        // how long a token may stay in debt
constexpr std::chrono::milliseconds first_look{20}, longest_look{250};  // poll interval for a request's answer

/// The ETag of a body: its hash in quotes.
std::string entity_tag(std::string_view body) {
  const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
  return fmt::format("\"{:016x}{:016x}\"", hash.high64, hash.low64);
}

/// Whether If-None-Match contains the tag (RFC 9110 §13.1.2), also within a list or as a weak tag.
bool names_tag(std::string_view field, std::string_view tag) {
  return field == "*" || field.find(tag) != std::string_view::npos;
}

/// How long to wait for the answer to a request: as the client prefers (RFC 7240), at most `most`.
std::chrono::milliseconds wished_wait(std::string_view prefer, std::chrono::milliseconds most) {
  const std::string wish = lower(prefer);
  if (wish.find("respond-async") != std::string::npos) return std::chrono::milliseconds(0);
  const std::size_t wait = wish.find("wait=");
  if (wait == std::string::npos) return most;
  const auto seconds = leading_number<std::uint32_t>(std::string_view(wish).substr(wait + 5), 0);
  return std::min<std::chrono::milliseconds>(most, std::chrono::seconds(std::min(seconds, 3600U)));
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return iequals(type, "application/json");
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

/// Adds the partition to the reply's Location.
void name_partition(ApiReply& reply, unsigned partition) {
  for (auto& [name, value] : reply.headers) {
    if (name == "Location")
      value += fmt::format("{}partition={}", value.find('?') == value.npos ? '?' : '&', partition);
  }
}

}  // namespace

/// The slot of a running call; released with the object.
class Api::Place {
 public:
  Place(Api& api, std::string app) : api_(api), app_(std::move(app)), memory_(api.memory_, 0) {
    memory_.hold(call_cost);
    ++api_.calls_;
    ++api_.calls_of_[app_];
  }
  ~Place() {
    --api_.calls_;
    if (--api_.calls_of_[app_] == 0) api_.calls_of_.erase(app_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// Whether this token may run another call. If there are several tokens, a quarter of the slots is left to the
  /// others.
  static bool is_free(const Api& api, const std::string& app) {
    const auto own = api.calls_of_.find(app);
    const std::size_t most = api.options_.at_once, left = api.tokens_.size() > 1 ? most / 4 : 0;
    return api.calls_ < most && (own == api.calls_of_.end() || own->second < most - left);
  }

 private:
  static constexpr std::uint64_t call_cost = 4U << 20U;  // for a page and its text

  Api& api_;
  const std::string app_;
  MemoryBudget::Share memory_;
};

/// A call that waits for an answer without occupying a slot.
class Api::Waiting {
 public:
  explicit Waiting(std::size_t& count) : count_(count) { ++count_; }
  ~Waiting() { --count_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::size_t& count_;
};

Api::Desk::Desk(std::span<const StoreOptions> options)
    : stores([&] {
        std::vector<std::unique_ptr<Store>> all;
        for (const StoreOptions& one : options) all.push_back(std::make_unique<Store>(one));
        return all;
      }()),
      deployment([this] {
        std::vector<Store*> all;
        for (const auto& store : stores) all.push_back(store.get());
        return all;
      }()),
      stretches(stores.size()) {}

StoreOptions Api::options_of_desk() const {
  StoreOptions store = options_.store;
  store.timeout = std::min<Milliseconds>(store.timeout, options_.patience);
  return store;
}

Api::Desk& Api::all_desk() {
  if (all_) return *all_;
  std::vector<StoreOptions> options;
  for (const Api* const partition : partitions_) options.push_back(partition->options_of_desk());
  all_ = std::make_unique<Desk>(options);
  return *all_;
}

Api::Api(asio::any_io_executor executor, Options options, const Config& config, Looks& looks, MemoryBudget& memory,
         std::function<void(bool answered)> asked, std::function<void(const char*)> bug)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      asked_(std::move(asked)),
      bug_(std::move(bug)),
      looks_(looks),
      memory_(memory),
      answers_(memory, options_.most_untaken),
      own_(std::array{options_of_desk()}) {
  set_config(config);
}

void Api::set_config(const Config& config) {
  tokens_ = config.api_tokens;
  std::erase_if(buckets_, [&](const auto& one) { return !tokens_.contains(one.first); });
  hosts_ = HostRules(config);
  rules_ = std::make_shared<RequestRules>(RequestRules{config, EgressViewer(looks_.fetching())});
  import_rate_ = config.schedule.import_rate;
  public_url_ = config.url_of_partition(config.push_out.public_url);
  receiver_patience_ = config.push_out.timeout;
}

/// Compares with every token, so that the time does not depend on which one matches.
const std::pair<const std::string, ApiToken>* Api::token_of(const Visit::Header& head) const {
  const std::string_view shown = head[http::field::authorization];
  const std::pair<const std::string, ApiToken>* found = nullptr;
  // Browsers send Basic credentials on their own, even for requests made by other sites.
  if (!iequals(shown.substr(0, shown.find(' ')), "bearer")) return nullptr;
  for (const auto& row : tokens_) {
    if (shows_token(shown, row.second.token)) found = &row;
  }
  return found;
}

double Api::rate_of(const std::string& app) const {
  const auto token = tokens_.find(app);
  return token != tokens_.end() && token->second.rate ? *token->second.rate : options_.a_second;
}

double Api::burst_of(const std::string& app) const {
  const auto token = tokens_.find(app);
  return token != tokens_.end() && token->second.burst ? *token->second.burst : options_.burst;
}

bool Api::may_call(const std::string& app) {
  const auto now = Clock::now();
  const double burst = burst_of(app);
  const auto [row, is_new] = buckets_.try_emplace(app, Bucket{burst, now});
  Bucket& bucket = row->second;
  const std::chrono::duration<double> since = now - bucket.at;
  bucket = {std::min(burst, bucket.left + since.count() * rate_of(app)), now};
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

/// Caps the debt, so that it is paid off within `longest_debt` however long the store was busy.
void Api::charge(const std::string& app, Clock::duration took) {
  Api& front = partitions_.empty() ? *this : *partitions_.front();  // clients call this one; its limits apply to all
  const auto row = front.buckets_.find(app);
  if (row == front.buckets_.end()) return;  // the token was removed during the call
  const double calls = std::chrono::duration<double>(took) / std::chrono::duration<double>(options_.call_time);
  const double most = front.rate_of(app) * std::chrono::duration<double>(longest_debt).count();
  row->second.left = std::max(row->second.left - calls, -most);
}

/// Whole seconds until a token may call again, at least 1.
std::int64_t Api::rest_of(const std::string& app) const {
  const auto row = buckets_.find(app);
  const double missing = row == buckets_.end() ? 0 : 1 - row->second.left;
  return std::max<std::int64_t>(1, std::llround(std::ceil(std::min(missing / rate_of(app), 3600.0))));
}

asio::awaitable<HttpReply> Api::answer(Visit& visit) {
  if (tokens_.empty()) co_return http_reply(http::status::not_found);
  std::string failed;
  try {
    ApiReply reply = co_await call(visit);
    HttpReply sent = http_reply_of(std::move(reply), visit.head());
    sent.body().shrink_to_fit();
    if (answers_.used() > 0 && answers_.used() + sent.body().size() > options_.most_untaken) {
      constexpr const char* why = "clients have not read the previous answers";
      co_return http_reply_of(problem("busy", why), visit.head());
    }
    if (!sent.body().empty()) sent.shared_body = answers_.share(std::exchange(sent.body(), {}));
    co_return sent;
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
    ApiReply refused = problem("unauthorized", "authenticate: Authorization: Bearer TOKEN");
    refused.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"feedmill\"");
    co_return refused;
  }
  ApiCall call;
  call.app = token->first;
  const bool asks = token->second.asks;  // a reload may remove the row while we wait
  if (!may_call(call.app)) {
    ApiReply refused = problem(
        "too_fast", fmt::format("at most {} calls a second, {} at once", rate_of(call.app), burst_of(call.app)));
    refused.headers = {{"Retry-After", std::to_string(rest_of(call.app))}};
    co_return refused;
  }
  std::string_view query = head.target();
  const std::string path = percent_decoded(take_until(query, '?')).value_or("");
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
    co_return problem("no_such_resource", fmt::format("no such endpoint; see {}/openapi.json", api_base));
  }
  if (route == nullptr) {
    ApiReply refused = problem("method_not_allowed", "there: " + allowed);
    refused.headers.emplace_back("Allow", allowed);
    co_return refused;
  }
  const bool asks_for = (!route->op.empty() && route->op != "export") ||
                        (route->operation != nullptr && route->operation->access != Operation::Access::read);
  if (asks_for && !asks) co_return problem("read_only", "this token is read-only (asks = false)");
  if (!Place::is_free(*this, call.app)) co_return problem("busy", "too many calls in progress");
  std::optional<Place> place(std::in_place, *this, call.app);
  std::string known(route->parameters);
  const Partition& mine = options_.store.partition;
  if (!mine.is_whole()) known += known.empty() ? "partition" : " partition";
  if (auto wrong = read_parameters(call, query, known)) co_return *wrong;
  if (!is_clean_text(call.item)) co_return problem("no_such_resource", "the path is not valid UTF-8");
  Given given{route->operation, {}, {}, wished_wait(head["Prefer"], options_.wait)};
  if (route->operation != nullptr) {
    if (auto wrong = co_await read_values(*route->operation, call, visit, given.values)) co_return *wrong;
    given.key = key_in(head["Idempotency-Key"]);
    if (route->operation->is_request() && head.count("Idempotency-Key") > 0 && !is_ref(given.key)) {
      co_return problem("bad_key",
                        "Idempotency-Key: expected 1 to 128 ASCII letters, digits, dots, colons, dashes and "
                        "underscores, such as a UUID");
    }
  }
  if (!partitions_.empty()) co_return co_await lead(*route, call, given, visit, place);
  if (const auto named = call.parameters.find("partition"); named != call.parameters.end() && !mine.is_whole()) {
    if (named->second != std::to_string(mine.index))
      co_return problem("bad_parameter", fmt::format("partition: this worker serves only {}", mine.index));
    call.parameters.erase(named);
  }
  co_return co_await carry_out(*route, call, given, visit, place);
}

/// Routes a call to the partition or partitions that it concerns.
asio::awaitable<ApiReply> Api::lead(const ApiRoute& route, ApiCall call, const Given& given, Visit& visit,
                                    std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  if (!call.parameters.contains("partition")) {
    if (route.of_partitions) co_return co_await read(route, call, all_desk());
    if (route.op == "import") co_return co_await import(call, visit, all_desk());
    if (route.op == "export") co_return co_await export_list(call, visit, all_desk());
    if (route.path.starts_with("/channel")) co_return co_await ask_of_channel(given, call, place);
    if (route.path.starts_with("/notices") || route.path.starts_with("/rules"))
      co_return co_await ask_of_user(given, call, place);
  }
  auto partition = partition_of_call(route, call, given.values, count);
  if (names_entry_by_number(route, call, count)) {
    const std::vector<std::string> entry{call.item};
    const auto its = co_await partitions_with(call, entry);
    if (!its) co_return store_is_away(its.error());
    partition = its->front();
  }
  if (!partition && of_all_ != nullptr && route.of_all)
    co_return co_await of_all_->carry_out(route, call, given, visit, place);
  if (!partition) {
    co_return problem("missing_parameter",
                      fmt::format("this call is for one partition: give partition in the query, 0 to {}{}", count - 1,
                                  route.of_all ? ", or set signals.merged to use the merged stream" : ""));
  }
  if (*partition >= count) co_return problem("bad_parameter", fmt::format("partition: 0 to {}", count - 1));
  if (route.operation != nullptr && route.operation->request == RequestOp::move) {
    if (auto taken = co_await refuse_taken(given, call, *partition)) co_return *taken;
  }
  ApiReply reply = co_await partitions_[*partition]->carry_out(route, call, given, visit, place);
  name_partition(reply, *partition);
  co_return reply;
}

asio::awaitable<ApiReply> Api::ask_partition(unsigned partition, const Given& given, const ApiCall& call,
                                             std::optional<Place>& place) {
  ApiReply reply = co_await partitions_[partition]->ask(given, call, place);
  if (reply.status == 202) name_partition(reply, partition);
  co_return reply;
}

asio::awaitable<ApiReply> Api::carry_out(const ApiRoute& route, const ApiCall& call, const Given& given, Visit& visit,
                                         std::optional<Place>& place) {
  if (route.op == "import") co_return co_await import(call, visit, own_);
  if (route.op == "export") co_return co_await export_list(call, visit, own_);
  if (route.op == "discover") co_return co_await discover(call, visit);
  if (route.operation != nullptr && route.operation->is_request()) co_return co_await ask(given, call, place);
  if (route.operation != nullptr) co_return co_await operate(*route.operation, call, given.values);
  co_return co_await read(route, call, own_);
}

asio::awaitable<ApiReply> Api::read(const ApiRoute& route, const ApiCall& call, Desk& desk) {
  if (route.read == nullptr) {  // the route reads nothing from the store
    ApiReply description;
    description.body = api_description;
    co_return description;
  }
  const auto work = [&](const Deployment& stores) -> StoreResult<ApiReply> {
    try {
      return route.read({stores, desk.stretches, hosts_, call});
    } catch (const OperationRefused& refused) {
      return problem(refused);
    }
  };
  StoreResult<ApiReply> reply = co_await ask_desk(desk, call.app, work);
  if (!reply) co_return store_is_away(reply.error());
  co_return std::move(*reply);
}

/// Reads a body of at most `most` bytes. Returns the problem; empty if the body is complete or the client is gone.
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

/// Parses the body into `body`, which stays unchanged without one. Returns the problem; also empty if the client is
/// gone.
asio::awaitable<std::optional<ApiReply>> Api::read_object(Visit& visit, boost::json::object& body) {
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone() || visit.body().empty()) co_return std::nullopt;
  if (!is_json(visit.head()[http::field::content_type])) {
    co_return problem("unsupported_media_type", "send Content-Type: application/json");
  }
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(visit.body(), error);
  if (error || !value.is_object()) co_return problem("bad_json", "the body is not a JSON object");
  body = std::move(value.get_object());
  co_return std::nullopt;
}

asio::awaitable<ApiReply> Api::ask(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const auto until = Clock::now() + given.wait;
  const std::string ref = given.key.empty() ? random_ref() : given.key;
  const Request request = request_of(*given.operation, given.values, call.app, ref);
  ApiAsk asking;
  const auto rules = rules_;
  const auto begin = [&](Store& store) { return begin_asking(store, request, !given.key.empty(), *rules, asking); };
  const auto at_once = co_await with_store(call.app, begin);
  if (!at_once) co_return store_is_away(at_once.error());
  if (asking.answered) asked_(true);
  if (*at_once) co_return **at_once;
  asked_(false);
  std::optional<Waiting> waiting;
  if (waiting_ < options_.waiting) {  // waiting must not block other calls
    waiting.emplace(waiting_);
    place.reset();
  }
  asio::steady_timer timer(executor_);
  for (auto pause = first_look; Clock::now() < until; pause = std::min(2 * pause, longest_look)) {
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
    const auto look = [&](Store& store) { return look_for_answer(store, asking); };
    const auto answer = co_await with_store(call.app, look);
    if (answer && *answer) co_return **answer;
  }
  co_return waits_still(asking);  // the request is stored, even if the store does not answer now
}

void Api::note_error(Desk& desk, const StoreError& error) {
  if (!is_transient(error) || error.code == StoreError::Code::out_of_memory) return;  // reads still work
  desk.last_error = error;
  desk.last_error_at = Clock::now();
}

ApiReply Api::store_is_away(const StoreError& error) {
  if (is_transient(error)) return problem("store_away", "Redis does not answer; try again");
  return problem(500, "store_refused", visible(error.detail));
}

}  // namespace feedmill
