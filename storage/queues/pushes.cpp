#include "storage/queues/pushes.hpp"

#include <vector>

#include "parsers/text/strings.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

std::optional<PushRecord> read_record(std::string_view hash, const Fields& fields) {
  if (fields.empty()) return {};
  PushRecord record;
  record.hash = hash;
  for (const auto& [name, value] : fields) {
    if (name == "feed_url")
      record.feed_url = value;
    else if (name == "token")
      record.token = value;
    else if (name == "topic")
      record.topic = value;
    else if (name == "hub")
      record.hub = value;
    else if (name == "hub_url")
      record.hub_url = value;
    else if (name == "secret")
      record.secret = value;
    else if (name == "state")
      record.state = value;
    else if (name == "settings")
      record.settings = value;
    else if (name == "pending_since")
      record.pending_since = Milliseconds(leading_number<std::int64_t>(value));
    else if (name == "lease_end")
      record.lease_end = Milliseconds(leading_number<std::int64_t>(value));
    else if (name == "renew_at")
      record.renew_at = Milliseconds(leading_number<std::int64_t>(value));
    else if (name == "bad")
      record.bad = leading_number<std::uint64_t>(value);
    else if (name == "ends")
      record.ends = leading_number<std::uint32_t>(value);
  }
  return record;
}

std::string_view word(PushNote::Kind kind) {
  return kind == PushNote::Kind::fat ? "fat" : kind == PushNote::Kind::thin ? "thin" : "bad";
}

std::string_view word(PushSettlement::How how) {
  constexpr std::string_view words[] = {"sent", "again", "put_off", "refused", "lost",
                                        "left", "wait",  "turn",    "forget"};
  return words[static_cast<std::size_t>(how)];
}

StoreResult<PushNoted> read_noted(const StoreResult<Reply>& reply) {
  if (!reply) return reply.error();
  const std::string_view result = (*reply)[0].text();
  return PushNoted{result == "noted"     ? PushNoted::Result::noted
                   : result == "retired" ? PushNoted::Result::retired
                                         : PushNoted::Result::unknown,
                   Milliseconds((*reply)[1].integer())};
}

}  // namespace

std::vector<StoreResult<std::optional<PushRecord>>> Pushes::find(std::span<const std::string> hashes) {
  std::vector<std::string> keys;
  keys.reserve(hashes.size());
  std::vector<Words> commands;
  for (const std::string& hash : hashes) commands.push_back({"HGETALL", keys.emplace_back(impl_.keys.callback(hash))});
  const auto replies = impl_.pipeline(commands);
  std::vector<StoreResult<std::optional<PushRecord>>> records;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (replies)
      records.emplace_back(read_record(hashes[i], (*replies)[i].pairs()));
    else
      records.emplace_back(replies.error());
  }
  return records;
}

std::vector<StoreResult<PushNoted>> Pushes::note(std::span<const PushNote> notes) {
  std::vector<Args> calls(notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) {
    calls[i].add(std::string_view(notes[i].hash));
    calls[i].add(word(notes[i].kind));
  }
  std::vector<StoreResult<PushNoted>> noted;
  for (const auto& reply : impl_.run_all(Script::websub_deliver, calls)) noted.push_back(read_noted(reply));
  return noted;
}

StoreResult<std::optional<Claim>> Pushes::claim(const std::string& feed_url, const std::string& id,
                                                Milliseconds lease) {
  Args args;
  args.add(std::string_view(feed_url));
  args.add(std::string_view(id));
  args.add(lease);
  const auto reply = impl_.run(Script::websub_claim, args);
  if (!reply) return reply.error();
  if (reply->size() == 0) return std::optional<Claim>();
  Claim claim;
  claim.id = id;
  claim.feed_url = feed_url;
  claim.now = Milliseconds((*reply)[0].integer());
  claim.due = Milliseconds((*reply)[1].integer());
  claim.state = read_state((*reply)[2].pairs());
  return std::optional(std::move(claim));
}

