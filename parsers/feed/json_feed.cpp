// JSON Feed 1.0 and 1.1 (jsonfeed.org).
#include <simdjson.h>

#include "parsers/feed/fields.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/feed/reading.hpp"
#include "parsers/markup/salvage.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::size_t max_json_depth = 64;  // SECURITY §3
constexpr std::size_t max_contents = 16;    // per item; an item may repeat a member

// Trimmed, without the characters that only escapes can introduce (SECURITY X3).
std::string clean(std::string_view text) {
  std::string out(trim(text));
  std::size_t to = 0;
  for (std::size_t i = 0; i < out.size();) {
    if (const std::size_t forbidden = forbidden_in_xml(out, i); forbidden > 0)
      i += forbidden;
    else if (out[i] == '\r' || out[i] == 0x7F)
      ++i;
    else
      out[to++] = out[i++];
  }
  out.resize(to);
  return out;
}

// A scalar as text (an id may be a number); "" for anything else.
std::string scalar(const element& value) {
  switch (value.type()) {
    case element_type::STRING:
      return clean(value.get_string().value_unsafe());
    case element_type::BOOL:
      return value.get_bool().value_unsafe() ? "true" : "false";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return simdjson::minify(value);
    default:
      return {};
  }
}

std::optional<double> number(const element& value) {
  double result = 0;
  return value.get(result) == simdjson::SUCCESS ? std::optional(result) : std::nullopt;
}

class JsonFeedReader {
 public:
  /// `sources`: a hash of each item's text, empty if not requested.
  JsonFeedReader(Feed& feed, std::string_view base, Allowance& allowance, std::vector<std::uint64_t> sources,
                 std::uint64_t seed, std::span<const std::uint64_t> known)
      : feed_(feed),
        base_(std::string(base)),
        allowance_(allowance),
        sources_(std::move(sources)),
        seed_(seed),
        known_(known) {}

  void read(const object& root) {
    // Read first, because relative URLs resolve against the site's own address.
    for (const auto [key, value] : root) {
      if (key == "home_page_url") feed_.link = url(value);
    }
    if (base_.empty() && is_http_url(feed_.link) && feed_.link.size() <= limits::url) base_ = UrlBase(feed_.link);
    add_link(feed_, feed_.link, "alternate");
    seed_ = chained_hash(seed_ + static_cast<std::uint64_t>(feed_.format), *base_.url());
    for (const auto [key, value] : root) {
      if (allowance_.spent()) break;
      field(key, value);
    }
    // JSON Feed has no feed date: use the newest dates of the items.
    for (const Entry& entry : feed_.entries) {
      if (entry.published.time > feed_.published.time) feed_.published = entry.published;
      if (entry.updated.time > feed_.updated.time) feed_.updated = entry.updated;
    }
  }

 private:
  // The text of a scalar that will be kept; "" once the allowance is spent.
  std::string text(const element& value) {
    if (allowance_.spent()) return {};
    std::string out = scalar(value);
    allowance_.step(1 + out.size() / 8);
    allowance_.take(out);
    return out;
  }

  std::string url(const element& value) {
    if (allowance_.spent()) return {};
    std::string out = base_.resolve_safe(scalar(value));
    allowance_.step(4 + out.size() / 8);
    allowance_.take(out);
    return out;
  }

  template <class Value>
  void append(std::vector<Value>& list, Value value) {
    allowance_.take_one_more<Value>();
    list.push_back(std::move(value));
  }

  void add_link(Common& common, const std::string& href, std::string_view rel) {
    if (href.empty() || common.links.size() >= max_links) return;
    append(common.links, {href, std::string(rel), {}, {}, {}, {}});
    allowance_.take(common.links.back().href);
  }

  void set_image(Common& common, const std::string& address) {
    if (address.empty()) return;
    common.image = Image{address, {}, {}, {}, {}, {}};
    allowance_.take(sizeof(Image));
    allowance_.take(common.image->url);
  }

  Text text(const element& value, std::string_view type) {
    Text result;
    result.value = text(value);
    result.type = TextType(type);
    result.present = true;
    return result;
  }

  void field(std::string_view key, const element& value) {
    if (key == "version" || key == "home_page_url") return;
    if (key == "title") {
      feed_.title = text(value, "text/plain");
    } else if (key == "description") {
      feed_.subtitle = text(value, "text/plain");
    } else if (key == "feed_url") {
      feed_.self = url(value);
      feed_.id = text(value);
      add_link(feed_, feed_.self, "self");
    } else if (key == "next_url") {
      feed_.next = url(value);
    } else if (key == "icon") {
      feed_.icon = url(value);
      set_image(feed_, feed_.icon);
    } else if (key == "favicon") {
      feed_.favicon = url(value);
    } else if (key == "language") {
      feed_.language = text(value);
    } else if (key == "authors" || key == "author") {
      authors(feed_, key, value);
    } else if (key == "hubs") {
      hubs(value);
    } else if (key == "items") {
      items(value);
    } else {
      extension(feed_, key, value);
    }
  }

