// The refresh cycle: claim, look up, commit, release.
#include <algorithm>

#include "parsers/markup/sanitise.hpp"
#include "storage/records/find_field.hpp"
#include "storage/records/resanitise.hpp"
#include "storage/records/signals.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_posts_per_part = 100;  // RELIABILITY L6: bounds how long Redis is busy
constexpr std::size_t max_bytes_per_part = 4U << 20U;
constexpr std::size_t max_compared = 5000;  // posts of a feed that are looked for under new guids

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

/// What the script holds a feed to: how many posts, from which second on, how many bytes.
std::string retention_text(const Retention& retention, std::int64_t now_seconds) {
  const std::int64_t age = retention.age.count() / 1000;
  return std::to_string(retention.count()) + (age == 0 ? " -" : " " + std::to_string(now_seconds - age)) +
         (retention.bytes == 0 ? " -" : " " + std::to_string(retention.bytes));
}

/// "<how many> <bytes>" of the posts to be created that are not too old.
std::string sum_of_new(std::span<const EntryWrite> writes, const Retention& retention, std::int64_t now_seconds) {
  const std::int64_t age = retention.age.count() / 1000;
  std::uint64_t count = 0, bytes = 0;
  for (const EntryWrite& write : writes) {
    if (!write.id.empty() || (age != 0 && write.timestamp < now_seconds - age)) continue;
    ++count;
    bytes += write.bytes;
  }
  return std::to_string(count) + " " + std::to_string(bytes);
}

void add_post(Args& args, const Commit& commit, const EntryWrite& write, std::int64_t now_seconds) {
  args.add(std::string_view(write.guid));
  args.add(std::string_view(write.digest));
  args.add(std::string_view(write.id));
  args.add(write.timestamp);
  args.add(write.bytes);
  const bool has_fields = !write.set.empty() || !write.unset.empty();
  args.own(!write.quiet ? post_signal(commit, write, now_seconds) : has_fields ? std::to_string(write.rev) : "");
  args.add(write.set);
  args.add(std::span<const std::string>(write.unset));
}

/// All of them in one part: half a re-keying could not be told from news (RELIABILITY L6).
void add_rekeys(Args& args, const Commit& commit, std::int64_t now_seconds) {
  args.add(commit.rekeys.size());
  for (const Rekey& rekey : commit.rekeys) {
    args.add(std::string_view(rekey.id));
    args.add(std::string_view(rekey.from));
    args.add(std::string_view(rekey.to));
    args.add(std::string_view(rekey.digest));
    args.add(rekey.set);
  }
  if (!commit.rekeys.empty()) args.own(feed_signal(commit, commit.rekeyed, now_seconds));
}

void add_host_answer(Args& args, const HostAnswer& answer) {
  args.add(std::string_view(answer.host));
  args.add(answer.is == HostAnswer::Is::served    ? std::string_view("served")
           : answer.is == HostAnswer::Is::refused ? std::string_view("refused")
                                                  : std::string_view());
  args.add(std::string_view(answer.cause));
  args.add(answer.retry_at);
}

std::string host_marks(const HostAnswer& answer) {
  std::string marks;
  if (answer.document) marks += 'd';
  if (answer.needs_identity) marks += 'i';
  if (answer.needs_http1) marks += '1';
  return marks;
}

