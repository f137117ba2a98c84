#include "worker/http/dns_answer.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include <ares.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t header_bytes = 12, most_records = 256;
constexpr int most_aliases = 16;
constexpr std::uint16_t type_a = 1, type_cname = 5, type_aaaa = 28, class_in = 1;

/// Reads a message from its start; reading past its end fails it permanently.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : message_(message) {}

  bool failed() const { return failed_; }
  std::size_t position() const { return at_; }

  std::uint16_t number() {
    const std::string_view two = bytes(2);
    if (failed_) return 0;
    return static_cast<std::uint16_t>(static_cast<unsigned char>(two[0]) << 8 | static_cast<unsigned char>(two[1]));
  }
  std::string_view bytes(std::size_t count) {
    failed_ = failed_ || count > message_.size() - at_;
    if (failed_) return "";
    const std::string_view read = message_.substr(at_, count);
    at_ += count;
    return read;
  }
  /// A name in lower case without a trailing dot. c-ares follows its compression pointers.
  std::string name() {
    if (failed_ || at_ >= message_.size()) failed_ = true;
    if (failed_) return "";
    const auto* const whole = reinterpret_cast<const unsigned char*>(message_.data());
    char* text = nullptr;
    long length = 0;
    const int status = ares_expand_name(whole + at_, whole, static_cast<int>(message_.size()), &text, &length);
    failed_ = status != ARES_SUCCESS;
    if (failed_) return "";
    const std::unique_ptr<char, void (*)(void*)> owned(text, &ares_free_string);
    at_ += static_cast<std::size_t>(length);
    return lower(text);
  }

 private:
  std::string_view message_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

struct Record {
  std::string owner;
  bool is_alias = false;
  std::string value{};  ///< an address, or the name that `owner` is an alias of
  std::chrono::seconds ttl{};
};

/// RFC 2181 §8: a number above 2³¹ - 1 counts as 0.
std::chrono::seconds ttl_of(std::uint32_t value) {
  return std::chrono::seconds(value > 0x7fffffffu ? 0 : value);
}

/// Ignores bytes beyond an address's length, as c-ares does. "" if there are too few.
std::string address_text(std::string_view data, AddressFamily family) {
  const bool is_v6 = family == AddressFamily::v6;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (data.size() < (is_v6 ? sizeof(in6_addr) : sizeof(in_addr))) return "";
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, data.data(), text.data(), text.size());
  return text.data();
}

/// Aliases and addresses of `family`; empty if the message is malformed.
std::optional<std::vector<Record>> read_event_records(std::string_view message, AddressFamily family) {
  const std::uint16_t type_wanted = family == AddressFamily::v6 ? type_aaaa : type_a;
  MessageReader reader(message);
  reader.bytes(4);
  const std::size_t questions = reader.number(), answers = reader.number();
  reader.bytes(4);
  for (std::size_t i = 0; i < questions && !reader.failed(); ++i) {
    reader.name();
    reader.bytes(4);
  }
  std::vector<Record> records;
  for (std::size_t i = 0; i < std::min(answers, most_records) && !reader.failed(); ++i) {
    Record record{.owner = reader.name()};
    const std::uint16_t type = reader.number(), internet = reader.number();
    const std::uint32_t ttl_high = reader.number(), ttl_low = reader.number();
    record.ttl = ttl_of(ttl_high << 16 | ttl_low);
    const std::size_t length = reader.number(), begin = reader.position();
    const std::string_view data = reader.bytes(length);
    if (reader.failed() || internet != class_in) continue;
    record.is_alias = type == type_cname;
    if (record.is_alias) {
      MessageReader alias(message.substr(0, begin + length));
      alias.bytes(begin);
      record.value = alias.name();
    } else if (type == type_wanted) {
      record.value = address_text(data, family);
    } else {
      continue;
    }
    if (record.value.empty()) return std::nullopt;
    records.push_back(std::move(record));
  }
  if (reader.failed()) return std::nullopt;
  return records;
}

}  // namespace

std::optional<HostAddresses> read_dns_answer(std::string_view message, std::string_view host, AddressFamily family) {
  if (message.size() < header_bytes) return std::nullopt;
  const auto records = read_event_records(message, family);
  if (!records) return std::nullopt;
  std::string name = lower(host);
  if (name.ends_with('.')) name.pop_back();
  HostAddresses found{.ttl = std::chrono::seconds::max()};
  for (int aliases = 0; aliases <= most_aliases; ++aliases) {
    const Record* alias = nullptr;
    for (const Record& record : *records) {
      if (record.owner != name) continue;
      if (record.is_alias) {
        alias = &record;
        continue;
      }
      found.addresses.push_back(record.value);
      found.ttl = std::min(found.ttl, record.ttl);
    }
    if (!found.addresses.empty() || alias == nullptr) break;
    found.ttl = std::min(found.ttl, alias->ttl);
    name = alias->value;
  }
  return found;
}

}  // namespace feedmill
