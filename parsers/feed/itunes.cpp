// Apple's podcast namespace.
#include "parsers/feed/fields.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::string_view itunes_scheme = "http://www.itunes.com/";

Itunes& itunes_of(const Reading& in) {
  return place_of(in, in.target.common.itunes);
}

template <std::string Itunes::*field>
bool read_string(const Reading& in) {
  std::string& value = itunes_of(in).*field;
  std::string text = in.text();
  if (!value.empty()) return text.empty() || text == value;
  value = std::move(text);
  return true;
}

template <std::optional<std::int64_t> Itunes::*field>
bool read_number(const Reading& in) {
  auto& value = itunes_of(in).*field;
  const auto number = parse_integer(in.text());
  if (!value) value = number;
  return number && value == number;
}

// Whether the value is `word` as Apple accepts it, first letter in either case; Apple ignores any other value. Other
// spellings also go to the extensions, from which normalise.cpp derives the stored value.
bool says(const Reading& in, std::string_view word) {
  const std::string_view value = in.node.child_value();
  return value.size() == word.size() && to_lower(value[0]) == word[0] && value.substr(1) == word.substr(1);
}

template <std::optional<bool> Itunes::*field>
bool read_yes(const Reading& in) {
  std::optional<bool>& held = itunes_of(in).*field;
  const bool yes = says(in, "yes"), no = says(in, "no") || says(in, "false");
  if (!held) held = yes;
  return (yes || no) && held == yes;
}

bool read_itunes_title(const Reading& in) {
  read_title(kept(in));
  return read_string<&Itunes::title>(in);
}

// Values other than these two go to the extensions.
bool read_itunes_type(const Reading& in) {
  const std::string type = lower(in.text());
  if (type != "episodic" && type != "serial") return false;
  std::string& held = itunes_of(in).type;
  if (held.empty()) held = type;
  return held == type;
}

bool read_itunes_author(const Reading& in) {
  add_author(in, parse_person(in.text()), AuthorIs::stand_in);
  return read_string<&Itunes::author>(in);
}

bool read_itunes_summary(const Reading& in) {
  if (in.target.entry != nullptr) {
    read_summary(kept(in));
  } else {
    read_subtitle(kept(in));
  }
  return read_string<&Itunes::summary>(in);
}

bool read_itunes_subtitle(const Reading& in) {
  if (in.target.entry == nullptr) read_subtitle(kept(in));
  return read_string<&Itunes::subtitle>(in);
}

bool read_explicit(const Reading& in) {
  const bool yes = says(in, "yes") || says(in, "true") || says(in, "explicit");
  const bool no = says(in, "no") || says(in, "false") || says(in, "clean");
  Itunes::Explicit& held = itunes_of(in).explicit_;
  const auto said = yes ? Itunes::Explicit::yes : no ? Itunes::Explicit::no : Itunes::Explicit::other;
  if (held == Itunes::Explicit::absent) held = said;
  return (yes || no) && held == said;
}

bool read_itunes_duration(const Reading& in) {
  Itunes& itunes = itunes_of(in);
  if (!itunes.duration_raw.empty()) return in.text() == itunes.duration_raw;
  itunes.duration_raw = in.text();
  itunes.duration = parse_duration(itunes.duration_raw);
  return true;
}

bool read_itunes_image(const Reading& in) {
  std::string url = in.url("href");
  if (url.empty()) url = in.url("url");
  if (url.empty()) url = in.url();
  if (url.empty()) {
    for (const pugi::xml_node child : ChildElements(in.node)) {
      if (url.empty()) url = in.xml.url(in.xml.text(child));
    }
  }
  if (url.empty()) return true;
  Itunes& itunes = itunes_of(in);
  if (itunes.image.empty()) {
    itunes.image = url;
    in.xml.allowance().take(url);
  }
  const bool is_own = itunes.image == url;
  set_image(kept(in), std::move(url));
  return is_own;
}

