// A publisher that serves as ground truth: feeds that gain and edit posts, and a log of everything they served and of
// all requests (RELIABILITY I1, I2).
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// All members may be called from any thread. `http` outlives this.
class GroundTruth {
 public:
  struct Options {
    std::size_t listed = 1000;  ///< newest posts that a document lists
    std::size_t text = 40;      ///< bytes of text in each post
    bool in_halves = false;     ///< answers come in two pieces, a moment apart
    std::size_t led = 0;        ///< every so many feeds one is a slow redirect to another host; 0 = none
  };
  explicit GroundTruth(HttpServer& http);
  GroundTruth(HttpServer& http, Options options);

  /// A feed with so many posts; its URL.
  std::string add_feed(std::size_t posts);
  void publish(std::size_t feed, std::size_t posts = 1);
  /// Changes the title and text of one post that the document lists.
  void edit(std::size_t feed, std::size_t post);
  /// The feed is to be removed from the store.
  void withdraw(std::size_t feed);
  /// Publishes a post or edits a listed one, depending on `chance`; does nothing while the feed's readers are too far
  /// behind to see every post.
  void act(std::size_t feed, unsigned chance);

  // Documents served.
  /// Newest posts that a document lists.
  std::size_t listed() const { return options_.listed; }
  std::size_t feeds() const;
  std::string url(std::size_t feed) const;
  bool withdrawn(std::size_t feed) const;
  std::size_t posts(std::size_t feed) const;
  /// Of the newest document; documents of a feed are numbered from 1.
  std::size_t version(std::size_t feed) const;
  /// The document that an ETag of that feed belongs to; 0 when to none.
  static std::size_t version_of(std::string_view etag);
  /// Posts in that document or before.
  std::size_t posts_at(std::size_t feed, std::size_t version) const;
  /// How often that post had been edited in that document.
  std::size_t edits_at(std::size_t feed, std::size_t post, std::size_t version) const;
  static std::string guid(std::size_t feed, std::size_t post);
  static std::string title(std::size_t feed, std::size_t post, std::size_t edits);
  /// When it was published, unix seconds.
  static std::int64_t published(std::size_t post);

  // Requests received.
  struct Asked {
    std::size_t times = 0, unconditional = 0;
  };
  Asked asked(std::size_t feed) const;
  std::size_t asked_in_all() const;

 private:
  struct Post {
    std::size_t since = 0;           // version
    std::vector<std::size_t> edits;  // versions
  };
  struct Feed {
    std::size_t version = 1;
    bool withdrawn = false;
    std::vector<Post> posts;
    Asked asked;
    std::size_t confirmed = 0;  // newest version that a reader's ETag named
  };
  Response answer(std::size_t number, const ServedRequest& request);
  std::string document(std::size_t number) const;

  HttpServer& http_;
  const Options options_;
  mutable std::mutex mutex_;
  std::deque<Feed> feeds_;
};

}  // namespace feedmill::test
