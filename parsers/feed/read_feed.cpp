#include "parsers/feed/read_feed.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "parsers/feed/formats.hpp"
#include "parsers/feed/item_hash.hpp"
#include "parsers/markup/salvage.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/well_formed.hpp"
#include "parsers/text/allowance.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

// RFC 7303 §4, RFC 4287 §7, and the types that servers use for JSON Feed. Documents of other types are read as well,
// but marked as bozo.
bool is_feed_type(std::string_view content_type) {
  const std::string type = lower(trim(content_type.substr(0, content_type.find(';'))));
  if (type.empty()) return true;
  constexpr std::string_view known[] = {"application/xml",
                                        "text/xml",
                                        "application/xml-dtd",
                                        "text/xml-external-parsed-entity",
                                        "application/xml-external-parsed-entity",
                                        "application/json",
                                        "text/json",
                                        "application/x-json"};
  return std::find(std::begin(known), std::end(known), type) != std::end(known) || type.ends_with("+xml") ||
         type.ends_with("+json");
}

struct Recognised {
  Format format{};
  void (*parse)(XmlDocument&, Feed&, XmlItems&) = nullptr;  // nullptr: not a feed
};

Format rss_version(XmlDocument& xml, std::string_view doctype) {
  const std::string version = xml.attribute(xml.root(), "version");
  const std::string_view number = std::string_view(version).substr(0, version.find(' '));
  if (number == "0.91") return ifind(doctype, "netscape") != std::string_view::npos ? Format::rss091n : Format::rss091u;
  if (number == "0.90") return Format::rss090;
  if (number == "0.92") return Format::rss092;
  if (number == "0.93") return Format::rss093;
  if (number == "0.94") return Format::rss094;
  return number.starts_with("2") ? Format::rss20 : Format::rss;
}

Format rdf_version(XmlDocument& xml) {
  // The version follows from the namespace of the channel or of an item; any declaration of it is enough.
  for (const auto& [_, uri] : xml.declarations()) {
    const std::string_view name = namespace_name(uri);
    if (istarts_with(name, "my.netscape.com/rdf/simple/0.9") ||
        istarts_with(name, "channel.netscape.com/rdf/simple/0.9")) {
      return Format::rss090;
    }
    if (istarts_with(name, "purl.org/net/rss1.1")) return Format::rss11;
  }
  return Format::rss10;
}

Format atom_version(XmlDocument& xml, std::string_view uri) {
  const std::string_view name = namespace_name(uri);
  if (istarts_with(name, "w3.org/2005/atom")) return Format::atom10;
  const std::string version = xml.attribute(xml.root(), "version");
  if (version == "0.1") return Format::atom01;
  if (version == "0.2") return Format::atom02;
  if (version == "0.3") return Format::atom03;
  if (istarts_with(name, "purl.org/atom/ns")) return Format::atom03;
  return Format::atom;
}

bool has_child(const XmlDocument& xml, std::initializer_list<std::string_view> names) {
  for (const pugi::xml_node child : ChildElements(xml.root())) {
    const std::string_view local = xml.name(child).local;
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) { return iequals(local, name); }))
      return true;
  }
  return false;
}

// RDF has many uses: a feed has a channel or items, or at least declares the RSS vocabulary.
bool is_rss_in_rdf(const XmlDocument& xml) {
  const auto& declared = xml.declarations();
  return has_child(xml, {"channel", "item"}) ||
         std::any_of(declared.begin(), declared.end(), [](const auto& declaration) {
           const NamespaceRow* row = find_namespace(declaration.second, declaration.first);
           return row != nullptr && row->ns == Ns::rss;
         });
}

