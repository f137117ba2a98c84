#include "storage/records/given_entry.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/entry_values.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/json_members.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Thrown for an invalid field; caught in given_record().
struct Unfit {
  std::string why;
};

/// Valid UTF-8 without control characters (SECURITY X3), trimmed.
std::string clean(std::string_view text) {
  return std::string(trim(decode_document(text, "text/plain; charset=utf-8").text));
}

std::string one_line(std::string_view text) {
  std::string line = clean(text);
  fold_lines(line);
  return line;
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// Removes a member from a JSON object and returns its text, so that unknown members remain.
std::string take_text(json::object& object, std::string_view field, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->value().is_string()) {
    throw Unfit{std::string(field) + ": " + std::string(name) + " must be a string"};
  }
  std::string text = one_line(found->value().as_string());
  object.erase(found);
  return text;
}

template <class Number>
std::optional<Number> take_number(json::object& object, std::string_view field, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  boost::system::error_code error;
  const Number number = found->value().is_number() ? found->value().to_number<Number>(error) : Number{};
  if (error || !found->value().is_number() || number < 0) {
    throw Unfit{std::string(field) + ": " + std::string(name) + " must be a number, not below 0"};
  }
  object.erase(found);
  return number;
}

/// Parses a JSON array of objects with `read`, which takes the members it knows.
template <class Value, class Read>
std::vector<Value> read_list(std::string_view field, std::string_view text, std::string_view shape, Read read) {
  const auto refuse = [&] { throw Unfit{std::string(field) + ": write JSON as " + std::string(shape)}; };
  boost::system::error_code error;
  json::value value = json::parse(clean(text), error);
  if (error || !value.is_array()) refuse();
  std::vector<Value> values;
  for (json::value& element : value.as_array()) {
    if (!element.is_object()) refuse();
    values.push_back(read(element.as_object()));
    if (!element.as_object().empty()) {
      throw Unfit{std::string(field) + ": unknown member " + in_quotes(clean(element.as_object().begin()->key())) +
                  "; write JSON as " + std::string(shape)};
    }
  }
  return values;
}

std::string web_address(std::string_view field, std::string_view text) {
  std::string url = without_credentials(one_line(text));
  if (!is_http_url(url)) throw Unfit{std::string(field) + ": write an absolute http or https URL"};
  return url;
}

std::vector<Person> read_authors(std::string_view text) {
  constexpr std::string_view shape = R"([{"name":"…","email":"…","uri":"…","avatar":"…"}])";
  return read_list<Person>("authors", text, shape, [&](json::object& object) {
    Person person;
    person.name = take_text(object, "authors", "name");
    person.email = take_text(object, "authors", "email");
    person.uri = take_text(object, "authors", "uri");
    if (!person.uri.empty()) person.uri = web_address("authors: uri", person.uri);
    person.avatar = take_text(object, "authors", "avatar");
    if (!person.avatar.empty()) person.avatar = web_address("authors: avatar", person.avatar);
    if (person == Person()) throw Unfit{"authors: one has no name; write JSON as " + std::string(shape)};
    return person;
  });
}

std::vector<Category> read_categories(std::string_view text) {
  constexpr std::string_view shape = R"([{"term":"…","scheme":"…","label":"…"}])";
  return read_list<Category>("categories", text, shape, [&](json::object& object) {
    Category category;
    category.term = take_text(object, "categories", "term");
    category.scheme = take_text(object, "categories", "scheme");
    category.label = take_text(object, "categories", "label");
    if (category.term.empty()) throw Unfit{"categories: one has no term; write JSON as " + std::string(shape)};
    return category;
  });
}

std::vector<Enclosure> read_enclosures(std::string_view text) {
  constexpr std::string_view shape = R"([{"url":"https://…","type":"audio/mpeg","length":1,"duration":1,"title":"…"}])";
  return read_list<Enclosure>("enclosures", text, shape, [](json::object& object) {
    Enclosure enclosure;
    enclosure.url = web_address("enclosures: url", take_text(object, "enclosures", "url"));
    enclosure.type = take_text(object, "enclosures", "type");
    enclosure.title = take_text(object, "enclosures", "title");
    enclosure.length = take_number<std::uint64_t>(object, "enclosures", "length");
    enclosure.duration = take_number<double>(object, "enclosures", "duration");
    return enclosure;
  });
}

/// Builds the fields of a given post.
class GivenPost {
 public:
  GivenPost(const GivenEntry& entry, const Fields& stored, bool replace, const GivenMarkup& markup)
      : entry_(entry), stored_(stored), replace_(replace), markup_(markup) {}

