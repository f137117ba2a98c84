#include "parsers/feed/reading_report.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/markup/namespaces.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_examples = 3;
constexpr std::size_t max_quote = 60;

// How recognise() in read_feed.cpp knows each format, in the order of Format.
constexpr std::string_view recognised_by[] = {
    "RSS 0.90: rdf:RDF with Netscape's namespace, or version=\"0.90\"",
    "RSS 0.91: <rss version=\"0.91\"> with Netscape's doctype",
    "RSS 0.91: <rss version=\"0.91\"> without Netscape's doctype",
    "RSS 0.92 to 0.94: by the version that <rss> names",
    "RSS 0.92 to 0.94: by the version that <rss> names",
    "RSS 0.92 to 0.94: by the version that <rss> names",
    "RSS 1.0: rdf:RDF with a channel, items, or their namespace",
    "RSS 1.1: by its namespace",
    "RSS 2.0: <rss> with a version that begins with 2",
    "RSS: <rss> without a version that exists, or a <channel> without it",
    "Atom before 0.3: by the version that <feed> names",
    "Atom before 0.3: by the version that <feed> names",
    "Atom 0.3: by its namespace or version",
    "Atom 1.0 (RFC 4287): by the namespace of its root element",
    "Atom: <feed> in no namespace of Atom, without a version that exists",
    "JSON Feed 1.0: by its \"version\", or by a list of \"items\"",
    "JSON Feed 1.1: by its \"version\"",
    "CDF: a <channel> with CDF's attributes or elements",
};
static_assert(std::size(recognised_by) == static_cast<std::size_t>(Format::cdf) + 1);

struct FlawWords {
  std::string_view name, meaning;
};

// In the order of Flaw.
constexpr FlawWords flaw_words[] = {
    {"encoding", "bytes that did not decode, or characters that XML forbids"},
    {"entity", "undefined entities"},
    {"namespace", "undeclared prefixes"},
    {"structure", "faults of the document's structure"},
    {"date", "dates that cannot be read, or in an unknown zone"},
    {"url", "URLs longer than 2048 bytes, dropped"},
    {"duplicate_guid", "entries under the guid of another"},
    {"missing_guid", "entries without a guid of their own"},
    {"truncated", "values or lists over their cap, cut, or a document that ends too early"},
    {"loop", "posts that came from here, or through too many stores: left out"},
    {"other", "other faults"},
};
static_assert(std::size(flaw_words) == static_cast<std::size_t>(Flaw::other) + 1);

const FlawWords& words_of(Flaw flaw) {
  return flaw_words[static_cast<std::size_t>(flaw)];
}

// In the order of Bozo.
constexpr std::string_view repairs[] = {
    "",
    "elements were closed and stray characters escaped where that was needed",
    "commas, quotes and brackets were put right, what could not be was left out",
    "HTML's entities are read as such, others stay as they are written",
    "usual prefixes are read as their usual namespaces, others are kept under extensions",
    "complete parts are kept, the last element is closed",
    "the text was decoded anyway",
    "the text was decoded anyway",
    "the content decides, not the Content-Type",
};
static_assert(std::size(repairs) == static_cast<std::size_t>(Bozo::non_xml_content_type) + 1);

std::string number(std::size_t count, std::string_view one, std::string_view more) {
  std::string text = std::to_string(count);
  text.append(" ").append(count == 1 ? one : more);
  return text;
}

std::string entries(std::size_t count) {
  return number(count, "entry", "entries");
}

std::string in_quotes(std::string_view text) {
  const std::string folded = fold_space(text.substr(0, 4 * max_quote));
  const std::string_view kept = utf8_prefix(folded, max_quote);
  std::string out = "\"";
  out.append(kept).append(kept.size() < folded.size() ? "…\"" : "\"");
  return out;
}