  void hubs(const element& value) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) return;
    for (const element hub : list) {
      object fields;
      if (hub.get(fields) != simdjson::SUCCESS) continue;
      std::string type, address;
      for (const auto [key, inner] : fields) {
        if (key == "type") type = text(inner);
        if (key == "url") address = url(inner);
      }
      // Other types (such as rssCloud) use another protocol.
      const bool websub = type.empty() || iequals(type, "websub") || iequals(type, "pubsubhubbub");
      if (websub && !address.empty() && feed_.hubs.size() < 16) feed_.hubs.push_back(std::move(address));
    }
  }

  // `authors` (1.1) and `author` (1.0); the author of 1.0 is skipped if it is in the list of 1.1.
  void authors(Common& common, std::string_view key, const element& value) {
    array list;
    if (key == "authors" && value.get(list) == simdjson::SUCCESS) {
      std::size_t place = 0;
      for (const element one : list) {
        if (place >= limits::people || allowance_.spent()) break;
        author(common, one, place);
      }
    } else {
      std::size_t place = common.authors->size();
      author(common, value, place);
    }
  }

  // Inserts a person at `place` and advances `place`.
  void author(Common& common, const element& value, std::size_t& place) {
    Person person;
    object fields;
    if (value.get(fields) == simdjson::SUCCESS) {
      for (const auto [key, inner] : fields) {
        if (key == "name") person.name = text(inner);
        if (key == "url") person.uri = url(inner);
        if (key == "email") person.email = text(inner);
        if (key == "avatar") person.avatar = url(inner);
      }
      if (person.uri.starts_with("mailto:") && person.email.empty()) person.email = person.uri.substr(7);
    } else {
      person = parse_person(text(value));
    }
    // Capped here because items inherit these values (SECURITY L5).
    for (std::string* name : {&person.name, &person.email}) name->resize(utf8_prefix(*name, limits::author).size());
    for (std::string* address : {&person.uri, &person.avatar}) {
      if (address->size() > limits::url) address->clear();
    }
    if (person == Person{}) return;
    std::vector<Person>& authors = common.authors.edit();
    const auto known = std::ranges::find_if(
        authors, [&](const Person& one) { return adds_nothing(person, one) || adds_nothing(one, person); });
    allowance_.step(authors.size());
    const auto at = authors.begin() + static_cast<std::ptrdiff_t>(place);
    if (known != authors.end()) {
      if (!adds_nothing(person, *known)) *known = std::move(person);
      if (known < at) return;
      std::rotate(at, known, known + 1);
    } else {
      if (authors.size() >= limits::people) authors.pop_back();
      allowance_.take_one_more<Person>();
      authors.insert(authors.begin() + static_cast<std::ptrdiff_t>(std::min(place, authors.size())), std::move(person));
    }
    ++place;
  }

  // The value as JSON text.
  std::string json(const element& value) {
    std::string out = simdjson::minify(value);
    out.shrink_to_fit();
    allowance_.step(1 + out.size() / 2);
    allowance_.take(out);
    return out;
  }

  // Keeps unknown members (extensions, which begin with "_") as text; of objects, one level of members.
  void extension(Common& common, std::string_view key, const element& value) {
    if (common.extensions.size() >= 256) return;
    Element result;
    result.name = key;
    allowance_.take(result.name);
    result.value = text(value);
    object members;
    if (value.get(members) == simdjson::SUCCESS) {
      for (const auto [name, inner] : members) {
        if (allowance_.spent()) break;
        Element child;
        child.name = name;
        allowance_.take(child.name);
        child.value = text(inner);
        if (child.value.empty()) child.value = json(inner);
        append(result.children, std::move(child));
      }
    } else if (result.value.empty()) {
      result.value = json(value);
    }
    append(common.extensions, std::move(result));
  }

  void items(const element& value) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) return;
    reserve_entries(feed_, list.size(), allowance_);
    const bool hashed = sources_.size() == list.size();
    std::size_t place = 0;
    for (const element item : list) {
      const std::uint64_t source = hashed ? sources_[place] : 0;
      ++place;
      object fields;
      if (item.get(fields) != simdjson::SUCCESS) continue;
      const std::uint64_t hash = source == 0 ? 0 : chained_hash(seed_ + source, {});
      if (pass_over(feed_, known_, hash)) {
        take_dates(fields);
        continue;
      }
      Entry* const made = allowance_.spent() ? nullptr : new_entry(feed_, allowance_);
      if (made == nullptr) break;
      Entry& entry = *made;
      entry.item_hash = hash;
      for (const auto [key, inner] : fields) item_field(entry, key, inner);
      finish(entry);
    }
  }

  // Includes the dates of a skipped item in the feed's dates.
  void take_dates(const object& fields) {
    for (const auto [key, inner] : fields) {
      if (key != "date_published" && key != "date_modified") continue;
      const Date date = read_date(text(inner));
      Date& newest = key == "date_published" ? feed_.published : feed_.updated;
      if (date.time > newest.time) newest = date;
    }
  }

  void item_field(Entry& entry, std::string_view key, const element& value) {
    if (allowance_.spent()) return;
    if (key == "id") {
      entry.id = text(value);
    } else if (key == "url") {
      entry.link = url(value);
      add_link(entry, entry.link, "alternate");
    } else if (key == "external_url") {
      entry.external_url = url(value);
    } else if (key == "title") {
      entry.title = text(value, "text/plain");
    } else if (key == "summary") {
      entry.summary = text(value, "text/plain");
    } else if (key == "content_html") {
      if (entry.content.size() < max_contents) {
        entry.content.insert(entry.content.begin(), Content{text(value), TextType("html"), {}, {}, {}, {}});
        allowance_.take_one_more<Content>();
      }
    } else if (key == "content_text") {
      if (entry.content.size() < max_contents) append(entry.content, {text(value), TextType(), {}, {}, {}, {}});
    } else if (key == "image") {
      set_image(entry, url(value));
    } else if (key == "banner_image") {
      entry.banner_image = url(value);
    } else if (key == "date_published") {
      entry.published = read_date(text(value));
    } else if (key == "date_modified") {
      entry.updated = read_date(text(value));
    } else if (key == "language") {
      entry.language = text(value);
    } else if (key == "authors" || key == "author") {
      authors(entry, key, value);
    } else if (key == "tags") {
      array list;
      if (value.get(list) != simdjson::SUCCESS) return;
      for (const element tag : list) add_category(allowance_, entry.categories, text(tag), {}, {});
    } else if (key == "attachments") {
      attachments(entry, value);
    } else if (key == "_feedmill") {
      republished(entry, value);
    } else {
      extension(entry, key, value);
    }
  }

  // feedmill's members on a re-published post: its original feed, and the stores it has passed through.
  void republished(Entry& entry, const element& value) {
    object fields;
    if (value.get(fields) != simdjson::SUCCESS) return;
    for (const auto [key, inner] : fields) {
      array ids;
      object origin;
      if (key == "via" && inner.get(ids) == simdjson::SUCCESS) {
        for (const element id : ids) {
          if (allowance_.spent()) return;
          add_via(allowance_, entry, text(id));
        }
      } else if (key == "source" && inner.get(origin) == simdjson::SUCCESS && entry.source.empty()) {
        Source source;
        for (const auto [name, member] : origin) {
          if (name == "id") source.id = text(member);
          if (name == "title") source.title = text(member, "text/plain");
          if (name == "home_page_url") source.link = url(member);
          if (name == "feed_url") source.url = url(member);
        }
        append(entry.source, std::move(source));
      }
    }
  }

  void attachments(Entry& entry, const element& value) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) return;
    for (const element one : list) {
      object fields;
      if (one.get(fields) != simdjson::SUCCESS || entry.enclosures.size() >= max_links) continue;
      Enclosure enclosure;
      for (const auto [key, inner] : fields) {
        if (key == "url") enclosure.url = url(inner);
        if (key == "mime_type") enclosure.type = text(inner);
        if (key == "title") enclosure.title = text(inner);
        if (key == "size_in_bytes") {
          const std::optional<double> size = number(inner);
          if (size && *size >= 0 && *size < 9e15) enclosure.length = static_cast<std::uint64_t>(*size);
          if (!size) enclosure.length = parse_length(scalar(inner));
        }
        if (key == "duration_in_seconds") {
          const std::optional<double> seconds = number(inner);
          if (seconds && *seconds >= 0 && *seconds < 9e15) enclosure.duration = seconds;
        }
      }
      if (!enclosure.url.empty()) append(entry.enclosures, std::move(enclosure));
    }
  }

  void finish(Entry& entry) {
    if (entry.link.empty()) entry.link = entry.external_url;
    if (entry.link.empty() && is_http_url(entry.id)) entry.link = entry.id;
    allowance_.take(entry.link);
    if (!entry.image) set_image(entry, entry.banner_image);
  }

  Feed& feed_;
  UrlBase base_;
  Allowance& allowance_;
  std::vector<std::uint64_t> sources_;
  std::uint64_t seed_;
  std::span<const std::uint64_t> known_;
};

