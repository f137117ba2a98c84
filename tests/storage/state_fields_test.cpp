#include "storage/records/state_fields.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace feedmill::state_fields_test {
namespace {

FeedState full_state() {
  FeedState s;
  s.state = "failing";
  s.state_since = Milliseconds(1);
  s.address.fetch_url = "https://example.org/new";
  s.exposure = Exposure::opened_by_allow;
  s.validators.etag = "W/\"a b\" ";
  s.validators.last_modified = "yesterday, perhaps";
  s.validators.url = "https://example.org/v";
  s.document.wire_hash = std::string(32, 'a');
  s.document.body_hash = std::string(32, 'b');
  s.document.wire_bytes = 10;
  s.document.body_bytes = 20;
  s.last.status = 503;
  s.last.outcome = "failed";
  s.last.error = "status.server";
  s.last.detail = "the server said 503";
  s.last.at = Milliseconds(1763690000123);
  s.last.success = Milliseconds(2);
  s.failures.count = 3;
  s.failures.group = "server";
  s.failures.since = Milliseconds(3);
  s.rhythm.new_per_week = 2.5;
  s.rhythm.last_new = Milliseconds(4);
  s.rhythm.imported = Milliseconds(5);
  s.counts.polls = 6;
  s.counts.polls_not_modified = 7;
  s.counts.polls_same_body = 8;
  s.counts.polls_unconditional = 9;
  s.counts.polls_failed = 10;
  s.counts.polls_with_new = 11;
  s.counts.total_wire_bytes = 12;
  s.counts.total_body_bytes = 13;
  s.counts.total_new = 14;
  s.due.reason = "backoff";
  s.due.why = "backoff 3600";
  s.due.not_before = Milliseconds(15);
  s.document.hints = R"({"ttl":60})";
  s.settings = R"({"keep":10})";
  s.address.moving = {"https://example.org/next", 2, Milliseconds(16), true, true};
  s.address.moves = {{Milliseconds(17), "https://example.org/a", "https://example.org/b"},
                     {Milliseconds(18), "https://example.org/b", "https://example.org/new"}};
  s.address.no_move_to = "https://example.org/b";
  s.refused.hash = std::string(32, 'c');
  s.refused.reason = "parse.empty";
  s.refused.by = "0.1.0";
  s.validators.not_modified_since = Milliseconds(19);
  s.validators.last_probe = Milliseconds(20);
  s.validators.broken = true;
  s.failures.group_since = Milliseconds(21);
  s.quarantine.count = 2;
  s.quarantine.since = Milliseconds(22);
  s.quarantine.strikes = 1;
  s.identity.by = IdentifiedBy::link;
  s.identity.since = Milliseconds(31);
  s.identity.fresh_documents = 32;
  s.identity.replaced_documents = 2;
  s.identity.naming = Naming::mixed;
  s.identity.unfit_documents = 1;
  s.identity.sound_documents = 2;
  s.identity.guid_sample = "0123ab4567cd";
  s.identity.returns = 3;
  s.document.listed_none = true;
  s.counts.unconditional_first = 23;
  s.counts.unconditional_none = 24;
  s.counts.unconditional_target = 25;
  s.counts.unconditional_probe = 26;
  s.counts.early_polls = 27;
  s.document.listed = 28;
  s.trim.kept = 29;
  s.trim.unfinished = true;
  s.push.advert = {"https://example.org/self", {"https://hub.example/", "http://other.example/"}, 2};
  s.push.standing = {
      "healthy", Milliseconds(28), Milliseconds(29), Milliseconds(30), "https://hub.example/", "h1", "a note", 3,
      4,         Milliseconds(38)};
  s.push.health = {Milliseconds(29), 31, 32, 33, 5, 20, 7, 8, Milliseconds(34), Milliseconds(35), Milliseconds(36)};
  s.push.empty_in_a_row = 37;
  s.push.looks_again = true;
  s.older.walk = {"https://example.org/feed?paged=3",
                  PageWalk::For::backfill,
                  PageWalk::By::number,
                  1'700'000'000,
                  2,
                  20,
                  1,
                  "0123456789abcdef",
                  Milliseconds(1'700'000'000'000),
                  Milliseconds(1'700'000'000'001),
                  Milliseconds(1'700'000'000'002),
                  "adaptive"};
  s.older.newest_archive = "fedcba9876543210";
  s.older.numbers = OlderPosts::Numbers::work;
  s.document.ends_early = true;
  s.document.holds_back = true;
  s.identity.withdrawn = {"0123456789abcdef", "fedcba9876543210"};
  return s;
}

TEST(StateFields, ComeBackAsTheyWere) {
  EXPECT_EQ(read_state(state_fields(full_state())), full_state());
  EXPECT_EQ(read_state(state_fields(FeedState())), FeedState());
}

TEST(StateFields, AreSentOnlyWhenTheyChanged) {
  FeedState state = full_state();
  EXPECT_TRUE(changed_state_fields(state, state).empty());
  state.validators.etag = "";
  state.last.status = 200;
  const Fields changed = changed_state_fields(full_state(), state);
  EXPECT_EQ(changed, (Fields{{"etag", ""}, {"last", "200 failed status.server"}}));
}

/// The fields that are written differently.
std::set<std::string> differing(const FeedState& before, const FeedState& state) {
  const Fields old_fields = state_fields(before), fields = state_fields(state);
  std::set<std::string> names;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] != old_fields[i]) names.insert(fields[i].first);
  }
  return names;
}