StoreResult<PushTasks> Pushes::take(std::size_t max, Milliseconds lease) {
  Args args;
  args.add(max);
  args.add(lease);
  const auto reply = impl_.run(Script::websub_take, args);
  if (!reply) return reply.error();
  PushTasks all;
  all.now = Milliseconds((*reply)[0].integer());
  all.next = Milliseconds((*reply)[1].integer());
  for (std::size_t i = 2; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    PushTask& task = all.tasks.emplace_back();
    task.feed_url = row[0].text();
    task.state = read_state(row[1].pairs());
    task.subscription = read_record(row[2].text(), row[3].pairs());
    task.asked_for = read_record(row[4].text(), row[5].pairs());
    task.hub_in_trouble = row[6].integer() == 1;
    task.came = row[7].text();
  }
  return all;
}

StoreResult<Milliseconds> Pushes::take_turn(const HubTurn& turn) {
  Args args;
  args.add(std::string_view(turn.host));
  args.add(std::string_view(turn.member));
  args.add(turn.at_once);
  args.add(turn.spacing);
  args.add(turn.lease);
  args.add(std::string_view(turn.came));
  const auto reply = impl_.run(Script::websub_turn, args);
  if (!reply) return reply.error();
  return Milliseconds(leading_number<std::int64_t>(reply->text()));
}

StoreResult<void> Pushes::end_turn(const std::string& host, const std::string& member) {
  const std::string key = impl_.keys.host("hub:" + host), slot = "s:" + member;
  const std::vector<Words> commands{{"HDEL", key, slot}};
  const auto ended = impl_.pipeline(commands);
  if (!ended) return ended.error();
  return {};
}

StoreResult<std::optional<PushTurn>> Pushes::begin(const PushRecord& wanted) {
  Args args;
  args.add(std::string_view("subscribe"));
  for (const std::string* text :
       {&wanted.hash, &wanted.feed_url, &wanted.token, &wanted.topic, &wanted.hub, &wanted.hub_url, &wanted.secret}) {
    args.add(std::string_view(*text));
  }
  const auto reply = impl_.run(Script::websub_begin, args);
  if (!reply) return reply.error();
  if ((*reply)[0].integer() == 0) return std::optional<PushTurn>();
  return std::optional(
      PushTurn{wanted.feed_url, std::string((*reply)[1].text()), std::string((*reply)[2].text()), false});
}

StoreResult<bool> Pushes::begin_end(const std::string& hash) {
  Args args;
  args.add(std::string_view("unsubscribe"));
  args.add(std::string_view(hash));
  const auto reply = impl_.run(Script::websub_begin, args);
  if (!reply) return reply.error();
  return (*reply)[0].integer() == 1;
}

StoreResult<PushTurn> Pushes::settle(const PushSettlement& settlement) {
  Args args;
  args.add(std::string_view(settlement.member));
  args.add(word(settlement.how));
  args.add(settlement.delay);
  for (const std::string* text : {&settlement.hash, &settlement.note, &settlement.hub_url, &settlement.turn}) {
    args.add(std::string_view(*text));
  }
  const auto reply = impl_.run(Script::websub_settle, args);
  if (!reply) return reply.error();
  return PushTurn{settlement.member, std::string((*reply)[0].text()), std::string((*reply)[1].text()),
                  (*reply)[2].integer() == 1};
}

StoreResult<PushAnswer> Pushes::answer(const PushQuestion& question) {
  Args args;
  for (const std::string* text : {&question.hash, &question.mode, &question.topic}) args.add(std::string_view(*text));
  args.add(question.lease);
  args.add(question.renew);
  args.add(std::string_view(question.note));
  const auto reply = impl_.run(Script::websub_verify, args);
  if (!reply) return reply.error();
  if ((*reply)[0].integer() == 0) return PushAnswer();
  return PushAnswer(PushTurn{std::string((*reply)[1].text()), std::string((*reply)[2].text()),
                             std::string((*reply)[3].text()), false});
}

StoreResult<std::vector<std::optional<Milliseconds>>> Pushes::ping(std::span<const std::string> feed_urls,
                                                                   Milliseconds spacing) {
  Args args;
  args.add(spacing);
  for (const std::string& url : feed_urls) args.add(std::string_view(url));
  const auto reply = impl_.run(Script::ping, args);
  if (!reply) return reply.error();
  std::vector<std::optional<Milliseconds>> all(feed_urls.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const auto at = (*reply)[i].integer(); at >= 0) all[i] = Milliseconds(at);
  }
  return all;
}

}  // namespace feedmill
