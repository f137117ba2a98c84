// A publisher on loopback for trying things out: one blog in each feed format, with a new or edited post every few
// seconds, and as many generated feeds as requested. With --hub-ca a hub pushes the blogs; with --name it listens on
// all addresses and uses that name in URLs, for other machines. Its content depends only on the clock, so a restart
// continues where it was.

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/system_error.hpp>
#include <signal.h>

#include "tests/support/certificates.hpp"
#include "tests/support/coders.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/websub_hub.hpp"

namespace feedmill::test {
namespace {

using std::chrono::sys_seconds;

constexpr std::uint16_t usual_port = 8799;
constexpr std::uint64_t posts_shown = 10;

struct Arguments {
  std::optional<std::uint16_t> port;  ///< none: the usual port, or the next free one
  std::chrono::milliseconds interval = std::chrono::seconds(3);
  std::size_t feeds = 0;
  std::chrono::milliseconds delay{0};
  std::string print_urls;
  std::string name;    ///< host in the URLs; "" = 127.0.0.1, the only address it then listens on
  std::string hub_ca;  ///< file for the CA of the hub's certificate; "" = no hub
};

/// One post in its current state.
struct Post {
  std::uint64_t number = 0;
  unsigned edits = 0;
  sys_seconds published{}, updated{};
  std::string title, text, author, category;
};

/// Base of the URLs, and the hub that pushes the blogs; `hub` is "" if there is none.
struct Site {
  std::string base, hub;
};

struct Blog {
  std::string_view file, media_type, title, description;
  std::string (*write)(const Blog&, const Site& site, const std::vector<Post>& posts);
};

// The schedule: at each tick one blog, in turn, publishes a post; every fourth time it edits its newest one instead.

constexpr bool is_edit(std::uint64_t turn) {
  return turn % 4 == 3;
}
constexpr std::uint64_t posts_until(std::uint64_t turns) {
  return turns - turns / 4;
}

/// The turn in which post `number` was published.
constexpr std::uint64_t turn_of_post(std::uint64_t number) {
  return number / 3 * 4 + number % 3;
}

template <std::size_t count>
std::string_view pick(const std::array<std::string_view, count>& words, std::uint64_t seed) {
  seed = (seed ^ (seed >> 31)) * 0x9e3779b97f4a7c15u;
  return words[(seed >> 33) % count];
}

constexpr std::array<std::string_view, 12> beginnings = {"A walk through",       "Notes from",
                                                         "What I learned about", "The quiet joy of",
                                                         "Three mornings in",    "In praise of",
                                                         "An afternoon with",    "Small repairs to",
                                                         "Letters about",        "Everything that went wrong with",
                                                         "A field guide to",     "Reading about"};
constexpr std::array<std::string_view, 16> subjects = {"the harbour",
                                                       "sourdough",
                                                       "mechanical keyboards",
                                                       "night trains",
                                                       "the allotment",
                                                       "old maps",
                                                       "bees",
                                                       "fountain pens",
                                                       "the lighthouse",
                                                       "paper aeroplanes",
                                                       "a borrowed bicycle",
                                                       "the tide tables",
                                                       "mushrooms",
                                                       "the village choir",
                                                       "rain",
                                                       "caf\xc3\xa9s & clocks"};
constexpr std::array<std::string_view, 10> sentences = {
    "It took longer than planned, as good things do.",
    "Nobody had swept the steps since the storm, and the cat approved.",
    "If you try this at home, keep a towel within reach.",
    "My neighbour says 5 > 4 & that settles it.",
    "We counted eleven herons before breakfast.",
    "The trick is to wait until the kettle has stopped arguing.",
    "There are photographs, but they are mostly of my thumb.",
    "I wrote it down on the back of a ticket so as not to forget.",
    "Next week we shall do it all again, only slower.",
    "Somebody left a jar of plums at the door; thank you, whoever you are."};
constexpr std::array<std::string_view, 5> authors = {"Ada Wren", "Jonas Lind", "Mei Tanaka", "Rosa \xc3\x81lvarez",
                                                     "Tom Okafor"};
constexpr std::array<std::string_view, 5> categories = {"outdoors", "kitchen", "workshop", "travel", "books"};

Post post_of(std::uint64_t blog, std::uint64_t number, std::uint64_t turns, const auto& time_of_turn) {
  const std::uint64_t seed = number * 1000 + blog + 1;
  Post post;
  post.number = number;
  post.title = std::string(pick(beginnings, seed)) + " " + std::string(pick(subjects, seed * 3));
  post.author = pick(authors, seed * 5);
  post.category = pick(categories, seed * 7);
  for (std::uint64_t i = 0; i < 3; ++i) {
    if (i > 0) post.text += ' ';
    post.text += pick(sentences, seed * 11 + i * 17);
  }
  const std::uint64_t turn = turn_of_post(number);
  post.published = post.updated = time_of_turn(turn);
  if (is_edit(turn + 1) && turn + 1 < turns) {  // it was the newest post at the time of the edit
    post.edits = 1;
    post.updated = time_of_turn(turn + 1);
    post.text += " (Edited to add: the plums were excellent.)";
  }
  return post;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// A JSON string; our texts contain no control characters.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result += '"';
}

std::string formatted(sys_seconds time, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string rfc822(sys_seconds time) {
  return formatted(time, "%a, %d %b %Y %H:%M:%S GMT");
}
std::string rfc3339(sys_seconds time) {
  return formatted(time, "%Y-%m-%dT%H:%M:%SZ");
}

std::string link_of(const Blog& blog, const std::string& base, const Post& post) {
  const std::string_view name = blog.file.substr(0, blog.file.find('.'));
  return base + "/" + std::string(name) + "/posts/" + std::to_string(post.number);
}

std::string html_of(const Post& post) {
  return "<p>" + escaped(post.text) + "</p><p><em>Filed under " + post.category + ".</em></p>";
}

std::string self_of(const Blog& blog, const std::string& base) {
  return base + "/" + std::string(blog.file);
}

std::string write_rss20(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" "
      "xmlns:content=\"http://purl.org/rss/1.0/modules/content/\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n"
      "<channel>\n<title>" +
      escaped(blog.title) + "</title>\n<link>" + site.base + "/</link>\n<description>" + escaped(blog.description) +
      "</description>\n<language>en</language>\n<atom:link rel=\"self\" href=\"" + self_of(blog, site.base) +
      "\" type=\"application/rss+xml\"/>\n";
  if (!site.hub.empty()) text += "<atom:link rel=\"hub\" href=\"" + site.hub + "\"/>\n";
  for (const Post& post : posts) {
    const std::string link = link_of(blog, site.base, post);
    text += "<item>\n<title>" + escaped(post.title) + "</title>\n<link>";
    text.append(link).append("</link>\n<guid>").append(link);
    text += "</guid>\n<pubDate>" + rfc822(post.published) + "</pubDate>\n<dc:creator>" + escaped(post.author) +
            "</dc:creator>\n<category>" + post.category + "</category>\n<description>" + escaped(post.text) +
            "</description>\n<content:encoded><![CDATA[" + html_of(post) + "]]></content:encoded>\n";
    if (post.number % 5 == 0) {
      text += "<enclosure url=\"" + link + ".mp3\" length=\"" + std::to_string(100000 + post.number % 1000) +
              "\" type=\"audio/mpeg\"/>\n";
    }
    text += "</item>\n";
  }
  return text + "</channel>\n</rss>\n";
}

std::string write_rss092(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  std::string text = "<?xml version=\"1.0\"?>\n<rss version=\"0.92\">\n<channel>\n<title>" + escaped(blog.title) +
                     "</title>\n<link>" + site.base + "/</link>\n<description>" + escaped(blog.description) +
                     "</description>\n";
  for (const Post& post : posts) {
    text += "<item>\n<title>" + escaped(post.title) + "</title>\n<link>" + link_of(blog, site.base, post) +
            "</link>\n<description>" + escaped(html_of(post)) + "</description>\n<category>" + post.category +
            "</category>\n</item>\n";
  }
  return text + "</channel>\n</rss>\n";
}

std::string write_rss10(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns=\"http://purl.org/rss/1.0/\" "
      "xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<channel rdf:about=\"" +
      self_of(blog, site.base) + "\">\n<title>" + escaped(blog.title) + "</title>\n<link>" + site.base +
      "/</link>\n<description>" + escaped(blog.description) + "</description>\n<items><rdf:Seq>\n";
  for (const Post& post : posts) text += "<rdf:li rdf:resource=\"" + link_of(blog, site.base, post) + "\"/>\n";
  text += "</rdf:Seq></items>\n</channel>\n";
  for (const Post& post : posts) {
    const std::string link = link_of(blog, site.base, post);
    text.append("<item rdf:about=\"").append(link).append("\">\n<title>").append(escaped(post.title));
    text.append("</title>\n<link>").append(link);
    text += "</link>\n<description>" + escaped(post.text) + "</description>\n<dc:date>" + rfc3339(post.published) +
            "</dc:date>\n<dc:creator>" + escaped(post.author) + "</dc:creator>\n<dc:subject>" + post.category +
            "</dc:subject>\n</item>\n";
  }
  return text + "</rdf:RDF>\n";
}

std::string write_atom10(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  const sys_seconds newest = posts.empty() ? sys_seconds{} : posts.front().updated;
  std::string text =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n<id>" +
      self_of(blog, site.base) + "</id>\n<title>" + escaped(blog.title) + "</title>\n<subtitle>" +
      escaped(blog.description) + "</subtitle>\n<updated>" + rfc3339(newest) + "</updated>\n<link href=\"" + site.base +
      "/\"/>\n<link rel=\"self\" href=\"" + self_of(blog, site.base) + "\"/>\n";
  if (!site.hub.empty()) text += "<link rel=\"hub\" href=\"" + site.hub + "\"/>\n";
  for (const Post& post : posts) {
    text += "<entry>\n<id>tag:sample.example,2026:" + std::to_string(post.number) + "</id>\n<title>" +
            escaped(post.title) + "</title>\n<link href=\"" + link_of(blog, site.base, post) + "\"/>\n<published>" +
            rfc3339(post.published) + "</published>\n<updated>" + rfc3339(post.updated) + "</updated>\n<author><name>" +
            escaped(post.author) + "</name></author>\n<category term=\"" + post.category + "\"/>\n<summary>" +
            escaped(post.text.substr(0, post.text.find('.') + 1)) +
            "</summary>\n<content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">" + html_of(post) +
            "</div></content>\n</entry>\n";
  }
  return text + "</feed>\n";
}

std::string write_atom03(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  const sys_seconds newest = posts.empty() ? sys_seconds{} : posts.front().updated;
  std::string text =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed version=\"0.3\" xmlns=\"http://purl.org/atom/ns#\" "
      "xml:lang=\"en\">\n<title>" +
      escaped(blog.title) + "</title>\n<tagline>" + escaped(blog.description) +
      "</tagline>\n<link rel=\"alternate\" type=\"text/html\" href=\"" + site.base + "/\"/>\n<modified>" +
      rfc3339(newest) + "</modified>\n";
  for (const Post& post : posts) {
    text += "<entry>\n<id>tag:old.example,2026:" + std::to_string(post.number) + "</id>\n<title>" +
            escaped(post.title) + "</title>\n<link rel=\"alternate\" type=\"text/html\" href=\"" +
            link_of(blog, site.base, post) + "\"/>\n<issued>" + rfc3339(post.published) + "</issued>\n<modified>" +
            rfc3339(post.updated) + "</modified>\n<author><name>" + escaped(post.author) +
            "</name></author>\n<content type=\"text/html\" mode=\"escaped\">" + escaped(html_of(post)) +
            "</content>\n</entry>\n";
  }
  return text + "</feed>\n";
}

std::string write_json(const Blog& blog, const Site& site, const std::vector<Post>& posts, bool newer) {
  std::string text = "{\n  \"version\": \"https://jsonfeed.org/version/1" + std::string(newer ? ".1" : "") +
                     "\",\n  \"title\": " + in_quotes(blog.title) +
                     ",\n  \"description\": " + in_quotes(blog.description) +
                     ",\n  \"home_page_url\": " + in_quotes(site.base + "/") +
                     ",\n  \"feed_url\": " + in_quotes(self_of(blog, site.base));
  if (newer && !site.hub.empty())
    text += ",\n  \"hubs\": [{\"type\": \"WebSub\", \"url\": " + in_quotes(site.hub) + "}]";
  text += ",\n  \"items\": [";
  for (std::size_t i = 0; i < posts.size(); ++i) {
    const Post& post = posts[i];
    const std::string link = link_of(blog, site.base, post);
    const std::string author = "{\"name\": " + in_quotes(post.author) + "}";
    text += std::string(i == 0 ? "" : ",") + "\n    {\"id\": " + in_quotes(link) + ", \"url\": " + in_quotes(link) +
            ", \"title\": " + in_quotes(post.title) +
            ",\n     \"date_published\": " + in_quotes(rfc3339(post.published)) +
            ", \"date_modified\": " + in_quotes(rfc3339(post.updated)) +
            (newer ? ", \"authors\": [" + author + "]" : ", \"author\": " + author) + ", \"tags\": [" +
            in_quotes(post.category) + "],\n     \"content_html\": " + in_quotes(html_of(post)) + "}";
  }
  return text + "\n  ]\n}\n";
}

std::string write_json10(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  return write_json(blog, site, posts, false);
}
std::string write_json11(const Blog& blog, const Site& site, const std::vector<Post>& posts) {
  return write_json(blog, site, posts, true);
}

constexpr std::array<Blog, 7> blogs = {{
    {"rss2.xml", "application/rss+xml; charset=utf-8", "The Harbour Notebook", "Boats, weather & small repairs",
     write_rss20},
    {"rss092.xml", "text/xml", "Kettle On", "A kitchen diary that never learned new tricks", write_rss092},
    {"rss1.rdf", "application/rdf+xml", "Tide Tables", "Observations, in order", write_rss10},
    {"atom.xml", "application/atom+xml", "Slow Trains", "Looking out of the window since 2004", write_atom10},
    {"atom03.xml", "application/xml", "Pen & Paper", "Fountain pens and what they leak on", write_atom03},
    {"feed1.json", "application/json", "Allotment 14", "Beans, mostly", write_json10},
    {"feed.json", "application/feed+json", "Choir Practice", "Tuesdays at seven, bring biscuits", write_json11},
}};

/// The posts that a blog shows now, newest first.
std::vector<Post> posts_of(std::size_t blog, std::chrono::milliseconds interval) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  const auto tick = static_cast<std::uint64_t>(since_epoch / interval);
  const std::uint64_t turns = (tick + blogs.size() - blog) / blogs.size();
  const auto time_of_turn = [&](std::uint64_t turn) {
    const auto at = interval * static_cast<std::int64_t>(turn * blogs.size() + blog);
    return sys_seconds(std::chrono::floor<std::chrono::seconds>(at));
  };
  std::vector<Post> posts;
  const std::uint64_t all = posts_until(turns);
  for (std::uint64_t i = 0; i < posts_shown && i < all; ++i)
    posts.push_back(post_of(blog, all - 1 - i, turns, time_of_turn));
  return posts;
}

Response feed_response(const ServedRequest& request, std::string body, std::string_view media_type, std::string etag,
                       sys_seconds modified) {
  Response response;
  response.etag = std::move(etag);
  response.last_modified = rfc822(modified);
  response.headers = {{"Content-Type", std::string(media_type)}, {"Cache-Control", "max-age=1"}};
  if (request.header("Accept-Encoding").find("gzip") != std::string::npos) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    body = gzip(body);
  }
  response.body = std::move(body);
  return response;
}

Response blog_response(std::size_t index, const ServedRequest& request, const Site& site, const Arguments& arguments) {
  const Blog& blog = blogs[index];
  const std::vector<Post> posts = posts_of(index, arguments.interval);
  const std::string etag =
      posts.empty() ? "\"empty\""
                    : "\"" + std::to_string(posts.front().number) + "." + std::to_string(posts.front().edits) + "\"";
  Response response = feed_response(request, blog.write(blog, site, posts), blog.media_type, etag,
                                    posts.empty() ? sys_seconds{} : posts.front().updated);
  if (!site.hub.empty()) {
    response.headers.emplace_back("Link",
                                  "<" + site.hub + ">; rel=\"hub\", <" + self_of(blog, site.base) + ">; rel=\"self\"");
  }
  return response;
}

/// Generated feed `number`, which never changes.
Response generated_response(std::size_t number, const ServedRequest& request, const Site& site,
                            const Arguments& arguments) {
  const sys_seconds start{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
  const Blog blog{"gen.xml", "application/rss+xml", "A generated feed", "One of many", write_rss20};
  std::vector<Post> posts;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto time = [&](std::uint64_t turn) { return start + std::chrono::hours(turn); };
    Post post = post_of(number, number * 3 + 2 - i, 0, time);
    post.published = post.updated = start - std::chrono::hours(24 * i);
    posts.push_back(std::move(post));
  }
  Response response = feed_response(request, blog.write(blog, {site.base, ""}, posts), blog.media_type,
                                    "\"gen-" + std::to_string(number) + "\"", start);
  response.delay = arguments.delay;
  return response;
}

/// The number in "/gen/<i>.xml".
std::optional<std::size_t> generated_number(std::string_view path) {
  constexpr std::string_view begin = "/gen/", end = ".xml";
  if (!path.starts_with(begin) || !path.ends_with(end) || path.size() <= begin.size() + end.size()) return std::nullopt;
  path = path.substr(begin.size(), path.size() - begin.size() - end.size());
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  if (error != std::errc() || rest != path.data() + path.size()) return std::nullopt;
  return number;
}

Response answer(const ServedRequest& request, const Site& site, const Arguments& arguments) {
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  for (std::size_t i = 0; i < blogs.size(); ++i) {
    if (path.substr(1) == blogs[i].file) return blog_response(i, request, site, arguments);
  }
  const auto number = generated_number(path);
  if (number && *number < arguments.feeds) return generated_response(*number, request, site, arguments);
  Response response{.headers = {{"Content-Type", "text/html; charset=utf-8"}}};
  if (path != "/") {
    response.status = 404;
    response.body = "<!DOCTYPE html><title>Not here</title><p>Nothing is published at this address.</p>\n";
    return response;
  }
  response.body = "<!DOCTYPE html><title>Sample publisher</title>\n";
  for (const Blog& blog : blogs) {
    response.body += "<link rel=\"alternate\" type=\"" +
                     std::string(blog.media_type.substr(0, blog.media_type.find(';'))) + "\" title=\"" +
                     escaped(blog.title) + "\" href=\"/" + std::string(blog.file) + "\">\n";
  }
  response.body += "<h1>Sample publisher</h1>\n";
  return response;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Parses "3s" or "500ms"; a plain number is seconds.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
  if (text.ends_with("ms")) {
    const auto number = number_of(text.substr(0, text.size() - 2));
    if (!number) return std::nullopt;
    return std::chrono::milliseconds(*number);
  }
  if (text.ends_with("s")) text.remove_suffix(1);
  const auto number = number_of(text);
  if (!number) return std::nullopt;
  return std::chrono::seconds(*number);
}

/// Empty if the arguments are invalid.
std::optional<Arguments> parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    if (i + 1 == count) return std::nullopt;
    const std::string_view value = values[i + 1];
    const auto number = number_of(value);
    if (name == "--port" && number && *number <= 65535) {
      arguments.port = static_cast<std::uint16_t>(*number);
    } else if (name == "--interval" && duration_of(value) && duration_of(value)->count() > 0) {
      arguments.interval = *duration_of(value);
    } else if (name == "--feeds" && number) {
      arguments.feeds = *number;
    } else if (name == "--delay" && number) {
      arguments.delay = std::chrono::milliseconds(*number);
    } else if (name == "--print-urls") {
      arguments.print_urls = value;
    } else if (name == "--name") {
      arguments.name = value;
    } else if (name == "--hub-ca") {
      arguments.hub_ca = value;
    } else {
      return std::nullopt;
    }
  }
  // The hub and its certificate are only for 127.0.0.1.
  if (!arguments.name.empty() && !arguments.hub_ca.empty()) return std::nullopt;
  return arguments;
}

