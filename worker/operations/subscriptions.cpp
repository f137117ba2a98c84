#include "worker/operations/subscriptions.hpp"

#include <algorithm>
#include <random>
#include <unordered_map>
#include <utility>

#include <xxhash.h>

#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/operations/operation.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// Whether documents must not declare this namespace (Namespaces in XML 1.0 §3).
bool is_of_xml(std::string_view uri) {
  return uri == "http://www.w3.org/XML/1998/namespace" || uri == "http://www.w3.org/2000/xmlns/";
}

/// The namespace of our attributes in OPML; other programs ignore it (OPERATIONS O6).
constexpr std::string_view own_namespace = "urn:feedmill:opml:1";
constexpr std::string_view own_prefix = "feedmill";

constexpr std::string_view blank_characters =
    " \t\r\n"
    "\f\v";
constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blank_characters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank_characters) - begin + 1);
}

std::optional<std::uint64_t> positive_number(std::string_view text) {
  std::uint64_t value = 0;
  if (!read_number(text, value) || value == 0) return {};
  return value;
}

/// Whether `text` is a URL without a scheme: a name with a dot, or a host with a port.
bool is_bare_host(std::string_view text) {
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::size_t colon = authority.find(':');
  const std::string_view host = authority.substr(0, colon);
  const bool has_port = colon != std::string_view::npos;
  if (has_port && (colon + 1 == authority.size() || !std::ranges::all_of(authority.substr(colon + 1), is_digit)))
    return false;
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || (c & 0x80) != 0;
  };
  const std::string name = lower(host);
  if (name.empty() || !std::all_of(name.begin(), name.end(), may_stand)) return false;
  const std::size_t dot = name.find('.');
  return has_port || (dot != std::string::npos && dot > 0 && name.back() != '.');
}

/// A URL with its scheme repaired (OPERATIONS §9), or the reason why that is not possible.
struct Repair {
  std::string url;
  std::string refused;
};

Repair repaired(std::string_view text) {
  if (text.find_first_of(blank_characters) != std::string_view::npos) return {{}, "white space in the URL"};
  const std::string lowered = lower(text);
  if (lowered.starts_with("http://") || lowered.starts_with("https://")) return {std::string(text), {}};
  if (lowered.starts_with("feed:")) {
    std::string_view rest = text.substr(5);
    const std::string rest_lower = lower(rest);
    if (rest_lower.starts_with("http://") || rest_lower.starts_with("https://")) return {std::string(rest), {}};
    while (rest.starts_with("/")) rest.remove_prefix(1);
    return {"http://" + std::string(rest), {}};
  }
  if (text.starts_with("//")) return {"https:" + std::string(text), {}};
  if (is_bare_host(text)) {
    // A port usually means a private server without TLS.
    const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
    const bool plain = authority.find(':') != std::string_view::npos && !authority.ends_with(":443");
    return {(plain ? "http://" : "https://") + std::string(text), {}};
  }
  const std::size_t colon = lowered.find(':');
  const bool has_scheme =
      colon != std::string::npos && colon > 0 && lowered.front() >= 'a' && lowered.front() <= 'z' &&
      lowered.substr(0, colon).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos;
  if (has_scheme)
    return {{}, "scheme " + lowered.substr(0, std::min<std::size_t>(colon, 32)) + ": only http and https"};
  return {{}, "not an http or https URL"};
}

/// Collects rows with repaired, canonical URLs, each URL once.
class Gatherer {
 public:
  /// `named`: URLs in earlier parts, which are skipped; the URLs of this part are added. May be null; must outlive
  /// this.
  explicit Gatherer(AddressSet* named = nullptr) : named_(named) {}

  /// `places`: folders of the row; none in a list without folders.
  void take(std::size_t line, std::string_view text, std::vector<std::vector<std::string>> places,
            OpmlAttributes attributes) {
    Repair repair = repaired(text);
    if (!repair.refused.empty()) return refuse(line, text, std::move(repair.refused));
    auto canonical = canonical_feed_url(repair.url);
    if (canonical.has_error()) return refuse(line, text, canonical.error());
    const auto known = feeds_.find(*canonical);
    if (known == feeds_.end()) {
      if (named_ != nullptr && !named_->insert(*canonical)) {
        ++list_.merged;
        return;
      }
      const bool changed = repair.url != text;
      Subscription& feed = list_.feeds.emplace_back();
      feed = {std::move(*canonical), line, changed ? std::string(text) : std::string(),
              std::move(places),     {},   std::move(attributes)};
      feeds_.emplace(feed.feed_url, &feed);
      return;
    }
    ++list_.merged;
    std::vector<std::vector<std::string>>& folders = known->second->folders;
    std::vector<std::string>& titles = known->second->titles;
    const std::string title = own_title_of(attributes);
    for (std::vector<std::string>& place : places) {
      if (folders.size() == most_folders) return;
      if (std::find(folders.begin(), folders.end(), place) != folders.end()) continue;
      folders.push_back(std::move(place));
      if (title.empty()) continue;
      titles.resize(folders.size());
      titles.back() = title;
    }
  }

