#include "worker/requests/read_request.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/lists/discovery.hpp"
#include "parsers/text/numbers.hpp"
#include "storage/records/event_json.hpp"
#include "storage/records/given_json.hpp"
#include "storage/records/notice.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/timelines/notification_matcher.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_title = 1024, longest_shown = 100;

/// Which fields an operation takes besides op, app and ref, those it cannot do without first. "set." stands for all
/// that begin so.
struct FieldsOfOp {
  RequestOp op{};
  std::size_t needed = 0;
  std::array<std::string_view, 5> names{};
};

constexpr std::array fields_of_ops{
    FieldsOfOp{RequestOp::add, 1, {"url", "channel", "title", "page", "set."}},
    FieldsOfOp{RequestOp::remove, 1, {"url"}},
    FieldsOfOp{RequestOp::set, 1, {"url", "set."}},
    FieldsOfOp{RequestOp::pause, 1, {"url"}},
    FieldsOfOp{RequestOp::resume, 1, {"url"}},
    FieldsOfOp{RequestOp::refresh, 1, {"url"}},
    FieldsOfOp{RequestOp::move, 1, {"url", "to", "undo"}},
    FieldsOfOp{RequestOp::channel_follow, 2, {"url", "channel"}},
    FieldsOfOp{RequestOp::channel_unfollow, 2, {"url", "channel"}},
    FieldsOfOp{RequestOp::channel_mark, 2, {"channel", "as", "entries"}},
    FieldsOfOp{RequestOp::entry_put, 2, {"url", "entry", "guid", "replace"}},
    FieldsOfOp{RequestOp::entry_remove, 1, {"id"}},
    FieldsOfOp{RequestOp::channel_add, 1, {"channel"}},
    FieldsOfOp{RequestOp::channel_remove, 1, {"channel"}},
    FieldsOfOp{RequestOp::channel_order, 1, {"channels"}},
    FieldsOfOp{RequestOp::notice_mark, 3, {"user", "as", "notices"}},
    FieldsOfOp{RequestOp::watch_add, 1, {"user", "url", "channel", "words"}},
    FieldsOfOp{RequestOp::watch_remove, 2, {"user", "id"}},
};

std::string shown(std::string_view text) {
  return visible(text.substr(0, longest_shown));
}

bool is_one_of(std::string_view text, std::string_view characters) {
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           characters.find(c) != std::string_view::npos;
  });
}

/// Reads one record; the first problem is what is told.
class RequestReader {
 public:
  explicit RequestReader(const RequestRecord& record) : record_(record) { request_.asked.id = record.id; }

  Request read() {
    read_name();
    const std::string word(value("op"));
    const auto op = request_op(word);
    request_.asked.op = op ? word : shown(word);
    if (record_.too_long) {
      refuse("too_long", fmt::format("a request has at most {} KiB and 200 fields", longest_request >> 10U));
      return std::move(request_);
    }
    request_.asked.hash = content_hash(record_.fields);
    if (!op) {
      refuse(word.empty() ? "missing_field" : "unknown_op",
             word.empty() ? "op is missing" : "no such op; see docs/REQUESTS.md");
      return std::move(request_);
    }
    request_.op = *op;
    look_at_names();
    if (!request_.problem) read_values();
    return std::move(request_);
  }

 private:
  void refuse(std::string_view reason, std::string detail) {
    if (!request_.problem) request_.problem = RequestProblem{reason, std::move(detail)};
  }

  std::string_view value(std::string_view name) const {
    const auto found =
        std::ranges::find(record_.fields, name, [](const auto& field) -> std::string_view { return field.first; });
    return found == record_.fields.end() ? std::string_view() : std::string_view(found->second);
  }

  /// Who asks, and under which name of theirs. What is unfit is not repeated in the answer.
  void read_name() {
    const std::string_view app = value("app"), ref = value("ref");
    if (app.size() > 64 || !is_one_of(app, "._-")) {
      refuse("bad_value", "app: expected 1 to 64 ASCII letters, digits, dots, dashes and underscores");
    } else {
      request_.asked.app = app.empty() ? "default" : app;
    }
    if (ref.size() > 128 || !is_one_of(ref, "._:-")) {
      refuse("bad_value",
             "ref: expected 1 to 128 ASCII letters, digits, dots, colons, dashes and underscores, such as a UUID");
    } else if (!request_.asked.app.empty()) {
      request_.asked.ref = ref;
    }
  }

