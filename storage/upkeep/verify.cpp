#include "storage/upkeep/verify.hpp"

#include <algorithm>

#include "storage/upkeep/verify_work.hpp"

namespace feedmill {
namespace {

constexpr std::string_view keys_per_scan = "1000", members_per_scan = "500";
constexpr std::size_t most_counted = 1'000;  // feeds per script that counts states
constexpr std::size_t keys_per_look = 200, most_postponed = 100'000;

/// The part of `key` in place of the line break in `pattern`, if the rest matches.
std::optional<std::string> name_in(const std::string& key, const std::string& pattern) {
  const std::size_t at = pattern.find('\n');
  const std::string_view before = std::string_view(pattern).substr(0, at),
                         behind = std::string_view(pattern).substr(at + 1);
  if (key.size() < before.size() + behind.size() || !key.starts_with(before) || !key.ends_with(behind)) return {};
  return key.substr(before.size(), key.size() - before.size() - behind.size());
}

/// The feed in a key's name, such as <feed_url>:sort.
std::optional<std::string> feed_of(const Keys& keys, const std::string& key) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!key.starts_with(keys.prefix() + std::string(scheme))) continue;
    for (const std::string_view ending : feed_key_endings) {
      if (key.ends_with(ending)) {
        return key.substr(keys.prefix().size(), key.size() - keys.prefix().size() - ending.size());
      }
    }
  }
  for (const std::string& pattern : {keys.feed("\n"), keys.items("\n"), keys.volatile_parts("\n")}) {
    if (std::optional<std::string> url = name_in(key, pattern)) return url;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Violation> read_findings(ReplyView findings) {
  const auto optional_text = [](ReplyView reply) {
    return reply.is_nil() ? std::optional<std::string>() : std::optional(std::string(reply.text()));
  };
  std::vector<Violation> all;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const ReplyView row = findings[i];
    Violation& violation = all.emplace_back();
    violation.invariant = row[0].text();
    violation.kind = row[1].text();
    violation.feed_url = row[2].text();
    violation.keys = row[3].texts();
    violation.detail = row[4].text();
    for (std::size_t j = 0; j < row[5].size(); ++j) {
      const ReplyView change = row[5][j];
      violation.changes.push_back({std::string(change[0].text()), std::string(change[1].text()),
                                   std::string(change[2].text()), optional_text(change[3]), optional_text(change[4])});
    }
  }
  return all;
}

StoreResult<Reply> Verifier::Work::ask(Script script, std::initializer_list<std::string_view> words) {
  Args args;
  for (const std::string_view word : words) args.add(word);
  return impl_.run(script, args);
}

StoreResult<void> Verifier::Work::settle_call(Script script, std::initializer_list<std::string_view> words,
                                              const std::function<void(const Reply&)>& answered) {
  return settle([&]() -> StoreResult<Violations> {
    const auto reply = ask(script, words);
    if (!reply) return reply.error();
    if (answered) answered(*reply);
    return read_findings((*reply)[0]);
  });
}

void Verifier::Work::stepped() const {
  if (options_.progress) options_.progress(summary_.feeds, total_feeds_);
}

StoreResult<void> Verifier::Work::read_signals() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  std::vector<Violation> wrong;
  if (const auto read = signals_.read_on(wrong); !read) return read.error();
  for (Violation& violation : wrong) {
    if (options_.journal) violation.outcome = Violation::Outcome::unrepairable;
    tell(violation);
  }
  return {};
}

StoreResult<void> Verifier::Work::owners(std::span<const std::string> ids, std::span<const std::string> urls) {
  Args args;
  args.add(ids.size());
  for (const std::string& id : ids) args.add(std::string_view(id));
  for (const std::string& url : urls) args.add(std::string_view(url));
  std::vector<std::string> examine;
  const auto settled = settle([&]() -> StoreResult<Violations> {
    const auto reply = impl_.run(Script::verify_keys, args);
    if (!reply) return reply.error();
    examine = (*reply)[1].texts();
    return read_findings((*reply)[0]);
  });
  if (!settled) return settled.error();
  for (const std::string& url : examine) {
    if (auto done = feed(url); !done) return done.error();
  }
  return {};
}

