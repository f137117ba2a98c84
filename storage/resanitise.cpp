#include "storage/resanitise.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/entry_values.hpp"
#include "parsers/normalise.hpp"
#include "storage/diff.hpp"
#include "storage/entry_record.hpp"
#include "storage/fields.hpp"

namespace feedmill {
namespace {

bool is_markup(std::string_view type) {
  return type == "text/html" || type == "application/xhtml+xml";
}

/// Fields and what is to become of them.
class Change {
 public:
  explicit Change(const Fields& stored) : stored_(stored), all_(stored) { std::sort(all_.begin(), all_.end()); }

  /// `value` "" takes the field away.
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
  Fields all_;  // as they are to be, sorted
  Fields changed_;
};

/// The excerpt of a post as its fields are.
std::string excerpt(const Fields& fields) {
  const auto type = [&](const char* name) {
    const std::string_view said = value_of(fields, name);
    return std::string(said.empty() ? std::string_view("text/plain") : said);
  };
  Entry shown;
  shown.summary = {std::string(value_of(fields, "summary")), type("summary_type"), "", "", true};
  shown.content.push_back({std::string(value_of(fields, "content")), type("content_type"), "", "", ""});
  return summary_text(shown);
}

}  // namespace

Fields resanitised(const Fields& stored, const GivenMarkup& markup) {
  if (markup.policy == HtmlPolicy::raw) return {};
  Feed feed;
  feed.format = Format::json11;  // nothing is guessed: what is markup says so
  feed.entries.emplace_back();
  Entry& post = feed.entries.front();
  post.id = value_of(stored, "guid");
  const auto text = [&](std::string_view name, std::string_view type_name) {
    const std::string_view type = value_of(stored, type_name);
    if (!is_markup(type)) return Text{};
    return Text{std::string(value_of(stored, name)), std::string(type), "", "", true};
  };
  const bool title = is_markup(value_of(stored, "title_type")), summary = is_markup(value_of(stored, "summary_type"));
  const bool content = is_markup(value_of(stored, "content_type"));
  post.title = text("title", "title_type");
  post.summary = text("summary", "summary_type");
  if (content) {
    const Text whole = text("content", "content_type");
    post.content.push_back({whole.value, whole.type, "", "", ""});
  }
  NormaliseOptions options;
  options.html = markup.policy;
  options.keep_class = markup.keep_class;
  options.document_base = value_of(stored, "link");  // addresses in what was sanitised before are absolute
  normalise(feed, options);

  Change change(stored);
  const bool own_digest = change.before("digest") == reader_digest(change.all());
  const auto replace = [&](std::string_view name, std::string value, std::string_view type) {
    if (value.empty()) change.set(type, "");
    change.set(name, std::move(value));
  };
  if (title) replace("title", std::move(post.title.value), "title_type");
  if (summary) replace("summary", std::move(post.summary.value), "summary_type");
  if (content) {
    replace("content", post.content.empty() ? std::string() : std::move(post.content.front().value), "content_type");
  }
  if (!change.empty()) {
    change.set("summary_text", excerpt(change.all()));
    std::string truncated(change.before("truncated"));
    for (std::string_view lost = post.truncated; !lost.empty();) {
      const std::string name(lost.substr(0, lost.find(' ')));
      lost.remove_prefix(std::min(name.size() + 1, lost.size()));
      const bool known = (" " + truncated + " ").find(" " + name + " ") != std::string::npos;
      if (!known) truncated.append(truncated.empty() ? "" : " ").append(name);
    }
    change.set("truncated", std::move(truncated));
  }
  if (change.before("san_ver") == "0") change.set("san_ver", "");
  if (change.empty()) return {};
  change.set("bytes", std::to_string(entry_bytes(change.all())));
  if (own_digest) change.set("digest", reader_digest(change.all()));
  return change.take();
}

}  // namespace feedmill
