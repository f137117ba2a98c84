// Compares parser, store and docs/DATA.md, using documents with everything that the parser reads (tests/data/stored).
// Each value in the output of `feedmill parse` must be stored, or match a pattern below that DATA.md explains; and the
// fields in DATA.md must be those that are stored.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/feed/reading.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"

namespace feedmill::stored_coverage_test {
namespace {

namespace json = boost::json;
using Names = std::set<std::string, std::less<>>;

// Fields that are parsed but not stored: patterns of paths in the JSON of `feedmill parse`. DATA.md gives the reasons.
constexpr auto lost_of_posts =
    std::to_array<std::string_view>({"*_detail.*", "*_epoch", "*_raw", "content.*", "generator.*", "guid_is_permalink",
                                     "icon", "image.*", "info", "logo", "source.*", "validity.*"});
constexpr auto lost_of_feeds =
    std::to_array<std::string_view>({"*_detail.*", "*_epoch", "*_raw", "cloud.*", "created", "docs", "error_reports_to",
                                     "expired", "generator.*", "image.*", "info", "logo", "new_location", "rating",
                                     "skip_days", "skip_hours", "text_input.*", "ttl", "validity.*"});

std::string slurp(const std::string& path) {
  std::ifstream in(FEEDMILL_SOURCE "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string scalar_text(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

/// Collects all scalars in a JSON value with their paths, which omit positions in lists.
void collect(const json::value& value, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& leaves) {
  if (const json::object* const object = value.if_object()) {
    for (const auto& [key, inner] : *object)
      collect(inner, path.empty() ? std::string(key) : path + "." + std::string(key), leaves);
  } else if (const json::array* const list = value.if_array()) {
    for (const json::value& inner : *list) collect(inner, path, leaves);
  } else {
    leaves.emplace_back(path, scalar_text(value));
  }
}

/// The values of the fields; of fields that contain JSON, the scalars inside.
Names values_of(const Fields& fields) {
  Names values;
  for (const auto& [name, value] : fields) {
    const EntryField* const field = find_entry_field(name);
    if (field == nullptr || field->holds != EntryField::Holds::json) {
      values.insert(value);
      continue;
    }
    std::vector<std::pair<std::string, std::string>> leaves;
    collect(json::parse(value), "", leaves);
    for (auto& leaf : leaves) values.insert(std::move(leaf.second));
  }
  return values;
}

/// Leaves only the URL of links with a rel that has a field of its own: the URL must be stored, the rel need not be.
void leave_addresses_alone(json::object& read) {
  json::value* const links = read.if_contains("links");
  if (links == nullptr) return;
  for (json::value& link : links->as_array()) {
    const std::string rel = scalar_text(link.at("rel"));
    const bool has_field = rel == "alternate" || rel == "enclosure" || rel == "license" || rel == "replies";
    if (has_field) link = json::object{{"href", link.at("href")}};
  }
}

/// Checks that all values are stored or match a pattern in `lost`; returns the patterns used.
Names expect_stored(json::object read, const Names& stored, std::span<const std::string_view> lost,
                    const std::string& of) {
  leave_addresses_alone(read);
  std::vector<std::pair<std::string, std::string>> leaves;
  collect(read, "", leaves);
  Names used;
  for (const auto& [path, value] : leaves) {
    if (stored.contains(value)) continue;
    const json::value* const epoch = read.if_contains(path + "_epoch");
    if (epoch != nullptr && stored.contains(scalar_text(*epoch))) continue;  // dates of feeds are stored as numbers
    const auto row = std::ranges::find_if(
        lost, [&, &key = path](std::string_view pattern) { return fnmatch(pattern.data(), key.c_str(), 0) == 0; });
    if (row == lost.end())
      ADD_FAILURE() << of << ": " << path << " = " << value << " is read and not stored";
    else
      used.emplace(*row);
  }
  return used;
}

struct Document {
  json::object feed, post;  ///< as parsed
  Fields feed_fields, post_fields;
};

Document read(const std::string& name) {
  DocumentHints hints;
  hints.url = "https://site.example/feed";
  auto feed = read_feed(slurp("tests/data/stored/" + name), hints);
  if (!feed) throw std::runtime_error(feed.error().detail);
  json::object all = json::parse(document_json(*feed)).as_object();
  Document document{all.at("feed").as_object(), all.at("entries").as_array().at(0).as_object(), feed_fields(*feed), {}};
  auto records = entry_records(*feed, IdentifiedBy::guid, IdentifiedBy::guid);
  document.post_fields = std::move(records.at(0).fields);
  document.post_fields.emplace_back("guid", records.at(0).guid);
  return document;
}

constexpr std::array<const char*, 3> documents{"rss.xml", "atom.xml", "json.in"};

/// The names in the first column of the table in a section of DATA.md.
Names documented(const std::string& section) {
  const std::string page = slurp("docs/DATA.md");
  const std::size_t start = page.find("\n## " + section + "\n");
  if (start == std::string::npos) throw std::runtime_error("DATA.md has no section " + section);
  std::string_view rest = std::string_view(page).substr(start + 1, page.find("\n## ", start + 1) - start);
  Names names;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    if (!line.starts_with("| `")) continue;
    std::string_view cell = line.substr(2, line.find(" |", 2) - 2);
    while (!cell.empty()) {
      take_until(cell, '`');
      if (const std::string_view name = take_until(cell, '`'); !name.empty()) names.emplace(name);
    }
  }
  return names;
}

TEST(StoredCoverage, EachValueThatIsReadIsStoredOrListedAsDropped) {
  Names used_of_posts, used_of_feeds;
  for (const char* const name : documents) {
    const Document document = read(name);
    used_of_posts.merge(expect_stored(document.post, values_of(document.post_fields), lost_of_posts, name));
    used_of_feeds.merge(expect_stored(document.feed, values_of(document.feed_fields), lost_of_feeds, name));
  }
  EXPECT_EQ(used_of_posts, Names(lost_of_posts.begin(), lost_of_posts.end())) << "a row that nothing needs";
  EXPECT_EQ(used_of_feeds, Names(lost_of_feeds.begin(), lost_of_feeds.end())) << "a row that nothing needs";
}

TEST(StoredCoverage, TheFieldsOfPostsAreThoseOfTheirPage) {
  Names all, of_documents, stored;
  for (const EntryField& field : entry_fields) {
    all.emplace(field.name);
    if (field.from == EntryField::From::document) of_documents.emplace(field.name);
  }
  EXPECT_EQ(documented("Fields of a post"), all);
  for (const char* const name : documents) {
    for (const auto& [field, value] : read(name).post_fields) stored.insert(field);
  }
  EXPECT_TRUE(std::ranges::includes(all, stored)) << testing::PrintToString(stored);
  EXPECT_TRUE(std::ranges::includes(stored, of_documents)) << testing::PrintToString(stored);
}

TEST(StoredCoverage, TheFieldsOfFeedsAreThoseOfTheirPage) {
  Names stored{"description_type", "title_type"};  // present only if the texts are markup
  for (const char* const name : documents) {
    for (const auto& [field, value] : read(name).feed_fields) stored.insert(field);
  }
  EXPECT_EQ(documented("Fields of a feed"), stored);
}

TEST(StoredCoverage, DroppedFieldsAreExplained) {
  Names dropped(lost_of_posts.begin(), lost_of_posts.end());
  dropped.insert(lost_of_feeds.begin(), lost_of_feeds.end());
  EXPECT_EQ(documented("Read and not stored"), dropped);
}

// --- the documents contain everything that is read ---

/// The elements that have a row, as namespace number and name.
Names elements_of(std::initializer_list<std::span<const ElementRow>> vocabularies) {
  Names names;
  for (const auto& rows : vocabularies) {
    for (const ElementRow& row : rows)
      names.insert(std::to_string(static_cast<int>(row.ns)) + " " + std::string(row.name));
  }
  return names;
}

/// The elements in a piece of XML that uses usual prefixes, as namespace number and name.
Names elements_in(std::string_view xml) {
  Names names;
  for (std::size_t at = xml.find('<'); at != std::string_view::npos; at = xml.find('<', at + 1)) {
    std::string_view name = xml.substr(at + 1, xml.find_first_of(" />", at) - at - 1);
    const std::size_t colon = name.find(':');
    const std::string_view prefix = name.substr(0, colon == std::string_view::npos ? 0 : colon);
    const NamespaceRow* const known = find_usual_prefix(prefix);
    const Ns ns = prefix.empty() ? Ns::core : known == nullptr ? Ns::unknown : known->ns;
    if (!prefix.empty()) name.remove_prefix(colon + 1);
    names.insert(std::to_string(static_cast<int>(ns)) + " " + lower(name));
  }
  return names;
}

void expect_all(const Names& wanted, std::string_view xml, const char* where) {
  const Names there = elements_in(xml);
  for (const std::string& name : wanted) EXPECT_TRUE(there.contains(name)) << where << " lacks " << name;
}

TEST(StoredCoverage, TheDocumentsHaveEachElementThatIsRead) {
  const std::string rss = slurp("tests/data/stored/rss.xml"), atom = slurp("tests/data/stored/atom.xml");
  const auto part = [](std::string_view whole, std::string_view from, std::string_view to) {
    const std::size_t start = whole.find(from);
    return whole.substr(start, whole.find(to, start) - start);
  };
  const Names modules = elements_of({rss_rows, module_rows, itunes_rows, media_rows, geo_rows});
  Names of_channel = elements_of({rss_feed_rows, module_feed_rows});
  of_channel.insert(modules.begin(), modules.end());
  Names of_item = elements_of({rss_entry_rows, module_entry_rows});
  of_item.insert(modules.begin(), modules.end());
  expect_all(of_channel, part(rss, "<channel>", "<item>"), "the channel");
  expect_all(of_item, part(rss, "<item>", "</item>"), "the item");
  expect_all(elements_of({atom_rows, atom_feed_rows}), part(atom, "<feed", "<entry"), "the feed");
  expect_all(elements_of({atom_rows, atom_entry_rows}), part(atom, "<entry", "</entry"), "the entry");
  expect_all(elements_of({atom_rows, atom_feed_rows}), part(atom, "<source", "</source"), "the source");
}

}  // namespace
}  // namespace feedmill::stored_coverage_test