/// Listens on the requested port; if none was requested, on the usual one or one of the hundred after it.
std::unique_ptr<HttpServer> listen(const Arguments& arguments) {
  using boost::asio::ip::address_v4;
  const address_v4 address = arguments.name.empty() ? address_v4::loopback() : address_v4::any();
  if (arguments.port) return std::make_unique<HttpServer>(*arguments.port, address);
  for (std::uint16_t port = usual_port;; ++port) {
    try {
      return std::make_unique<HttpServer>(port, address);
    } catch (const boost::system::system_error& error) {
      if (error.code() != boost::system::errc::address_in_use || port == usual_port + 100) throw;
    }
  }
}

/// A hub that pushes the blogs over https. It loses its subscribers when it ends. Each run has another hub URL, so that
/// clients subscribe again when they next read a blog.
class SampleHub {
 public:
  SampleHub(const std::string& ca_file, std::uint16_t port)
      : server_(listen(authority_, port)), hub_(*server_, "/hub/" + std::to_string(std::time(nullptr))) {
    std::filesystem::copy_file(authority_.file(), ca_file, std::filesystem::copy_options::overwrite_existing);
  }
  std::string url() const { return hub_.url(); }

  /// Publishes the change of a tick.
  void push(std::uint64_t tick, const Site& site, std::chrono::milliseconds interval) {
    const Blog& blog = blogs[tick % blogs.size()];
    const std::string topic = self_of(blog, site.base);
    hub_.publish(topic, blog.write(blog, site, posts_of(tick % blogs.size(), interval)), std::string(blog.media_type));
  }