// Recognises the format by the root element. A root <channel> is CDF if it has CDF's attribute, else RSS that lacks its
// root element.
Recognised recognise(XmlDocument& xml, std::string_view doctype) {
  const pugi::xml_node root = xml.root();
  const XmlDocument::Scope scope(xml, root);
  const XmlName name = xml.name(root);
  if (iequals(name.local, "rss")) return {rss_version(xml, doctype), parse_rss};
  if (iequals(name.local, "rdf")) {
    if (!is_rss_in_rdf(xml)) return {};
    return {rdf_version(xml), parse_rss};
  }
  if (iequals(name.local, "feed")) return {atom_version(xml, name.uri), parse_atom};
  if (iequals(name.local, "entry") && name.ns == Ns::atom) return {atom_version(xml, name.uri), parse_atom};
  if (iequals(name.local, "channel")) {
    if (istarts_with(namespace_name(name.uri), "purl.org/net/rss1.1")) return {Format::rss11, parse_rss};
    if (name.local == "CHANNEL" || xml.has_attribute(root, "href") || xml.has_attribute(root, "lastmod") ||
        xml.has_attribute(root, "base")) {
      return {Format::cdf, parse_cdf};
    }
    for (const pugi::xml_node child : ChildElements(root)) {
      if (iequals(child.name(), "abstract") || iequals(child.name(), "schedule")) return {Format::cdf, parse_cdf};
    }
    if (has_child(xml, {"title", "link", "description", "item"})) return {Format::rss, parse_rss};
  }
  return {};
}

// Headers are untrusted: a value that is not plain printable text counts as absent.
std::string_view plain_header(std::string_view value) {
  const bool plain =
      value.size() <= 4096 && std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? trim(value) : std::string_view{};
}

ParseError not_a_feed(std::string detail) {
  return {ParseError::Code::not_a_feed, std::move(detail)};
}

// What XmlItems needs to hash and skip items.
struct ItemHashing {
  std::uint64_t seed = 0;  // 0: no hashing
  std::span<const std::uint64_t> known;
};

ItemHashing hashing(const DocumentHints& hints, std::string_view base) {
  if (!hints.hash_items) return {};
  const std::uint64_t rules =
      static_cast<std::uint64_t>(hints.html) << 2U | (hints.keep_class ? 2U : 0U) | (hints.whole_values ? 1U : 0U);
  return {chained_hash(rules, base), hints.known};
}

// Reads a properly nested document; empty if it is not a feed. `buffer`: a copy of `text`.
std::optional<Feed> read_tree(std::string_view text, std::string buffer, WellFormedness& check, const std::string& base,
                              bool mojibake, Allowance& allowance, ItemHashing hashing) {
  XmlDocument xml(text, std::move(buffer), std::move(check.entities), mojibake, allowance);
  if (!xml.loaded()) return std::nullopt;
  xml.set_address(base);
  xml.set_document_base(base);
  xml.set_declarations(check.namespaces);
  const Recognised recognised = recognise(xml, check.doctype);
  if (recognised.parse == nullptr) return std::nullopt;
  Feed feed;
  feed.format = recognised.format;
  feed.namespaces = xml.declarations();
  if (hashing.seed != 0) {
    hashing.seed = chained_hash(hashing.seed + static_cast<std::uint64_t>(feed.format) + (mojibake ? 256 : 0), {});
  }
  XmlItems items(xml, feed, hashing.seed, hashing.known);
  recognised.parse(xml, feed, items);
  return feed;
}

// Describes a document that is not a feed, by its first element or the lack of one.
std::string what_else(std::string_view text, const WellFormedness& check) {
  std::size_t at = text.find('<');
  while (at != std::string_view::npos && at + 1 < text.size() && (text[at + 1] == '?' || text[at + 1] == '!')) {
    at = text.find('<', at + 1);
  }
  std::string_view name = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1, 64);
  name = name.substr(0, name.find_first_of(" \n\t/>"));
  if (iequals(name, "html") || istarts_with(check.doctype, " html")) return "an HTML page";
  if (name.empty()) return "neither XML nor JSON";
  std::string what = "its first element is <" + std::string(utf8_prefix(name, 60)) + ">, which begins no feed";
  return check.ok() ? what : what + "; " + check.detail;
}