// Memory that simdjson takes per byte of text while parsing: 8 for the tape, 5/3 for strings, 4 for token positions.
constexpr std::size_t parsing_multiple = 14;

// Parses `text`, adding the padding that simdjson reads past its end. Then frees the parser's buffers and the unused
// part of the tape; the first word of the tape holds its length.
simdjson::error_code parse_json(std::string& text, simdjson::dom::document& document, Allowance& allowance) {
  if (text.size() > allowance.memory() / parsing_multiple) return simdjson::CAPACITY;
  {
    std::string padded;  // reserve() on the existing string would double it
    padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    padded += text;
    text.swap(padded);
  }
  simdjson::error_code error{};
  {
    simdjson::dom::parser parser;
    error = parser.allocate(text.size(), max_json_depth);
    if (error == simdjson::SUCCESS) {
      error = parser.parse_into_document(document, text.data(), text.size(), false).error();
    }
  }
  if (error != simdjson::SUCCESS) return error;
  std::size_t words = (document.tape[0] & simdjson::internal::JSON_VALUE_MASK) + 1;
  if (words < text.size() / 2) {  // otherwise there is no room for both, and little to gain
    auto written = std::make_unique<std::uint64_t[]>(words);
    std::copy_n(document.tape.get(), words, written.get());
    document.tape = std::move(written);
  } else {
    words = text.size();
  }
  allowance.take(8 * words + 5 * text.size() / 3);
  return error;
}

