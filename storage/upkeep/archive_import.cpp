// Imports JSON lines into a store. The file is untrusted: each line is checked before it is used.
#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>

#include "storage/feeds/feeds.hpp"
#include "storage/records/diff.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/json_members.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "storage/upkeep/archive.hpp"
#include "storage/upkeep/archive_lines.hpp"

namespace boost::system {
void throw_exception_from_error(const feedmill::ArchiveError& error, const boost::source_location&) {
  throw std::runtime_error("line " + std::to_string(error.line) + ": " + error.error.detail);
}
}  // namespace boost::system

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t entries_per_call = 50, bytes_per_call = 4U << 20U;
constexpr std::ptrdiff_t tombs_per_call = 1000;
constexpr std::string_view no_export = "is not an export of feedmill's store";
constexpr std::size_t most_tombs = 20'000;
constexpr std::uint64_t highest_moment = std::uint64_t{1} << 47;  // of an event: in thousands of years
constexpr std::int64_t highest_number = std::int64_t{1} << 49;    // of an entry: leaves as many numbers above it

/// Store::id() of each exported store, empty for files that are older than ids.
std::vector<std::string> store_ids_of(const json::object& object) {
  std::vector<std::string> ids;
  if (object.contains("stores")) ids = words_of(object, "stores", most_partitions);
  if (object.contains("store")) ids = {text_of(object, "store")};
  for (const std::string& id : ids) {
    const bool fits = id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!id.empty() && !fits) throw BadLine{"\"store\" is not a store id"};
  }
  return ids;
}

/// The newest event of all exported stores, "0-0" if the file has none.
std::string newest_event_of(const json::object& object) {
  std::vector<std::string> seqs;
  if (object.contains("seqs")) seqs = words_of(object, "seqs", most_partitions);
  if (object.contains("seq")) seqs = {text_of(object, "seq")};
  EventPlace newest;
  for (const std::string& seq : seqs) {
    const EventPlace place = event_place(seq);
    if (to_string(place) != seq || place.milliseconds > highest_moment || place.number > highest_moment)
      throw BadLine{"\"seq\" is not an event id"};
    newest = std::max(newest, place);
  }
  return to_string(newest);
}

}  // namespace

class Archive::Reader {
 public:
  Reader(const Deployment& stores, const ImportOptions& options, const std::function<bool(std::string&)>& next)
      : stores_(stores), keys_(stores), options_(options), next_(next) {}

  using Result = boost::system::result<ArchiveFigures, ArchiveError>;

  Result read() {
    std::string line;
    try {
      while (!finished_ && next_(line)) {
        ++number_;
        if (options_.progress && number_ % 64 == 0) options_.progress(number_);
        if (line.size() > max_line) throw BadLine{"is longer than " + std::to_string(max_line >> 20U) + " MiB"};
        boost::system::error_code error;
        const json::value value = json::parse(line, error);
        if (error || !value.is_object()) throw BadLine{"is not a JSON object" + (error ? ": " + error.message() : "")};
        take(value.as_object());
        if (failure_) return failed(*failure_, false);
      }
      if (finished_ && next_(line)) {
        ++number_;
        throw BadLine{"follows the end"};
      }
      if (!finished_) {
        ++number_;
        throw BadLine{number_ == 1 ? "the file is empty" : "the file is cut: its last line is missing"};
      }
      if (!options_.dry_run) close();
      if (failure_) return failed(*failure_, false);
      figures_.kept_numbers = keep_;
      return figures_;
    } catch (const BadLine& bad) {
      // Discards the current, incomplete feed; channels of a replaced one keep it for the next import.
      if (writing_) discard();
      return failed({StoreError::Code::refused, bad.text}, true);
    }
  }

 private:
  ArchiveError failed(StoreError error, bool bad_input) const {
    const bool speaks_to_one = in_feed_ || finished_ || number_ == 1;  // otherwise several partitions are involved
    const bool is_of_one = !bad_input && speaks_to_one && at_ != nullptr && stores_.stores().size() > 1;
    if (is_of_one) error.detail = "partition " + std::to_string(at_->partition().index) + ": " + error.detail;
    return {number_, bad_input, std::move(error)};
  }

  Store::Impl& impl() const { return at_->impl(); }

  /// The script's reply; empty, with failure_ set, if the store failed.
  std::optional<Reply> run(const Args& args) {
    auto reply = impl().run(Script::import_feed, args);
    if (reply) return std::move(*reply);
    failure_ = reply.error();
    return {};
  }

  void take(const json::object& object) {
    const std::string type = text_of(object, "t");
    if (number_ == 1) {
      if (type != "feedmill") throw BadLine{std::string(no_export)};
      return head(object);
    }
    if (type == "feed") return feed(object);
    if (type == "entry") return entry(object);
    if (type == "end") return end(object);
    if (type == "again") return again(object);
    if (in_feed_) throw BadLine{"is inside a feed"};
    if (type == "channel") return channel(object);
    if (type == "key") return key(object);
    if (type == "total") return total(object);
    throw BadLine{"is of an unknown kind"};
  }