// Marks a feed that exceeded the memory for its length as truncated after the last entry read (SECURITY §3).
void end_at_cap(Feed& feed) {
  add_flaw(feed, Flaw::truncated);
  feed.cut_short = true;
  if (!feed.entries.empty()) feed.entries.back().cut_short = feed.entries.back().half_named = true;
  if (feed.bozo != Bozo::none) return;
  feed.bozo = Bozo::truncated;
  feed.bozo_detail = "there is more in it than its length allows";
}

// The tree may take three quarters of the remaining memory. A longer text needs more memory later, but then has the
// smaller tree.
std::size_t share_of_tree(const Allowance& allowance) {
  return allowance.memory() / 4 * 3;
}

boost::system::result<Feed, ParseError> read_xml(std::string_view body, Decoded& decoded, const std::string& base,
                                                 Allowance& allowance, const ItemHashing& hashing) {
  // The tree is built from a copy, and inline markup needs the source; an unchanged body serves as the source.
  const std::string source = decoded.verbatim ? std::string{} : decoded.text;
  std::size_t beside = decoded.text.capacity() + source.capacity();  // memory in addition to body and feed
  allowance.take(source);
  const std::string_view text = decoded.verbatim ? body.substr(body.size() - decoded.text.size()) : source;
  WellFormedness check = check_well_formed(text, share_of_tree(allowance));
  std::optional<Feed> feed;
  if (check.nested) {
    beside += check.tree_bytes;
    allowance.take(check.tree_bytes);
    feed = read_tree(text, std::move(decoded.text), check, base, decoded.mojibake, allowance, hashing);
  }
  if (!feed) {
    std::string().swap(decoded.text);
    allowance.give_back(beside - source.capacity());
    beside = source.capacity();
    Salvaged salvaged = salvage(text, share_of_tree(allowance));
    std::string& repaired = salvaged.text;
    if (repaired.capacity() > repaired.size() + repaired.size() / 4) repaired.shrink_to_fit();
    const WellFormedness again = check_well_formed(repaired);
    check.namespaces = again.namespaces;
    const std::size_t more = 2 * repaired.capacity() + again.tree_bytes;
    beside += more;
    allowance.take(more);
    if (!repaired.empty()) feed = read_tree(repaired, repaired, check, base, decoded.mojibake, allowance, {});
    if (feed) {
      feed->account.salvaged = true;
      feed->cut_short = salvaged.cut_short;
      if (salvaged.in_entry && !feed->entries.empty()) {
        feed->entries.back().cut_short = true;
        feed->entries.back().half_named = salvaged.in_name;
      }
    }
    // A feed inside something else (a page, a message, a comment) must look like a feed: pages contain RDF of their
    // own.
    const bool wrapped = check.nested;
    if (feed && wrapped && feed->entries.empty() && !feed->title.present) feed.reset();
    if (!feed) return not_a_feed(what_else(text, check));
    if (wrapped) {
      feed->account.wrapped = true;
      check.bozo = Bozo::malformed_xml;
      check.detail = "the feed lies inside of something else";
    }
  }
  feed->bozo = check.bozo;
  feed->cut_short = feed->cut_short || check.bozo == Bozo::truncated;
  if (!check.ok()) {
    feed->account.fault = check.detail;
    if (!feed->account.wrapped) {
      const std::string_view before = text.substr(0, check.offset);
      feed->account.fault_line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    }
  }
  feed->bozo_detail = std::move(check.detail);
  if (allowance.out_of_memory()) end_at_cap(*feed);
  allowance.give_back(beside);
  return std::move(*feed);
}

// The first language in a Content-Language header.
std::string first_language(std::string_view header) {
  std::string language(trim(header.substr(0, header.find(','))));
  std::replace(language.begin(), language.end(), '_', '-');
  return language;
}

// Whether skipping known items gives the result of a full reading: their context is unchanged, and no entry is over the
// cap.
bool may_pass_over(const Feed& feed, const DocumentHints& hints) {
  return feed.context == hints.context && !feed.cut_short && feed.account.entries <= max_entries;
}

