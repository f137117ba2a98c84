#include "worker/websub/callback.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "parsers/text/charset.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/tokens.hpp"
#include "worker/base/redact.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {
namespace {

constexpr std::size_t longest_query = 16U << 10U, most_parameters = 64, most_reason = 500;

/// The token after "/w/"; "" for any other path.
std::string_view token_in(std::string_view path) {
  constexpr std::string_view beginning = "/w/";
  if (!path.starts_with(beginning)) return {};
  path.remove_prefix(beginning.size());
  return is_token(path) ? path : std::string_view();
}

void add_parameter(std::string& form, std::string_view name, std::string_view value) {
  if (!form.empty()) form += '&';
  form.append(name).append("=").append(percent_encoded(value));
}

}  // namespace

CallbackTarget read_callback_target(std::string_view target, std::string_view base) {
  CallbackTarget read;
  const auto question = std::min(target.find('?'), target.size());
  read.has_query = question < target.size();
  if (read.has_query) read.query = target.substr(question + 1);
  if (question > 1024) return read;
  const std::optional<std::string> path = percent_decoded(target.substr(0, question));
  if (!path) return read;
  std::string_view rest = *path;
  if (!base.empty() && rest.starts_with(base)) rest.remove_prefix(base.size());
  if (const auto named = named_partition(rest)) std::tie(read.partition, rest) = *named;
  read.token = token_in(rest);
  return read;
}

std::optional<Verification> read_verification(std::string_view query) {
  if (query.size() > longest_query) return {};
  Verification read;
  struct Parameter {
    std::string_view name;
    std::string* value;
    bool seen = false;
  };
  std::array parameters{Parameter{"hub.mode", &read.mode}, Parameter{"hub.topic", &read.topic},
                        Parameter{"hub.challenge", &read.challenge},
                        Parameter{"hub.lease_seconds", &read.lease_seconds}, Parameter{"hub.reason", &read.reason}};
  for (std::size_t count = 0; !query.empty(); ++count) {
    if (count == most_parameters) return {};
    FormPair pair = take_pair(query);
    if (!pair.name) return {};
    const auto known = std::ranges::find(parameters, *pair.name, &Parameter::name);
    if (known == parameters.end()) continue;
    if (std::exchange(known->seen, true) || !pair.value) return {};
    *known->value = std::move(*pair.value);
  }
  if (read.topic.empty()) return {};
  if (read.mode == "denied") return read;
  const bool visible = std::ranges::all_of(read.challenge, [](char c) { return c >= '!' && c <= '~'; });
  if ((read.mode != "subscribe" && read.mode != "unsubscribe") || read.challenge.empty() ||
      read.challenge.size() > 1024 || !visible) {
    return {};
  }
  return read;
}

std::string subscription_form(const PushRecord& record, std::string_view mode, std::string_view callback) {
  std::string form;
  add_parameter(form, "hub.callback", callback);
  add_parameter(form, "hub.mode", mode);
  add_parameter(form, "hub.topic", record.topic);
  if (mode != "subscribe") return form;
  add_parameter(form, "hub.lease_seconds", "864000");
  if (!record.secret.empty()) add_parameter(form, "hub.secret", record.secret);
  return form;
}

std::string one_line(std::string_view text, std::size_t most) {
  // Each character takes at most four bytes.
  const Decoded decoded = decode_document(text.substr(0, 4 * most), "text/plain; charset=utf-8");
  return std::string(utf8_prefix(fold_space(decoded.text), most));
}

std::string reason_of_hub(std::string text, const PushRecord& record) {
  text = one_line(text, longest_query);  // must be first: it may remove bytes from the middle of a secret
  for (const std::string* secret : {&record.token, &record.secret}) {
    if (secret->empty()) continue;
    for (auto at = text.find(*secret); at != std::string::npos; at = text.find(*secret, at + redacted.size())) {
      text.replace(at, secret->size(), redacted);
    }
  }
  return std::string(utf8_prefix(redact(text), most_reason));
}

}  // namespace feedmill