  EntryRecord read() {
    check_names();
    Feed feed;
    feed.format = Format::json11;  // types are explicit, nothing is guessed
    feed.entries.emplace_back();
    Entry& post = feed.entries.front();
    post.id = one_line(entry_.guid);
    if (post.id.empty()) throw Unfit{"guid: what identifies the post inside its feed is missing"};
    if (const std::string link = value("link"); !link.empty()) post.link = web_address("link", link);
    if (given("title", "title_type")) post.title = text("title", "text/plain");
    if (given("summary", "summary_type")) post.summary = text("summary", "text/html");
    if (given("content", "content_type")) {
      const Text content = text("content", "text/html");
      if (content.present) post.content.push_back({content.value, content.type, "", "", "", {}});
    }
    post.language = one_line(value("language"));
    if (const std::string comments = value("comments"); !comments.empty()) {
      post.comments = web_address("comments", comments);
    }
    post.published = date("date_published");
    post.updated = date("date_updated");
    read_lists(post);

    NormaliseOptions options;
    options.html = markup_.policy;
    options.keep_class = markup_.keep_class;
    options.document_base = entry_.feed_url;
    normalise(feed, options);
    return finish(std::move(post));
  }

 private:
  void check_names() const {
    for (auto field = entry_.fields.begin(); field != entry_.fields.end(); ++field) {
      const std::string& name = field->first;
      if (std::find(given_field_names.begin(), given_field_names.end(), name) == given_field_names.end()) {
        std::string known;
        for (const std::string_view one : given_field_names) known.append(known.empty() ? "" : " ").append(one);
        throw Unfit{one_line(name) + ": cannot be given; there are " + known};
      }
      const auto again = [&](const auto& other) { return other.first == name; };
      if (std::any_of(std::next(field), entry_.fields.end(), again)) throw Unfit{name + ": given twice"};
    }
    if (is_given("author") && is_given("authors")) throw Unfit{"author: follows from authors; give one of the two"};
  }

  bool is_given(std::string_view name) const { return find_field(entry_.fields, name) != nullptr; }
  bool given(std::string_view name, std::string_view other) const { return is_given(name) || is_given(other); }

  /// As given, or else as stored; "" = absent.
  std::string value(std::string_view name) const {
    const std::string* found = find_field(entry_.fields, name);
    if (found == nullptr && !replace_) found = find_field(stored_, name);
    return found == nullptr ? std::string() : *found;
  }

  /// A text with its type; `type` is the default.
  Text text(const std::string& name, const std::string& type) const {
    Text text;
    text.value = clean(value(name));
    text.present = !text.value.empty();
    const std::string given_type = one_line(value(name + "_type"));
    constexpr std::array<std::string_view, 3> types{"text/plain", "text/html", "application/xhtml+xml"};
    if (!given_type.empty() && std::find(types.begin(), types.end(), given_type) == types.end()) {
      throw Unfit{name + "_type: write text/plain, text/html or application/xhtml+xml"};
    }
    text.type = TextType(given_type.empty() ? type : given_type);
    return text;
  }

  Date date(const std::string& name) const {
    Date date;
    date.raw = one_line(value(name));
    if (date.raw.empty()) return date;
    date.time = parse_date(date.raw);
    if (!date.time) throw Unfit{name + ": not a date; write it as 2026-03-01T12:00:00Z"};
    return date;
  }

  void read_lists(Entry& post) const {
    if (is_given("author") && !one_line(value("author")).empty()) {
      post.authors.edit().push_back({one_line(value("author")), "", "", ""});
    }
    const auto read_if_given = [&](std::string_view name, auto& into, auto read_text) {
      if (!is_given(name)) return;
      const std::string text = clean(value(name));
      if (!text.empty()) into = read_text(text);
    };
    read_if_given("authors", post.authors, read_authors);
    read_if_given("categories", post.categories, read_categories);
    read_if_given("enclosures", post.enclosures, read_enclosures);
  }

  bool comes_from_given(std::string_view name) const {
    if (is_given(name)) return true;
    if (name == "author" || name == "authors") return given("author", "authors");
    constexpr std::string_view type = "_type";
    if (name.ends_with(type)) return is_given(name.substr(0, name.size() - type.size()));
    return is_given(std::string(name) + "_type");
  }