  void look_at_names() {
    const auto row = std::ranges::find(fields_of_ops, request_.op, &FieldsOfOp::op);
    for (std::size_t i = 0; i < record_.fields.size(); ++i) {
      const std::string& name = record_.fields[i].first;
      const bool common = name == "op" || name == "app" || name == "ref";
      const bool known = common || std::ranges::any_of(row->names, [&](std::string_view one) {
                           return one == "set." ? name.starts_with(one) : !one.empty() && name == one;
                         });
      if (!known) return refuse("unknown_field", fmt::format("{} takes no field {}", request_.asked.op, shown(name)));
      const auto same = [&](const auto& field) { return field.first == name; };
      if (std::any_of(record_.fields.begin(), record_.fields.begin() + static_cast<std::ptrdiff_t>(i), same)) {
        return refuse("bad_value", shown(name) + " is given twice");
      }
    }
    for (const std::string_view name : std::span(row->names).first(row->needed)) {
      if (value(name).empty()) return refuse("missing_field", fmt::format("{} needs {}", request_.asked.op, name));
    }
  }

  void member(std::string_view name, const std::string& text) {
    request_.asked.members += fmt::format("\"{}\":{},", name, json_string(text));
  }

  void read_url(std::string_view name, std::string& url) {
    if (value(name).empty()) return;
    auto canonical = canonical_feed_url(value(name));
    if (!canonical) return refuse("bad_value", fmt::format("{}: {}", name, visible(canonical.error())));
    url = std::move(*canonical);
    member(name, url);
  }

  bool read_yes(std::string_view name) {
    const std::string_view text = value(name);
    if (!text.empty() && text != "yes" && text != "no")
      refuse("bad_value", fmt::format("{}: expected yes or no", name));
    return text == "yes";
  }

  void read_values() {
    read_url("url", request_.url);
    request_.asked.feed_url = request_.url;
    if (request_.op == RequestOp::add) read_page();
    read_url("to", request_.to);
    request_.channel = value("channel");
    if (!request_.channel.empty()) {
      const bool makes = request_.op == RequestOp::add || request_.op == RequestOp::channel_add;
      const std::string_view unfit = makes ? unfit_new_channel(request_.channel) : unfit_text_name(request_.channel);
      if (!unfit.empty()) return refuse("bad_value", fmt::format("channel: {}", unfit));
      member("channel", request_.channel);
    }
    request_.title = value("title");
    if (!is_clean_text(request_.title) || request_.title.size() > longest_title) {
      refuse("bad_value",
             fmt::format("title: expected at most {} bytes of UTF-8 without control characters", longest_title));
    }
    for (const auto& [name, text] : record_.fields) {
      if (name.starts_with("set.")) request_.settings.push_back(name.substr(4) + "=" + text);
    }
    if (request_.op == RequestOp::set && request_.settings.empty()) {
      refuse("missing_field", "set needs a field that begins with set., such as set.keep");
    }
    if (request_.op == RequestOp::move) {
      request_.undo = read_yes("undo");
      if (request_.undo == !request_.to.empty()) refuse("missing_field", "move needs either to, or undo yes");
    }
    if (request_.op == RequestOp::channel_mark) request_.entries = read_mark("entries");
    if (request_.op == RequestOp::notice_mark) read_notices();
    if (request_.op == RequestOp::channel_order) read_channels();
    if (request_.op == RequestOp::watch_add || request_.op == RequestOp::watch_remove) read_watch();
    if (request_.op == RequestOp::entry_put) read_entry();
    if (request_.op == RequestOp::entry_remove) request_.entries = {std::string(value("id"))};
    for (const std::string& id : request_.entries) {
      if (!is_entry_id(id)) refuse("bad_value", "expected an entry id such as Entry:17 or 17, not " + shown(id));
    }
    if (request_.op == RequestOp::entry_remove && !request_.problem) member("id", request_.entries.front());
  }

