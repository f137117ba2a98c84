// The values all else is about: what a feed document means, whatever format it came in.
//
// Every std::string is valid UTF-8 without NUL or C0 controls besides TAB and LF. "" means absent unless said
// otherwise. URLs are absolute and http(s) unless said otherwise. The JSON that `feedmill parse` prints is a rendering
// of these values (document_json.hpp); what goes into Redis is another (storage/entry_fields.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/markup/text.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/defects.hpp"
#include "parsers/text/rare.hpp"
#include "parsers/text/shared.hpp"

namespace feedmill {

/// A text construct: RFC 4287 §3.1, applied to every format.
struct Text {
  std::string value;  ///< plain text, or markup when `type` says so (sanitised unless raw markup was asked for)
  TextType type;
  SharedText base;       ///< xml:base in force, "" if none
  SharedText language;   ///< xml:lang in force, "" if none
  bool present = false;  ///< the element was there, even when its value is empty

  bool operator==(const Text&) const = default;
};

/// A date: `time` is absent when it could not be read; `raw` is what the publisher wrote, trimmed.
struct Date {
  std::optional<Time> time;
  std::string raw;

  bool present() const { return !raw.empty(); }
  bool operator==(const Date&) const = default;
};

struct Person {
  std::string name, email, uri;
  std::string avatar;  ///< address of a picture

  bool operator==(const Person&) const = default;
};

/// A link element of any format. `rel` is "alternate" when the document gave none.
struct Link {
  std::string href, rel, type, hreflang, title;
  std::optional<std::uint64_t> length;

  bool operator==(const Link&) const = default;
};

struct Category {
  std::string term, scheme, label;

  bool operator==(const Category&) const = default;
};

/// A file that belongs to an entry. `length` in bytes, `duration` in seconds.
struct Enclosure {
  std::string url, type, title;
  std::optional<std::uint64_t> length;
  std::optional<double> duration;

  bool operator==(const Enclosure&) const = default;
};

struct Image {
  std::string url, title, link, description;
  std::optional<std::int64_t> width, height;

  bool operator==(const Image&) const = default;
};

struct Generator {
  std::string name, version, uri;

  bool operator==(const Generator&) const = default;
};

/// An entry's content element; `src` when the content lies elsewhere (atom:content src).
struct Content {
  std::string value;
  TextType type;              ///< of `value`
  SharedText base, language;  ///< as Text has them
  std::string src, src_type;  ///< where there is no `value`

  bool operator==(const Content&) const = default;
};

/// An element of a namespace without fields of its own, kept as it was: extensions.<prefix>.<name>[].
/// `prefix` is the usual one of a known namespace, else the document's in lower case; "" for no namespace.
struct Element {
  using Attribute = std::pair<std::string, std::string>;
  std::string prefix, name, value;
  std::vector<Attribute> attributes;
  std::vector<Element> children;

  bool operator==(const Element&) const = default;
};

struct ItunesCategory {
  std::string text;
  std::vector<ItunesCategory> categories;

  bool operator==(const ItunesCategory&) const = default;
};

/// Apple's podcast namespace. `explicit_`: true, false, or present without a value that says either.
struct Itunes {
  enum class Explicit { absent, yes, no, other };
  std::string author, subtitle, summary, title, image, new_feed_url, episode_type, type, duration_raw;
  std::vector<std::string> keywords;
  std::optional<bool> block, complete;
  Explicit explicit_ = Explicit::absent;
  std::optional<double> duration;  ///< seconds
  std::optional<std::int64_t> episode, season, order;
  std::optional<Person> owner;
  std::vector<ItunesCategory> categories;

  bool operator==(const Itunes&) const = default;
};

/// Media RSS: media:group and its children taken together. Attribute lists keep the JSON names of the parse contract.
struct Media {
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  std::vector<Attributes> content, thumbnails, credits, peer_links;
  Attributes rating, license, restriction, player, community;
  std::vector<std::string> tags;  ///< media:community's
  std::string title, description;

  bool operator==(const Media&) const = default;
};

/// georss, gml and W3C geo as GeoJSON has it; `coordinates` is JSON text ("[1.5,2]"), "" when unreadable.
struct Geo {
  std::string type, coordinates, srs_name;
  std::optional<std::int64_t> srs_dimension;
  std::vector<Geo> more;  ///< the other shapes of the same entry, none of which has more

  bool operator==(const Geo&) const = default;
};

/// One chapter of psc:chapters; `start` in seconds.
struct Chapter {
  std::optional<double> start;
  std::string start_raw, title, href, image;

  bool operator==(const Chapter&) const = default;
};

/// What a feed, each of its entries and an entry's source have in common.
struct Common {
  std::string id;    ///< atom:id, RSS guid, rdf:about, JSON id; "" when the document gave none
  std::string link;  ///< the page this is about
  std::vector<Link> links;
  Text title;
  Rare<Text> rights, info;
  SharedText author;  ///< display form of the first of `authors`: "Name (email)" or whichever is there
  Shared<std::vector<Person>> authors;
  std::vector<Person> contributors;
  Rare<Person> publisher;
  Date published, updated;
  Rare<Date> created, expired, valid_from, valid_until;
  std::vector<Category> categories;
  SharedText language;
  Rare<Image> image;
  std::string icon, logo, favicon, banner_image;
  Rare<Generator> generator;
  std::vector<std::string> licenses;
  std::vector<Enclosure> enclosures;
  Rare<Itunes> itunes;
  Rare<Media> media;
  Rare<Geo> geo;
  std::vector<Chapter> chapters;
  std::string chapters_version;
  std::vector<Element> extensions;

