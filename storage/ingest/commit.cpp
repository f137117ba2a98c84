// The atomic write at the end of a refresh.
#include <algorithm>

#include "storage/ingest/ingest.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_posts_per_part = 100;  // RELIABILITY L6: bounds how long Redis is busy
constexpr std::size_t max_bytes_per_part = 4U << 20U;

/// Approximate size of a post in the arguments: its fields and its event.
std::size_t size_of(const EntryWrite& write, const EventDetail& detail) {
  std::size_t bytes = 200 + write.guid.size();
  for (const auto& [name, value] : write.set) bytes += name.size() + value.size();
  const bool told = !write.quiet || !write.set.empty();
  if (told && write.bytes <= detail.shown_up_to()) bytes += write.bytes * (detail.content_text ? 2 : 1);
  for (const auto& [name, value] : write.old) bytes += std::min(value.size(), detail.changed_max) * 2;
  return bytes;
}

/// Index of each part's first post; one part even if there is nothing to write.
std::vector<std::size_t> part_starts(const std::vector<EntryWrite>& writes, const EventDetail& detail) {
  std::vector<std::size_t> starts{0};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const std::size_t size = size_of(writes[i], detail);
    if (i != starts.back() && (i - starts.back() >= max_posts_per_part || bytes + size > max_bytes_per_part)) {
      starts.push_back(i);
      bytes = 0;
    }
    bytes += size;
  }
  return starts;
}

/// Limits for the script: number of posts, oldest second, bytes, number of posts with texts. The last number is the
/// largest post that events show.
std::string retention_text(const Retention& retention, std::int64_t now_seconds, const EventDetail& detail) {
  const std::int64_t age = retention.age.count() / 1000;
  return std::to_string(retention.count()) + (age == 0 ? " -" : " " + std::to_string(now_seconds - age)) +
         (retention.bytes == 0 ? " -" : " " + std::to_string(retention.bytes)) +
         (retention.texts == Retention::all_texts ? " -" : " " + std::to_string(retention.texts)) + " " +
         std::to_string(detail.shown_up_to());
}

/// "<count> <bytes>" of the new posts within the age limit.
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

void add_post(Args& args, const Commit& commit, const EntryWrite& write, std::int64_t now_seconds,
              const EventDetail& detail) {
  args.add(std::string_view(write.guid));
  args.add(std::string_view(write.digest));
  args.add(std::string_view(write.id));
  args.add(write.timestamp);
  args.add(write.bytes);
  const bool has_fields = !write.set.empty() || !write.unset.empty();
  if (!write.quiet || has_fields)
    args.own((write.quiet ? "~" : "") + post_event(commit, write, now_seconds, detail));
  else
    args.add(std::string_view());
  args.add(write.set);
  args.add(std::span<const std::string>(write.unset));
}

/// One post's JSON members in feed_rekeyed, after its id and rev.
std::string told_of(const Rekey& rekey) {
  std::string text = ",\"from\":" + json_string(rekey.from) + ",\"to\":" + json_string(rekey.to);
  for (std::size_t i = 0; i < rekey.set.size(); ++i) {
    text += (i == 0 ? ",\"set\":{" : ",") + json_string(rekey.set[i].first) + ":" + json_string(rekey.set[i].second);
  }
  return rekey.set.empty() ? text : text + "}";
}

/// Adds all rekeys to one part: a partial re-keying would look like news (RELIABILITY L6).
void add_rekeys(Args& args, const Commit& commit, std::int64_t now_seconds) {
  args.add(commit.rekeys.size());
  for (const Rekey& rekey : commit.rekeys) {
    args.add(std::string_view(rekey.id));
    args.add(std::string_view(rekey.from));
    args.add(std::string_view(rekey.to));
    args.add(std::string_view(rekey.digest));
    args.own(told_of(rekey));
    args.add(rekey.set);
  }
  if (commit.rekeys.empty()) return;
  std::string tail = feed_event(commit, commit.rekeyed, now_seconds);
  tail.resize(tail.size() - 2);  // the script continues its `data`
  args.own(std::move(tail));
}

/// Arguments of note_answer in answers.lua, up to its marks.
void add_answer(Args& args, const HostAnswer& answer) {
  args.add(answer.is == HostAnswer::Is::served    ? std::string_view("served")
           : answer.is == HostAnswer::Is::refused ? std::string_view("refused")
                                                  : std::string_view());
  args.add(std::string_view(answer.cause));
  args.add(answer.retry_at);
}

/// The marks for note_answer in answers.lua.
std::string host_marks(const HostAnswer& answer) {
  std::string marks;
  if (answer.document) marks += 'd';
  if (answer.needs_identity) marks += 'i';
  if (answer.needs_http1) marks += '1';
  if (answer.over_quota) marks += 'q';
  if (answer.shows_no_limits) marks += 'm';
  if (answer.egress.empty() && !answer.quota) return marks;
  marks += " " + (answer.egress.empty() ? "-" : answer.egress);
  if (answer.quota) {
    for (const Milliseconds number : {answer.quota->gap, answer.quota->pace, answer.quota->lasts})
      marks += " " + std::to_string(number.count());
  }
  return marks;
}