  void refuse(std::size_t line, std::string_view text, std::string reason) {
    list_.refused.push_back({line, std::string(text.substr(0, max_url_bytes)), std::move(reason)});
  }

  void broken(std::size_t line, std::string reason) { list_.broken.push_back({line, {}, std::move(reason)}); }

  void declare(std::string prefix, std::string uri) { list_.namespaces.emplace(std::move(prefix), std::move(uri)); }

  SubscriptionList take_list() { return std::move(list_); }

 private:
  static constexpr std::size_t most_folders = 64;

  AddressSet* named_;
  SubscriptionList list_;
  std::unordered_map<std::string_view, Subscription*> feeds_;  // by feed_url; pointers into the list remain valid
};

void gather_opml(Gatherer& gatherer, std::string_view bytes) {
  Opml opml = read_opml(bytes);
  for (OpmlProblem& problem : opml.problems) {
    if (problem.kind == OpmlProblem::Kind::broken) {
      gatherer.broken(problem.line, std::move(problem.detail));
    } else {
      gatherer.refuse(problem.line, {}, std::move(problem.detail));
    }
  }
  opml.problems = {};
  for (auto& [prefix, uri] : opml.namespaces) gatherer.declare(std::move(prefix), std::move(uri));
  for (; !opml.rows.empty(); opml.rows.pop_front()) {
    OpmlRow& row = opml.rows.front();
    // A feed may be in a folder and at the top as well; the top is the empty path.
    std::vector<std::vector<std::string>> places;
    places.push_back(std::move(row.folders));
    gatherer.take(row.line, row.url, std::move(places), std::move(row.attributes));
  }
}

void gather_lines(Gatherer& gatherer, std::string_view text) {
  constexpr std::size_t row_bytes = sizeof(Subscription) + 112;  // including its index entry
  constexpr std::uint64_t apart = 1U << 20U;                     // reserved for the batches in progress
  std::uint64_t room = limits::reading_cost(text.size()) - text.size() - apart;
  std::size_t rows = 0, number = 0;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (++rows > max_opml_rows) {
      gatherer.broken(number, "more than " + std::to_string(max_opml_rows) + " rows: the rest was not read");
      return;
    }
    const auto others = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; });
    const std::uint64_t cost = row_bytes + 2 * (line.size() + static_cast<std::size_t>(others));
    if (room < cost) {
      gatherer.broken(number, "it has more elements than its length allows: the rest was not read");
      return;
    }
    room -= cost;
    gatherer.take(number, line, {}, {});
  }
}

}  // namespace

FeedSettings settings_of(const Subscription& subscription, const SubscriptionList& list) {
  constexpr std::size_t most_namespaces = 8;
  FeedSettings settings;
  settings.folders = subscription.folders;
  for (const auto& [name, value] : subscription.attributes) {
    const std::size_t colon = name.find(':');
    const std::string_view prefix = std::string_view(name).substr(0, colon == std::string::npos ? 0 : colon);
    const auto declared = list.namespaces.find(prefix);
    const std::string_view uri = declared == list.namespaces.end() ? std::string_view{} : declared->second;
    if (uri == own_namespace) {
      // No other settings: a list must not decide what a feed may access or which markup is kept (SECURITY E8).
      if (name.substr(colon + 1) == "keep") settings.keep = positive_number(value);
      if (name.substr(colon + 1) == "intervalMin") settings.interval_min = positive_number(value);
      if (name.substr(colon + 1) == "intervalMax") settings.interval_max = positive_number(value);
      // Only "no": a list must not make a private feed public (WEBSUB U15).
      if (name.substr(colon + 1) == "republish" && value == "no") settings.republish = value;
      continue;
    }
    if (!is_opml_attribute(name) || is_of_xml(uri)) continue;  // it could not be exported again
    const bool is_new = !uri.empty() && field_of(settings.namespaces, prefix).empty();
    if (is_new && settings.namespaces.size() < most_namespaces) settings.namespaces.emplace_back(prefix, uri);
    settings.opml.emplace_back(name, value);
  }
  return settings;
}

std::vector<std::string> channels_of(std::span<const std::vector<std::string>> folders, std::string_view user) {
  constexpr std::size_t longest = 1024;
  std::vector<std::string> channels;
  for (const std::vector<std::string>& path : folders) {
    std::string uid;
    for (const std::string& name : path) uid.append(uid.empty() ? "" : "/").append(name);
    if (uid.empty()) continue;
    if (!user.empty()) uid.insert(0, std::string(user) + "/");
    for (char& c : uid) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    uid.resize(utf8_prefix(uid, longest).size());
    if (std::find(channels.begin(), channels.end(), uid) == channels.end()) channels.push_back(std::move(uid));
  }
  return channels;
}

