#include "worker/observe/push_turns.hpp"

#include "worker/observe/notices.hpp"

namespace feedmill {

PushNews push_news(const Report& report) {
  return {report.feed_url, report.push_from,      report.push_to,  "",
          report.push_hub, report.hub_in_trouble, report.push_fell};
}

void note_turn(Log& log, Metrics& metrics, const PushNews& news) {
  if (news.from == news.to) return;
  metrics.push_turned(news.to);
  const bool bad = news.to == "failed" || news.to == "denied" || news.to == "doubtful";
  log.write(bad ? LogLevel::warn : LogLevel::info, "websub_state",
            bad ? "pushes for a feed are unreliable; it is polled as if there were none"
                : "the subscription of a feed at its hub has changed",
            {{"feed", feed_id(news.feed_url)},
             {"url", news.feed_url},
             {"state_from", news.from.empty() ? "none" : news.from},
             {"state_to", news.to.empty() ? "none" : news.to},
             {"detail", news.why}});
}

std::vector<Notice> turn_notices(const PushNews& news, Milliseconds now) {
  std::vector<Notice> notices;
  const bool recovered = news.to == "healthy" && (news.from == "doubtful" || news.fell);
  if (news.from != news.to && (news.to == "failed" || news.to == "denied" || recovered)) {
    notices.push_back(push_notice(news.feed_url, news.to, news.why, now));
  }
  if (news.hub_in_trouble) notices.push_back(hub_notice(news.hub, now));
  return notices;
}

}  // namespace feedmill
