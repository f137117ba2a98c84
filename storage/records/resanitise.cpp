#include "storage/records/resanitise.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/entry_values.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/diff.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

using IsSafe = bool (*)(std::string_view);

/// The fields of a record while they are changed.
class Change {
 public:
  explicit Change(const Fields& stored) : stored_(stored), all_(stored) { std::sort(all_.begin(), all_.end()); }

  /// An empty `value` removes the field.
  void set(std::string_view name, std::string value) {
    const auto known = std::find_if(all_.begin(), all_.end(), [&](const auto& field) { return field.first == name; });
    if (known == all_.end() ? value.empty() : known->second == value) return;
    if (known != all_.end()) all_.erase(known);
    if (!value.empty()) {
      std::pair<std::string, std::string> field(name, value);
      all_.insert(std::lower_bound(all_.begin(), all_.end(), field), std::move(field));
    }
    changed_.emplace_back(name, std::move(value));
  }
  const Fields& all() const { return all_; }
  std::string_view before(std::string_view name) const { return value_of(stored_, name); }
  Fields take() {
    std::sort(changed_.begin(), changed_.end());
    return std::move(changed_);
  }
  bool empty() const { return changed_.empty(); }

 private:
  const Fields& stored_;
  Fields all_;  // after the changes, sorted
  Fields changed_;
};

/// The summary_text that follows from a post's fields.
std::string excerpt(const Fields& fields) {
  const auto type = [&](const char* name) { return TextType(value_of(fields, name)); };
  Entry shown;
  shown.summary = {std::string(value_of(fields, "summary")), type("summary_type"), "", "", true};
  shown.content.push_back({std::string(value_of(fields, "content")), type("content_type"), "", "", "", {}});
  return summary_text(shown);
}

/// Whether a stored list or object contains a URL that is refused today; only then must it be parsed.
bool names_refused(std::string_view text) {
  constexpr std::array<std::string_view, 8> members{"\"href\":\"", "\"icon\":\"",         "\"image\":\"", "\"link\":\"",
                                                    "\"logo\":\"", "\"new_feed_url\":\"", "\"uri\":\"",   "\"url\":\""};
  return std::any_of(members.begin(), members.end(), [&](std::string_view member) {
    for (std::size_t at = text.find(member); at != std::string_view::npos; at = text.find(member, at)) {
      at += member.size();
      const std::string_view address = text.substr(at, text.substr(at).find('"'));
      if (!is_safe_file_url(address)) return true;
    }
    return false;
  });
}

/// Removes a string member that is not a URL accepted by `is_safe`.
void drop_refused(json::object& object, std::string_view name, IsSafe is_safe) {
  const auto member = object.find(name);
  if (member == object.end() || !member->value().is_string()) return;
  const json::string& text = member->value().as_string();
  if (!is_safe({text.data(), text.size()})) object.erase(member);
}

/// Calls `edit` for each object in the array member `name`.
void each(json::object& object, std::string_view name, const std::function<void(json::object&)>& edit) {
  const auto member = object.find(name);
  if (member == object.end() || !member->value().is_array()) return;
  for (json::value& element : member->value().as_array()) {
    if (element.is_object()) edit(element.as_object());
  }
}

json::object* inside(json::object& object, std::string_view name) {
  const auto member = object.find(name);
  return member == object.end() ? nullptr : member->value().if_object();
}

void close_person(json::object& person) {
  drop_refused(person, "uri", is_safe_url);
}

void close_people(json::value& people) {
  if (people.is_object()) close_person(people.as_object());
  if (!people.is_array()) return;
  for (json::value& person : people.as_array()) {
    if (person.is_object()) close_person(person.as_object());
  }
}

/// Keeps the objects of a list that have a safe URL in member `name`.
void keep_safe(json::value& list, std::string_view name, IsSafe is_safe) {
  if (!list.is_array()) return;
  json::array kept;
  for (json::value& one : list.as_array()) {
    if (one.is_object()) drop_refused(one.as_object(), name, is_safe);
    if (one.is_object() && one.as_object().contains(name)) kept.push_back(std::move(one));
  }
  list = std::move(kept);
}

void close_enclosures(json::value& enclosures) {
  keep_safe(enclosures, "url", is_safe_file_url);
}

void close_links(json::value& links) {
  keep_safe(links, "href", is_safe_url);
}

