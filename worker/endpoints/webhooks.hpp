// Webhooks as people and programs set and see them (OPERATIONS B4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "storage/push_out/subscribers.hpp"

namespace feedmill {

inline constexpr std::uint32_t most_requests_at_once = 100;  ///< of one webhook
inline constexpr Milliseconds longest_rotation = std::chrono::hours(24 * 30), usual_rotation = std::chrono::hours(24);

/// What is to be set of a webhook; what is absent stays as it is.
struct WebhookSettings {
  std::optional<std::string> url, name;
  std::optional<std::vector<std::string>> feeds, channels, types;  ///< none of a kind: nothing is asked of it
  std::optional<bool> initial, with_private;
  std::optional<std::uint32_t> at_once;
};

/// Reads "key=value", as `webhook set` has it: url, name, feed, channel, type (each may be repeated, "" for none),
/// initial and private (yes, no), at_once. What is wrong with it, for people and not cleaned, "" when nothing is.
std::string change_webhook(WebhookSettings& settings, std::string_view assignment);

/// The same of an object, as programs write it: url, name, feeds, channels, types, initial, private, at_once.
/// `unknown`: what is wrong is that there is no such member.
std::string read_webhook(const boost::json::object& object, WebhookSettings& settings, bool& unknown);

/// Puts them into `webhook`: addresses in their one spelling, texts within bounds. What is wrong with them, for people
/// and not cleaned, "" when nothing is; then `webhook` is of no use. Where the address leads is not looked at.
std::string set_webhook(const WebhookSettings& settings, Subscriber& webhook);

/// What there is to say of the feeds and channels that a webhook is told of, by what is in the store.
struct FilterRemarks {
  /// A sentence, as `notes`, of one that is none of the feeds here: nothing would ever be told of it; "" = there is
  /// none.
  std::string unknown_feed;
  std::vector<std::string> notes;  ///< what is not told, or not yet: for people, without secrets, not cleaned
};
/// A channel may come later, and a feed may be told of later; an unknown feed is a mistake. Blocking.
StoreResult<FilterRemarks> remarks_on(Store& store, const Subscriber& webhook);

/// Looks like the id of a webhook.
bool is_webhook_id(std::string_view id);

/// All that may be shown of a webhook: no secret, and its address without those in it (SECURITY K1).
boost::json::object webhook_json(const Subscriber& webhook, Milliseconds now);
/// The same for people: names and values in the order to show. Not cleaned.
std::vector<std::pair<std::string, std::string>> webhook_lines(const Subscriber& webhook, Milliseconds now);
/// "post_created post_modified of 3 feeds", "all events".
std::string filter_words(const EventFilter& filter);

/// What a receiver is configured with: the secret itself, or the public key of one that signs. It is told once.
struct ReceiverKey {
  std::string name;  ///< "secret", "public_key"
  std::string value;
};
ReceiverKey receiver_key(std::string_view secret);

}  // namespace feedmill
