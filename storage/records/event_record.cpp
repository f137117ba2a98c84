#include "storage/records/event_record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/json/basic_parser_impl.hpp>

#include "parsers/text/numbers.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Parser handler that keeps only the members of Event and builds no tree. Uses the same parser as the code that builds
/// trees elsewhere, so both accept the same JSON. Of a duplicate member the last counts.
class EventReader {
 public:
  static constexpr std::size_t max_object_size = SIZE_MAX, max_array_size = SIZE_MAX, max_key_size = SIZE_MAX,
                               max_string_size = SIZE_MAX;
  using Error = boost::system::error_code;

  Event event{};
  bool is_object = false;

  bool on_document_begin(Error& /*error*/) { return true; }
  bool on_document_end(Error& /*error*/) { return true; }
  bool on_object_begin(Error& /*error*/) {
    is_object = is_object || depth_ == 0;
    in_data_ = in_data_ || (depth_ == 1 && member_ == "data");
    ++depth_;
    return true;
  }
  bool on_object_end(std::size_t /*size*/, Error& /*error*/) {
    if (--depth_ == 1) in_data_ = false;
    return true;
  }
  bool on_array_begin(Error& /*error*/) {
    ++depth_;
    return true;
  }
  bool on_array_end(std::size_t /*size*/, Error& /*error*/) {
    --depth_;
    return true;
  }
  bool on_key_part(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    text_.append(text.data(), text.size());
    return true;
  }
  bool on_key(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    text_.append(text.data(), text.size());
    if (is_told()) {
      (depth_ == 1 ? member_ : data_member_) = text_;
      forget_member();
    } else if (depth_ == 2 && member_ == "changed") {
      event.renamed = event.renamed || text_ == "link" || text_ == "title";
    }
    text_.clear();
    return true;
  }
  bool on_string_part(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    if (is_told()) text_.append(text.data(), text.size());
    return true;
  }
  bool on_string(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    if (!is_told()) return true;
    text_.append(text.data(), text.size());
    if (depth_ == 2) {
      event.data.emplace_back(data_member_, text_);
    } else if (std::string* const kept = string_member()) {
      *kept = text_;
    }
    text_.clear();
    return true;
  }
  bool on_number_part(json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_int64(std::int64_t value, json::string_view /*text*/, Error& /*error*/) {
    if (depth_ == 1 && member_ == "timestamp") event.timestamp = value;
    if (is_in_data() && data_member_ == "timestamp") event.score = value;
    if (is_in_data() && data_member_ == "part") event.continued = value > 1;
    return true;
  }
  bool on_uint64(std::uint64_t /*value*/, json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_double(double /*value*/, json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_bool(bool value, Error& /*error*/) {
    if (depth_ == 1 && member_ == "initial") event.initial = value;
    return true;
  }
  bool on_null(Error& /*error*/) { return true; }
  bool on_comment_part(json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_comment(json::string_view /*text*/, Error& /*error*/) { return true; }

 private:
  bool is_in_data() const { return in_data_ && depth_ == 2; }
  /// Whether the parser is at a member of the event or of its `data`, not deeper.
  bool is_told() const { return depth_ == 1 || is_in_data(); }

  std::string* string_member() {
    if (member_ == "prev") return &event.prev;
    if (member_ == "type") return &event.type;
    if (member_ == "entity_id") return &event.entity_id;
    if (member_ == "feed_url") return &event.feed_url;
    if (member_ == "guid") return &event.guid;
    return nullptr;
  }
  void forget_member() {
    if (is_in_data()) {
      if (data_member_ == "timestamp") event.score.reset();
      return;
    }
    if (std::string* const kept = string_member()) kept->clear();
    if (member_ == "timestamp") event.timestamp = 0;
    if (member_ == "initial") event.initial = false;
    if (member_ == "changed") event.renamed = false;
    if (member_ == "data") {
      event.data.clear();
      event.score.reset();
    }
  }

  int depth_ = 0;
  bool in_data_ = false;
  std::string member_, data_member_, text_;
};

}  // namespace

EventPlace event_place(std::string_view id) {
  const std::size_t dash = std::min(id.find('-'), id.size());
  return {leading_number<std::uint64_t>(id), leading_number<std::uint64_t>(id.substr(std::min(dash + 1, id.size())))};
}

std::string to_string(const EventPlace& place) {
  return std::to_string(place.milliseconds) + "-" + std::to_string(place.number);
}

std::optional<Event> read_event(const EventRecord& record) {
  json::basic_parser<EventReader> parser{json::parse_options{}};
  boost::system::error_code error;
  const std::size_t read = parser.write_some(false, record.json.data(), record.json.size(), error);
  EventReader& reader = parser.handler();
  if (error || read < record.json.size() || !reader.is_object) return {};
  Event& event = reader.event;
  const bool of_a_feed = !event.type.starts_with("request_");  // which may be about a channel
  if (event.type.empty() || event.entity_id.empty() || (of_a_feed && event.feed_url.empty())) return {};
  event.id = record.id;
  return std::move(event);
}

}  // namespace feedmill