  EntryRecord finish(Entry&& post) const {
    EntryRecord record = entry_record(std::move(post));
    Fields fields;
    const auto take = [&](const Fields& from, std::string_view name) {
      const std::string* const found = find_field(from, name);
      if (found != nullptr) fields.emplace_back(name, *found);
    };
    for (const std::string_view name : given_field_names) {
      if (comes_from_given(name))
        take(record.fields, name);
      else if (!replace_)
        take(stored_, name);
    }
    if (!replace_) {
      for (const std::string_view name : document_field_names) take(stored_, name);
    }
    derive(fields, record);
    drop_implied(fields);
    std::sort(fields.begin(), fields.end());
    std::size_t bytes = 0;
    for (const auto& [name, value] : fields) bytes += name.size() + value.size();
    if (bytes > limits::entry) throw Unfit{"the post is larger than 2 MiB"};
    record.fields = std::move(fields);
    record.digest = entry_digest(record.fields);
    record.timestamp.reset();
    for (const char* name : {"date_published", "date_updated"}) {
      const std::string* const text = find_field(record.fields, name);
      const auto time = text == nullptr ? std::nullopt : parse_moment(*text);
      if (time && unix_seconds(*time) > 0) record.timestamp = unix_seconds(*time);
    }
    return record;
  }

  /// Sets the derived fields: summary_text, canonical_url, truncated, san_ver.
  void derive(Fields& fields, const EntryRecord& record) const {
    const auto of = [](const Fields& from, std::string_view name) {
      const std::string* const found = find_field(from, name);
      return found == nullptr ? std::string() : *found;
    };
    const auto text_type = [&](const char* name) { return TextType(of(fields, name)); };
    Entry shown;
    shown.link = of(fields, "link");
    shown.summary = {of(fields, "summary"), text_type("summary_type"), "", "", true};
    shown.content.push_back({of(fields, "content"), text_type("content_type"), "", "", "", {}});
    const bool keeps_lack = !replace_ && lacks_texts(stored_) && find_field(fields, "content") == nullptr &&
                            find_field(fields, "summary") == nullptr;
    std::string truncated = of(record.fields, "truncated");
    const std::string before = replace_ ? std::string() : of(stored_, "truncated");
    for (std::string_view rest = before; !rest.empty();) {
      const std::string_view name = take_word(rest);
      if (!name.empty() && !comes_from_given(name) && (name != texts_word || keeps_lack))
        truncated.append(truncated.empty() ? "" : " ").append(name);
    }
    const bool all_markup_given = replace_ || (given("title", "title_type") && given("summary", "summary_type") &&
                                               given("content", "content_type"));
    const bool untouched = markup_.policy == HtmlPolicy::raw || (!all_markup_given && of(stored_, "san_ver") == "0");
    for (auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
             {"summary_text", keeps_lack ? of(stored_, "summary_text") : summary_text(shown)},
             {"canonical_url", canonical_address(shown)},
             {"truncated", truncated},
             {"san_ver", untouched ? "0" : std::to_string(sanitiser_version)}}) {
      if (!value.empty()) fields.emplace_back(name, value);
    }
  }

  const GivenEntry& entry_;
  const Fields& stored_;
  const bool replace_;
  const GivenMarkup& markup_;
};

}  // namespace

std::span<const std::string_view> given_fields() {
  return given_field_names;
}

boost::system::result<EntryRecord, std::string> given_record(const GivenEntry& entry, const Fields& stored,
                                                             bool replace, const GivenMarkup& markup) {
  try {
    return GivenPost(entry, stored, replace, markup).read();
  } catch (const Unfit& unfit) {
    return {boost::system::in_place_error, unfit.why};
  }
}

namespace {

namespace json = boost::json;

/// Whether `entry --json` prints a member that may not be given: from the document, derived, or counted by the store.
bool is_not_given(std::string_view name) {
  const EntryField* const field = find_entry_field(name);
  if (field != nullptr) return field->from != EntryField::From::given;
  return name == "cursor" || name == "id" || name == "schema";
}

/// The value of a member in its stored form; empty if it has the wrong type.
std::optional<std::string> field_text(const json::value& value) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_array()) return json::serialize(value);
  return std::nullopt;
}

}  // namespace

boost::system::result<GivenEntry, std::string> read_given_entry(const json::value& value, const std::string& feed_url,
                                                                const std::string& guid) {
  using Result = boost::system::result<GivenEntry, std::string>;
  const auto wrong = [](std::string what) { return Result(boost::system::in_place_error, std::move(what)); };
  if (!value.is_object()) return wrong("not a JSON object");
  const json::object& object = value.as_object();
  GivenEntry entry;
  entry.feed_url = feed_url.empty() ? string_member(object, "feed_url") : feed_url;
  entry.guid = guid.empty() ? string_member(object, "guid") : guid;
  if (entry.feed_url.empty() || entry.guid.empty()) return wrong("feed_url or guid is missing");
  const bool has_authors = object.if_contains("authors") != nullptr;
  for (const auto& [key, member] : object) {
    const std::string name(key);
    if (is_not_given(name)) continue;
    if (name == "author" && has_authors) continue;  // derived from `authors`
    const auto text = field_text(member);
    if (!text) return wrong(name + " must be a string");
    entry.fields.emplace_back(name, *text);
  }
  return entry;
}

}  // namespace feedmill