  bool operator==(const Common&) const = default;
};

/// Where an entry was taken from: atom:source, RSS source (then only `title` and `url`).
struct Source : Common {
  Text subtitle;
  std::string url;

  bool operator==(const Source&) const = default;
};

struct Entry : Common {
  /// What identifies the post inside its feed, never empty: `id`, else `link`, else "digest:" and a hash of title, date
  /// and content (DESIGN §5). Over 1 KiB it is "sha256:<hex>" (SECURITY T19). Derived, never random.
  std::string guid;
  std::optional<bool> guid_is_permalink;
  Text summary;
  std::vector<Content> content;
  std::string comments, comments_feed, comment_api, external_url;
  std::vector<Source> source;  ///< none or one
  /// The stores of feedmill that the post has passed on its way here, oldest first: their ids, 32 small hex digits each
  /// (WEBSUB U17). At most limits::trail, and one more where there are more than that. None from any other publisher.
  std::vector<std::string> via;
  /// Names of the stored fields that lost something to the caps of SECURITY §3, a space between; "" when none did.
  std::string truncated;
  /// Of the item as it stands in the document with all that its reading depends on; 0 when it was not asked for, cannot
  /// be told, or the item has other flaws than a missing guid.
  std::uint64_t item_hash = 0;
  bool cut_short = false;   ///< the document ends within it: what it says may be half of it …
  bool half_named = false;  ///< … and what names or dates it is no exception, or may be yet to come

  bool operator==(const Entry&) const = default;
};

enum class Format {
  rss090,
  rss091n,
  rss091u,
  rss092,
  rss093,
  rss094,
  rss10,
  rss11,
  rss20,
  rss,
  atom01,
  atom02,
  atom03,
  atom10,
  atom,
  json1,
  json11,
  cdf
};

struct Cloud {
  std::string domain, port, path, register_procedure, protocol;

  bool operator==(const Cloud&) const = default;
};

struct TextInput {
  std::string title, description, name, link;

  bool operator==(const TextInput&) const = default;
};

/// sy:updatePeriod and friends, as written (HTTP F6 reads them).
struct Syndication {
  std::string update_period, update_frequency, update_base;

  bool operator==(const Syndication&) const = default;
};

/// How a document came to be read as it was. Readers get nothing of it; explain.hpp puts it in words.
struct Account {
  EncodingRule encoding_rule = EncodingRule::standard;
  std::string encoding_named;  ///< the label that should have decided and could not be right, "" when none
  EncodingRule named_by = EncodingRule::standard;
  std::size_t replaced = 0, dropped = 0;  ///< sequences that did not decode, characters that XML forbids
  std::string fault;                      ///< the first place where XML or JSON is broken, "" when it is not
  std::size_t fault_line = 0;             ///< of it, from 1; 0 when unknown
  bool salvaged = false;                  ///< read from a repaired copy of the document
  bool wrapped = false;                   ///< the feed lay inside of something else
  std::string base;                       ///< what relative URLs resolve against where no xml:base says otherwise
  std::size_t entries = 0;                ///< found in the document, those over the cap included

  bool operator==(const Account&) const = default;
};

/// A post that the document says is gone: at:deleted-entry (RFC 6721).
struct DeletedEntry {
  std::string guid;  ///< as Entry::guid has it
  Date when;

  bool operator==(const DeletedEntry&) const = default;
};

/// An item that was not read: it is known by its hash (DocumentHints::known).
struct KnownItem {
  std::size_t place = 0;  ///< among all items of the document, those that were read included
  std::uint64_t hash = 0;

  bool operator==(const KnownItem&) const = default;
};

/// One feed document.
struct Feed : Common {
  Format format{};
  std::string encoding;  ///< label used to decode, lower case
  Bozo bozo = Bozo::none;
  std::string bozo_detail;
  bool cut_short = false;  ///< the text ends before the document does: what it does not list may be listed all the same
  std::vector<std::pair<std::string, std::string>> namespaces;  ///< prefix → URI as declared
  std::vector<std::pair<Flaw, std::uint32_t>> flaws;            ///< each at most once, with its count
  Account account;

  Text subtitle;
  std::string docs, rating, self, next, prev, first, last, error_reports_to;
  std::string prev_archive;  ///< RFC 5005 §4
  std::optional<std::string> new_location;
  std::vector<std::string> hubs;
  std::optional<std::int64_t> ttl;  ///< minutes
  std::optional<Cloud> cloud;
  std::optional<TextInput> text_input;
  std::vector<int> skip_hours;
  std::vector<std::string> skip_days;
  std::optional<Syndication> syndication;

  std::vector<Entry> entries;    ///< in document order
  std::vector<KnownItem> known;  ///< in document order; no entries
  std::uint64_t context = 0;     ///< of item hashes: see DocumentHints::context
  bool has_counters = false;     ///< in items whose hashes leave them out (counters.hpp)
  std::vector<DeletedEntry> deleted;

  bool operator==(const Feed&) const = default;
};

}  // namespace feedmill