/// Joins parts into a list: "2 of this, 3 of that".
class Parts {
 public:
  void add(std::size_t count, std::string_view what) {
    if (count > 0) add(std::to_string(count).append(" ").append(what));
  }
  void add(std::string_view part) {
    if (!text_.empty()) text_ += ", ";
    text_ += part;
  }
  bool empty() const { return text_.empty(); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Names the first few affected entries: "entry 3 (…), entry 9 (…), and 12 more".
class Examples {
 public:
  void add(std::size_t index, std::string_view what) {
    if (++count_ > max_examples) return;
    std::string part = "entry " + std::to_string(index + 1);
    if (!what.empty()) part.append(" (").append(what).append(")");
    parts_.add(part);
  }
  std::size_t count() const { return count_; }
  std::string take() {
    if (count_ > max_examples) parts_.add("and " + std::to_string(count_ - max_examples) + " more");
    return parts_.take();
  }

 private:
  Parts parts_;
  std::size_t count_ = 0;
};

class Explainer {
 public:
  explicit Explainer(const Feed& feed) : feed_(feed) {}

  std::vector<Statement> explain() {
    say("format", std::string(format_name(feed_.format)) + ", " +
                      std::string(recognised_by[static_cast<std::size_t>(feed_.format)]));
    encoding();
    document();
    if (!feed_.account.base.empty()) {
      say("base", "relative URLs resolve against " + feed_.account.base + " where no xml:base says otherwise");
    } else {
      say("base", "relative URLs stay relative: neither the document nor --url says where it lives");
    }
    feed();
    entries_kept();
    if (!feed_.entries.empty()) {
      guids();
      links();
      dates();
      texts();
    }
    truncated();
    extensions();
    Parts flaws;
    for (const auto& [flaw, count] : feed_.flaws) {
      const auto& [name, meaning] = words_of(flaw);
      flaws.add(std::string(name) + " " + std::to_string(count) + " (" + std::string(meaning) + ")");
    }
    if (!flaws.empty()) say("flaws", flaws.take());
    return std::move(statements_);
  }

 private:
  void say(std::string_view topic, std::string text) { statements_.push_back({topic, std::move(text)}); }

  void encoding() {
    const Account& account = feed_.account;
    std::string text = feed_.encoding + ", by " + std::string(rule_name(account.encoding_rule));
    if (account.encoding_rule == EncodingRule::standard) text += ": nothing else names one that fits";
    say("encoding", std::move(text));
    if (!account.encoding_named.empty()) {
      say("encoding", account.encoding_named + " appears in " + std::string(rule_name(account.named_by)) +
                          " and cannot be right: it is unknown, the bytes are not of it, or they are UTF-8");
    }
    if (account.replaced > 0) {
      say("encoding", number(account.replaced, "sequence", "sequences") + " did not decode, replaced by U+FFFD");
    }
    if (account.dropped > 0) {
      say("encoding", number(account.dropped, "character", "characters") + " that XML forbids left out");
    }
  }

  void document() {
    const Account& account = feed_.account;
    if (feed_.bozo == Bozo::none) {
      say("document", "legal: nothing had to be repaired or guessed");
      return;
    }
    std::string text = "bozo, " + std::string(bozo_token(feed_.bozo));
    if (!feed_.bozo_detail.empty()) text += ": " + feed_.bozo_detail;
    say("document", text + "; " + std::string(repairs[static_cast<std::size_t>(feed_.bozo)]));
    if (!account.fault.empty()) {
      say("document", (account.fault_line > 0 ? "line " + std::to_string(account.fault_line) + ": " : std::string()) +
                          "first fault: " + account.fault);
    }
    if (account.wrapped) {
      say("document", "the feed was extracted from the document around it");
    } else if (account.salvaged) {
      say("document", "read from a copy with repaired nesting");
    }
  }

  void feed() {
    Parts missing;
    if (feed_.title.value.empty()) missing.add("title");
    if (feed_.link.empty()) missing.add("link");
    const bool atom = feed_.format >= Format::atom01 && feed_.format <= Format::atom;
    const bool rss = feed_.format <= Format::rss;
    if (rss && feed_.subtitle.value.empty()) missing.add("description");
    if (atom && feed_.id.empty()) missing.add("id");
    if (atom && !feed_.updated.present()) missing.add("updated");
    if (!missing.empty()) say("feed", "lacks " + missing.take());
    Parts told;
    if (!feed_.self.empty()) told.add("its own address is " + feed_.self);
    for (const std::string& hub : feed_.hubs) told.add("hub " + hub);
    if (feed_.new_location) {
      told.add(feed_.new_location->empty() ? "it has moved, to no usable address"
                                           : "it moved to " + *feed_.new_location);
    }
    if (feed_.itunes && !feed_.itunes->new_feed_url.empty()) told.add("it moved to " + feed_.itunes->new_feed_url);
    if (!feed_.next.empty()) told.add("more entries are at " + feed_.next);
    if (feed_.ttl)
      told.add("ttl " + number(static_cast<std::size_t>(std::max<std::int64_t>(*feed_.ttl, 0)), "minute", "minutes"));
    if (!feed_.skip_hours.empty()) told.add("hours to skip: " + std::to_string(feed_.skip_hours.size()));
    if (!feed_.skip_days.empty()) told.add("days to skip: " + std::to_string(feed_.skip_days.size()));
    if (!told.empty()) say("feed", "says: " + told.take());
  }

  void entries_kept() {
    std::string text = entries(feed_.account.entries) + " found, ";
    if (feed_.account.entries > feed_.entries.size()) {
      text += "the newest " + std::to_string(feed_.entries.size()) + " kept (SECURITY §3)";
    } else {
      text += "all kept";
    }
    say("entries", std::move(text));
  }

  void guids() {
    std::size_t own = 0, link = 0, digest = 0, hashed = 0;
    Examples unnamed, repeated;
    std::map<std::string_view, std::size_t> ids;
    for (std::size_t i = 0; i < feed_.entries.size(); ++i) {
      const Entry& entry = feed_.entries[i];
      if (!entry.id.empty()) {
        ++own;
        const auto [first, is_new] = ids.try_emplace(entry.id, i);
        if (!is_new) repeated.add(i, "as entry " + std::to_string(first->second + 1) + ", " + in_quotes(entry.id));
      } else {
        ++(entry.guid.starts_with("digest:") ? digest : link);
        unnamed.add(i, in_quotes(entry.title.value));
      }
      if (entry.guid.starts_with("sha256:")) ++hashed;
    }
    Parts parts;
    parts.add(own, "by the guid or id of the entry");
    parts.add(link, "by the link, without a guid");
    parts.add(digest, "by a digest of title, date and text, without either");
    say("guid", "entries are identified: " + parts.take());
    if (unnamed.count() > 0) say("guid", "without guid: " + unnamed.take());
    if (hashed > 0) say("guid", entries(hashed) + " with a guid longer than 1 KiB, replaced by its SHA-256");
    if (repeated.count() > 0) {
      say("guid", "the same guid twice: " + repeated.take() +
                      "; distinguished by link; of those with equal links, the first stays");
    }
  }

  void links() {
    std::size_t element = 0, permalink = 0, other = 0;
    Examples none;
    for (std::size_t i = 0; i < feed_.entries.size(); ++i) {
      const Entry& entry = feed_.entries[i];
      if (entry.link.empty()) {
        none.add(i, in_quotes(entry.title.value));
      } else if (std::any_of(entry.links.begin(), entry.links.end(),
                             [&](const Link& link) { return link.href == entry.link; })) {
        ++element;
      } else {
        ++(entry.link == entry.id ? permalink : other);
      }
    }
    Parts parts;
    parts.add(element, "from a link element, those for HTML first");
    parts.add(permalink, "from a guid that is a permalink");
    parts.add(other, "from feedburner:origLink, external_url and the like");
    if (!parts.empty()) say("link", parts.take());
    if (none.count() > 0) say("link", "without link: " + none.take());
  }

  void dates() {
    std::size_t updated = 0, published = 0;
    Examples none, unreadable, zoneless;
    std::optional<Time> oldest, newest;
    for (std::size_t i = 0; i < feed_.entries.size(); ++i) {
      const Entry& entry = feed_.entries[i];
      const Date absent;
      for (const Date* date : {&entry.published, &entry.updated, entry.created ? &*entry.created : &absent,
                               entry.expired ? &*entry.expired : &absent}) {
        if (date->present() && !date->time) unreadable.add(i, in_quotes(date->raw));
        if (date->time && has_unknown_zone(date->raw)) zoneless.add(i, in_quotes(date->raw));
      }
      const std::optional<Time>& time = entry.updated.time ? entry.updated.time : entry.published.time;
      if (!time) {
        none.add(i, {});
        continue;
      }
      ++(entry.updated.time ? updated : published);
      if (!oldest || *time < *oldest) oldest = time;
      if (!newest || *time > *newest) newest = time;
    }
    Parts parts;
    parts.add(updated, "by update");
    parts.add(published, "by publication");
    parts.add(none.count(), "by the time they are first seen, for want of a date");
    std::string text = "entries are dated: " + parts.take();
    if (oldest) text += "; from " + iso8601(*oldest) + " to " + iso8601(*newest);
    say("date", std::move(text));
    if (unreadable.count() > 0) say("date", "not readable, kept as text only: " + unreadable.take());
    if (zoneless.count() > 0) say("date", "in an unknown zone, read as UTC: " + zoneless.take());
    if (none.count() > 0 && none.count() < feed_.entries.size()) say("date", "undated: " + none.take());
  }

  void texts() {
    std::size_t content = 0, summary = 0, enclosures = 0;
    Examples none;
    for (std::size_t i = 0; i < feed_.entries.size(); ++i) {
      const Entry& entry = feed_.entries[i];
      enclosures += entry.enclosures.size();
      const bool has_content = std::any_of(entry.content.begin(), entry.content.end(),
                                           [](const Content& part) { return !part.value.empty(); });
      if (has_content) {
        ++content;
      } else if (!entry.summary.value.empty()) {
        ++summary;
      } else {
        none.add(i, in_quotes(entry.title.value));
      }
    }
    Parts parts;
    parts.add(content, "with content");
    parts.add(summary, "with a summary only");
    parts.add(none.count(), "with neither");
    say("text", entries(feed_.entries.size()) + ": " + parts.take());
    if (enclosures > 0) say("enclosures", number(enclosures, "file", "files") + ", each once an entry");
  }

  void truncated() {
    for (std::size_t i = 0, told = 0; i < feed_.entries.size(); ++i) {
      const Entry& entry = feed_.entries[i];
      if (entry.truncated.empty()) continue;
      if (++told > 10) {
        say("truncated", "and others");
        return;
      }
      say("truncated", "entry " + std::to_string(i + 1) + ": over the cap (SECURITY §3): " + entry.truncated);
    }
  }

  void extensions() {
    std::map<std::string_view, std::size_t> prefixes;
    for (const Element& element : feed_.extensions) ++prefixes[element.prefix];
    for (const Entry& entry : feed_.entries) {
      for (const Element& element : entry.extensions) ++prefixes[element.prefix];
    }
    Parts parts;
    for (const auto& [prefix, count] : prefixes) {
      const bool known = !prefix.empty() && find_usual_prefix(prefix) != nullptr;
      std::string part(prefix.empty() ? "no prefix" : prefix);
      parts.add(part + " " + std::to_string(count) + (known || prefix.empty() ? "" : " (unknown to us)"));
    }
    if (!parts.empty()) say("extensions", "elements kept as they are: " + parts.take());
  }

  const Feed& feed_;
  std::vector<Statement> statements_;
};

}  // namespace

std::string_view flaw_name(Flaw flaw) {
  return words_of(flaw).name;
}

std::vector<Statement> explain(const Feed& feed) {
  return Explainer(feed).explain();
}

}  // namespace feedmill
