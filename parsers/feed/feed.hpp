// The values of a feed document, in any format.
//
// Every std::string is valid UTF-8 without NUL or C0 controls except TAB and LF. Unless noted otherwise, "" means
// absent, and URLs are absolute and http(s). `feedmill parse` prints these values as JSON (document_json.hpp); Redis
// stores them in another form (storage/records/entry_record.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/markup/text.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/defects.hpp"
#include "parsers/text/holders.hpp"

namespace feedmill {

/// A text construct: RFC 4287 §3.1, applied to every format.
struct Text {
  std::string value;  ///< plain text, or markup by its `type` (sanitised unless raw markup was requested)
  TextType type;
  SharedText base;       ///< xml:base in force, "" if none
  SharedText language;   ///< xml:lang in force, "" if none
  bool present = false;  ///< the element exists, even if its value is empty

  bool operator==(const Text&) const = default;
};

/// A date: `time` is absent if it could not be read; `raw` is the publisher's text, trimmed.
struct Date {
  std::optional<Time> time;
  std::string raw;

  bool present() const { return !raw.empty(); }
  bool operator==(const Date&) const = default;
};

/// An author, contributor, publisher or owner.
struct Person {
  std::string name, email, uri;
  std::string avatar;  ///< URL of a picture

  bool operator==(const Person&) const = default;
};

/// A link element of any format. `rel` is "alternate" if the document gives none.
struct Link {
  std::string href, rel, type, hreflang, title;
  std::optional<std::uint64_t> length;

  bool operator==(const Link&) const = default;
};

/// A category or tag; `scheme` identifies its vocabulary.
struct Category {
  std::string term, scheme, label;

  bool operator==(const Category&) const = default;
};

/// A file attached to an entry. `length` in bytes, `duration` in seconds.
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

/// An entry's content element; with `src` the content is stored elsewhere (atom:content src).
struct Content {
  std::string value;
  TextType type;              ///< type of `value`
  SharedText base, language;  ///< as in Text
  std::string src, src_type;  ///< set if there is no `value`

  bool operator==(const Content&) const = default;
};

/// An element kept unchanged because no field holds it: extensions.<prefix>.<name>[]. `prefix` is the usual one of a
/// known namespace, else the document's in lower case; "" without a namespace.
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

/// Apple's podcast namespace. `explicit_`: yes, no, or present with another value.
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

/// Media RSS: media:group merged with its children. Attribute lists use the JSON names of the parse contract.
struct Media {
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  std::vector<Attributes> content, thumbnails, credits, peer_links;
  Attributes rating, license, restriction, player, community;
  std::vector<std::string> tags;  ///< from media:community
  std::string title, description;

  bool operator==(const Media&) const = default;
};

/// georss, gml and W3C geo in GeoJSON form; `coordinates` is JSON text ("[1.5,2]"), "" if unreadable.
struct Geo {
  std::string type, coordinates, srs_name;
  std::optional<std::int64_t> srs_dimension;
  std::vector<Geo> more;  ///< further shapes of the entry; their own `more` is empty

  bool operator==(const Geo&) const = default;
};

/// One chapter of psc:chapters; `start` in seconds.
struct Chapter {
  std::optional<double> start;
  std::string start_raw, title, href, image;

  bool operator==(const Chapter&) const = default;
};

/// Fields common to feeds, entries and entry sources.
struct Common {
  std::string id;    ///< atom:id, RSS guid, rdf:about, JSON id; "" if the document gives none
  std::string link;  ///< the page about the feed or entry
  std::vector<Link> links;
  Text title;
  Rare<Text> rights, info;
  SharedText author;  ///< display form of the first author: "Name (email)", or whichever part exists
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

/// The feed an entry was taken from: atom:source, or RSS source (only `title` and `url` are set).
struct Source : Common {
  Text subtitle;
  std::string url;

  bool operator==(const Source&) const = default;
};

/// One post of a feed.
struct Entry : Common {
  /// The post's identity within its feed, never empty: `id`, else `link`, else "digest:" and a hash of title, date and
  /// content (DESIGN §5). Over 1 KiB it becomes "sha256:<hex>" (SECURITY §3). Derived, never random.
  std::string guid;
  std::optional<bool> guid_is_permalink;
  Text summary;
  std::vector<Content> content;
  std::string comments, comments_feed, comment_api, external_url;
  std::vector<Source> source;  ///< none or one
  /// Ids of the feedmill stores that the post has passed through, oldest first: 32 lower-case hex digits each (WEBSUB
  /// U17). At most limits::trail, plus one if there are more. Empty for posts of other publishers.
  std::vector<std::string> via;
  /// Names of the stored fields that were cut or dropped to meet the caps of SECURITY §3, separated by spaces; "" if
  /// none.
  std::string truncated;
  /// Hash of the item's source and everything else that reading it depends on. 0 if not requested or not computable, if
  /// the item has neither id nor link, or if it has flaws other than a missing guid.
  std::uint64_t item_hash = 0;
  bool cut_short = false;   ///< the document ends inside the entry, so its values may be incomplete …
  bool half_named = false;  ///< … including its id or date, which may be missing

