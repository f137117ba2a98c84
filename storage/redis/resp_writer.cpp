#include "storage/redis/resp_writer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace feedmill {
namespace {

constexpr std::size_t line_end = 2;
constexpr std::size_t longest_count = 1 + std::numeric_limits<std::size_t>::digits10 + 1 + line_end;

char* put_line_end(char* to) {
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

/// "$12\r\n"
char* put_count(char* to, char type, std::size_t count) {
  *to++ = type;
  return put_line_end(std::to_chars(to, to + longest_count, count).ptr);
}

}  // namespace

/// The size doubles and is then kept, to avoid filling memory twice.
char* RespWriter::room_for(std::size_t bytes) {
  if (buffer_.size() - used_ < bytes) buffer_.resize(std::max(used_ + bytes, 2 * buffer_.size()));
  return buffer_.data() + used_;
}

void RespWriter::end_at(const char* end) {
  const auto used = static_cast<std::size_t>(end - buffer_.data());
  waiting_ += used - used_;
  used_ = used;
}

void RespWriter::begin(std::size_t words) {
  end_at(put_count(room_for(longest_count), '*', words));
}

void RespWriter::add(std::string_view word) {
  if (word.size() > longest_copied) {
    end_at(put_count(room_for(longest_count), '$', word.size()));
    references_.push_back({used_, word});
    waiting_ += word.size();
    end_at(put_line_end(room_for(line_end)));
  } else {
    char* const to = put_count(room_for(longest_count + word.size() + line_end), '$', word.size());
    end_at(put_line_end(std::copy(word.begin(), word.end(), to)));
  }
}

std::span<const iovec> RespWriter::pieces(std::span<iovec> room) const {
  std::size_t count = 0;
  const auto put = [&](std::string_view piece) {
    if (!piece.empty() && count < room.size()) room[count++] = {const_cast<char*>(piece.data()), piece.size()};
  };
  std::size_t at = gone_;
  for (std::size_t i = next_; i < references_.size() && count < room.size(); ++i) {
    put(std::string_view(buffer_).substr(at, references_[i].at - at));
    put(references_[i].rest);
    at = references_[i].at;
  }
  put(std::string_view(buffer_).substr(at, used_ - at));
  return room.first(count);
}

void RespWriter::sent(std::size_t bytes) {
  waiting_ -= bytes;
  if (waiting_ == 0) {
    clear();
    return;
  }
  while (bytes > 0) {
    const bool is_last = next_ == references_.size();
    const std::size_t copied = std::min(bytes, (is_last ? used_ : references_[next_].at) - gone_);
    gone_ += copied;
    bytes -= copied;
    if (is_last) return;
    std::string_view& rest = references_[next_].rest;
    const std::size_t referred = std::min(bytes, rest.size());
    rest.remove_prefix(referred);
    bytes -= referred;
    if (rest.empty()) ++next_;
  }
}

void RespWriter::clear() {
  if (buffer_.size() > most_kept) std::string().swap(buffer_);
  used_ = gone_ = waiting_ = next_ = 0;
  references_.clear();
}

}  // namespace feedmill