std::vector<std::vector<std::string>> folders_of(std::span<const std::string> channels,
                                                 std::span<const std::vector<std::string>> remembered,
                                                 std::string_view user) {
  std::vector<std::vector<std::string>> folders;
  std::vector<std::string> left(channels.begin(), channels.end());
  for (const std::vector<std::string>& path : remembered) {
    const std::vector<std::string> uid = channels_of(std::span(&path, 1), user);
    // The top of a list with folders, which has no channel.
    if (uid.empty()) {
      folders.push_back(path);
    } else if (const auto found = std::find(left.begin(), left.end(), uid.front()); found != left.end()) {
      folders.push_back(path);
      left.erase(found);
    }
  }
  const std::string beginning = user.empty() ? std::string() : std::string(user) + "/";
  for (const std::string& uid : left) {
    if (!uid.starts_with(beginning)) continue;
    std::vector<std::string>& path = folders.emplace_back();
    std::string_view rest = std::string_view(uid).substr(beginning.size());
    while (!rest.empty()) {
      const std::string_view folder = take_until(rest, '/');
      if (!folder.empty()) path.emplace_back(folder);
    }
  }
  return folders;
}

std::optional<bool> begins_opml(std::string_view beginning) {
  if (beginning.starts_with("\xFF\xFE") || beginning.starts_with("\xFE\xFF") || beginning.starts_with('\0'))
    return true;
  if (beginning.starts_with(utf8_mark)) beginning.remove_prefix(utf8_mark.size());
  const std::size_t begin = beginning.find_first_not_of(blank_characters);
  if (begin == std::string_view::npos) return {};
  return beginning[begin] == '<';
}

std::string title_of(const OpmlAttributes& attributes, std::initializer_list<std::string_view> names) {
  for (const std::string_view wanted : names) {
    for (const auto& [name, value] : attributes) {
      std::string title = name == wanted ? fold_space(utf8_prefix(value, longest_title)) : std::string();
      if (!title.empty()) return title;
    }
  }
  return {};
}

SubscriptionList read_subscriptions(std::string_view bytes) {
  Gatherer gatherer;
  if (bytes.size() > max_opml_bytes) {
    gatherer.broken(1, "larger than 64 MiB: nothing was read");
    return gatherer.take_list();
  }
  if (begins_opml(bytes).value_or(false)) {
    gather_opml(gatherer, bytes);
  } else {
    gather_lines(gatherer, bytes.substr(bytes.starts_with(utf8_mark) ? utf8_mark.size() : 0));
  }
  SubscriptionList list = gatherer.take_list();
  std::ranges::stable_sort(list.refused, {}, &RefusedRow::line);
  return list;
}

bool PlainList::next_line(std::string& line) {
  constexpr std::size_t most = std::size_t{8} << 10U;  // longer than any URL
  line.clear();
  for (bool any = false;; any = true) {
    if (rest_.empty()) rest_ = more_();
    if (rest_.empty()) return any;
    const std::size_t end = rest_.find('\n');
    line.append(rest_.substr(0, std::min(end, most - line.size())));
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    if (end != std::string_view::npos) return true;
  }
}

std::optional<SubscriptionList> PlainList::next() {
  constexpr std::size_t most_rows = 4096, most_bytes = std::size_t{1} << 20U;
  Gatherer gatherer(&named_);
  std::string line;
  std::size_t rows = 0, bytes = 0;
  while (rows < most_rows && bytes < most_bytes && next_line(line)) {
    ++number_;
    const std::size_t mark = number_ == 1 && line.starts_with(utf8_mark) ? utf8_mark.size() : 0;
    const std::string_view text = trimmed(std::string_view(line).substr(mark));
    if (text.empty() || text.starts_with('#')) continue;
    ++rows;
    bytes += line.size();
    gatherer.take(number_, text, {}, {});
  }
  if (rows == 0) return {};
  return gatherer.take_list();
}

std::string WrittenNamespaces::prefix(const std::string& written, const std::string& uri) {
  if (uri == own_namespace) return own();
  if (const auto known = prefix_of_.find(uri); known != prefix_of_.end()) return known->second;
  if (all_.size() >= most || is_of_xml(uri)) return {};
  std::string prefix = written;
  for (int i = 2; prefix == own_prefix || !field_of(all_, prefix).empty(); ++i) prefix = written + std::to_string(i);
  prefix_of_[uri] = prefix;
  all_.emplace_back(prefix, uri);
  return prefix;
}

std::string WrittenNamespaces::own() {
  std::string prefix(own_prefix);
  if (field_of(all_, prefix).empty()) all_.emplace_back(prefix, own_namespace);
  return prefix;
}

