// The refresh cycle: claim, look up, commit, release.
#include <algorithm>

#include "storage/signals.hpp"
#include "storage/state_fields.hpp"
#include "storage/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_posts_per_part = 100;  // RELIABILITY L6: bounds how long Redis is busy
constexpr std::size_t max_bytes_per_part = 4U << 20U;

Milliseconds read_ms(ReplyView reply) {
  return Milliseconds(reply.integer());
}

std::size_t size_of(const EntryWrite& write) {
  std::size_t bytes = 200 + write.guid.size();
  for (const auto& [name, value] : write.set) bytes += name.size() + value.size();
  return bytes;
}

/// Where each part's posts begin; one part even when there is nothing to write.
std::vector<std::size_t> part_starts(const std::vector<EntryWrite>& writes) {
  std::vector<std::size_t> starts{0};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const std::size_t size = size_of(writes[i]);
    if (i != starts.back() && (i - starts.back() >= max_posts_per_part || bytes + size > max_bytes_per_part)) {
      starts.push_back(i);
      bytes = 0;
    }
    bytes += size;
  }
  return starts;
}

std::uint64_t kept(const Retention& retention) {
  if (retention.strict) return retention.entries;
  return std::min(std::max(retention.entries, retention.listed), retention.hard_cap);
}

void add_post(Args& args, const Commit& commit, const EntryWrite& write, std::int64_t now_seconds) {
  args.add(std::string_view(write.guid));
  args.add(std::string_view(write.digest));
  args.add(std::string_view(write.id));
  args.add(write.timestamp);
  args.own(post_signal(commit, write, now_seconds));
  args.add(write.set);
  args.add(std::span<const std::string>(write.unset));
}

void add_host_answer(Args& args, const HostAnswer& answer) {
  args.add(std::string_view(answer.host));
  args.add(answer.is == HostAnswer::Is::served    ? std::string_view("served")
           : answer.is == HostAnswer::Is::refused ? std::string_view("refused")
                                                  : std::string_view());
  args.add(std::string_view(answer.cause));
  args.add(answer.retry_at);
  std::string marks;
  if (answer.document) marks += 'd';
  if (answer.needs_identity) marks += 'i';
  if (answer.needs_http1) marks += '1';
  args.own(std::move(marks));
}

/// Two that commit.lua knows apart: what becomes of the subscription, and when it is to be looked after.
Fields with_push(const Commit& commit, Fields fields) {
  if (!commit.push_to.empty()) fields.emplace_back("push_turn", commit.before.push.state + " " + commit.push_to);
  if (commit.push_ask) fields.emplace_back("push_ask", std::to_string(commit.push_ask->count()));
  return fields;
}

/// The calls that carry out one commit: all but the last write posts alone.
void add_parts(std::vector<Args>& calls, const Commit& commit, const StoreOptions& options, const Keys& keys) {
  const std::int64_t now_seconds = commit.state.last_at.count() / 1000;
  const std::vector<std::size_t> starts = part_starts(commit.entries);
  const std::span<const EntryWrite> all(commit.entries);
  for (std::size_t part = 0; part < starts.size(); ++part) {
    const bool last = part + 1 == starts.size();
    const auto posts = last ? all.subspan(starts[part]) : all.subspan(starts[part], starts[part + 1] - starts[part]);
    const auto later = last ? std::span<const EntryWrite>() : all.subspan(starts[part + 1]);
    Args& args = calls.emplace_back();
    args.add(std::string_view(keys.channel_prefix()));
    args.add(std::string_view(commit.feed_url));
    args.own(json_string(commit.feed_url));
    args.add(std::string_view(commit.claim));
    args.add(part + 1);
    args.add(starts.size());
    args.add(commit.next_due);
    args.add(options.signals_max_len);
    args.add(options.signals_deleted ? 1 : 0);
    if (commit.document)
      args.add(kept(commit.retention));
    else
      args.add(std::string_view());
    args.add(commit.retention.grace);
    args.add(std::count_if(later.begin(), later.end(), [](const EntryWrite& write) { return write.id.empty(); }));
    add_host_answer(args, commit.host);
    args.add(std::string_view(commit.move_to));
    args.own_all(last ? with_push(commit, changed_state_fields(commit.before, commit.state)) : Fields());
    static const Fields no_fields;
    const std::span<const std::string> none;
    args.add(last ? commit.feed : no_fields);
    args.add(last ? std::span<const std::string>(commit.tombs_left) : none);
    args.add(last ? std::span<const std::string>(commit.tombs_back) : none);
    args.add(posts.size());
    for (const EntryWrite& write : posts) add_post(args, commit, write, now_seconds);
    args.add(last ? commit.signals.size() : 0);
    if (!last) continue;
    for (const FeedSignal& signal : commit.signals) {
      args.add(std::string_view(signal.type));
      args.own(feed_signal(commit, signal, now_seconds));
    }
  }
}

