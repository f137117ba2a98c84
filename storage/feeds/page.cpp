// Pages of the feed list, in the order that suits operators (OPERATIONS §6). Read-only.
#include <algorithm>

#include "storage/feeds/feeds.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

// Limits of one script call, so that Redis serves others in between: URLs alone, or with their states.
constexpr std::size_t urls_per_call = 2'000, states_per_call = 500;

}  // namespace

StoreResult<FeedPage> Feeds::page(const FeedQuery& query) {
  FeedPage page;
  const bool by_schedule = query.state.empty() || query.state == "healthy";
  const std::string_view list = by_schedule ? std::string_view() : query.state;
  const std::string_view state = by_schedule ? query.state : std::string_view();
  const bool filters = !state.empty() || !query.part.empty() || !query.host.empty();
  std::vector<std::string> urls;
  std::optional<FeedPlace> place = query.after;
  do {
    const std::size_t missing = query.limit - urls.size();
    Args args;
    args.add(list);
    if (place)
      args.add(place->score);
    else
      args.add(std::string_view());
    args.add(place ? place->behind : 0);
    const std::size_t at_once = !filters ? missing : state.empty() ? urls_per_call : states_per_call;
    args.add(std::min<std::size_t>(at_once, query.look - page.looked_at));
    args.add(missing);
    args.add(state);
    args.add(std::string_view(query.part));
    args.add(std::string_view(query.host));
    const auto reply = impl_.run(Script::feed_page, args);
    if (!reply) return reply.error();
    page.total = static_cast<std::uint64_t>((*reply)[0].integer());
    page.looked_at += static_cast<std::uint64_t>((*reply)[1].integer());
    if ((*reply)[2].integer() == 1)
      place.reset();
    else
      place = FeedPlace{(*reply)[3].integer(), static_cast<std::uint64_t>((*reply)[4].integer())};
    for (std::size_t i = 5; i < reply->size(); ++i) urls.emplace_back((*reply)[i].text());
  } while (place && urls.size() < query.limit && page.looked_at < query.look);
  page.next = place;
  auto found = records(urls);
  if (!found) return found.error();
  for (std::optional<FeedRecord>& record : *found) {
    if (record) page.feeds.push_back(std::move(*record));  // else removed concurrently
  }
  return page;
}

}  // namespace feedmill
