#include "worker/http/answer_head.hpp"

#include <string>

#include "parsers/strings.hpp"
#include "storage/test_point.hpp"

namespace feedmill {

std::optional<Refusal> AnswerHead::take(std::string_view line, int status) {
  bytes_ += line.size();
  ++lines_;
  if (bytes_ > options_.max_header_bytes || lines_ > options_.max_header_lines ||
      line.size() > options_.max_header_line_bytes) {
    return Refusal{Reason::limit_header, "more header than is read"};
  }
  if (whole_) return std::nullopt;  // a trailer
  if (line.starts_with("HTTP/")) {  // a new answer: those before were 1xx
    fields_.clear();
    status_ = status;
    test_point("S3");
    return std::nullopt;
  }
  const std::string_view text = trim_field(line);
  if (text.empty()) {
    whole_ = status >= 200;
    if (whole_) test_point("S4");
    if (whole_ && !is_framed_clearly()) {
      return Refusal{Reason::http_malformed, "does not say clearly where its body ends"};
    }
    return std::nullopt;
  }
  if ((line.front() == ' ' || line.front() == '\t') && !fields_.empty()) {  // folded: RFC 9112 §5.2
    fields_.back().second.append(" ").append(text);
    return std::nullopt;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return std::nullopt;
  fields_.emplace_back(lower(trim_field(line.substr(0, colon))), std::string(trim_field(line.substr(colon + 1))));
  return std::nullopt;
}

/// RFC 9112 §6.3: a body whose end is stated twice and differently, or in a way we do not know, may be read differently
/// by whoever stands between.
bool AnswerHead::is_framed_clearly() const {
  const std::string coding = lower(joined_field(fields_, "transfer-encoding"));
  if (!coding.empty() && coding != "chunked" && coding != "identity") return false;
  const std::string_view length = field(fields_, "content-length");
  for (const auto& [name, value] : fields_) {
    if (name == "content-length" && (value != length || coding == "chunked")) return false;
  }
  return length.find_first_not_of("0123456789") == length.npos;
}

}  // namespace feedmill