StoreResult<Committed> read_committed(const StoreResult<Reply>& reply) {
  if (!reply) return reply.error();
  const std::string_view word = (*reply)[0].text();
  Committed done;
  if (word == "ok") {
    const auto count = [&](std::size_t i) { return static_cast<std::uint32_t>((*reply)[i].integer()); };
    done = {Committed::Result::ok, count(1), count(2), count(3), count(4), count(5)};
    const std::string_view host = (*reply)[6].text();
    if (host == "closed") done.host = Committed::Host::closed;
    if (host == "opened") done.host = Committed::Host::opened;
    done.host_until = read_ms((*reply)[7]);
    done.move_taken = (*reply)[8].integer() == 1;
    done.push_turned = (*reply)[9].integer() > 0;
    done.hub_in_trouble = (*reply)[9].integer() > 1;
  } else if (word == "dup") {
    done.result = Committed::Result::dup;
  } else if (word == "stale") {
    done.result = Committed::Result::stale;
  } else {
    return StoreError{StoreError::Code::refused, "nothing was written: " + std::string(word)};
  }
  return done;
}

/// What the parts of one commit did, taken together: an error or `stale` of any of them is that of all.
StoreResult<Committed> together(std::span<const StoreResult<Reply>> parts) {
  Committed all;
  for (const StoreResult<Reply>& part : parts) {
    const auto done = read_committed(part);
    if (!done) return done.error();
    all.result = done->result;
    if (done->result == Committed::Result::stale) return all;
    all.created += done->created;
    all.modified += done->modified;
    all.trimmed += done->trimmed;
    all.tombstoned += done->tombstoned;
    all.signals += done->signals;
    all.host = done->host;
    all.host_until = done->host_until;
    all.move_taken = done->move_taken;
    all.push_turned = done->push_turned;
    all.hub_in_trouble = done->hub_in_trouble;
  }
  return all;
}

StoreResult<Known> read_known(const StoreResult<Reply>& reply, std::size_t asked) {
  if (!reply) return reply.error();
  const std::string_view marks = (*reply)[0].text();
  if (marks.size() != asked) return StoreError{StoreError::Code::bug, "look_up answered for another number of guids"};
  Known known;
  known.feed = (*reply)[1].pairs();
  known.left = (*reply)[2].texts();
  known.back = (*reply)[3].texts();
  const ReplyView different = (*reply)[4];
  std::size_t next = 0;
  for (const char mark : marks) {
    Known::Guid& guid = known.guids.emplace_back();
    switch (mark) {
      case '=':
        guid.is = Known::Is::same;
        break;
      case 'x':
        guid.is = Known::Is::tombstoned;
        break;
      case '~':
        guid.is = Known::Is::different;
        guid.id = different[next][0].text();
        guid.fields = different[next][1].pairs();
        ++next;
        break;
      default:
        guid.is = Known::Is::unknown;
        break;
    }
  }
  return known;
}

}  // namespace

