#include "worker/websub/pushed_document.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "worker/egress/web_url.hpp"
#include "worker/http/content_coding.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

/// The response to read the push as: its links are resolved against the URL the feed was last read from. Omits Link
/// headers, which do not identify the feed (WEBSUB M8).
FetchResponse response_of(const FeedState& state, const Pushed& pushed) {
  FetchResponse response;
  response.status = 200;
  response.url = !state.validators.url.empty()      ? state.validators.url
                 : !state.address.fetch_url.empty() ? state.address.fetch_url
                                                    : pushed.feed_url;
  if (!pushed.content_type.empty()) response.headers.emplace_back("content-type", pushed.content_type);
  return response;
}

}  // namespace

asio::awaitable<Attempt> PushedDocument::attempt(const Claim& claim, RefreshObserver& seen) {
  ReadingOptions how = options_.reading;
  how.html = read_settings(claim.state.settings).html_policy.value_or(how.html);
  const FetchResponse response = response_of(claim.state, pushed_);
  const std::string gate = options_.hosts.of(server_of(response.url)).gate;
  const std::uint64_t needed =
      std::max<std::uint64_t>(pushed_.body.size(), stated_size(pushed_.body, pushed_.content_encoding));
  FetchError unread;
  unread.reason = Reason::worker_memory;
  unread.detail = "no memory to read it in";
  Attempt result{{}, std::move(unread)};
  const auto work = [&] {
    DecodeLimits limits{.max_bytes = how.max_body_bytes};
    limits.granted_bytes = pushed_.memory->readable_bytes();
    const auto body = decode_content(std::move(pushed_.body), pushed_.content_encoding, limits);
    if (!body) return;
    auto read = read_document(*body, response, claim.state, how);
    if (read) result.reading = std::move(*read);
  };
  const auto from = std::chrono::steady_clock::now();
  co_await threads_.read(gate, *pushed_.memory, std::min(needed, how.max_body_bytes), options_.memory_wait, work);
  seen.read(result.reading, std::chrono::steady_clock::now() - from);
  if (const auto* document = std::get_if<Document>(&result.reading)) {
    other_identity_ = document->identified_by != claim.state.identity.by;
  }
  pushed_.memory->hold(cost_of_storing(result.reading));
  co_return result;
}

DecisionResult PushedDocument::decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds) {
  auto* const document = std::get_if<Document>(&attempt.reading);
  const bool whole = document != nullptr && !document->cut_short;
  if (!whole || claim.state.rhythm.imported.count() == 0 || other_identity_ ||
      !is_told_apart_as_ever(claim.state.identity, known)) {
    return Deferral();
  }
  PushDecision pushed = decide_push(claim, std::move(*document), known, options_.policy);
  leaves_doubt_ = pushed.doubtful > 0;
  return std::move(pushed.decision);
}

}  // namespace feedmill