  void head(const json::object& object) {
    if (count_of(object, "v") != 1 || count_of(object, "schema") > 1) {
      throw BadLine{"was written by a newer feedmill; upgrade this one"};
    }
    id_ = text_of(object, "id");
    highest_ = count_of(object, "counter");
    if (highest_ > static_cast<std::uint64_t>(highest_number))
      throw BadLine{"\"counter\" is higher than any entry's number"};
    const json::value& is_whole = member(object, "whole");
    const std::vector<std::string> store_ids = store_ids_of(object);
    const std::string newest_event = newest_event_of(object);
    if (options_.dry_run) return;
    if (!is_whole.is_bool() || !is_whole.as_bool()) return;  // some feeds: numbered by this store
    keep_ = true;
    for (std::size_t i = 0; i < stores_.stores().size() && !failure_; ++i) {
      at_ = stores_.stores()[i];
      Args args;
      args.add(std::string_view("open"));
      args.add(std::string_view(id_));
      args.add(highest_);
      args.own(store_ids.size() == 1 ? store_ids[0] : store_ids.size() == stores_.stores().size() ? store_ids[i] : "");
      args.add(std::string_view(newest_event));
      const auto reply = run(args);
      keep_ = reply && reply->integer() == 1 && keep_;
    }
    const Partition mine = stores_.front().partition();
    for (unsigned i = 0; i < mine.count && keep_ && highest_ > 0; ++i) {
      if (stores_.at(i) == nullptr) keep_ = goes_on_behind({i, mine.count});
    }
  }

  /// Whether another partition will not issue entry numbers that are kept here (RELIABILITY L27).
  bool goes_on_behind(const Partition& partition) {
    StoreOptions options = impl().options;
    options.partition = partition;
    Store store(std::move(options));
    Args args;
    args.add(std::string_view("behind"));
    args.add(std::string_view(id_));
    args.add(highest_);
    const auto opened = store.open();
    const auto reply = opened ? store.impl().run(Script::import_feed, args) : StoreResult<Reply>(opened.error());
    if (!reply) failure_ = reply.error();
    return reply && reply->integer() == 1;
  }

  void feed(const json::object& object) {
    if (in_feed_) throw BadLine{"begins a feed within another"};
    if (now_seconds_ == 0) {
      const auto now = stores_.front().now();
      if (!now) {
        failure_ = now.error();
        return;
      }
      now_seconds_ = now->count() / 1000;
    }
    url_ = text_of(object, "url");
    if (!options_.is_feed_url(url_) || !forbidden_ending(url_).empty()) throw BadLine{"\"url\" is not a feed URL"};
    state_ = fields_of(object, "state");
    feed_ = fields_of(object, "feed");
    tombs_ = fields_of(object, "tombs", most_tombs);
    due_ = text_of(object, "due");
    since_ = text_of(object, "quarantined");
    if (!due_.empty()) whole(due_, "due");
    if (!since_.empty()) whole(since_, "quarantined");
    for (const auto& [guid, left] : tombs_) {
      if (left != "inf") whole(left, "tombs");
    }
    const std::string* const state = find_field(state_, "state");
    if (state == nullptr) throw BadLine{"\"state\" lacks the state"};
    if ((*state == "paused") != due_.empty()) throw BadLine{"a feed is either paused or due"};
    std::erase_if(state_, [](const auto& field) { return field.first == "removing" || field.first == "claim"; });
    entries_ = 0;
    in_feed_ = true;
    at_ = stores_.with_feed(url_);
    if (at_ == nullptr) {
      ++figures_.elsewhere;
      writing_ = false;
    } else {
      begin();
    }
  }

  void begin() {
    writing_ = false;
    if (options_.dry_run) {
      const auto records = Feeds(*at_).records(std::span(&url_, 1));
      if (!records) {
        failure_ = records.error();
      } else if (records->front() && !options_.replace) {
        ++figures_.present;
      } else {
        if (records->front()) ++figures_.replaced;
        counts_ = true;
      }
      return;
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      Args args;
      args.add(std::string_view("begin"));
      args.add(std::string_view(url_));
      args.add(options_.replace ? 1 : 0);
      const auto reply = run(args);
      if (!reply) return;
      const std::string_view found = reply->text();
      if (found == "ok") {
        writing_ = counts_ = true;
        return;
      }
      if (found == "known") {
        ++figures_.present;
        return;
      }
      if (found == "replace") ++figures_.replaced;
      if (found == "left") {  // of an interrupted removal
        if (const auto removed = Feeds(*at_).remove(url_); !removed) failure_ = removed.error();
      } else if (const auto removed = Feeds(*at_).remove_for_import(url_, found == "begun"); !removed) {
        failure_ = removed.error();
      }
      if (failure_) return;
    }
    throw BadLine{"keys of " + url_ + " are there, but no feed; see feedmill verify"};
  }