StoreResult<void> Verifier::Work::postponed() {
  std::sort(postponed_.begin(), postponed_.end());
  postponed_.erase(std::unique(postponed_.begin(), postponed_.end()), postponed_.end());
  for (std::span<const std::string> left = postponed_; !left.empty();) {
    const auto batch = left.first(std::min(std::size_t{100}, left.size()));
    if (auto done = owners(batch, {}); !done) return done.error();
    left = left.subspan(batch.size());
  }
  if (options_.journal) {  // check restored entries against all rules for posts
    std::set<std::string> feeds;
    for (const std::string& id : postponed_) {
      if (auto connected = impl_.ready(); !connected) return connected.error();
      const auto url = impl_.redis.command({"HGET", id, "feed_url"});
      if (url && !url->text().empty()) feeds.emplace(url->text());
    }
    for (const std::string& url : feeds) {
      if (auto done = look_again(url); !done) return done.error();
    }
  }
  postponed_.clear();
  return {};
}

StoreResult<void> Verifier::Work::classify(const std::vector<std::string>& keys) {
  const Keys& names = impl_.keys;
  std::vector<std::string> ids, strays;
  for (const std::string& key : keys) {
    if (key.starts_with(names.entries())) {
      ids.push_back(key);
      highest_ = std::max(highest_, entry_number(names, key));
    } else if (const auto url = name_in(key, names.feed_state("\n"))) {
      if (auto done = feed(*url); !done) return done.error();
    } else if (const auto owner = feed_of(names, key)) {
      strays.push_back(*owner);
    } else if (const auto held = name_in(key, names.holders("\n"))) {
      if (auto done = page_through(*held, "holders"); !done) return done.error();
    } else if (const auto user = name_in(key, names.notice_order("\n"))) {
      if (auto done = notices(*user); !done) return done.error();
    } else if (const auto reader = name_in(key, names.notices("\n"))) {
      const auto listed = impl_.redis.command({"EXISTS", names.notice_order(*reader)});
      if (!listed) return listed.error();
      if (listed->integer() == 1) continue;  // checked with the list
      if (auto done = notices(*reader); !done) return done.error();
    } else if (const auto watcher = name_in(key, names.watches("\n"))) {
      if (auto done = settle_call(Script::verify_channel, {"watcher", *watcher}); !done) return done.error();
    } else {
      for (const auto& pattern : {names.channel_order("\n"), names.channel_feeds("\n"), names.channel_read("\n"),
                                  names.timeline("\n"), names.channel_index("\n"), names.channel_titles("\n")}) {
        if (const auto uid = name_in(key, pattern)) channels_.insert(*uid);
      }
    }
  }
  std::sort(strays.begin(), strays.end());
  strays.erase(std::unique(strays.begin(), strays.end()), strays.end());
  if (auto done = owners({}, strays); !done) return done.error();
  // An entry that seems to belong to no feed is checked again after its feed.
  for (std::span<const std::string> left = ids; !left.empty();) {
    const auto batch = left.first(std::min(keys_per_look, left.size()));
    Args args;
    args.add(batch.size());
    for (const std::string& id : batch) args.add(std::string_view(id));
    const auto reply = impl_.run(Script::verify_keys, args);
    if (!reply) return reply.error();
    // A reply has at most 200 findings: if it is full, check the whole batch again.
    const std::vector<Violation> found = read_findings((*reply)[0]);
    if (found.size() >= 200) {
      postponed_.insert(postponed_.end(), batch.begin(), batch.end());
    } else {
      for (const Violation& violation : found) {
        for (const std::string& key : violation.keys) {
          if (std::find(batch.begin(), batch.end(), key) != batch.end()) postponed_.push_back(key);
        }
      }
    }
    left = left.subspan(batch.size());
  }
  if (postponed_.size() > most_postponed) return postponed();
  return {};
}

StoreResult<void> Verifier::Work::scan() {
  const std::string pattern = impl_.keys.prefix() + "*";
  std::string cursor = "0";
  do {
    if (auto connected = impl_.ready(); !connected) return connected.error();
    const auto page = impl_.redis.command({"SCAN", cursor, "MATCH", pattern, "COUNT", keys_per_scan});
    if (!page) return page.error();
    cursor = (*page)[0].text();
    if (auto done = classify((*page)[1].texts()); !done) return done.error();
    stepped();
  } while (cursor != "0");
  return {};
}

