// Feeds with posts that link to pages, for the story tests.
#pragma once

#include <string>
#include <vector>

#include "parsers/text/url.hpp"
#include "storage/entries/entries.hpp"
#include "storage/timelines/stories.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test {

using Texts = std::vector<std::string>;

class StoryTest : public StoreTest {
 protected:
  static EntryRecord post_to(const std::string& guid, const std::string& link, const std::string& title,
                             std::int64_t timestamp = 1'000) {
    return {guid,
            digest_of(title + link),
            timestamp,
            {{"canonical_url", canonical_url(link)}, {"link", link}, {"title", title}}};
  }

  /// Refreshes a feed with a document that lists these posts; adds the feed if necessary.
  void publish(const std::string& feed, const std::vector<EntryRecord>& posts,
               Retention retention = {.entries = 100'000, .hard_cap = 100'000}) {
    add(feed);
    const Claim claim = claim_of(feed);
    Commit commit = plan(claim, posts, retention);
    commit.next_due = claim.now;
    send(commit);
  }

  /// The id of a post, Entry:<n>; "none" if there is no such post.
  std::string id(const std::string& feed, const std::string& guid) {
    const auto entry = Entries(store).get_by_guid(feed, guid);
    return entry && *entry ? (*entry)->id : "none";
  }
  Texts same_as(const std::string& of) {
    const auto found = stories.same_as(std::span(&of, 1));
    EXPECT_TRUE(found) << found.error().detail;
    return found ? found->front() : Texts{"error"};
  }

  static Texts texts(const std::string& answer) {
    Texts all;
    std::string word;
    for (const char c : answer + " ") {
      if (c != ' ' && c != '\n') {
        word += c;
      } else if (!word.empty()) {
        all.push_back(std::exchange(word, {}));
      }
    }
    return all;
  }
  /// Number of posts in the index.
  std::size_t indexed() {
    std::size_t posts = 0;
    for (const std::string& key : texts(redis({"KEYS", "channel_same:posts:*"}))) {
      posts += std::stoul(redis({"HLEN", key}));
    }
    return posts;
  }

  Stories stories{store};
};

}  // namespace feedmill::test