std::set<std::string> sent(const FeedState& before, const FeedState& state) {
  std::set<std::string> names;
  for (const auto& [name, value] : changed_state_fields(before, state)) names.insert(name.substr(0, name.find('.')));
  return names;
}

TEST(StateFields, AreSentForEachValueThatDiffers) {
  const Fields full = state_fields(full_state());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    const std::string& value = full[i].second;
    for (std::size_t word = 0; word < value.size(); word = std::min(value.find(' ', word), value.size() - 1) + 1) {
      Fields fields = full;
      fields[i].second.insert(word, "1");
      const FeedState state = read_state(fields);
      const std::set<std::string> names = differing(full_state(), state);
      EXPECT_EQ(sent(full_state(), state), names) << full[i].first << ", byte " << word;
      differences += names.size();
    }
    Fields fields = full;
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(sent(full_state(), read_state(fields)), differing(full_state(), read_state(fields))) << full[i].first;
  }
  EXPECT_GT(differences, 80U);
  FeedState refreshed;
  refreshed.last.at = Milliseconds(1);  // without values of their own, these are written after the first refresh
  EXPECT_EQ(sent(FeedState(), refreshed), (std::set<std::string>{"counts", "last", "last_at", "rate"}));
}

/// Applies changes to a hash and returns its content.
Fields stored(std::map<std::string, std::string>& hash, const Fields& changed) {
  for (const auto& [name, value] : changed) {
    if (value.empty())
      hash.erase(name);
    else
      hash[name] = value;
  }
  return {hash.begin(), hash.end()};
}

// PERFORMANCE F8: a hash with a longer value takes three times the memory.
TEST(StateFields, AreCutIntoPiecesThatAListpackTakes) {
  FeedState before, state;
  std::map<std::string, std::string> hash;
  for (const std::size_t size : {10U, 63U, 64U, 65U, 200U, 128U, 127U, 640U, 639U, 64U, 0U, 64U, 300U, 5U, 700U, 20U}) {
    state.due.why = std::string(size, 'w');
    state.last.detail = std::string(size, 'd');
    const Fields fields = stored(hash, changed_state_fields(before, state));
    EXPECT_EQ(read_state(fields), state) << size;
    for (const auto& [name, value] : fields) EXPECT_TRUE(value.size() <= 64 || size > 640) << name;
    const Fields changed = changed_state_fields(before, state);
    EXPECT_EQ(std::ranges::count(changed, "", &Fields::value_type::second) > 0, size == 0)
        << "a removal would take the long way of a commit";
    before = state;
  }
}

TEST(StateFields, CutWhatAHubFeedAdvertises) {
  FeedState before, state;
  state.push.advert = {"https://example.org/a/rather/long/path/to/feed.xml",
                       {"https://hub.example.org/also/long/", "https://b.org/"},
                       0};
  std::map<std::string, std::string> hash;
  Fields fields = stored(hash, changed_state_fields(before, state));
  for (const auto& [name, value] : fields) EXPECT_LE(value.size(), 64U) << name;
  EXPECT_EQ(read_state(fields).push.advert, state.push.advert);

  std::string whole;
  for (const char* name : {"advert", "advert.1", "advert.2"}) whole += hash[name];
  const std::map<std::string, std::string> uncut{{"advert", whole}};
  EXPECT_EQ(read_state({uncut.begin(), uncut.end()}).push.advert, state.push.advert) << "as earlier builds stored it";
}

// A script that postpones a feed overwrites the first piece.
TEST(StateFields, DropPiecesAfterAShorterOrAWholeOne) {
  FeedState before, state;
  state.due.why = std::string(150, 'w');
  std::map<std::string, std::string> hash;
  stored(hash, changed_state_fields(before, state));
  for (const std::string& over : {std::string("host_spacing 1 example.org"), std::string(140, 'o')}) {
    hash["why"] = over;
    before = read_state({hash.begin(), hash.end()});
    EXPECT_EQ(before.due.why, over);
    for (const std::size_t size : {64U, 100U, 128U, 192U}) {
      state.due.why = over.substr(0, 20) + std::string(size - 20, 'n');
      EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))).due.why, state.due.why) << size;
      before = state;
    }
  }
}