/// Whether the commit writes only fields of the feed's own state.
bool changes_nothing(const Commit& commit) {
  const HostAnswer& host = commit.host;
  return (!commit.document || commit.nothing_to_trim) && !commit.trim && commit.feed.empty() &&
         commit.entries.empty() && commit.events.empty() && commit.rekeys.empty() && commit.tombs_left.empty() &&
         commit.tombs_back.empty() && commit.tombs_new.empty() && commit.deleted.empty() && commit.move_to.empty() &&
         commit.push_to.empty() && !commit.push_ask && !commit.items && !commit.volatile_parts &&
         commit.state.state == commit.before.state && host.is == HostAnswer::Is::served && host.server.empty() &&
         host.cause.empty() && host.retry_at.count() == 0;
}

/// Fields of the feed's state to write and to remove.
struct StateChange {
  Fields set;
  std::vector<std::string> unset;
};

StateChange change_of_state(const Commit& commit) {
  StateChange change{changed_state_fields(commit.before, commit.state), {}};
  const auto removed = std::stable_partition(change.set.begin(), change.set.end(),
                                             [](const auto& field) { return !field.second.empty(); });
  for (auto field = removed; field != change.set.end(); ++field) change.unset.push_back(std::move(field->first));
  change.set.erase(removed, change.set.end());
  return change;
}

/// Adds a commit for the fast path, unchanged.lua; false if it does not qualify.
bool add_unchanged(Args& args, const Commit& commit) {
  if (!changes_nothing(commit)) return false;
  StateChange change = change_of_state(commit);
  args.add(std::string_view(commit.feed_url));
  args.add(std::string_view(commit.claim));
  args.add(commit.next_due);
  args.own(host_marks(commit.host));
  args.own_all(std::move(change.set));
  args.add(change.unset.size());
  for (std::string& name : change.unset) args.own(std::move(name));
  return true;
}

/// The calls for one commit; all but the last write only posts.
void add_parts(std::vector<Args>& calls, const Commit& commit, const StoreOptions& options, const Keys& keys) {
  const std::int64_t now_seconds = commit.decided_at().count() / 1000;
  const std::vector<std::size_t> starts = part_starts(commit.entries, options.events);
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
    StateChange change = last ? change_of_state(commit) : StateChange();
    args.own_all(std::move(change.set));
    args.add(change.unset.size());
    for (std::string& name : change.unset) args.own(std::move(name));
    args.own(json_string(commit.feed_url));
    args.add(std::string_view(keys.channel_prefix()));
    args.add(part + 1);
    args.add(starts.size());
    args.own(options.stream_cap());
    args.add(options.signals_deleted ? 1 : 0);
    if (commit.document || commit.trim)
      args.own(retention_text(commit.retention, now_seconds, options.events));
    else
      args.add(std::string_view());
    args.add(commit.retention.grace);
    args.own(sum_of_new(later, commit.retention, now_seconds));
    args.add(std::string_view(commit.host.server));
    add_answer(args, commit.host);
    args.add(std::string_view(commit.move_to));
    args.own(std::to_string(commit.highest_entry) + " " + to_string(commit.last_event));
    args.own(!last || commit.push_to.empty() ? std::string()
                                             : commit.before.push.standing.state + " " + commit.push_to);
    args.own(!last || !commit.push_ask ? std::string() : std::to_string(commit.push_ask->count()));
    for (const auto* value : {&commit.items, &commit.volatile_parts}) {
      const std::string_view text = *value ? std::string_view(**value) : std::string_view();
      args.add(!last || !*value ? std::string_view() : text.empty() ? std::string_view("-") : text);
    }
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
    for (const EntryWrite& write : posts) add_post(args, commit, write, now_seconds, options.events);
    args.add(last ? commit.events.size() : 0);
    if (!last) continue;
    for (const FeedEvent& event : commit.events) {
      args.add(std::string_view(event.type));
      args.own(feed_event(commit, event, now_seconds));
    }
  }
}