  bool operator==(const Entry&) const = default;
};

/// A URL of an entry that people open. It has one name in the JSON of a document and in the stored post, is closed
/// (is_safe_url) and spelled as RFC 3986 says, and is dropped when it is longer than limits::url.
struct EntryPage {
  std::string_view name;
  std::string Entry::*url;
};
inline constexpr std::array entry_pages{
    EntryPage{"comments", &Entry::comments}, EntryPage{"comments_feed", &Entry::comments_feed},
    EntryPage{"comment_api", &Entry::comment_api}, EntryPage{"external_url", &Entry::external_url}};

/// The format as recognised; a name without a version means that the version is unknown.
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

/// RSS <cloud>: the rssCloud endpoint for update notifications, as written.
struct Cloud {
  std::string domain, port, path, register_procedure, protocol;

  bool operator==(const Cloud&) const = default;
};

/// RSS <textInput>: a text box that the feed offers; `link` is its form's address.
struct TextInput {
  std::string title, description, name, link;

  bool operator==(const TextInput&) const = default;
};

/// sy:updatePeriod and related elements, as written (HTTP P11 reads them).
struct Syndication {
  std::string update_period, update_frequency, update_base;

  bool operator==(const Syndication&) const = default;
};

/// How the document was read. Not shown to readers; explain() in reading_report.hpp puts it into words.
struct Account {
  EncodingRule encoding_rule = EncodingRule::standard;
  std::string encoding_named;  ///< the label that should have applied but cannot be right, "" if none
  EncodingRule named_by = EncodingRule::standard;
  std::size_t replaced = 0, dropped = 0;  ///< number of undecodable sequences; of characters forbidden in XML
  std::string fault;                      ///< the first error in the XML or JSON, "" if none
  std::size_t fault_line = 0;             ///< line of `fault`, from 1; 0 if unknown
  bool salvaged = false;                  ///< read from a repaired copy of the document
  bool wrapped = false;                   ///< the feed was inside another document, such as a page
  std::string base;                       ///< base of relative URLs where no xml:base is in force
  std::size_t entries = 0;                ///< number of entries in the document, including those over the cap

  bool operator==(const Account&) const = default;
};

/// A post that the document declares deleted: at:deleted-entry (RFC 6721).
struct DeletedEntry {
  std::string guid;  ///< as in Entry
  Date when;

  bool operator==(const DeletedEntry&) const = default;
};

/// An item that was skipped because its hash was known (DocumentHints::known).
struct KnownItem {
  std::size_t place = 0;  ///< index among all items of the document, including those read
  std::uint64_t hash = 0;

  bool operator==(const KnownItem&) const = default;
};

/// One feed document.
struct Feed : Common {
  Format format{};
  std::string encoding;  ///< label used to decode, lower case
  Bozo bozo = Bozo::none;
  std::string bozo_detail;
  bool cut_short = false;  ///< the text ends before the document does: posts missing here may still be in the feed
  std::vector<std::pair<std::string, std::string>> namespaces;  ///< prefix → URI as declared
  std::vector<std::pair<Flaw, std::uint32_t>> flaws;            ///< each flaw at most once, with its count
  Account account;

  Text subtitle;
  std::string docs, rating, self, next, prev, first, last, error_reports_to;
  std::string prev_archive;  ///< previous archive document (RFC 5005 §4)
  std::optional<std::string> new_location;
  std::vector<std::string> hubs;
  std::optional<std::int64_t> ttl;  ///< minutes
  std::optional<Cloud> cloud;
  std::optional<TextInput> text_input;
  std::vector<int> skip_hours;
  std::vector<std::string> skip_days;
  std::optional<Syndication> syndication;

  std::vector<Entry> entries;    ///< in document order
  std::vector<KnownItem> known;  ///< skipped items, in document order
  std::uint64_t context = 0;     ///< context of the item hashes: see DocumentHints::context
  bool has_counters = false;     ///< items contain counters, which their hashes leave out (item_hash.hpp)
  std::vector<DeletedEntry> deleted;

  bool operator==(const Feed&) const = default;
};

}  // namespace feedmill
