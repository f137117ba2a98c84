#include "storage/records/state_fields.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace feedmill::state_fields_test {
namespace {

FeedState full_state() {
  FeedState s;
  s.state = "failing";
  s.state_since = Milliseconds(1);
  s.fetch_url = "https://example.org/new";
  s.etag = "W/\"a b\" ";
  s.last_modified = "yesterday, perhaps";
  s.validators_url = "https://example.org/v";
  s.wire_hash = std::string(32, 'a');
  s.body_hash = std::string(32, 'b');
  s.wire_bytes = 10;
  s.body_bytes = 20;
  s.last_status = 503;
  s.last_outcome = "failed";
  s.last_error = "status.server";
  s.last_detail = "the server said 503";
  s.last_at = Milliseconds(1763690000123);
  s.last_success = Milliseconds(2);
  s.failures = 3;
  s.failure_group = "server";
  s.failing_since = Milliseconds(3);
  s.new_per_week = 2.5;
  s.last_new = Milliseconds(4);
  s.imported = Milliseconds(5);
  s.polls = 6;
  s.polls_not_modified = 7;
  s.polls_same_body = 8;
  s.polls_unconditional = 9;
  s.polls_failed = 10;
  s.polls_with_new = 11;
  s.total_wire_bytes = 12;
  s.total_body_bytes = 13;
  s.total_new = 14;
  s.due_reason = "backoff";
  s.why = "backoff 3600";
  s.not_before = Milliseconds(15);
  s.hints = R"({"ttl":60})";
  s.settings = R"({"keep":10})";
  s.moving = {"https://example.org/next", 2, Milliseconds(16), true, true};
  s.moves = {{Milliseconds(17), "https://example.org/a", "https://example.org/b"},
             {Milliseconds(18), "https://example.org/b", "https://example.org/new"}};
  s.no_move_to = "https://example.org/b";
  s.refused_hash = std::string(32, 'c');
  s.refused_reason = "parse.empty";
  s.refused_by = "0.1.0";
  s.not_modified_since = Milliseconds(19);
  s.last_probe = Milliseconds(20);
  s.validators_broken = true;
  s.group_since = Milliseconds(21);
  s.quarantines = 2;
  s.quarantined_at = Milliseconds(22);
  s.strikes = 1;
  s.identified_by = IdentifiedBy::link;
  s.identified_since = Milliseconds(31);
  s.fresh_documents = 32;
  s.replaced_documents = 2;
  s.naming = Naming::mixed;
  s.unfit_documents = 1;
  s.sound_documents = 2;
  s.guid_sample = "0123ab4567cd";
  s.returns = 3;
  s.listed_none = true;
  s.unconditional_first = 23;
  s.unconditional_none = 24;
  s.unconditional_target = 25;
  s.unconditional_probe = 26;
  s.early_polls = 27;
  s.listed = 28;
  s.kept = 29;
  s.untrimmed = true;
  s.advert = {"https://example.org/self", {"https://hub.example/", "http://other.example/"}, 2};
  s.push = {"healthy", Milliseconds(28), Milliseconds(29), Milliseconds(30), "https://hub.example/", "h1", "a note", 3,
            4,         Milliseconds(38)};
  s.push_health = {Milliseconds(29), 31, 32, 33, 5, 20, 7, 8, Milliseconds(34), Milliseconds(35), Milliseconds(36)};
  s.consecutive_empty_pushes = 37;
  s.ends_early = true;
  s.withdrawn = {"0123456789abcdef", "fedcba9876543210"};
  return s;
}

TEST(StateFields, ComeBackAsTheyWere) {
  EXPECT_EQ(read_state(state_fields(full_state())), full_state());
  EXPECT_EQ(read_state(state_fields(FeedState())), FeedState());
}

TEST(StateFields, AreSentOnlyWhenTheyChanged) {
  FeedState state = full_state();
  EXPECT_TRUE(changed_state_fields(state, state).empty());
  state.etag = "";
  state.last_status = 200;
  const Fields changed = changed_state_fields(full_state(), state);
  EXPECT_EQ(changed, (Fields{{"etag", ""}, {"last", "200 failed status.server"}}));
}

/// What a hash holds after these changes.
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
    state.why = std::string(size, 'w');
    state.last_detail = std::string(size, 'd');
    const Fields fields = stored(hash, changed_state_fields(before, state));
    EXPECT_EQ(read_state(fields), state) << size;
    for (const auto& [name, value] : fields) EXPECT_TRUE(value.size() <= 64 || size > 640) << name;
    const Fields changed = changed_state_fields(before, state);
    EXPECT_EQ(std::ranges::count(changed, "", &Fields::value_type::second) > 0, size == 0)
        << "a removal would take the long way of a commit";
    before = state;
  }
}

