// What operators look at (OPERATIONS §6): lists of feeds, workers, hosts that back off. Reads only.
#include "storage/records/signals.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

// How much one script call may look at, so that Redis serves others in between: a URL alone, or its state as well.
constexpr std::size_t urls_per_call = 2'000, states_per_call = 500;

}  // namespace

StoreResult<FeedPage> Store::feed_page(const FeedQuery& query) {
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
    const auto reply = impl_->run(Script::feed_page, args);
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
  auto records = feed_records(urls);
  if (!records) return records.error();
  for (std::optional<FeedRecord>& record : *records) {
    if (record) page.feeds.push_back(std::move(*record));  // else removed in the meantime
  }
  return page;
}

StoreResult<std::vector<SignalRecord>> Store::feed_signals(const std::string& feed_url, std::size_t look,
                                                           std::size_t limit) {
  Args args;
  args.own(json_string(feed_url));
  args.add(look);
  args.add(limit);
  const auto reply = impl_->run(Script::feed_signals, args);
  if (!reply) return reply.error();
  return read_records(*reply);
}

StoreResult<std::vector<WorkerRecord>> Store::workers() {
  const auto time = now();
  if (!time) return time.error();
  const auto alive = impl_->redis.command(
      {"ZRANGEBYSCORE", impl_->keys.workers(), std::to_string(time->count()), "+inf", "LIMIT", "0", "100"});
  if (!alive) return alive.error();
  std::vector<WorkerRecord> workers;
  for (std::string& id : alive->texts()) workers.emplace_back().id = std::move(id);
  std::vector<std::string> names;
  names.reserve(workers.size());
  std::vector<Words> commands;
  for (const WorkerRecord& worker : workers) {
    commands.push_back({"HMGET", names.emplace_back(impl_->keys.worker(worker.id)), "alive_at", "host", "pid",
                        "version", "in_flight"});
  }
  const auto replies = impl_->pipeline(commands);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Reply& row = (*replies)[i];
    workers[i].alive_at = Milliseconds(row[0].integer());
    for (std::size_t field = 1; field < row.size(); ++field) {
      workers[i].fields.emplace_back(commands[i][field + 2], row[field].text());
    }
  }
  return workers;
}

StoreResult<std::vector<std::string>> Store::closed_hosts(std::size_t limit) {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  if (limit == 0) return std::vector<std::string>();
  const auto reply = impl_->redis.command({"ZREVRANGE", impl_->keys.closed_hosts(), "0", std::to_string(limit - 1)});
  if (!reply) return reply.error();
  return reply->texts();
}

}  // namespace feedmill