std::string_view WrittenNamespaces::uri(std::string_view prefix) const {
  return field_of(all_, prefix);
}

namespace {

/// The attributes of a feed's outline.
OpmlAttributes opml_attributes(const ExportedFeed& feed, WrittenNamespaces& namespaces) {
  OpmlAttributes attributes;
  const OpmlAttributes& kept = feed.settings.opml;
  const auto has = [&](std::string_view name) {
    return std::any_of(kept.begin(), kept.end(), [&](const auto& attribute) { return attribute.first == name; });
  };
  if (!has("type")) attributes.emplace_back("type", "rss");
  const bool is_renamed = !feed.custom_title.empty() && feed.custom_title != own_title_of(kept);
  if (is_renamed) {
    attributes.emplace_back("text", feed.custom_title);
    attributes.emplace_back("title", feed.custom_title);
  } else if (!has("text")) {
    const auto title = std::find_if(kept.begin(), kept.end(), [](const auto& kv) { return kv.first == "title"; });
    const std::string& known = title != kept.end() ? title->second : feed.title;
    attributes.emplace_back("text", known.empty() ? feed.feed_url : known);
  }
  for (const auto& [name, value] : kept) {
    if (is_renamed && (name == "text" || name == "title")) continue;
    const std::size_t colon = name.find(':');
    if (colon == std::string::npos || name.starts_with("xml:")) {
      attributes.emplace_back(name, value);
      continue;
    }
    const std::string written = name.substr(0, colon);
    const std::string uri(field_of(feed.settings.namespaces, written));
    if (uri.empty()) continue;  // the source list did not declare the prefix
    const std::string prefix = namespaces.prefix(written, uri);
    if (!prefix.empty()) attributes.emplace_back(prefix + name.substr(colon), value);
  }
  attributes.emplace_back("xmlUrl", feed.feed_url);
  if (kept.empty() && !feed.link.empty()) attributes.emplace_back("htmlUrl", feed.link);
  const auto add_own = [&](const char* name, const auto& value) {
    if (value) attributes.emplace_back(namespaces.own() + ":" + name, std::to_string(*value));
  };
  add_own("keep", feed.settings.keep);
  add_own("intervalMin", feed.settings.interval_min);
  add_own("intervalMax", feed.settings.interval_max);
  if (!feed.settings.republish.empty())
    attributes.emplace_back(namespaces.own() + ":republish", feed.settings.republish);
  return attributes;
}

}  // namespace

SubscriptionsWriter::SubscriptionsWriter(std::int64_t created)
    : writer_("feedmill", rfc822(Milliseconds(created * 1000))) {}

void SubscriptionsWriter::row(std::span<const std::string> folders, const ExportedFeed& feed) {
  OpmlAttributes attributes = opml_attributes(feed, namespaces_);
  OpmlAttributes declared;
  for (const auto& [name, value] : attributes) {
    const std::string prefix = name.substr(0, std::min(name.find(':'), name.size()));
    const std::string_view uri = prefix == name ? std::string_view() : namespaces_.uri(prefix);
    const OpmlAttributes::value_type one("xmlns:" + prefix, uri);
    if (!uri.empty() && std::find(declared.begin(), declared.end(), one) == declared.end()) declared.push_back(one);
  }
  attributes.insert(attributes.begin(), declared.begin(), declared.end());
  writer_.row(folders, attributes);
}

AddressSet::AddressSet() : marks_(1024) {
  std::random_device device;
  seed_ = (std::uint64_t{device()} << 32U) | device();
}

std::uint64_t AddressSet::mark_of(std::string_view text) const {
  const std::uint64_t mark = XXH3_64bits_withSeed(text.data(), text.size(), seed_);
  return mark == 0 ? 1 : mark;
}

std::size_t AddressSet::place_of(std::uint64_t mark) const {
  std::size_t place = mark & (marks_.size() - 1);
  while (marks_[place] != 0 && marks_[place] != mark) place = (place + 1) & (marks_.size() - 1);
  return place;
}

bool AddressSet::contains(std::string_view text) const {
  return marks_[place_of(mark_of(text))] != 0;
}

bool AddressSet::insert(std::string_view text) {
  const std::uint64_t mark = mark_of(text);
  std::size_t place = place_of(mark);
  if (marks_[place] != 0) return false;
  if (full()) return true;
  if (2 * (size_ + 1) > marks_.size()) {
    grow();
    place = place_of(mark);
  }
  marks_[place] = mark;
  ++size_;
  return true;
}

void AddressSet::grow() {
  std::vector<std::uint64_t> before(marks_.size() * 2);
  before.swap(marks_);
  for (const std::uint64_t mark : before) {
    if (mark != 0) marks_[place_of(mark)] = mark;
  }
}

}  // namespace feedmill