StoreResult<void> Verifier::Work::scheduled(std::string_view what) {
  for (std::string cursor = "0"; !cursor.empty();) {
    const std::string here = cursor;
    std::vector<std::string> examine;
    const auto done = settle_call(Script::verify_store, {what, here, members_per_scan}, [&](const Reply& reply) {
      cursor = reply[1].text();
      examine = reply[2].texts();
    });
    if (!done) return done.error();
    for (const std::string& url : examine) {
      if (const auto looked = feed(url); !looked) return looked.error();
    }
    stepped();
  }
  return {};
}

StoreResult<void> Verifier::Work::registered() {
  const auto count = impl_.redis.command({"SCARD", impl_.keys.feeds()});
  if (!count) return count.error();
  if (static_cast<std::uint64_t>(count->integer()) <= summary_.feeds) return {};
  // Some feeds were added since, or have no key at all.
  for (std::string cursor = "0";;) {
    const auto page = impl_.redis.command({"SSCAN", impl_.keys.feeds(), cursor, "COUNT", members_per_scan});
    if (!page) return page.error();
    cursor = (*page)[0].text();
    Args args;
    args.add(std::string_view("members"));
    for (std::size_t i = 0; i < (*page)[1].size(); ++i) args.add((*page)[1][i].text());
    const auto reply = impl_.run(Script::verify_store, args);
    if (!reply) return reply.error();
    for (const std::string& url : (*reply)[2].texts()) {
      if (auto done = feed(url); !done) return done.error();
    }
    stepped();
    if (cursor == "0") return {};
  }
}

StoreResult<void> Verifier::Work::told_of() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, post] : signals_.posts()) {
    if (!post.gone) numbers.push_back(number);
  }
  constexpr std::size_t step = 500;
  for (std::size_t begin = 0; begin < numbers.size(); begin += step) {
    std::vector<std::uint64_t> batch(
        numbers.begin() + static_cast<std::ptrdiff_t>(begin),
        numbers.begin() + static_cast<std::ptrdiff_t>(std::min(begin + step, numbers.size())));
    const auto settled = settle([&]() -> StoreResult<Violations> {
      Violations all;
      if (auto connected = impl_.ready(); !connected) return connected.error();
      for (const std::uint64_t number : batch) {
        const std::string id = impl_.keys.entries() + std::to_string(number);
        impl_.redis.append({"HGET", id, "rev"});
      }
      std::vector<StoreResult<Reply>> revs;
      for (std::size_t i = 0; i < batch.size(); ++i) revs.push_back(impl_.redis.next());
      bool any_missing = false;
      for (const auto& rev : revs) {
        if (!rev && rev.error().code != StoreError::Code::refused) return rev.error();
        any_missing = any_missing || (rev && rev->is_nil());
      }
      if (any_missing) {  // perhaps trimmed since
        if (const auto read = read_signals(); !read) return read.error();
      }
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto known = signals_.posts().find(batch[i]);
        if (known == signals_.posts().end()) continue;  // trimmed since
        const auto& post = known->second;
        const std::string id = impl_.keys.entries() + std::to_string(batch[i]);
        if (!revs[i] || post.gone) continue;  // not a hash: reported with its feed
        if (revs[i]->is_nil()) {
          const auto told = signals_.read_again(post.record);
          if (!told) return told.error();
          if (!*told) continue;  // trimmed by now
          all.push_back({"I1",
                         "entry.lost",
                         (*told)->feed_url,
                         {id, impl_.keys.signals()},
                         "the stream reports it but not its deletion; it does not exist",
                         {{"gone", id, (*told)->feed_url, {}, (*told)->guid}}});
        } else if (const std::int64_t rev = revs[i]->integer(); rev > 0 && rev < post.rev) {
          const std::string heard = std::to_string(post.rev);
          all.push_back({"I11",
                         "entry.back",
                         "",
                         {id, impl_.keys.signals()},
                         "is revision " + std::to_string(rev) + ", but the stream reported " + heard,
                         {{"hset", id, "rev", std::string(revs[i]->text()), heard}}});
        }
      }
      return all;
    });
    if (!settled) return settled.error();
  }
  return {};
}