  void entry(const json::object& object) {
    if (!in_feed_) throw BadLine{"is an entry without a feed"};
    ++entries_;
    EntryWrite write;
    const std::int64_t number = whole(text_of(object, "id"), "id", highest_number);
    if (number == 0) throw BadLine{"\"id\" is 0"};
    highest_ = std::max(highest_, static_cast<std::uint64_t>(number));
    const std::string score = text_of(object, "score");
    write.timestamp = whole(score, "score");
    write.set = fields_of(object, "fields");
    std::erase_if(write.set, [](const auto& field) { return field.first == "feed_url"; });
    const auto required = [&](const char* name) -> const std::string& {
      const std::string* const value = find_field(write.set, name);
      if (value == nullptr) throw BadLine{"\"fields\" lack " + std::string(name)};
      return *value;
    };
    write.guid = required("guid");
    if (write.guid.empty() || write.guid.size() > 4096) throw BadLine{"a guid is empty or too long"};
    write.digest = required("digest");
    if (whole(required("timestamp"), "timestamp") != write.timestamp) throw BadLine{"\"score\" is not its timestamp"};
    write.rev = whole(required("rev"), "rev");
    if (write.rev == 0) throw BadLine{"\"rev\" is 0"};
    write.bytes = entry_bytes(write.set);
    if (!writing_) return;

    Commit frame;
    frame.feed_url = url_;
    frame.initial = true;
    std::size_t bytes = 500;
    for (const auto& [name, value] : write.set) bytes += name.size() + value.size();
    if (pending_ > 0 && (pending_ == entries_per_call || pending_bytes_ + bytes > bytes_per_call)) send();
    if (failure_) return;
    if (pending_ == 0) start_call();
    call_.own(std::to_string(number));
    call_.own(score);
    call_.own(post_event(frame, write, now_seconds_, impl().options.events));
    call_.own_all(std::move(write.set));
    ++pending_;
    pending_bytes_ += bytes;
  }

  void start_call() {
    call_ = Args();
    pending_bytes_ = 0;
    call_.add(std::string_view("entries"));
    call_.own(url_);
    call_.add(keep_ ? 1 : 0);
    call_.add(std::string_view(impl().keys.channel_prefix()));
    call_.own(impl().options.stream_cap());
  }

  void send() {
    if (pending_ == 0) return;
    pending_ = 0;
    run_verb(call_);
  }

  /// Returns whether channels hold the feed.
  bool run_verb(const Args& args) {
    const auto reply = run(args);
    const bool is_followed = reply && reply->text() == "followed";
    if (reply && !is_followed && reply->text() != "ok") {
      throw BadLine{"feed " + url_ + ": " + std::string(reply->text())};
    }
    return is_followed;
  }

  void send_tombs() {
    for (auto begin = tombs_.begin(); begin != tombs_.end() && !failure_;) {
      const auto end = begin + std::min<std::ptrdiff_t>(tombs_per_call, tombs_.end() - begin);
      Args args;
      args.add(std::string_view("tombs"));
      args.add(std::string_view(url_));
      args.own_all(Fields(begin, end));
      run_verb(args);
      begin = end;
    }
  }

  void end(const json::object& object) {
    if (!in_feed_ || text_of(object, "url") != url_) throw BadLine{"ends a feed that was not begun"};
    if (count_of(object, "entries") != entries_) throw BadLine{"entries are missing"};
    if (writing_) {
      send();
      if (!failure_) send_tombs();
      if (failure_) return;
      Args args;
      args.add(std::string_view("end"));
      for (const std::string* text : {&url_, &due_, &since_}) args.add(std::string_view(*text));
      args.add(std::string_view(impl().keys.channel_prefix()));
      args.own(impl().options.stream_cap());
      args.own(json_string(url_));
      for (const Fields* fields : {&state_, &feed_}) args.add(*fields);
      args.own_all(events());
      if (run_verb(args)) fill_channels();
      if (failure_) return;
    }
    if (counts_) {
      ++figures_.feeds;
      figures_.entries += entries_;
    }
    ++ends_;
    ended_entries_ += entries_;
    in_feed_ = writing_ = counts_ = false;
  }

  /// Adds its posts to the channels it stayed in while it was replaced.
  void fill_channels() {
    Channels channels(*at_);
    const auto uids = channels.holding(std::span(&url_, 1));
    if (!uids) {
      failure_ = uids.error();
      return;
    }
    std::vector<Membership> memberships;
    for (const std::string& uid : uids->front()) memberships.push_back({uid, url_});
    if (const auto followed = channels.follow(memberships); !followed) failure_ = followed.error();
  }