bool read_keywords(const Reading& in) {
  Itunes& itunes = itunes_of(in);
  for (const std::string& text : {in.text(), in.attribute("text")}) {
    const char separator = text.find(',') != std::string::npos ? ',' : ' ';
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view word = trim(take_until(rest, separator));
      if (word.empty()) continue;
      if (itunes.keywords.size() >= 256) return false;
      append(in, itunes.keywords, std::string(word));
      in.xml.allowance().take(itunes.keywords.back());
      add_category(in.xml.allowance(), in.target.common.categories, std::string(word), std::string(itunes_scheme), {});
    }
  }
  return true;
}

std::string category_text(XmlDocument& xml, pugi::xml_node node) {
  std::string text = xml.attribute(node, "text");
  return text.empty() ? xml.text(node) : text;
}

constexpr std::size_t category_levels = 4;  // Apple allows two
constexpr std::size_t max_categories = 64;  // per level

// False if the categories exceed category_levels or max_categories.
bool read_levels(const Reading& in, pugi::xml_node node, std::vector<ItunesCategory>& to, std::size_t levels) {
  ItunesCategory category;
  category.text = category_text(in.xml, node);
  add_category(in.xml.allowance(), in.target.common.categories, category.text, std::string(itunes_scheme), {});
  bool whole = to.size() < max_categories;
  for (const pugi::xml_node child : ChildElements(node)) {
    if (levels == 1 || !whole) return false;
    whole = read_levels(in, child, category.categories, levels - 1);
  }
  if (to.size() < max_categories && (!category.text.empty() || !category.categories.empty())) {
    append(in, to, std::move(category));
  }
  return whole;
}

bool read_itunes_category(const Reading& in) {
  return read_levels(in, in.node, itunes_of(in).categories, category_levels);
}

bool read_owner(const Reading& in) {
  Person person = read_person(in);
  if (person == Person{}) return true;
  std::optional<Person>& owner = itunes_of(in).owner;
  if (!owner) owner = person;
  const bool is_own = owner == person;
  if (take(kept(in), Slot::publisher)) place_of(in, in.target.common.publisher) = std::move(person);
  return is_own;
}

constexpr ElementRow itunes_elements[] = {
    {Ns::itunes, "author", read_itunes_author, 4},
    {Ns::itunes, "title", read_itunes_title, 3},
    {Ns::itunes, "subtitle", read_itunes_subtitle, 5},
    {Ns::itunes, "summary", read_itunes_summary, 4},
    {Ns::itunes, "block", read_yes<&Itunes::block>},
    {Ns::itunes, "complete", read_yes<&Itunes::complete>},
    {Ns::itunes, "explicit", read_explicit},
    {Ns::itunes, "duration", read_itunes_duration},
    {Ns::itunes, "image", read_itunes_image, 5},
    {Ns::itunes, "link", read_itunes_image, 6},
    {Ns::itunes, "keywords", read_keywords},
    {Ns::itunes, "category", read_itunes_category},
    {Ns::itunes, "owner", read_owner, 2},
    {Ns::itunes, "episode", read_number<&Itunes::episode>},
    {Ns::itunes, "season", read_number<&Itunes::season>},
    {Ns::itunes, "order", read_number<&Itunes::order>},
    {Ns::itunes, "episodetype", read_string<&Itunes::episode_type>},
    {Ns::itunes, "type", read_itunes_type},
    {Ns::itunes, "new-feed-url", read_string<&Itunes::new_feed_url>},
};

}  // namespace

constinit const std::span<const ElementRow> itunes_rows = itunes_elements;

void take_itunes_flags(Itunes& itunes, std::vector<Element>& extensions) {
  std::erase_if(extensions, [&](const Element& element) {
    if (element.prefix != "itunes") return false;
    const auto is = [&](std::string_view word) { return iequals(element.value, word); };
    const bool yes = is("yes") || is("true"), no = is("no") || is("false");
    if (element.name == "explicit" && itunes.explicit_ == Itunes::Explicit::other) {
      if (yes || is("explicit")) itunes.explicit_ = Itunes::Explicit::yes;
      if (no || is("clean")) itunes.explicit_ = Itunes::Explicit::no;
      return itunes.explicit_ != Itunes::Explicit::other;
    }
    if ((element.name != "block" && element.name != "complete") || yes == no) return false;
    std::optional<bool>& held = element.name == "block" ? itunes.block : itunes.complete;
    if (yes) held = true;
    return held == yes;
  });
}

}  // namespace feedmill