// A script that puts a feed off writes a value over the first piece.
TEST(StateFields, ForgetThePiecesBehindAShorterOrAWholeOne) {
  FeedState before, state;
  state.why = std::string(150, 'w');
  std::map<std::string, std::string> hash;
  stored(hash, changed_state_fields(before, state));
  for (const std::string& over : {std::string("host_spacing 1 example.org"), std::string(140, 'o')}) {
    hash["why"] = over;
    before = read_state({hash.begin(), hash.end()});
    EXPECT_EQ(before.why, over);
    for (const std::size_t size : {64U, 100U, 128U, 192U}) {
      state.why = over.substr(0, 20) + std::string(size - 20, 'n');
      EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))).why, state.why) << size;
      before = state;
    }
  }
}

TEST(StateFields, KeepTheRestWhole) {
  FeedState state;
  state.etag = state.hints = state.validators_url = std::string(150, 'v');
  state.advert.hubs = {std::string(100, 'h')};
  for (const auto& [name, value] : changed_state_fields(FeedState(), state)) {
    EXPECT_EQ(name.find('.'), std::string::npos) << name;
  }
}

/// Polled every quarter of an hour for years.
FeedState much_counted() {
  FeedState state;
  state.last_at = Milliseconds(5000);
  state.polls = 350'400;
  state.polls_not_modified = 310'123;
  state.polls_same_body = 20'456;
  state.polls_unconditional = 345;
  state.polls_failed = 1'234;
  state.polls_with_new = 18'242;
  state.total_wire_bytes = 1'234'567'890;
  state.total_body_bytes = 9'876'543'210;
  state.total_new = 20'123;
  state.unconditional_first = 1;
  state.unconditional_none = 2;
  state.unconditional_target = 3;
  state.unconditional_probe = 339;
  state.early_polls = 77;
  return state;
}

TEST(StateFields, CutManyCounts) {
  FeedState before, state = much_counted();
  std::map<std::string, std::string> hash;
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
  EXPECT_EQ(hash.at("counts") + hash.at("counts.1"),
            "350400 310123 20456 345 1234 18242 1234567890 9876543210 20123 1 2 3 339 77");
  before = state;
  state.total_wire_bytes = state.total_body_bytes = 1ULL << 63;
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
  before = state;
  state.total_wire_bytes = state.total_body_bytes = 0;
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
}

// As builds of this first version stored them before values were cut.
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
  expected.etag = hash.at("etag");
  expected.wire_hash = std::string(32, 'a');
  expected.body_hash = std::string(32, 'b');
  expected.wire_bytes = 1500;
  expected.body_bytes = 9000;
  expected.not_modified_since = Milliseconds(1000);
  expected.last_probe = Milliseconds(2000);
  expected.validators_broken = true;
  expected.last_status = 200;
  expected.last_outcome = "updated";
  expected.last_detail = detail;
  expected.state_since = Milliseconds(1);
  expected.last_success = Milliseconds(5000);
  expected.last_new = Milliseconds(3);
  expected.imported = Milliseconds(4);
  expected.new_per_week = 54.5;
  expected.why = hash.at("why");
  expected.listed = 25;
  expected.kept = 100;
  EXPECT_EQ(state, expected);
  // The next refresh makes it new; what did not change stays, and is read as before.
  const FeedState before = state;
  ++state.polls;
  state.last_at = state.last_success = Milliseconds(6000);
  state.why = "adaptive 3200 S=54.50\nfloor 3600\nmax_age 3900 max-age=4000, Age 100\nphase 131";
  EXPECT_EQ(read_state(stored(hash, changed_state_fields(before, state))), state);
  EXPECT_EQ(hash.at("last_detail"), detail);
  EXPECT_EQ(hash.at("counts").size(), 64U);
}

TEST(StateFields, IgnoreWhatTheyDoNotKnowOrCannotRead) {
  const FeedState state = read_state({{"future", "1"}, {"last_at", "soon"}, {"counts", "1 x 3"}, {"state", "healthy"}});
  EXPECT_EQ(state.state, "healthy");
  EXPECT_EQ(state.last_at.count(), 0);
  EXPECT_EQ(state.polls, 1U);
  EXPECT_EQ(state.polls_same_body, 3U);
}

}  // namespace
}  // namespace feedmill::state_fields_test