StoreResult<Committed> read_committed(const StoreResult<Reply>& reply) {
  if (!reply) return reply.error();
  const std::string_view word = (*reply)[0].text();
  Committed done;
  if (word == "ok" && reply->size() >= 14) {
    const auto count = [&](std::size_t i) { return static_cast<std::uint32_t>((*reply)[i].integer()); };
    done = {Committed::Result::ok, count(1), count(2), count(3), count(4), count(5)};
    const std::string_view circuit = (*reply)[6].text();
    if (circuit == "opened") done.circuit = Committed::Circuit::opened;
    if (circuit == "closed") done.circuit = Committed::Circuit::closed;
    if (circuit == "storm") done.circuit = Committed::Circuit::storm;
    if (circuit == "storm_over") done.circuit = Committed::Circuit::storm_over;
    done.circuit_open_until = milliseconds((*reply)[7]);
    done.move_taken = (*reply)[8].integer() == 1;
    done.highest_entry = static_cast<std::uint64_t>((*reply)[9].integer());
    done.rekeyed = count(10);
    done.deleted = count(11);
    done.push_turned = count(12) > 0;
    done.hub_in_trouble = count(12) > 1;
    done.last_event = event_place((*reply)[13].text());
  } else if (word == "dup") {
    done.result = Committed::Result::dup;
  } else if (word == "stale") {
    done.result = Committed::Result::stale;
  } else if (word.empty()) {
    return StoreError{StoreError::Code::bug, "the server's answer to commit names no outcome"};
  } else if (word.starts_with("store ")) {  // no feed can be stored
    const std::string_view what = word.substr(6);
    return StoreError{StoreError::Code::misconfigured,
                      "nothing can be written while " + std::string(what) + ": " +
                          (what.ends_with("is not a number") ? "" : "rename that key, then ") +
                          "run feedmill verify --repair"};
  } else {
    return StoreError{StoreError::Code::refused, "nothing was written: " + std::string(word)};
  }
  return done;
}

/// Combines the results of a commit's parts; an error or `stale` in one part applies to all.
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
    all.events += done->events;
    all.rekeyed += done->rekeyed;
    all.deleted += done->deleted;
    all.circuit = done->circuit;
    all.circuit_open_until = done->circuit_open_until;
    all.move_taken = done->move_taken;
    all.highest_entry = std::max(all.highest_entry, done->highest_entry);
    all.last_event = std::max(all.last_event, done->last_event);
    all.push_turned = done->push_turned;
    all.hub_in_trouble = done->hub_in_trouble;
  }
  return all;
}

}  // namespace

/// Executes the commits that only change states, in one call. Returns the indices of the others.
std::vector<std::size_t> Ingest::commit_unchanged(std::span<const Commit* const> commits,
                                                  std::vector<StoreResult<Committed>>& done) {
  std::vector<std::size_t> asked, others;
  Args args;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    (add_unchanged(args, *commits[i]) ? asked : others).push_back(i);
  }
  if (asked.empty()) return others;
  const auto reply = impl_.run(Script::unchanged, args);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    StoreResult<Committed>& one = done[asked[i]];
    const std::string_view word = reply ? (*reply)[i].text() : std::string_view();
    if (!reply)
      one = reply.error();
    else if (word == "long")
      others.push_back(asked[i]);
    else if (word == "dup" || word == "stale")
      one->result = word == "dup" ? Committed::Result::dup : Committed::Result::stale;
    else if (word != "ok")
      one = StoreError{StoreError::Code::bug, "the server's answer to unchanged names no outcome"};
  }
  return others;
}

StoreResult<void> Ingest::leave_slot(const Claim& claim, const std::string& server, const HostAnswer* answer) {
  Args args;
  args.add(std::string_view(claim.feed_url));
  args.add(std::string_view(claim.id));
  args.add(std::string_view(server));
  if (answer != nullptr) {
    add_answer(args, *answer);
  } else {
    for (const std::string_view word : {"none", "", "0"}) args.add(word);
  }
  args.own(answer != nullptr ? host_marks(*answer) : std::string());
  const auto reply = impl_.run(Script::slot_end, args);
  if (!reply) return reply.error();
  return {};
}

std::vector<StoreResult<Committed>> Ingest::commit(std::span<const Commit* const> commits) {
  std::vector<StoreResult<Committed>> done(commits.size(), Committed());
  const std::vector<std::size_t> changed = commit_unchanged(commits, done);
  std::vector<Args> calls;
  std::vector<std::size_t> first_call;
  for (const std::size_t i : changed) {
    first_call.push_back(calls.size());
    add_parts(calls, *commits[i], impl_.options, impl_.keys);
  }
  first_call.push_back(calls.size());
  if (!calls.empty()) {
    const auto replies = impl_.run_all(Script::commit, calls);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      done[changed[i]] = together(std::span(replies).subspan(first_call[i], first_call[i + 1] - first_call[i]));
    }
  }
  test_point("S8");
  const auto is = [&](Committed::Result result) {
    return std::any_of(done.begin(), done.end(), [&](const auto& one) { return one && one->result == result; });
  };
  const bool repeated = is(Committed::Result::dup);
  if (!repeated && !is(Committed::Result::ok)) return done;
  if (const auto settled = impl_.settle(!repeated); !settled) {
    for (auto& one : done) {
      if (one && one->result != Committed::Result::stale) one = settled.error();
    }
  }
  return done;
}

}  // namespace feedmill