void close_source(json::value& source) {
  if (!source.is_object()) return;
  for (const char* name : {"link", "url"}) drop_refused(source.as_object(), name, is_safe_url);
  for (const char* name : {"icon", "logo"}) drop_refused(source.as_object(), name, is_safe_file_url);
  for (const char* name : {"authors", "contributors"}) each(source.as_object(), name, close_person);
}

void close_media(json::value& media) {
  if (!media.is_object()) return;
  const auto edit = [](IsSafe is_safe) {
    return [is_safe](json::object& attributes) {
      drop_refused(attributes, "href", is_safe);
      drop_refused(attributes, "url", is_safe);
    };
  };
  for (const char* name : {"content", "thumbnails"}) each(media.as_object(), name, edit(is_safe_file_url));
  for (const char* name : {"credits", "peer_links"}) each(media.as_object(), name, edit(is_safe_url));
  for (const char* name : {"community", "license", "player", "rating", "restriction"}) {
    if (json::object* one = inside(media.as_object(), name)) edit(is_safe_url)(*one);
  }
}

/// Members with URLs; everything else in extensions is text as the publisher wrote it.
void close_extensions(json::value& extensions) {
  if (!extensions.is_object()) return;
  if (json::object* itunes = inside(extensions.as_object(), "itunes")) {
    drop_refused(*itunes, "image", is_safe_file_url);
    drop_refused(*itunes, "new_feed_url", is_safe_url);
    if (json::object* owner = inside(*itunes, "owner")) drop_refused(*owner, "uri", is_safe_url);
  }
  if (json::object* psc = inside(extensions.as_object(), "psc")) {
    each(*psc, "chapters", [](json::object& chapter) {
      drop_refused(chapter, "href", is_safe_url);
      drop_refused(chapter, "image", is_safe_file_url);
    });
  }
}

/// Function that removes unsafe URLs from a JSON field; nullptr if the field has none.
using Close = void (*)(json::value&);
Close close_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Close>, 8> rows{{{"authors", close_people},
                                                                    {"contributors", close_people},
                                                                    {"enclosures", close_enclosures},
                                                                    {"extensions", close_extensions},
                                                                    {"links", close_links},
                                                                    {"media", close_media},
                                                                    {"publisher", close_people},
                                                                    {"source", close_source}}};
  const auto row = std::ranges::find(rows, name, &std::pair<std::string_view, Close>::first);
  return row == rows.end() ? nullptr : row->second;
}

/// Removes URLs with refused schemes, and the enclosures and links that consist of them.
void close_addresses(Change& change) {
  for (const EntryField& field : entry_fields) {
    const std::string_view before = change.before(field.name);
    if (before.empty()) continue;
    if (field.holds == EntryField::Holds::page && !is_safe_url(before)) {
      change.set(field.name, resolve_safe_url("", before));
    }
    if (field.holds == EntryField::Holds::file && !is_safe_file_url(before)) change.set(field.name, "");
    const Close close = close_of(field.name);
    if (close == nullptr || !names_refused(before)) continue;
    json::parse_options options;
    options.max_depth = 128;
    boost::system::error_code error;
    json::value value = json::parse(before, error, {}, options);
    if (error) continue;
    const json::value as_stored = value;
    close(value);
    if (value == as_stored) continue;
    const bool is_empty = value.is_array() ? value.as_array().empty() : value.as_object().empty();
    change.set(field.name, is_empty ? std::string() : json::serialize(value));
  }
}

/// Drops a tag or reference that was cut off at the end of a text.
std::string_view without_half_tag(std::string_view text) {
  for (const auto& [open, close] : {std::pair('<', '>'), std::pair('&', ';')}) {
    const std::size_t at = text.rfind(open);
    if (at != std::string_view::npos && text.find(close, at) == std::string_view::npos) text = text.substr(0, at);
  }
  return text;
}

SanitiseOptions options_of(const GivenMarkup& markup, std::string_view type, std::string_view base, std::size_t max) {
  SanitiseOptions options;
  options.policy = markup.policy;
  options.keep_class = markup.keep_class;
  options.xhtml = type == "application/xhtml+xml";
  options.base = base;
  options.max_bytes = max;
  return options;
}

