// A publisher that serves as ground truth: feeds that gain and change posts, and a record of everything it served and
// of all requests (RELIABILITY I1, I2).
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// Feeds and their posts are numbered from 0. All members may be called from any thread. `http` must outlive this
/// object.
class GroundTruth {
 public:
  struct Options {
    std::size_t listed = 1000;  ///< newest posts listed in a document
    std::size_t text = 40;      ///< bytes of text in each post
    bool in_halves = false;     ///< responses arrive in two pieces, with a pause between them
    std::size_t led = 0;        ///< every so many feeds, one is reached by a slow redirect to another host; 0 = none
  };
  explicit GroundTruth(HttpServer& http);
  GroundTruth(HttpServer& http, Options options);

  /// Adds a feed with so many posts; returns its URL.
  std::string add_feed(std::size_t posts);
  void publish(std::size_t feed, std::size_t posts = 1);
  /// Changes the title and text of one post, which the document must list.
  void edit(std::size_t feed, std::size_t post);
  /// Marks the feed as one that the test removes from the store.
  void withdraw(std::size_t feed);
  /// Publishes a post or edits a listed one, depending on `chance`. Does nothing while the posts
  /// that readers have not confirmed fill more than half a document, so that readers see every post.
  void act(std::size_t feed, unsigned chance);

  // Documents served.
  /// Newest posts listed in a document.
  std::size_t listed() const { return options_.listed; }
  std::size_t feeds() const;
  std::string url(std::size_t feed) const;
  bool withdrawn(std::size_t feed) const;
  std::size_t posts(std::size_t feed) const;
  /// Number of the newest document; a feed's documents are numbered from 1.
  std::size_t version(std::size_t feed) const;
  /// Number of the document with this ETag; 0 if there is none.
  static std::size_t version_of(std::string_view etag);
  /// Number of posts published up to a document.
  std::size_t posts_at(std::size_t feed, std::size_t version) const;
  /// How often a post had been edited up to a document.
  std::size_t edits_at(std::size_t feed, std::size_t post, std::size_t version) const;
  static std::string guid(std::size_t feed, std::size_t post);
  static std::string title(std::size_t feed, std::size_t post, std::size_t edits);
  /// Publication time, Unix seconds.
  static std::int64_t published(std::size_t post);

  // Requests received.
  /// Requests for a feed, and how many had no If-None-Match.
  struct Asked {
    std::size_t times = 0, unconditional = 0;
  };
  Asked asked(std::size_t feed) const;
  std::size_t asked_in_all() const;

 private:
  struct Post {
    std::size_t since = 0;           // first document with the post
    std::vector<std::size_t> edits;  // document of each edit
  };
  struct Feed {
    std::size_t version = 1;
    bool withdrawn = false;
    std::vector<Post> posts;
    Asked asked;
    std::size_t confirmed = 0;  // newest document named by a reader's ETag
  };
  Response answer(std::size_t number, const ServedRequest& request);
  std::string document(std::size_t number) const;

  HttpServer& http_;
  const Options options_;
  mutable std::mutex mutex_;
  std::deque<Feed> feeds_;
};

}  // namespace feedmill::test
