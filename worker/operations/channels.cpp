// Requests that change channels (docs/REQUESTS.md).
#include "storage/timelines/channels.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/operations/families.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {
namespace channel_operations {
namespace {

using Kind = OperationField::Kind;

constexpr OperationField new_channel{.name = "channel",
                                     .kind = Kind::new_channel,
                                     .unit = "CHANNEL",
                                     .about = "Name of a channel; a user's own channel is USER/NAME",
                                     .required = true,
                                     .told = true};

constexpr std::array of_new{new_channel};
constexpr std::array of_one{channel_field};
constexpr std::array of_membership{feed_field, channel_field};
constexpr std::array of_order{OperationField{.name = "channels",
                                             .kind = Kind::channels,
                                             .unit = "CHANNELS",
                                             .about = "Channels in their new order",
                                             .required = true,
                                             .most = 500}};
constexpr OperationField marked_feed = [] {
  OperationField field = in_body(feed_field, "With all: only posts of this feed");
  field.required = false;
  field.narrows = true;
  return field;
}();
constexpr std::array of_mark{
    channel_field, as_field,
    OperationField{.name = "entries",
                   .kind = Kind::entries,
                   .unit = "IDS",
                   .about = "Ids of entries; all, to mark all read",
                   .required = true,
                   .most = 500},
    marked_feed,
    OperationField{.name = "up_to",
                   .kind = Kind::place,
                   .unit = "CURSOR",
                   .about = "With all: cursor of an entry; those above it in a list stay unread",
                   .narrows = true}};

void add(const RequestCall& call) {
  const auto step = call.step();
  const std::string uid = call.given().text("channel");
  answered(Channels(call.store).add(std::span(&uid, 1)));
}

void remove(const RequestCall& call) {
  {
    const auto step = call.step();
    const bool removed = answered(Channels(call.store).remove(call.given().text("channel"), call.parts));
    if (call.parts.ended_early || !removed) return;  // the script answered: no such channel
  }
  test_point("S17");
  answered(call.requests.done(call.request.asked, "removed"));
}

void order(const RequestCall& call) {
  const auto step = call.step();
  answered(Channels(call.store).order_among(call.given().texts("channels")));
}

Membership membership_of(const RequestCall& call) {
  return {call.given().text("channel"), call.given().text("url")};
}

void follow(const RequestCall& call) {
  const Membership membership = membership_of(call);
  if (!answered(Feeds(call.store).is_registered(membership.feed_url)))
    throw OperationRefused{"no_such_feed", "add it, with this channel in the same request"};
  const auto step = call.step();
  answered(Channels(call.store).follow(std::span(&membership, 1)));
}

void unfollow(const RequestCall& call) {
  bool was_in_it = !call.note.empty();
  {
    const auto step = call.step();
    const auto removed = answered(Channels(call.store).unfollow(membership_of(call), call.parts));
    if (call.parts.ended_early || !removed) return;  // the script answered: no such channel
    was_in_it = was_in_it || *removed;
  }
  test_point("S17");
  answered(call.requests.done(call.request.asked, was_in_it ? "unfollowed" : "not_followed"));
}

void mark(const RequestCall& call) {
  Channels channels(call.store);
  const std::string uid = call.given().text("channel");
  std::vector<std::string> ids = call.given().texts("entries");
  if (ids.empty()) {
    // Unless the request names a position, posts that arrive after it began stay unread.
    std::string up_to = call.note.empty() ? call.given().text("up_to") : call.note;
    if (up_to.empty()) up_to = answered(channels.highest_score(uid));
    const auto step = call.step(up_to);
    answered(channels.mark_read_up_to(uid, up_to, call.given().text("url"), call.parts));
    return;
  }
  for (std::string& id : ids) id = Entries(call.store).id_of(id);
  const auto step = call.step();
  answered(call.given().text("as") == "unread" ? channels.mark_unread(uid, ids) : channels.mark_read(uid, ids));
}

void check_mark(const OperationValues& given) {
  check_marks(given);
  const bool is_part = given.has("url") || given.has("up_to");
  if (is_part && !given.texts("entries").empty())
    throw OperationRefused{"bad_value", "url and up_to: only with entries all"};
  const auto up_to = given.place("up_to");
  const auto is_odd = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  if (up_to && (!is_entry_id(up_to->id) || std::ranges::any_of(up_to->id, is_odd)))
    throw OperationRefused{"bad_value", "up_to: expected the cursor of an entry, such as 1763689990:Entry:17"};
}

constexpr std::array operations = {
    request(RequestOp::channel_add, "POST", "/channels", "Create a channel", of_new, add),
    request(RequestOp::channel_order, "POST", "/channels/order", "Reorder channels among the places they have",
            of_order, order),
    request(RequestOp::channel_remove, "DELETE", "/channel", "Delete a channel with its read marks and rules", of_one,
            remove),
    request(RequestOp::channel_follow, "PUT", "/channel/feed", "Put a feed into a channel", of_membership, follow),
    request(RequestOp::channel_unfollow, "DELETE", "/channel/feed", "Take a feed out of a channel", of_membership,
            unfollow),
    request(RequestOp::channel_mark, "POST", "/channel/marks", "Mark entries of a channel read or unread", of_mark,
            mark, check_mark),
};

}  // namespace
}  // namespace channel_operations

void check_marks(const OperationValues& given) {
  if (given.text("as") == "unread" && given.texts("entries").empty() && given.texts("notices").empty())
    throw OperationRefused{"bad_value", "all can only be marked read"};
}

OperationFamily channel_family() {
  return {.operations = channel_operations::operations};
}

}  // namespace feedmill