  /// Events about the feed itself; none if it was never read.
  Fields events() const {
    Fields events;
    const FeedState state = read_state(state_);
    if (state.rhythm.imported.count() == 0) return events;
    Commit frame;
    frame.feed_url = url_;
    const FeedEvent created{"feed_created", "created", feed_data_json(feed_), "",
                            feed_record_json(feed_, impl().options.events)};
    events.emplace_back(created.type, feed_event(frame, created, now_seconds_));
    if (!state.address.fetch_url.empty()) {
      const FeedEvent moved = moved_event({{}, url_, state.address.fetch_url});
      events.emplace_back(moved.type, feed_event(frame, moved, now_seconds_));
    }
    return events;
  }

  void again(const json::object& object) {
    if (!in_feed_ || text_of(object, "url") != url_) throw BadLine{"takes back a feed that was not begun"};
    if (writing_) discard();
    if (!counts_) --(at_ == nullptr ? figures_.elsewhere : figures_.present);
    in_feed_ = writing_ = counts_ = false;
  }

  void discard() {
    pending_ = 0;
    writing_ = false;
    const auto removed = Feeds(*at_).remove_for_import(url_, true);
    if (!removed && !failure_) failure_ = removed.error();
  }

  void channel(const json::object& object) {
    const std::string uid = text_of(object, "uid");
    if (!unfit_name(uid).empty()) throw BadLine{"\"uid\" cannot be the name of a channel"};
    const std::vector<std::string> urls = words_of(object, "feeds", 1'000'000);
    for (const std::string& url : urls) {
      if (!options_.is_feed_url(url)) throw BadLine{"\"feeds\" contains something other than a feed URL"};
    }
    if (uid != channel_) ++figures_.channels;  // a large channel has several lines
    channel_ = uid;
    if (options_.dry_run) return;
    Store& first = stores_.home(home_of_channel(uid, stores_.partitions()));
    if (const auto added = Channels(first).add(std::span(&uid, 1)); !added) failure_ = added.error();
    std::map<Store*, std::vector<Membership>> memberships;
    for (const std::string& url : urls) {
      if (Store* const store = stores_.with_feed(url)) memberships[store].push_back({uid, url});
    }
    for (const auto& [store, its] : memberships) {
      if (const auto followed = Channels(*store).follow(its); !followed) failure_ = followed.error();
    }
  }

  /// Only for a store that was empty; elsewhere the entries have other numbers.
  void key(const json::object& object) {
    if (const auto done = keys_.take(object, keep_ && !options_.dry_run); !done) failure_ = done.error();
  }

  void total(const json::object& object) {
    if (count_of(object, "feeds") != ends_ || count_of(object, "entries") != ended_entries_) {
      throw BadLine{"counts other feeds and entries than there were"};
    }
    finished_ = true;
  }

  void close() {
    for (Store* const store : stores_.stores()) {
      at_ = store;
      Args args;
      args.add(std::string_view("close"));
      args.add(std::string_view(id_));
      args.add(highest_);
      run(args);
    }
  }

  const Deployment& stores_;
  ArchiveKeys keys_;
  Store* at_ = nullptr;  // the current feed's partition, or the one being called; null: not among stores_
  const ImportOptions& options_;
  const std::function<bool(std::string&)>& next_;
  ArchiveFigures figures_;
  std::optional<StoreError> failure_;
  std::uint64_t number_ = 0, ends_ = 0, ended_entries_ = 0;
  std::string id_;
  std::uint64_t highest_ = 0;  // highest entry number in the file, or when the export began
  bool keep_ = false, finished_ = false;
  // The current feed.
  bool in_feed_ = false, writing_ = false, counts_ = false;
  std::string url_, due_, since_;
  std::string channel_;  // of the last channel line
  Fields state_, feed_, tombs_;
  std::uint64_t entries_ = 0;
  Args call_;
  std::size_t pending_ = 0, pending_bytes_ = 0;
  std::int64_t now_seconds_ = 0;
};

std::string Archive::objection_to(std::string_view first_line) {
  boost::system::error_code error;
  const json::value value = json::parse(first_line, error);
  const bool is_one = !error && value.is_object() && string_member(value.get_object(), "t") == "feedmill";
  return is_one ? "" : std::string(no_export);
}

boost::system::result<ArchiveFigures, ArchiveError> Archive::read(const ImportOptions& options,
                                                                  const std::function<bool(std::string&)>& next) {
  for (Store* const store : stores_.stores()) {
    if (auto connected = store->impl().ready(); !connected) return ArchiveError{0, false, connected.error()};
  }
  return Reader(stores_, options, next).read();
}

}  // namespace feedmill