boost::system::result<Feed, ParseError> read_once(std::string_view body, const DocumentHints& hints,
                                                  Allowance& allowance) {
  if (trim(body).empty()) return ParseError{ParseError::Code::empty, "the body is empty"};
  const std::string_view content_type = plain_header(hints.content_type);
  Decoded decoded = decode_document(body, content_type);
  if (trim(decoded.text).empty()) return ParseError{ParseError::Code::empty, "the body holds nothing but white space"};

  std::string base(hints.url);
  std::string location = resolve_safe_url(base, plain_header(hints.content_location));
  if (!url_scheme(location).empty()) base = std::move(location);
  allowance.take(decoded.text);
  Feed feed;
  if (trim(decoded.text).front() == '{') {
    trim_in_place(decoded.text);
    const ItemHashing items = hashing(hints, base);
    if (!parse_json_feed(std::move(decoded.text), base, feed, allowance, items.seed, items.known)) {
      return not_a_feed("JSON, but not a JSON Feed");
    }
    if (allowance.out_of_memory()) end_at_cap(feed);
  } else {
    auto result = read_xml(body, decoded, base, allowance, hashing(hints, base));
    if (result.has_error()) return result.error();
    feed = std::move(result.value());
  }
  Account& account = feed.account;
  const Bozo structure = feed.bozo;
  if (feed.bozo == Bozo::malformed_json) account.fault = feed.bozo_detail;
  account.encoding_rule = decoded.rule;
  account.encoding_named = std::move(decoded.named);
  account.named_by = decoded.named_by;
  account.replaced = decoded.replaced;
  account.dropped = decoded.dropped;
  account.base = is_http_url(feed.link) ? feed.link : base;
  feed.encoding = std::move(decoded.encoding);
  if (decoded.bozo != Bozo::none && (feed.bozo == Bozo::none || decoded.bozo != Bozo::malformed_xml)) {
    feed.bozo = decoded.bozo;
    feed.bozo_detail = std::move(decoded.detail);
  }
  if (feed.bozo == Bozo::none && !is_feed_type(content_type)) {
    feed.bozo = Bozo::non_xml_content_type;
    feed.bozo_detail = content_type.substr(0, 128);
  }
  add_flaw(feed, Flaw::encoding, decoded.replaced + decoded.dropped);
  add_flaw(feed, Flaw::entity, structure == Bozo::undefined_entity ? 1 : 0);
  add_flaw(feed, Flaw::namespace_, structure == Bozo::undeclared_namespace ? 1 : 0);
  add_flaw(feed, Flaw::structure, structure == Bozo::malformed_xml || structure == Bozo::malformed_json ? 1 : 0);
  add_flaw(feed, Flaw::truncated, structure == Bozo::truncated ? 1 : 0);
  if (account.entries > max_entries) add_flaw(feed, Flaw::truncated, account.entries - max_entries);
  keep_newest(feed.entries);
  if (feed.language.empty()) feed.language = first_language(plain_header(hints.content_language));
  if (hints.hash_items) feed.context = context_of(feed);
  normalise(feed, {hints.html, base, hints.whole_values, hints.keep_class}, allowance);
  if (allowance.out_of_steps()) return ParseError{ParseError::Code::limit, "reading it takes too many steps"};
  return feed;
}

}  // namespace

boost::system::result<Feed, ParseError> read_feed(std::string_view body, const DocumentHints& hints) {
  Allowance allowance(body.size());
  allowance.limit_steps(hints.most_steps);
  return read_feed(body, hints, allowance);
}

boost::system::result<Feed, ParseError> read_feed(std::string_view body, const DocumentHints& hints,
                                                  Allowance allowance) {
  const Allowance whole = allowance;
  auto feed = read_once(body, hints, allowance);
  if (!feed || feed->known.empty() || may_pass_over(*feed, hints)) return feed;
  DocumentHints all = hints;
  all.known = {};
  feed = Feed();  // avoids holding both at once
  allowance = whole;
  return read_once(body, all, allowance);
}

}  // namespace feedmill
