// Claims: which worker refreshes which feed, and for how long.
#include "storage/ingest/ingest.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

std::string spacing_text(const HostLimits& limits) {
  return std::to_string(limits.spacing.count()) + (limits.egress.empty() ? "" : " " + limits.egress);
}

}  // namespace

StoreResult<ClaimBatch> Ingest::claim(const ClaimRequest& request) {
  Args args;
  args.add(std::string_view(request.worker));
  args.add(request.request);
  args.add(request.max);
  args.add(request.lease);
  args.add(request.host.concurrency);
  args.own(spacing_text(request.host));
  if (request.due_by)
    args.add(*request.due_by);
  else
    args.add(std::string_view(request.only_if_due ? "due" : ""));
  args.add(request.due_by || !request.only.empty() ? 0 : request.overdue_rate);
  for (const std::string& url : request.only) args.add(std::string_view(url));
  const auto reply = impl_.run(Script::claim, args);
  test_point("S1");
  if (!reply) return reply.error();

  ClaimBatch batch;
  batch.now = milliseconds((*reply)[0]);
  if (!(*reply)[1].text().empty()) batch.next_due = milliseconds((*reply)[1]);
  batch.exhausted = (*reply)[2].integer() == 1;
  const ReplyView claims = (*reply)[3], unusual = (*reply)[4], deferred = (*reply)[5];
  for (std::size_t i = 0; i + 4 <= claims.size(); i += 4) {
    Claim& claim = batch.claims.emplace_back();
    claim.feed_url = claims[i].text();
    claim.id = claims[i + 1].text();
    claim.due = milliseconds(claims[i + 2]);
    claim.host_served_at = milliseconds(claims[i + 3]);
    claim.now = batch.now;
    claim.egress = request.host.egress;
    claim.failovers = impl_.failovers();
  }
  for (std::size_t i = 0; i < unusual.size(); ++i) {
    const ReplyView row = unusual[i];
    const auto number = static_cast<std::size_t>(row[0].integer());
    if (number == 0 || number > batch.claims.size()) continue;
    Claim& claim = batch.claims[number - 1];
    claim.alone = row[1].integer() == 1;
    claim.host_identity = row[2].integer() == 1;
    claim.host_http1 = row[3].integer() == 1;
    claim.host_storm = milliseconds(row[4]);
  }
  for (std::size_t i = 0; i < deferred.size(); ++i) {
    const ReplyView row = deferred[i];
    batch.deferred.push_back({std::string(row[0].text()), milliseconds(row[1]), std::string(row[2].text())});
  }
  batch.refused = (*reply)[6].texts();
  const ReplyView quarantined = (*reply)[7];
  for (std::size_t i = 0; i < quarantined.size(); ++i) {
    const ReplyView row = quarantined[i];
    batch.quarantined.push_back({std::string(row[0].text()), milliseconds(row[1]), "quarantine"});
  }
  if (!(*reply)[8].text().empty()) batch.next_awaited = milliseconds((*reply)[8]);
  if (const auto read = read_states(batch.claims); !read) return read.error();  // a retry returns the stored batch
  return batch;
}

StoreResult<void> Ingest::read_states(std::span<Claim> claims) {
  std::vector<std::string> keys;
  std::vector<Words> commands;
  keys.reserve(claims.size());
  for (const Claim& claim : claims)
    commands.push_back({"HGETALL", keys.emplace_back(impl_.keys.feed_state(claim.feed_url))});
  if (commands.empty()) return {};
  const auto states = impl_.pipeline(commands);
  if (!states) return states.error();
  if (impl_.failovers() < claims.front().failovers) return impl_.leave_older_server();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Fields fields = (*states)[i].pairs();
    claims[i].state = read_state(fields);
    claims[i].has_posts = find_field(fields, "bytes") != nullptr || claims[i].state.rhythm.imported.count() != 0;
  }
  return {};
}

StoreResult<Milliseconds> Ingest::wait_for_slot(const Claim& claim, const std::string& server, const HostLimits& limits,
                                                Milliseconds longest, bool is_of_another_partition) {
  Args args;
  args.add(std::string_view(claim.feed_url));
  args.add(std::string_view(claim.id));
  args.add(std::string_view(server));
  args.add(limits.concurrency);
  args.own(spacing_text(limits));
  args.add(std::string_view(is_of_another_partition ? "1" : ""));
  args.add(longest);
  const auto reply = impl_.run(Script::slot, args);
  if (!reply) return reply.error();
  return milliseconds((*reply)[0]);
}

StoreResult<std::optional<Milliseconds>> Ingest::take_slot(const Claim& claim, const std::string& server,
                                                           const HostLimits& limits, Milliseconds longest) {
  const auto wait = wait_for_slot(claim, server, limits, longest, false);
  if (!wait) return wait.error();
  if (wait->count() < 0) return std::optional<Milliseconds>();
  return std::optional(*wait);
}

StoreResult<Milliseconds> Ingest::take_slot_for(const Claim& claim, const std::string& server, const HostLimits& limits,
                                                Milliseconds longest) {
  return wait_for_slot(claim, server, limits, longest, true);
}

StoreResult<ServerWait> Ingest::begin_to_wait_for_wish(Milliseconds longest) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.wake();
  const std::string thousandths = std::to_string(1000 + longest.count() % 1000).substr(1);
  const std::string seconds = std::to_string(longest.count() / 1000) + "." + thousandths;
  return impl_.redis.begin_wait({"BLPOP", key, seconds}, longest);
}

StoreResult<bool> Ingest::hear_wish() {
  const auto reply = impl_.redis.end_wait();
  if (!reply) return reply.error();
  return !reply->is_nil();
}

StoreResult<Milliseconds> Ingest::unspread() {
  constexpr int most_passes = 10'000;  // enough for millions of feeds
  std::string since, last;
  std::int64_t behind = 0;
  for (int pass = 0; pass < most_passes; ++pass) {
    Args args;
    args.add(std::string_view(since));
    args.add(std::string_view(last));
    args.add(behind);
    const auto reply = impl_.run(Script::unspread, args);
    if (!reply) return reply.error();
    since = (*reply)[0].text();
    if ((*reply)[1].integer() == 0) return milliseconds((*reply)[0]);
    last = (*reply)[2].text();
    behind = (*reply)[3].integer();
  }
  return StoreError{StoreError::Code::bug, "making feeds due comes to no end"};
}

StoreResult<std::size_t> Ingest::release(std::span<const Claim> claims, std::optional<Milliseconds> due) {
  Args args;
  if (due)
    args.add(*due);
  else
    args.add(std::string_view());
  for (const Claim& claim : claims) {
    args.add(std::string_view(claim.feed_url));
    args.add(std::string_view(claim.id));
  }
  const auto reply = impl_.run(Script::release, args);
  if (!reply) return reply.error();
  return static_cast<std::size_t>(reply->integer());
}

}  // namespace feedmill