TEST(StateFields, KeepTheRestWhole) {
  FeedState state;
  state.validators.etag = state.document.hints = state.validators.url = std::string(150, 'v');
  for (const auto& [name, value] : changed_state_fields(FeedState(), state)) {
    EXPECT_EQ(name.find('.'), std::string::npos) << name;
  }
}

/// State of a feed polled every quarter of an hour for years.
FeedState much_counted() {
  FeedState state;
  state.last.at = Milliseconds(5000);
  state.counts.polls = 350'400;
  state.counts.polls_not_modified = 310'123;
  state.counts.polls_same_body = 20'456;
  state.counts.polls_unconditional = 345;
  state.counts.polls_failed = 1'234;
  state.counts.polls_with_new = 18'242;
  state.counts.total_wire_bytes = 1'234'567'890;
  state.counts.total_body_bytes = 9'876'543'210;
  state.counts.total_new = 20'123;
  state.counts.unconditional_first = 1;
  state.counts.unconditional_none = 2;
  state.counts.unconditional_target = 3;
  state.counts.unconditional_probe = 339;
  state.counts.early_polls = 77;
  return state;
}

TEST(StateFields, CutManyCounts) {
  FeedState before, state = much_counted();
  std::map<std::string, std::string> hash;
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
  EXPECT_EQ(hash.at("counts") + hash.at("counts.1"),
            "350400 310123 20456 345 1234 18242 1234567890 9876543210 20123 1 2 3 339 77");
  before = state;
  state.counts.total_wire_bytes = state.counts.total_body_bytes = 1ULL << 63;
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
  before = state;
  state.counts.total_wire_bytes = state.counts.total_body_bytes = 0;
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
}

// As stored by earlier builds, which did not cut values into pieces.
TEST(StateFields, AreReadAsTheyWereBeforeValuesWereCut) {
  const std::string detail = "HTTP 503 of " + std::string(150, 'x');
  std::map<std::string, std::string> hash = {
      {"state", "healthy"},
      {"etag", "\"" + std::string(100, 'e') + "\""},
      {"hashes", std::string(32, 'a') + std::string(32, 'b')},
      {"sizes", "1500 9000"},
      {"probe", "1000 2000 1"},
      {"last", "200 updated -"},
      {"last_detail", detail},
      {"last_at", "5000"},
      {"times", "1 5000 3 4"},
      {"rate", "54.5"},
      {"counts", "350400 310123 20456 345 1234 18242 1234567890 9876543210 20123 1 2 3 339 77"},
      {"why", R"([{"code":"max_age","s":3900,"from":"max-age=4000, Age 100"},{"code":"phase","s":131}])"},
      {"retention", "25 100"},
  };
  FeedState state = read_state({hash.begin(), hash.end()});
  FeedState expected = much_counted();
  expected.state = "healthy";
  expected.validators.etag = hash.at("etag");
  expected.document.wire_hash = std::string(32, 'a');
  expected.document.body_hash = std::string(32, 'b');
  expected.document.wire_bytes = 1500;
  expected.document.body_bytes = 9000;
  expected.validators.not_modified_since = Milliseconds(1000);
  expected.validators.last_probe = Milliseconds(2000);
  expected.validators.broken = true;
  expected.last.status = 200;
  expected.last.outcome = "updated";
  expected.last.detail = detail;
  expected.state_since = Milliseconds(1);
  expected.last.success = Milliseconds(5000);
  expected.rhythm.last_new = Milliseconds(3);
  expected.rhythm.imported = Milliseconds(4);
  expected.rhythm.new_per_week = 54.5;
  expected.due.why = hash.at("why");
  expected.document.listed = 25;
  expected.trim.kept = 100;
  EXPECT_EQ(state, expected);
  // The next refresh writes the new form; unchanged values stay, and are read as before.
  const FeedState before = state;
  ++state.counts.polls;
  state.last.at = state.last.success = Milliseconds(6000);
  state.due.why = "adaptive 3200 S=54.50\nfloor 3600\nmax_age 3900 max-age=4000, Age 100\nphase 131";
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
  EXPECT_EQ(hash.at("last_detail"), detail);
  EXPECT_EQ(hash.at("counts").size(), 64U);
}

TEST(StateFields, IgnoreUnknownAndUnreadableFields) {
  const FeedState state = read_state({{"future", "1"}, {"last_at", "soon"}, {"counts", "1 x 3"}, {"state", "healthy"}});
  EXPECT_EQ(state.state, "healthy");
  EXPECT_EQ(state.last.at.count(), 0);
  EXPECT_EQ(state.counts.polls, 1U);
  EXPECT_EQ(state.counts.polls_same_body, 3U);
}

}  // namespace
}  // namespace feedmill::state_fields_test