 private:
  static std::unique_ptr<HttpServer> listen(const Authority& authority, std::uint16_t port) {
    const Identity identity = authority.issue({.names = {"IP:127.0.0.1"}});
    try {
      return std::make_unique<HttpServer>(identity, nullptr, port);
    } catch (const boost::system::system_error&) {
      return std::make_unique<HttpServer>(identity);
    }
  }

  Authority authority_;
  std::unique_ptr<HttpServer> server_;
  WebSubHub hub_;
};

/// Waits for the signal, and lets the hub push at each tick.
void wait_and_push(const sigset_t& stop, SampleHub* hub, const Site& site, std::chrono::milliseconds interval) {
  using std::chrono::milliseconds;
  int signal = 0;
  if (hub == nullptr) {
    sigwait(&stop, &signal);
    return;
  }
  const auto now = [] {
    return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  for (auto tick = now() / interval;;) {
    const auto left = std::max(interval * (tick + 1) - now(), milliseconds(0));
    const timespec wait{left.count() / 1000, left.count() % 1000 * 1'000'000};
    if (sigtimedwait(&stop, nullptr, &wait) > 0) return;
    if (now() / interval <= tick) continue;
    tick = now() / interval;
    hub->push(static_cast<std::uint64_t>(tick), site, interval);
  }
}

int run(const Arguments& arguments) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // blocked before any thread starts

  const std::unique_ptr<HttpServer> server = listen(arguments);
  std::optional<SampleHub> hub;
  if (!arguments.hub_ca.empty()) hub.emplace(arguments.hub_ca, static_cast<std::uint16_t>(server->port() + 1000));
  const Site site{arguments.name.empty() ? server->url("") : server->url(arguments.name, ""), hub ? hub->url() : ""};
  server->forget_requests();
  server->serve_rest([&](const ServedRequest& request) { return answer(request, site, arguments); });

  std::string line;
  std::ofstream file;
  if (!arguments.print_urls.empty()) file.open(arguments.print_urls);
  for (const Blog& blog : blogs) {
    line += " " + self_of(blog, site.base);
    if (file) file << self_of(blog, site.base) << '\n';
  }
  for (std::size_t i = 0; i < arguments.feeds; ++i) file << site.base << "/gen/" << i << ".xml\n";
  file.close();
  if (hub) std::cout << "hub: " << hub->url() << '\n';
  std::cout << "ready:" << line << std::endl;

  wait_and_push(stop, hub ? &*hub : nullptr, site, arguments.interval);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace feedmill::test

int main(int count, char** values) {
  try {
    const auto arguments = feedmill::test::parse(count, values);
    if (!arguments) {
      std::cerr << "usage: feedmill_sample_publisher [--port N] [--interval 3s] [--feeds N] [--delay MS] "
                   "[--print-urls FILE] [--hub-ca FILE | --name HOST]\n";
      return 64;
    }
    return feedmill::test::run(*arguments);
  } catch (const std::exception& error) {
    std::cerr << "feedmill_sample_publisher: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
