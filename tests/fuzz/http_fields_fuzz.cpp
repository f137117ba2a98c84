// Any headers, one "Name: value" per line → the values that policy derives stay within their limits (HTTP P1, P7,
// H10, P1, P9).
#include <string>
#include <vector>

#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/http/http_fields.hpp"

FEEDMILL_FUZZ_TARGET(http_fields_fuzz, data, size) {
  using namespace feedmill;
  using std::chrono::seconds;
  std::vector<Header> headers;
  std::string_view rest = fuzz::view(data, size);
  // The first four bytes are the time of the response.
  std::uint32_t moment = 0;
  for (std::size_t i = 0; i < 4 && i < rest.size(); ++i) moment = moment << 8U | static_cast<unsigned char>(rest[i]);
  rest.remove_prefix(std::min<std::size_t>(4, rest.size()));
  const std::chrono::sys_seconds now{seconds(moment)};
  while (!rest.empty() && headers.size() < 64) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    headers.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
  }

  const Freshness fresh = freshness(headers, now);
  fuzz::require(fresh.fresh.count() >= 0 && fresh.fresh.count() < (std::int64_t{1} << 31));
  fuzz::require(fresh.from.size() <= 120);
  fuzz::require(fresh.code.empty() || fresh.code == "max_age" || fresh.code == "expires");
  if (const auto after = retry_after(headers, now)) {
    fuzz::require(after->wait.count() >= 0 && after->wait <= std::chrono::days(7));
  }
  const auto quotas = stated_quotas(headers, now);
  fuzz::require(quotas.size() <= 16);
  for (const StatedQuota& quota : quotas) {
    if (quota.remaining) fuzz::require(*quota.remaining >= 0 && *quota.remaining <= 1e9);
    for (const auto& time : {quota.reset, quota.pace}) {
      if (time) fuzz::require(time->count() >= 0 && *time <= std::chrono::days(7));
    }
  }
  for (const auto& [name, value] : headers) {
    if (const auto date = parse_http_date(value, now)) {
      const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(*date));
      fuzz::require(day.ok() && int(day.year()) >= 0 && int(day.year()) <= 10000);  // leap seconds
    }
    const std::string_view validator = usable_validator(value);
    fuzz::require(validator.size() <= 1024);
    for (const char byte : validator) fuzz::require(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f);
    fuzz::require(joined_field(headers, name).size() >= field(headers, name).size());
  }
  return 0;
}