/// Whether it writes nothing but fields of the feed's own state: the short way of commit.lua.
bool changes_nothing(const Commit& commit) {
  const HostAnswer& host = commit.host;
  return !commit.document && !commit.trim && commit.feed.empty() && commit.entries.empty() && commit.signals.empty() &&
         commit.rekeys.empty() && commit.tombs_left.empty() && commit.tombs_back.empty() && commit.tombs_new.empty() &&
         commit.deleted.empty() && commit.move_to.empty() && commit.push_to.empty() && !commit.push_ask &&
         commit.state.state == commit.before.state && host.is == HostAnswer::Is::served && host.host.empty() &&
         host.cause.empty() && host.retry_at.count() == 0;
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
    args.add(std::string_view(commit.feed_url));
    args.add(std::string_view(commit.claim));
    args.add(commit.next_due);
    args.own(host_marks(commit.host));
    Fields set = last ? changed_state_fields(commit.before, commit.state) : Fields();
    const auto removed =
        std::stable_partition(set.begin(), set.end(), [](const auto& field) { return !field.second.empty(); });
    std::vector<std::string> unset;
    for (auto field = removed; field != set.end(); ++field) unset.push_back(std::move(field->first));
    set.erase(removed, set.end());
    args.own_all(std::move(set));
    if (last && unset.empty() && changes_nothing(commit)) continue;
    args.add(unset.size());
    for (std::string& name : unset) args.own(std::move(name));
    args.own(json_string(commit.feed_url));
    args.add(std::string_view(keys.channel_prefix()));
    args.add(part + 1);
    args.add(starts.size());
    args.add(options.signals_max_len);
    args.add(options.signals_deleted ? 1 : 0);
    if (commit.document || commit.trim)
      args.own(retention_text(commit.retention, now_seconds));
    else
      args.add(std::string_view());
    args.add(commit.retention.grace);
    args.own(sum_of_new(later, commit.retention, now_seconds));
    add_host_answer(args, commit.host);
    args.add(std::string_view(commit.move_to));
    args.add(commit.highest_entry);
    args.own(!last || commit.push_to.empty() ? std::string() : commit.before.push.state + " " + commit.push_to);
    args.own(!last || !commit.push_ask ? std::string() : std::to_string(commit.push_ask->count()));
    static const Fields no_fields;
    const std::span<const std::string> none;
    args.add(last ? commit.feed : no_fields);
    args.add(last ? std::span<const std::string>(commit.tombs_left) : none);
    args.add(last ? std::span<const std::string>(commit.tombs_back) : none);
    args.add(part == 0 ? std::span<const std::string>(commit.tombs_new) : none);
    args.add(last ? std::span<const std::string>(commit.deleted) : none);
    if (part == 0)
      add_rekeys(args, commit, now_seconds);
    else
      args.add(0);
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
  if (word == "ok" && reply->size() == 1) {
    done.result = Committed::Result::ok;
  } else if (word == "ok" && reply->size() >= 13) {
    const auto count = [&](std::size_t i) { return static_cast<std::uint32_t>((*reply)[i].integer()); };
    done = {Committed::Result::ok, count(1), count(2), count(3), count(4), count(5)};
    const std::string_view host = (*reply)[6].text();
    if (host == "closed") done.host = Committed::Host::closed;
    if (host == "opened") done.host = Committed::Host::opened;
    done.host_until = read_ms((*reply)[7]);
    done.move_taken = (*reply)[8].integer() == 1;
    done.highest_entry = static_cast<std::uint64_t>((*reply)[9].integer());
    done.rekeyed = count(10);
    done.deleted = count(11);
    done.push_turned = count(12) > 0;
    done.hub_in_trouble = count(12) > 1;
  } else if (word == "dup") {
    done.result = Committed::Result::dup;
  } else if (word == "stale") {
    done.result = Committed::Result::stale;
  } else if (word.empty()) {
    return StoreError{StoreError::Code::bug, "the server's answer to commit names no outcome"};
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
    all.rekeyed += done->rekeyed;
    all.deleted += done->deleted;
    all.host = done->host;
    all.host_until = done->host_until;
    all.move_taken = done->move_taken;
    all.highest_entry = std::max(all.highest_entry, done->highest_entry);
    all.push_turned = done->push_turned;
    all.hub_in_trouble = done->hub_in_trouble;
  }
  return all;
}

/// What is stored by older rules → as today's make it.
void mend(Known& known, const GivenMarkup& markup) {
  const std::string today = std::to_string(sanitiser_version);
  for (Known::Guid& guid : known.guids) {
    if (guid.fields.empty() || value_of(guid.fields, "san_ver") == today) continue;
    guid.mended = resanitised(guid.fields, markup);
    std::erase_if(guid.mended, [](const auto& field) { return field.first == "bytes" || field.first == "digest"; });
    guid.fields = with_changes(std::move(guid.fields), guid.mended);
  }
  if (value_of(known.feed, "san_ver") != today) known.feed_mended = resanitised_feed(known.feed, markup);
}

