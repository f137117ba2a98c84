#include "worker/operations/probe.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <random>
#include <thread>
#include <utility>
#include <variant>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include "storage/ingest/ingest.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/content_coding.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/policy/answers.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;

constexpr Milliseconds longest_host_wait{10'000};   // HTTP H6
constexpr Milliseconds longest_of_stranger{5'000};  // for a slot at another site's server (HTTP H6)

/// Parses the page or feed into `look`. `response` must still have its body, or the part of it that arrived (`is_cut`).
void read_markup(const FetchResponse& response, bool is_cut, const ReadingOptions& options, Look& look) {
  const std::string links = joined_field(response.headers, "link");
  const std::string content_type(response.header("content-type"));
  PageHints page_hints{response.url, content_type, links};
  std::string text;
  if (response.status == 200) {
    const DecodeLimits limits{.max_bytes = options.max_body_bytes, .as_far_as_it_goes = is_cut};
    auto decoded =
        decode_content(std::string(response.body), joined_field(response.headers, "content-encoding"), limits);
    if (decoded) text = std::move(*decoded);
    DocumentHints hints;
    hints.url = response.url;
    hints.content_type = content_type;
    hints.content_location = response.header("content-location");
    hints.content_language = response.header("content-language");
    hints.html = options.html;
    auto feed = read_feed(text, hints);
    if (feed) look.feed = std::move(*feed);
  }
  look.page = read_page(look.feed ? std::string_view() : text, page_hints);
}

}  // namespace

bool Look::is_refused() const {
  const auto* const error = std::get_if<FetchError>(&fetched);
  return error != nullptr && (error->reason == Reason::egress_blocked || error->reason == Reason::egress_port);
}

bool Look::may_answer_later() const {
  const auto* const status = std::get_if<HttpStatus>(&reading);
  if (status != nullptr) return status->status == 408 || status->status == 429 || status->status >= 500;
  using enum Reason;
  constexpr std::array lasting{limit_body,       limit_header,  limit_ratio,   limit_coding,
                               redirect_invalid, redirect_loop, redirect_limit};
  const auto* const error = std::get_if<FetchError>(&reading);
  return error != nullptr && !is_refused() && std::ranges::find(lasting, error->reason) == lasting.end();
}

std::string Look::trouble() const {
  if (feed) return {};
  if (const auto* error = std::get_if<FetchError>(&reading)) {
    return fmt::format("{}: {}", to_string(error->reason), error->detail);
  }
  if (const auto* status = std::get_if<HttpStatus>(&reading))
    return fmt::format("the server answers {}", status->status);
  if (const Unreadable* const why = refusal_of(reading)) {
    return fmt::format("{}: {}", to_string(why->reason), why->detail);
  }
  return "no feed";
}

Probe::Probe(ProbeOptions options) : options_(std::move(options)), fetcher_(loop_.get_executor(), options_.fetch) {
  std::random_device random;
  for (int i = 0; i < 4; ++i) claim_.id += fmt::format("{:08x}", random());
}

Look Probe::look(const std::string& url) {
  Look look;
  look.request.feed_url = look.request.url = url;
  look.fetched = fetch_in_turn(look.request);
  note_pause(look);
  const auto* const error = std::get_if<FetchError>(&look.fetched);
  const bool is_cut = error != nullptr && error->cut_off;
  if (const auto* const came = is_cut ? &*error->cut_off : look.response()) {
    read_markup(*came, is_cut, options_.reading, look);
  }
  look.reading = read(look.fetched, FeedState(), options_.reading);
  if (is_cut && look.response() == nullptr) {  // the document is incomplete as well
    look.feed.reset();
    look.page = {};
  }
  return look;
}

void Probe::stop_if_given_up() const {
  if (options_.gives_up()) throw Interrupted{};
}

FetchResult Probe::fetch_in_turn(const FetchRequest& request) {
  claim_.feed_url = request.url;
  FetchError error;
  error.reason = Reason::worker_host_wait;
  try {
    error.detail = enter(request.url);
    FetchResult fetched = error.detail.empty() ? fetch(request) : std::move(error);
    leave();
    return fetched;
  } catch (...) {
    leave();
    throw;
  }
}

/// Waits until the server of `url` may be asked. Returns why it may not be asked now, or "". Blocks.
std::string Probe::enter(const std::string& url) {
  const std::string host = host_of(url);
  if (const auto paused = paused_.find(host); paused != paused_.end()) return paused->second;
  const auto until = Clock::now() + longest_host_wait;
  for (;;) {
    stop_if_given_up();
    const StoreResult<Milliseconds> wait = take_turn(url);
    if (!wait) return "the store cannot be asked about " + host + ": " + wait.error().detail;
    if (wait->count() == 0) return {};
    const auto turn = Clock::now() + *wait;
    if (turn > until) {
      return fmt::format("{} may not be asked before {}", host, format_time(std::chrono::system_clock::now() + *wait));
    }
    while (Clock::now() < turn) {
      std::this_thread::sleep_for(std::min<Clock::duration>(turn - Clock::now(), interrupt_interval));
      stop_if_given_up();
    }
  }
}

/// Takes a slot at the server of `url`, or a start if there is one (HTTP H6). 0 = taken, else when to ask again.
StoreResult<Milliseconds> Probe::take_turn(const std::string& url) {
  const std::string server = server_of(url);
  if (!options_.store) {
    const auto now = Clock::now();
    const auto [start, is_first] = starts_.try_emplace(host_of(url), now);
    const auto turn = start->second + (is_first ? Milliseconds(0) : options_.hosts.of(server).limits.spacing);
    if (turn > now) return std::chrono::ceil<Milliseconds>(turn - now);
    start->second = now;
    return Milliseconds(0);
  }
  const Milliseconds longest =
      is_one_site(claim_.feed_url, url) ? Milliseconds(options_.fetch.wall) : longest_of_stranger;
  auto wait = Ingest(store_of(server)).take_slot_for(claim_, server, options_.host, longest);
  if (wait && wait->count() == 0) entered_.insert(server);
  return wait;
}

/// Ends all slots. One that the store does not hear about ends by itself.
void Probe::leave() {
  for (const std::string& server : std::exchange(entered_, {})) {
    static_cast<void>(Ingest(store_of(server)).leave_slot(claim_, server, nullptr));
  }
}

Store& Probe::store_of(const std::string& server) {
  const std::string gate = options_.hosts.of(server).gate;
  const unsigned home = partition_of_name(host_of_gate(gate), options_.store->partition.count);
  auto at = stores_.find(home);
  if (at == stores_.end()) at = stores_.emplace(home, Store(*options_.store).options_at(home)).first;
  return at->second;
}

/// HTTP P9: an answer's pause holds for the rest of the probe.
void Probe::note_pause(Look& look) {
  const auto note = [&](const auto& answer) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (answer.hops.empty() || answer.headers.empty() || answer.status < 300) return;
    const std::string host = host_of(answer.hops.back().url);
    const auto asked = retry_after(answer.headers, now);
    if (asked && asked->wait.count() > 0) {
      look.not_before = now + asked->wait;
      paused_[host] = fmt::format("{} asked for a pause until {}", host, format_time(*look.not_before));
    } else if (answer.status == 429 || answer.status == 503) {
      paused_[host] = fmt::format("{} answered {} before", host, answer.status);
    }
  };
  std::visit(note, look.fetched);
}

FetchResult Probe::fetch(FetchRequest request) {
  std::string refused;
  request.enter_server = [&](std::string url) -> asio::awaitable<bool> {
    refused = enter(url);  // only this transfer uses the loop
    co_return refused.empty();
  };
  std::optional<FetchResult> result;
  std::exception_ptr failed;
  bool ended = false;
  asio::cancellation_signal cancel;
  asio::co_spawn(loop_, fetcher_.fetch(request),
                 asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& error, FetchResult fetched) {
                   ended = true;
                   failed = error;
                   result = std::move(fetched);
                 }));
  loop_.restart();
  while (!ended) {
    loop_.run_one_for(interrupt_interval);
    if (options_.gives_up()) cancel.emit(asio::cancellation_type::terminal);  // libcurl releases the transfer first
  }
  stop_if_given_up();
  if (failed) std::rethrow_exception(failed);
  if (!refused.empty()) std::get<FetchError>(*result).detail = std::move(refused);
  return std::move(*result);
}

}  // namespace feedmill