StoreResult<ClaimBatch> Store::claim(const ClaimRequest& request) {
  Args args;
  args.add(std::string_view(request.worker));
  args.add(request.request);
  args.add(request.max);
  args.add(request.lease);
  args.add(request.host.concurrency);
  args.add(request.host.spacing);
  if (request.due_by)
    args.add(*request.due_by);
  else
    args.add(std::string_view());
  for (const std::string& url : request.only) args.add(std::string_view(url));
  const auto reply = impl_->run(Script::claim, args);
  if (!reply) return reply.error();

  ClaimBatch batch;
  batch.now = read_ms((*reply)[0]);
  if (!(*reply)[1].text().empty()) batch.next_due = read_ms((*reply)[1]);
  batch.exhausted = (*reply)[2].integer() == 1;
  const ReplyView claims = (*reply)[3], deferred = (*reply)[4];
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const ReplyView row = claims[i];
    Claim& claim = batch.claims.emplace_back();
    claim.id = row[1].text();
    claim.feed_url = row[0].text();
    claim.due = read_ms(row[2]);
    claim.now = batch.now;
    claim.state = read_state(row[3].pairs());
    claim.alone = row[4].integer() == 1;
    claim.host_served_at = read_ms(row[5]);
    claim.host_identity = row[6].integer() == 1;
    claim.host_http1 = row[7].integer() == 1;
  }
  for (std::size_t i = 0; i < deferred.size(); ++i) {
    const ReplyView row = deferred[i];
    batch.deferred.push_back({std::string(row[0].text()), read_ms(row[1]), std::string(row[2].text())});
  }
  batch.refused = (*reply)[5].texts();
  const ReplyView quarantined = (*reply)[6];
  for (std::size_t i = 0; i < quarantined.size(); ++i) {
    const ReplyView row = quarantined[i];
    batch.quarantined.push_back({std::string(row[0].text()), read_ms(row[1]), "quarantine"});
  }
  return batch;
}

StoreResult<std::optional<Milliseconds>> Store::take_slot(const Claim& claim, const std::string& host,
                                                          const HostLimits& limits) {
  Args args;
  args.add(std::string_view(claim.feed_url));
  args.add(std::string_view(claim.id));
  args.add(std::string_view(host));
  args.add(limits.concurrency);
  args.add(limits.spacing);
  const auto reply = impl_->run(Script::slot, args);
  if (!reply) return reply.error();
  const Milliseconds wait = read_ms((*reply)[0]);
  if (wait.count() < 0) return std::optional<Milliseconds>();
  return std::optional(wait);
}

StoreResult<Milliseconds> Store::unspread() {
  std::string since;
  for (std::int64_t skip = 0;;) {
    Args args;
    args.add(std::string_view(since));
    args.add(skip);
    const auto reply = impl_->run(Script::unspread, args);
    if (!reply) return reply.error();
    since = (*reply)[0].text();
    const std::int64_t looked_at = (*reply)[1].integer();
    if (looked_at == 0) return read_ms((*reply)[0]);
    skip += looked_at - (*reply)[2].integer();  // those that were made due stand before the rest now
  }
}

std::vector<StoreResult<Known>> Store::look_up(std::span<const LookUp> wanted) {
  std::vector<Args> calls(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    calls[i].add(std::string_view(wanted[i].feed_url));
    calls[i].add(wanted[i].entries.size());
    for (const EntryRecord& entry : wanted[i].entries) calls[i].add(std::string_view(entry.guid));
    for (const EntryRecord& entry : wanted[i].entries) calls[i].add(std::string_view(entry.digest));
  }
  const auto replies = impl_->run_all(Script::look_up, calls);
  std::vector<StoreResult<Known>> known;
  for (std::size_t i = 0; i < wanted.size(); ++i) known.push_back(read_known(replies[i], wanted[i].entries.size()));
  return known;
}

std::vector<StoreResult<Committed>> Store::commit(std::span<const Commit* const> commits) {
  std::vector<Args> calls;
  std::vector<std::size_t> first_call;
  for (const Commit* commit : commits) {
    first_call.push_back(calls.size());
    add_parts(calls, *commit, impl_->options, impl_->keys);
  }
  first_call.push_back(calls.size());
  const auto replies = impl_->run_all(Script::commit, calls);
  std::vector<StoreResult<Committed>> done;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    done.push_back(together(std::span(replies).subspan(first_call[i], first_call[i + 1] - first_call[i])));
  }
  return done;
}

StoreResult<std::size_t> Store::release(std::span<const Claim> claims, std::optional<Milliseconds> due) {
  Args args;
  if (due)
    args.add(*due);
  else
    args.add(std::string_view());
  for (const Claim& claim : claims) {
    args.add(std::string_view(claim.feed_url));
    args.add(std::string_view(claim.id));
  }
  const auto reply = impl_->run(Script::release, args);
  if (!reply) return reply.error();
  return static_cast<std::size_t>(reply->integer());
}

}  // namespace feedmill