  /// What is added is only known of an address that is no page.
  void read_page() {
    const std::string_view page = value("page");
    if (page == "yes") request_.page = Request::Page::one;
    if (page == "first") request_.page = Request::Page::first;
    if (request_.page == Request::Page::no && !page.empty() && page != "no") {
      refuse("bad_value", "page: expected yes, first or no");
    }
    if (request_.page != Request::Page::no && looks_like_feed(request_.url)) request_.page = Request::Page::no;
    if (request_.page == Request::Page::no && !request_.url.empty()) member("feed", request_.url);
  }

  /// What is marked; nothing means all.
  std::vector<std::string> read_mark(std::string_view name) {
    const std::string_view as = value("as");
    request_.unread = as == "unread";
    if (as != "read" && as != "unread") refuse("bad_value", "as: expected read or unread");
    std::vector<std::string> ids;
    std::string_view rest = value(name);
    if (rest == "all" && !request_.unread) return ids;
    if (rest == "all") refuse("bad_value", fmt::format("{}: all can only be marked read", name));
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      if (space > 0) ids.emplace_back(rest.substr(0, space));
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    if (ids.empty() || ids.size() > most_entries_of_request) {
      refuse("bad_value", fmt::format("{}: expected 1 to {} ids separated by spaces; with as read also the word all",
                                      name, most_entries_of_request));
    }
    return ids;
  }

  void read_user() {
    request_.watch.user = value("user");
    const std::string& user = request_.watch.user;
    if (const std::string_view unfit = unfit_text_name(user); !unfit.empty())
      return refuse("bad_value", fmt::format("user: {}", unfit));
    member("user", user);
  }

  void read_notices() {
    read_user();
    request_.notices = read_mark("notices");
    for (const std::string& id : request_.notices) {
      if (id.size() > 64 || !is_one_of(id, "-")) refuse("bad_value", "expected a notice id such as 1795398540945-1");
    }
  }

  void read_channels() {
    boost::system::error_code error;
    const json::value list = json::parse(value("channels"), error);
    const std::string wanted =
        fmt::format("channels: expected a JSON array of 1 to {} channels, each once", most_channels_of_request);
    if (error || !list.is_array() || list.get_array().empty() || list.get_array().size() > most_channels_of_request) {
      return refuse("bad_value", wanted);
    }
    for (const json::value& one : list.get_array()) {
      if (!one.is_string() || !unfit_text_name(one.get_string()).empty()) return refuse("bad_value", wanted);
      request_.channels.emplace_back(one.get_string());
    }
    std::vector<std::string> sorted = request_.channels;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) refuse("bad_value", wanted);
  }

  void read_watch() {
    read_user();
    Watch& watch = request_.watch;
    if (request_.op == RequestOp::watch_remove) {
      watch.id = value("id");
      std::uint64_t number = 0;
      if (!read_number(value("id"), number)) refuse("bad_value", "expected a rule number");
      return;
    }
    const std::string_view unfit = objection_to_user(watch.user);
    if (!unfit.empty()) return refuse("bad_value", fmt::format("user: {}", unfit));
    const std::string words(value("words"));
    const int given = (request_.url.empty() ? 0 : 1) + (request_.channel.empty() ? 0 : 1) + (words.empty() ? 0 : 1);
    if (given != 1) return refuse("missing_field", "watch_add needs either url, channel or words");
    watch.kind = !request_.url.empty() ? Watch::Kind::feed : words.empty() ? Watch::Kind::channel : Watch::Kind::words;
    watch.target = !request_.url.empty() ? request_.url : words.empty() ? request_.channel : words;
    if (const std::string_view wrong = words.empty() ? std::string_view() : unfit_words(words); !wrong.empty()) {
      return refuse("bad_value", fmt::format("words: {}", wrong));
    }
    if (!words.empty()) member("words", words);
  }

  void read_entry() {
    request_.replace = read_yes("replace");
    boost::system::error_code error;
    const json::value object = json::parse(value("entry"), error);
    if (error) return refuse("bad_value", "entry: not valid JSON: " + error.message());
    auto entry = read_given_entry(object, request_.url, std::string(value("guid")));
    if (!entry) return refuse("bad_value", "entry: " + shown(entry.error()));
    request_.entry = std::move(*entry);
  }

  const RequestRecord& record_;
  Request request_;
};

}  // namespace

Request read_request(const RequestRecord& record) {
  return RequestReader(record).read();
}

}  // namespace feedmill