// Hashes each element of the member "items" as written, with 0 for an element that is not an object. Empty if there is
// no such member, or more than one. `text` must have simdjson's padding.
std::vector<std::uint64_t> hash_items(std::string& text, Allowance& allowance) {
  const std::size_t indexes = 5 * text.size();
  std::vector<std::uint64_t> hashes;
  if (!allowance.affords(indexes)) return hashes;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object root;
  if (parser.iterate(text.data(), text.size(), text.capacity()).get(document) != simdjson::SUCCESS ||
      document.get_object().get(root) != simdjson::SUCCESS) {
    return hashes;
  }
  bool found = false;
  for (auto field : root) {
    if (field.error() != simdjson::SUCCESS) return {};
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return {};
    simdjson::ondemand::array list;
    if (key != "items") continue;
    if (std::exchange(found, true) || field.value().get_array().get(list) != simdjson::SUCCESS) return {};
    for (auto item : list) {
      simdjson::ondemand::object object;
      std::string_view source;
      const bool is_object = item.get_object().get(object) == simdjson::SUCCESS;
      if (is_object && object.raw_json().get(source) != simdjson::SUCCESS) return {};
      hashes.push_back(is_object ? chained_hash(1, source) : 0);
    }
  }
  return hashes;
}

}  // namespace

bool parse_json_feed(std::string text, std::string_view document_base, Feed& feed, Allowance& allowance,
                     std::uint64_t seed, std::span<const std::uint64_t> known) {
  simdjson::dom::document document;
  object root;
  bool in_item = false, in_name = false;
  std::size_t held = text.capacity();  // charged by the caller
  const auto error = parse_json(text, document, allowance);
  if (error != simdjson::SUCCESS) {
    document = simdjson::dom::document();  // avoids holding both trees at once
    allowance.give_back(held);
    SalvagedJson salvaged = salvage_json(text, max_json_depth - 1, allowance.memory() / (parsing_multiple + 2));
    std::string().swap(text);  // move assignment would keep the old buffer alive
    text = std::move(salvaged.text);
    held = text.capacity();
    allowance.take(held);
    feed.cut_short = salvaged.cut_short;
    in_item = salvaged.in_item;
    in_name = salvaged.in_name;
    if (parse_json(text, document, allowance) != simdjson::SUCCESS) return false;
    feed.bozo = Bozo::malformed_json;
    feed.bozo_detail = simdjson::error_message(error);
  }
  std::vector<std::uint64_t> sources;
  if (seed != 0 && feed.bozo == Bozo::none) sources = hash_items(text, allowance);
  allowance.give_back(held);
  std::string().swap(text);
  if (document.root().get(root) != simdjson::SUCCESS) return false;
  std::string version;
  bool items = false;
  for (const auto [key, value] : root) {
    if (key == "version") version = scalar(value);
    if (key == "items") items = value.type() == element_type::ARRAY;
  }
  if (version.find("jsonfeed.org/version/") == std::string::npos && !items) return false;
  feed.format = version.ends_with("/1.1") ? Format::json11 : Format::json1;
  JsonFeedReader(feed, document_base, allowance, std::move(sources), seed, known).read(root);
  if (in_item && !feed.entries.empty()) {
    feed.entries.back().cut_short = true;
    feed.entries.back().half_named = in_name;
  }
  return true;
}

}  // namespace feedmill
