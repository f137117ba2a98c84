// Requests of strangers to a worker that pushes out: hub forms, topic URLs, queries of the live stream; and stored
// filters → rejected, or within their limits (WEBSUB U2, U8; OPERATIONS V1).
#include <algorithm>
#include <string>

#include "storage/records/event_record.hpp"
#include "storage/records/tokens.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/push_out/outside_requests.hpp"

namespace {

void take_form(std::string_view form) {
  using namespace feedmill;
  const auto request = read_hub_request(form);
  if (!request) {
    fuzz::require(!request.error().empty() && request.error().find('\n') == std::string::npos);
    return;
  }
  fuzz::require(request->mode == "subscribe" || request->mode == "unsubscribe");
  fuzz::require(!request->topic.empty() && request->secret.size() < 200);
  fuzz::require(request->lease >= std::chrono::hours(1) && request->lease <= std::chrono::hours(30 * 24));
  const std::string& callback = request->callback;
  fuzz::require(callback.starts_with("http://") || callback.starts_with("https://"));
  fuzz::require(callback.size() <= max_url_bytes && !host_of(callback).empty());
  for (const char byte : callback) fuzz::require(byte > 0x20 && byte < 0x7f && byte != '#');
}

void take_target(std::string_view path, std::string_view query) {
  using namespace feedmill;
  const auto target = read_topic_target(path, query);
  if (!target) return;
  fuzz::require(is_token(target->token));
  fuzz::require(!target->before || (!target->before->id.empty() && target->before->id.size() <= 256));
}

void take_query(std::string_view query, std::string_view last_id) {
  using namespace feedmill;
  const auto request = read_live_request(query, last_id);
  if (!request) {
    fuzz::require(!request.error().empty());
    return;
  }
  fuzz::require(objection_to(request->filter).empty());
  for (const std::string& type : request->filter.types) fuzz::require(is_outside_type(type));
  // The stored form reads back as the same filter.
  fuzz::require(read_filter(to_json(request->filter)) == request->filter);
  if (request->after) fuzz::require(read_place(to_string(*request->after)) == request->after);
}

}  // namespace

FEEDMILL_FUZZ_TARGET(outside_fuzz, data, size) {
  using namespace feedmill;
  const std::string_view text = fuzz::view(data, size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view first = text.substr(0, line), rest = text.substr(std::min(line + 1, text.size()));
  take_form(text);
  take_query(first, rest);
  const std::size_t question = std::min(text.find('?'), text.size());
  take_target(text.substr(0, question), text.substr(std::min(question + 1, text.size())));
  take_target("/t/abcdefghijklmnopqrstuvwxyz.json", text);
  const EventFilter filter = read_filter(text);
  fuzz::require(read_filter(to_json(filter)) == filter);
  return 0;
}