void resanitise_text(Change& change, const char* name, const char* type_name, std::size_t max,
                     const GivenMarkup& markup) {
  const std::string_view value = change.before(name);
  std::string_view type = TextType(change.before(type_name));
  const std::string_view base = change.before("link");
  if (!is_markup(type) && change.before("san_ver").empty() && value.find_first_of("<&") != std::string_view::npos) {
    const std::string_view whole = without_half_tag(value);
    const std::string again = sanitise(whole, options_of(markup, type, base, 2 * max)).html;
    if (!whole.empty() && again.starts_with(whole)) type = "text/html";  // sanitised before
  }
  if (!is_markup(type)) return change.set(type_name, "");
  std::string clean = sanitise(value, options_of(markup, type, base, max)).html;
  change.set(type_name, clean.empty() ? std::string() : std::string(type));
  change.set(name, std::move(clean));
}

}  // namespace

Fields with_changes(Fields fields, const Fields& changes) {
  std::erase_if(fields, [&](const auto& field) { return find_field(changes, field.first) != nullptr; });
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(fields),
               [](const auto& field) { return !field.second.empty(); });
  std::sort(fields.begin(), fields.end());
  return fields;
}

Fields resanitised(const Fields& stored, const GivenMarkup& markup) {
  if (markup.policy == HtmlPolicy::raw) return {};
  Feed feed;
  feed.format = Format::json11;  // types are explicit, nothing is guessed
  feed.entries.emplace_back();
  Entry& post = feed.entries.front();
  post.id = value_of(stored, "guid");
  const auto text = [&](std::string_view name, std::string_view type_name) {
    const TextType type(value_of(stored, type_name));
    if (!is_markup(type)) return Text{};
    return Text{std::string(value_of(stored, name)), type, "", "", true};
  };
  post.title = text("title", "title_type");
  post.summary = text("summary", "summary_type");
  const Text content = text("content", "content_type");
  if (content.present) post.content.push_back({content.value, content.type, "", "", "", {}});
  NormaliseOptions options;
  options.html = markup.policy;
  options.keep_class = markup.keep_class;
  options.document_base = value_of(stored, "link");  // sanitised markup has only absolute URLs
  normalise(feed, options);

  Change change(stored);
  const bool is_of_earlier_build = is_reader_digest(change.before("digest"));
  const auto digest_of = [&](const Fields& fields) {
    return is_of_earlier_build ? reader_digest(fields) : entry_digest(fields);
  };
  const bool own_digest = change.before("digest") == digest_of(change.all());
  const auto replace = [&](std::string_view name, std::string value, std::string_view type_name,
                           std::string_view type) {
    change.set(type_name, value.empty() ? std::string() : std::string(type));
    change.set(name, std::move(value));
  };
  if (post.title.present)
    replace("title", std::move(post.title.value), "title_type", post.title.type);
  else
    change.set("title_type", "");
  if (post.summary.present)
    replace("summary", std::move(post.summary.value), "summary_type", post.summary.type);
  else
    change.set("summary_type", "");
  if (content.present) {
    replace("content", post.content.empty() ? std::string() : std::move(post.content.front().value), "content_type",
            content.type);
  } else {
    change.set("content_type", change.before("content").empty() ? "" : "text/plain");
  }
  close_addresses(change);
  if (!change.empty()) {
    if (!lacks_texts(stored)) change.set("summary_text", excerpt(change.all()));
    std::string truncated(change.before("truncated"));
    for (std::string_view lost = post.truncated; !lost.empty();) {
      const std::string name(lost.substr(0, lost.find(' ')));
      lost.remove_prefix(std::min(name.size() + 1, lost.size()));
      const bool known = (" " + truncated + " ").find(" " + name + " ") != std::string::npos;
      if (!known) truncated.append(truncated.empty() ? "" : " ").append(name);
    }
    change.set("truncated", std::move(truncated));
  }
  const std::string_view by = change.before("san_ver");
  if (!change.empty() || by == "0") change.set("san_ver", std::to_string(sanitiser_version));
  if (change.empty()) return {};
  change.set("bytes", std::to_string(entry_bytes(change.all())));
  if (own_digest) change.set("digest", digest_of(change.all()));
  return change.take();
}

Fields resanitised_feed(const Fields& stored, const GivenMarkup& markup) {
  if (markup.policy == HtmlPolicy::raw) return {};
  Change change(stored);
  resanitise_text(change, "title", "title_type", limits::title, markup);
  resanitise_text(change, "description", "description_type", limits::description, markup);
  close_addresses(change);
  if (!is_safe_file_url(change.before("icon"))) change.set("icon", "");
  return change.take();
}

}  // namespace feedmill