StoreResult<void> Verifier::Work::states(const Fields& before) {
  bool all_counted = false;
  Fields after;
  const std::string most = std::to_string(most_counted);
  auto done = settle_call(Script::verify_store, {"states", most}, [&](const Reply& reply) {
    all_counted = !reply[1].text().empty();
    after = reply[2].pairs();
  });
  if (!done || all_counted) return done;
  // Too many for one script: the counts from the scan are valid if the states did not change and each feed was counted
  // once.
  const auto feeds = impl_.redis.command({"SCARD", impl_.keys.feeds()});
  if (!feeds) return feeds.error();
  Fields old = before, now = after;
  std::sort(old.begin(), old.end());
  std::sort(now.begin(), now.end());
  if (old != now || static_cast<std::uint64_t>(feeds->integer()) != summary_.feeds) {
    summary_.notes.push_back(
        "the counts of feeds per state changed while they were counted: only their sum was checked");
    return {};
  }
  Violations wrong;
  const std::string key = impl_.keys.feed_states();
  for (const auto& [state, count] : now) states_counted_.try_emplace(state, 0);
  for (const auto& counted : states_counted_) {
    const std::string& state = counted.first;
    const auto said = std::find_if(now.begin(), now.end(), [&](const auto& one) { return one.first == state; });
    const std::string real = std::to_string(counted.second);
    const bool is_said = said != now.end();
    std::string text = is_said ? said->second : "0";
    if (text == real) continue;
    text.append(" feeds are said to be ").append(state).append(", ").append(real).append(" are");
    wrong.push_back({"statistics",
                     "states.count",
                     "",
                     {key},
                     std::move(text),
                     {{"hset", key, state, is_said ? std::optional(said->second) : std::nullopt, real}}});
  }
  return settle([&]() -> StoreResult<Violations> { return wrong; });
}

StoreResult<void> Verifier::Work::whole_store() {
  const std::string cap = std::to_string(impl_.options.signals_max_len);
  const auto counted = ask(Script::verify_store, {"states", "0"});
  if (!counted) return counted.error();
  const Fields before = (*counted)[2].pairs();
  if (auto done = settle_call(Script::verify_store, {"meta", cap}); !done) return done;
  if (auto done = scan(); !done) return done;
  if (auto done = scheduled("schedule"); !done) return done;
  if (auto done = scheduled("quarantine"); !done) return done;
  if (auto done = scheduled("by_url"); !done) return done;
  if (auto done = registered(); !done) return done;
  if (auto done = postponed(); !done) return done;
  const std::string highest = std::to_string(std::max(highest_, signals_.highest()));
  if (auto done = settle_call(Script::verify_store, {"counter", highest}); !done) return done;
  if (auto done = told_of(); !done) return done;
  if (auto done = derived(); !done) return done;
  return states(before);
}

StoreResult<VerifySummary> Verifier::Work::run() {
  if (const auto allowed = impl_.check_scan_rights(); !allowed) return allowed.error();
  const auto before = summary_.violations;
  if (auto done = settle_call(Script::verify_store, {"types"}); !done) return done.error();
  if (summary_.violations > before &&
      std::any_of(told_.begin(), told_.end(), [](const std::string& name) { return name.starts_with("type\n"); })) {
    summary_.notes.push_back("a key that all else depends on is of the wrong type: nothing more was checked");
    return summary_;
  }
  const auto feeds = impl_.redis.command({"SCARD", impl_.keys.feeds()});
  if (!feeds) return feeds.error();
  total_feeds_ = static_cast<std::uint64_t>(feeds->integer());
  if (auto done = read_signals(); !done) return done.error();
  if (options_.feed_urls.empty()) {
    if (auto done = whole_store(); !done) return done.error();
  } else {
    total_feeds_ = options_.feed_urls.size();
    for (const std::string& url : options_.feed_urls) {
      if (auto done = feed(url); !done) return done.error();
      if (auto done = owners({}, std::span(&url, 1)); !done) return done.error();
      if (auto done = derived_of(url); !done) return done.error();
    }
  }
  summary_.events = signals_.records();
  if (uncompared_) {
    summary_.notes.push_back("delivery has more than 2000 signals to apply: timelines were not held against the feeds");
  }
  return summary_;
}

Verifier::Verifier(Store& store, VerifyOptions options)
    : work_(std::make_unique<Work>(store, store.impl(), std::move(options))) {}

Verifier::~Verifier() = default;

StoreResult<VerifySummary> Verifier::run() {
  return work_->run();
}

StoreResult<std::vector<Violation>> verify(Store& store, std::vector<std::string> feed_urls) {
  std::vector<Violation> all;
  VerifyOptions options;
  options.feed_urls = std::move(feed_urls);
  options.found = [&](const Violation& violation) { all.push_back(violation); };
  const auto done = Verifier(store, std::move(options)).run();
  if (!done) return done.error();
  return all;
}

}  // namespace feedmill