StoreResult<Known> read_known(const StoreResult<Reply>& reply, std::size_t asked) {
  if (!reply) return reply.error();
  const std::string_view marks = (*reply)[0].text();
  if (marks.size() != asked) return StoreError{StoreError::Code::bug, "look_up answered for another number of guids"};
  Known known;
  known.feed = (*reply)[1].pairs();
  known.left = (*reply)[2].texts();
  known.back = (*reply)[3].texts();
  known.stored = static_cast<std::uint64_t>((*reply)[5].integer());
  known.newest = (*reply)[6].integer();
  known.trimmed = (*reply)[7].integer() == 1;
  known.deletable = (*reply)[8].texts();
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
      case 'o':
      case '~':
        guid.is = mark == '~' ? Known::Is::different : Known::Is::same;
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

std::uint64_t Retention::count() const {
  if (strict) return entries;
  return std::min(std::max(entries, listed), hard_cap);
}

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
  test_point("S1");
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
  constexpr int most_passes = 10'000;  // over millions of feeds
  std::string since;
  std::int64_t skip = 0;
  for (int pass = 0; pass < most_passes; ++pass) {
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
  return StoreError{StoreError::Code::bug, "making feeds due comes to no end"};
}

std::vector<StoreResult<Known>> Store::look_up(std::span<const LookUp> wanted) {
  std::vector<Args> calls(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool sanitised = wanted[i].markup && wanted[i].markup->policy != HtmlPolicy::raw;
    calls[i].add(std::string_view(wanted[i].feed_url));
    calls[i].own(sanitised ? std::to_string(sanitiser_version) : std::string());
    calls[i].add(wanted[i].entries.size());
    for (const EntryRecord& entry : wanted[i].entries) {
      calls[i].add(std::string_view(entry.former_guid.empty() ? entry.guid : entry.former_guid));
    }
    for (const EntryRecord& entry : wanted[i].entries) calls[i].add(std::string_view(entry.digest));
    for (const Deletion& deletion : wanted[i].deleted) calls[i].add(std::string_view(deletion.guid));
  }
  const auto replies = impl_->run_all(Script::look_up, calls);
  std::vector<StoreResult<Known>> known;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    known.push_back(read_known(replies[i], wanted[i].entries.size()));
    if (known.back() && wanted[i].markup) mend(*known.back(), *wanted[i].markup);
  }
  return known;
}

StoreResult<std::vector<StoredPost>> Store::stored_posts(const std::string& feed_url) {
  Args args;
  args.add(std::string_view(feed_url));
  args.add(max_compared);
  const auto reply = impl_->run(Script::posts, args);
  if (!reply) return reply.error();
  std::vector<StoredPost> posts;
  posts.reserve(reply->size());
  for (std::size_t i = 0; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    StoredPost& post = posts.emplace_back();
    post.id = row[0].text();
    post.timestamp = row[1].integer();
    post.guid = row[2].text();
    post.digest = row[3].text();
    std::size_t column = 4;
    for (const char* name : {"date_published", "link", "summary_text", "title"}) {
      const std::string_view value = row[column++].text();
      if (!value.empty()) post.fields.emplace_back(name, value);
    }
  }
  return posts;
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
  test_point("S8");
  std::vector<StoreResult<Committed>> done;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    done.push_back(together(std::span(replies).subspan(first_call[i], first_call[i + 1] - first_call[i])));
  }
  const auto is = [&](Committed::Result result) {
    return std::any_of(done.begin(), done.end(), [&](const auto& one) { return one && one->result == result; });
  };
  const bool repeated = is(Committed::Result::dup);
  if (!repeated && !is(Committed::Result::ok)) return done;
  if (const auto settled = impl_->settle(!repeated); !settled) {
    for (auto& one : done) {
      if (one && one->result != Committed::Result::stale) one = settled.error();
    }
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
