#include <algorithm>

#include <boost/json.hpp>

#include "parsers/text/strings.hpp"
#include "storage/records/json_members.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/upkeep/verify_work.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::string_view at_once = "500";

std::int64_t milliseconds_of(std::string_view id) {
  return leading_number<std::int64_t>(id);
}

}  // namespace

std::uint64_t entry_number(const Keys& keys, std::string_view id) {
  const std::string beginning = keys.entries();
  if (!id.starts_with(beginning)) return 0;
  id.remove_prefix(beginning.size());
  std::uint64_t number = 0;
  read_number(id, number);
  return number;
}

void EventLedger::read(const EventRecord& record, std::vector<Violation>& wrong) {
  const auto tell = [&](const char* kind, const std::string& url, std::vector<std::string> keys,
                        const std::string& detail) {
    keys.insert(keys.begin(), keys_.signals());
    wrong.push_back({"I5", kind, url, std::move(keys), "record " + record.id + ": " + detail, {}});
  };
  boost::system::error_code error;
  const json::value value = json::parse(record.json, error);
  const json::object* const object = error ? nullptr : value.if_object();
  if (object == nullptr) {
    tell("signal.unreadable", "", {}, "not a JSON object");
    return;
  }
  const std::string url(string_member(*object, "feed_url")), seq(string_member(*object, "seq")),
      prev(string_member(*object, "prev"));
  if (seq != record.id) tell("signal.seq", url, {}, "says it is " + seq);
  if (records_ > 0 && prev != last_) tell("signal.chain", url, {}, "follows " + last_ + ", but names " + prev);
  if (string_member(*object, "type") != record.type) tell("signal.type", url, {}, "two different types");

  const std::string id(string_member(*object, "entity_id"));
  const std::uint64_t number = entry_number(keys_, id);
  if (string_member(*object, "entity_type") != "post" || number == 0) return;
  highest_ = std::max(highest_, number);
  if (record.type == "post_trimmed" || record.type == "post_deleted") {
    posts_[number].gone = true;
    return;
  }
  if (record.type == "post_same_as") return;  // has no revision
  const json::value* const member = object->if_contains("rev");
  const std::int64_t rev = member != nullptr && member->is_int64() ? member->as_int64() : 0;
  if (rev < 1) tell("signal.rev", url, {id}, "has no revision");
  const auto [known, is_new] = posts_.try_emplace(number);
  Revision& post = known->second;
  const bool goes_on = !is_new && !post.gone;  // a resumed import may restore a removed post
  if (goes_on && rev == post.rev) {
    tell("signal.twice", url, {id}, "revision " + std::to_string(rev) + " is reported twice");
  } else if (goes_on && rev != post.rev + 1) {
    tell(rev < post.rev ? "signal.back" : "signal.missing", url, {id},
         "revision " + std::to_string(rev) + " after revision " + std::to_string(post.rev));
  }
  post.rev = goes_on ? std::max(post.rev, rev) : rev;
  post.gone = false;
  post.record = record.id;
}

StoreResult<std::optional<Event>> EventLedger::read_again(const std::string& record) {
  const auto reply = redis_.command({"XRANGE", keys_.signals(), record, record});
  if (!reply) return reply.error();
  const std::vector<EventRecord> records = read_event_records(reply->view());
  return records.empty() ? std::optional<Event>() : read_event(records.front());
}

StoreResult<void> EventLedger::find_beginning() {
  const auto first = redis_.command({"XRANGE", keys_.signals(), "-", "+", "COUNT", "1"});
  if (!first) return first.error();
  first_ = (*first)[0][0].text();
  first_ms_ = first_.empty() ? 0 : milliseconds_of(first_);
  return {};
}

StoreResult<void> EventLedger::read_on(std::vector<Violation>& wrong) {
  const std::string key = keys_.signals();
  for (;;) {
    const std::string after = "(" + last_;
    const auto reply = redis_.command({"XRANGE", key, after, "+", "COUNT", at_once});
    if (!reply) return reply.error();
    const std::vector<EventRecord> records = read_event_records(reply->view());
    if (records.empty()) return find_beginning();
    if (records_ > 0) {
      if (auto found = find_beginning(); !found) return found;
      if (first_ == records.front().id) {  // trimmed up to here while reading
        posts_.clear();
        records_ = 0;
      }
    }
    for (const EventRecord& record : records) {
      read(record, wrong);
      last_ = record.id;
      ++records_;
    }
  }
}

bool EventLedger::lacks(std::uint64_t number, std::int64_t rev, std::int64_t changed) const {
  // The stream is trimmed only at its beginning: after an existing record all later ones must exist.
  const auto known = posts_.find(number);
  if (known != posts_.end() && known->second.rev > 0) return known->second.rev < rev;
  // The record is at least as new as the change; the entry's time is accurate to one second.
  return first_ms_ != 0 && (changed - 1) * 1000 > first_ms_;
}

}  // namespace feedmill
