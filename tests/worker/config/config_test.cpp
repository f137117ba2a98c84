#include "worker/config/config.hpp"

#include <fstream>
#include <set>
#include <sys/stat.h>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/redis/redis_address.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/base/small_file.hpp"
#include "worker/base/system.hpp"

namespace feedmill::config_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Sets an empty home directory, so that no file of this machine is found.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    sources.environment["HOME"] = home.string();
    sources.environment["XDG_CONFIG_HOME"] = (home / "config").string();
  }

  fs::path write(const fs::path& path, const std::string& text) {
    fs::path file = home / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file;
  }
  void file(const std::string& text) { sources.file = write("feedmill.toml", text); }
  void env(const std::string& name, const std::string& value) { sources.environment["FEEDMILL_" + name] = value; }

  Config load() {
    auto loaded = load_config(sources);
    if (!loaded) {
      for (const auto& problem : loaded.error()) ADD_FAILURE() << to_string(problem);
      return {};
    }
    return std::move(*loaded);
  }
  std::vector<std::string> problems() {
    const auto loaded = load_config(sources);
    std::vector<std::string> lines;
    if (!loaded)
      for (const auto& problem : loaded.error()) lines.push_back(to_string(problem));
    return lines;
  }
  std::string shown(const std::string& key) {
    for (const auto& option : show(load()))
      if (option.key == key) return option.value;
    return "no such option";
  }

  test::TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  ConfigSources sources;
};

TEST_F(ConfigTest, HasTheDefaultsOfTheManual) {
  const Config config = load();
  EXPECT_EQ(config.redis.url, "");
  EXPECT_EQ(config.log.redact_params.size(), 10u);
  EXPECT_FALSE(config.debug.core);
  EXPECT_EQ(config.debug.keep_poison, "");
  EXPECT_TRUE(config.embedded());
  EXPECT_EQ(config.redis.timeout, 5s);
  EXPECT_EQ(config.redis.buffer, 32U << 20U);
  EXPECT_EQ(config.store.durability, Durability::ack);
  EXPECT_EQ(config.store.data_dir, home / ".local/share/feedmill");
  EXPECT_EQ(config.store.connections, 1u);
  EXPECT_EQ(config.retention.entries, 50u);
  EXPECT_EQ(config.retention.hard_cap, 2000u);
  EXPECT_EQ(config.retention.grace, 168h);
  EXPECT_EQ(config.signals.max_len, 100'000u);
  EXPECT_EQ(config.worker.lanes, 256u);
  EXPECT_GE(config.worker.cpu_threads, 1u);
  EXPECT_LE(config.worker.cpu_threads, 8u);
  EXPECT_EQ(config.schedule.lease, 90s);
  EXPECT_EQ(config.schedule.poll, 2s);
  EXPECT_EQ(config.schedule.floor, 1h);
  EXPECT_EQ(config.fetch.max_body, 16u << 20);
  EXPECT_EQ(config.fetch.proxy, "");
  EXPECT_FALSE(config.fetch.subscribers);
  EXPECT_THAT(config.dns.servers, testing::IsEmpty());
  EXPECT_TRUE(config.fetch.http2);
  EXPECT_THAT(config.egress.ports, ElementsAre("80", "443", "8000-8999"));
  EXPECT_EQ(config.html.policy, HtmlPolicy::strict);
  ASSERT_TRUE(config.admin.listen);
  EXPECT_EQ(config.admin.listen->port(), 9810);
  EXPECT_EQ(config.drain.timeout, 25s);
  EXPECT_EQ(config.log.level, LogLevel::info);
}

TEST_F(ConfigTest, NamesInTheTableAreUnique) {
  std::set<std::string_view> keys, flags;
  std::set<std::string> variables;
  for (const auto& option : option_table()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_TRUE(variables.insert(variable_of(option)).second) << option.key;
    EXPECT_TRUE(option.flag.empty() || flags.insert(option.flag).second) << option.flag;
    EXPECT_FALSE(option.meaning.empty()) << option.key;
  }
}

TEST_F(ConfigTest, EveryShownValueReadsBackAsItself) {
  const auto before = show(load());
  for (const auto& option : before) sources.flags[option.key] = option.value;
  const auto after = show(load());
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].value, after[i].value) << before[i].key;
}

TEST_F(ConfigTest, PrefersFlagOverEnvironmentOverFileOverDefault) {
  file("[retention]\nentries = 10\nhard_cap = 20\ngrace = \"1d\"\n");
  env("RETENTION_HARD_CAP", "30");
  env("RETENTION_GRACE", "2d");
  sources.flags["retention.grace"] = "3d";
  const Config config = load();
  EXPECT_EQ(config.retention.entries, 10u);
  EXPECT_EQ(config.retention.hard_cap, 30u);
  EXPECT_EQ(config.retention.grace, 72h);
  EXPECT_EQ(config.origins.at("retention.entries"), "file " + sources.file.string() + ":2");
  EXPECT_EQ(config.origins.at("retention.hard_cap"), "environment FEEDMILL_RETENTION_HARD_CAP");
  EXPECT_EQ(config.origins.at("retention.grace"), "flag");
  EXPECT_EQ(config.origins.at("retention.strict"), "default");
}

TEST_F(ConfigTest, NamesTheFlagAValueCameFrom) {
  sources.flags["retention.entries"] = "7";
  EXPECT_EQ(load().origins.at("retention.entries"), "flag --keep");
}

TEST_F(ConfigTest, FindsItsFileInTheUsualPlaces) {
  EXPECT_EQ(config_file(sources), "");
  const fs::path users = write("config/feedmill/feedmill.toml", "");
  EXPECT_EQ(config_file(sources), users);
  const fs::path units = write("unit/feedmill.toml", "");
  sources.environment["CONFIGURATION_DIRECTORY"] = (home / "none").string() + ":" + (home / "unit").string();
  EXPECT_EQ(config_file(sources), units);
  sources.file = "given.toml";
  EXPECT_EQ(config_file(sources), "given.toml");
}

TEST_F(ConfigTest, ReadsEveryTypeFromTheFile) {
  file(R"(
[redis]
embedded = true
[fetch]
http2 = false
max_body = "64KiB"
[host]
spacing = 0
[egress]
allow = ["127.0.0.0/8:1024-65535", "192.168.1.10", "[fd00:1::]/64:8000-8999", "fd00::/8"]
deny = "10.0.0.0/8, 10.1.1.1:80"
ports = [80, "8000-8999"]
nat64 = ["2001:db8:64::/96", "fd00:64::/64"]
[html]
policy = "strict"
keep_class = true
[admin]
listen = "[::1]:0"
[log]
level = "debug"
format = "json"
)");
  const Config config = load();
  EXPECT_EQ(config.redis.embedded, EmbeddedMode::always);
  EXPECT_FALSE(config.fetch.http2);
  EXPECT_EQ(config.fetch.max_body, 65'536u);
  EXPECT_EQ(config.host.spacing, 0ms);
  EXPECT_EQ(config.egress.allow.size(), 4u);
  EXPECT_THAT(config.egress.deny, ElementsAre("10.0.0.0/8", "10.1.1.1:80"));
  EXPECT_THAT(config.egress.ports, ElementsAre("80", "8000-8999"));
  EXPECT_THAT(config.egress.nat64, ElementsAre("2001:db8:64::/96", "fd00:64::/64"));
  EXPECT_TRUE(config.html.keep_class);
  EXPECT_TRUE(config.admin.listen->address().is_v6());
  EXPECT_EQ(config.log.level, LogLevel::debug);
  EXPECT_EQ(config.log.format, LogFormat::json);
}

TEST_F(ConfigTest, TellsAllProblemsAtOnce) {
  file("[redis]\nprefix = \"x\"\ntimeout = 5\n[fetch]\nwal = \"1s\"\n[nonsense]\na = 1\n");
  env("WORKER_LANE", "3");
  env("FETCH_HTTP2", "yes");
  sources.flags["admin.listen"] = "everywhere";
  const std::string from = "(file " + sources.file.string();
  EXPECT_THAT(problems(),
              testing::UnorderedElementsAre(
                  "redis.prefix " + from + ":2): no such option; did you mean redis.key_prefix?",
                  "redis.timeout = \"5\" " + from + ":3): expected a duration with its unit: 500ms 90s 15min 24h 7d",
                  "fetch.wal " + from + ":5): no such option; did you mean fetch.wall?",
                  "nonsense.a " + from + ":7): no such option; `feedmill config show` lists them all",
                  "FEEDMILL_WORKER_LANE (environment): no such option; did you mean FEEDMILL_WORKER_LANES?",
                  "fetch.http2 = \"yes\" (environment FEEDMILL_FETCH_HTTP2): expected true or false",
                  "admin.listen = \"everywhere\" (flag --listen): expected address:port, such as 127.0.0.1:9810 or "
                  "[::1]:9810, or off"));
}

TEST_F(ConfigTest, AnswersNamesOfOtherPrograms) {
  file("[fetch]\ntimeout = \"5s\"\n[poll]\ninterval = \"1h\"\n[scheduler]\nceiling = \"1d\"\n");
  for (const char* const name : {"CONCURRENCY", "FETCH_TIMEOUT", "WEBHOOK_URL", "LISTEN_ADDR", "KEEP", "REDIS_PREFIX"})
    env(name, "1");
  EXPECT_THAT(problems(), UnorderedElementsAre(
                              HasSubstr("fetch.timeout (file"), HasSubstr("poll.interval (file"),
                              AllOf(HasSubstr("scheduler.ceiling (file"), HasSubstr("did you mean schedule.ceiling?")),
                              HasSubstr("did you mean FEEDMILL_WORKER_LANES or FEEDMILL_HOST_CONCURRENCY?"),
                              HasSubstr("did you mean FEEDMILL_FETCH_WALL or FEEDMILL_FETCH_CONNECT?"),
                              "FEEDMILL_WEBHOOK_URL (environment): no such option; `feedmill config show` lists them "
                              "all",
                              HasSubstr("did you mean FEEDMILL_ADMIN_LISTEN?"),
                              HasSubstr("did you mean FEEDMILL_RETENTION_ENTRIES?"),
                              HasSubstr("did you mean FEEDMILL_REDIS_KEY_PREFIX?")));
}

TEST_F(ConfigTest, NotesAServerThatIsNotRead) {
  sources.environment["REDIS_URL"] = "redis://elsewhere/";
  EXPECT_THAT(load().warnings, ElementsAre(HasSubstr("set FEEDMILL_REDIS_URL")));
  env("REDIS_URL", "redis://elsewhere/");
  EXPECT_THAT(load().warnings, testing::IsEmpty());
}

TEST_F(ConfigTest, ReportsTheLineOfATomlError) {
  file("[redis]\nurl = \n");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("(file " + sources.file.string() + ":2): ")));
}

TEST_F(ConfigTest, RefusesAGivenFileThatDoesNotExist) {
  sources.file = home / "absent.toml";
  EXPECT_THAT(
      problems(),
      ElementsAre(EndsWith("the file cannot be read: No such file or directory; check its path and permissions")));
  sources.file = home;
  EXPECT_THAT(problems(), ElementsAre(EndsWith("the file cannot be read: it is a directory")));
}

TEST_F(ConfigTest, RefusesAFileWithoutAnEnd) {
  sources.file = "/dev/zero";
  EXPECT_THAT(problems(), ElementsAre(EndsWith("the file cannot be read: it is larger than 16MiB")));
  sources.file = "/dev/null";
  EXPECT_EQ(load().redis.url, "") << "nothing in it, and nothing wrong with that";
  env("REDIS_PASSWORD_FILE", "/dev/zero");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("the file cannot be read: it is larger than 1MiB")));
  env("REDIS_PASSWORD_FILE", home.string());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("the file cannot be read: it is a directory")));
}

TEST_F(ConfigTest, WaitsForAPipeAndNotForEver) {
  const fs::path pipe = home / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto nobody = read_small_file(pipe, 1000, std::chrono::milliseconds(20));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error(), "the file cannot be read: no data arrived in this pipe within 20ms");
  {
    const UniqueFd writer(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::write(writer.get(), "[redis]", 7), 7);
    const auto open = read_small_file(pipe, 1000, std::chrono::milliseconds(20));
    ASSERT_FALSE(open) << "half of it may be still to come";
    EXPECT_THAT(open.error(), HasSubstr("had not closed it after 20ms"));
    ASSERT_EQ(::write(writer.get(), std::string(2000, '#').c_str(), 2000), 2000);
    EXPECT_THAT(read_small_file(pipe, 1000, std::chrono::milliseconds(20)).error(), HasSubstr("larger than 1000B"));
  }
  std::thread writer([&] { std::ofstream(pipe) << "[redis]\nurl = \"redis://piped\"\n"; });
  sources.file = pipe;
  EXPECT_EQ(load().redis.url, "redis://piped");
  writer.join();
}

/// As with `--config <(command)`: the writer may have exited before the pipe is read.
TEST_F(ConfigTest, ReadsWhatACommandHasWritten) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  {
    const UniqueFd writing(ends[1]);
    ASSERT_EQ(::write(writing.get(), "hunter2\n", 8), 8);
  }
  const fs::path path = "/dev/fd/" + std::to_string(reading.get());
  EXPECT_TRUE(is_read_once(path));
  EXPECT_EQ(*read_secret(path), "hunter2");
}

TEST_F(ConfigTest, ReadsAPipeOnceAndNotAtAReload) {
  const fs::path pipe = home / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Config running = load();
  sources.file = pipe;
  const auto again = reload_config(sources, running);
  ASSERT_FALSE(again);
  ASSERT_EQ(again.error().size(), 1U);
  EXPECT_THAT(again.error().front().remedy, HasSubstr("is a pipe and can be read only once"));
}

TEST_F(ConfigTest, RequiresRegularFilesForReloadedOptions) {
  if (!objection_to_redis_url("rediss://host").empty()) GTEST_SKIP() << "hiredis has no TLS here";
  ASSERT_EQ(::mkfifo((home / "pipe").c_str(), 0600), 0);
  env("REDIS_URL", "rediss://host");
  env("REDIS_CA_FILE", (home / "pipe").string());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("must be a regular file")));
}

struct RefusedCase {
  const char* name;
  const char* key;
  const char* value;
  const char* remedy;
};
class Refused : public ConfigTest, public testing::WithParamInterface<RefusedCase> {};
TEST_P(Refused, WithARemedy) {
  sources.flags[GetParam().key] = GetParam().value;
  const auto loaded = load_config(sources);
  ASSERT_FALSE(loaded);
  ASSERT_EQ(loaded.error().size(), 1u) << to_string(loaded.error().back());
  EXPECT_EQ(loaded.error()[0].key, GetParam().key);
  EXPECT_THAT(loaded.error()[0].remedy, HasSubstr(GetParam().remedy));
}
INSTANTIATE_TEST_SUITE_P(
    All, Refused,
    testing::Values(RefusedCase{"Scheme", "redis.url", "http://host", "redis://host:port/db"},
                    RefusedCase{"Prefix", "redis.key_prefix", "a b", "only letters"},
                    RefusedCase{"Never", "redis.embedded", "sometimes", "one of auto true false"},
                    RefusedCase{"Negative", "worker.lanes", "-1", "whole number"},
                    RefusedCase{"Trailing", "worker.lanes", "12x", "whole number"},
                    RefusedCase{"Huge", "worker.lanes", "99999999999", "whole number"},
                    RefusedCase{"NoLanes", "worker.lanes", "0", "between 1 and"},
                    RefusedCase{"Lease", "schedule.lease", "79s", "a third more than fetch.wall, which is 80s"},
                    RefusedCase{"Memory", "memory.budget", "323MiB", "which is 324MiB"},
                    RefusedCase{"MemoryWord", "memory.budget", "plenty", "expected auto or a size"},
                    RefusedCase{"MinFloor", "schedule.min_floor", "500ms", "at least 1s"},
                    RefusedCase{"Floor", "schedule.floor", "9min", "schedule.min_floor, which is 10min"},
                    RefusedCase{"Ceiling", "schedule.ceiling", "30min", "schedule.floor, which is 1h"},
                    RefusedCase{"HardCap", "retention.hard_cap", "49", "retention.entries, which is 50"},
                    RefusedCase{"StreamBytes", "signals.max_bytes", "1023KiB", "between 1MiB and"},
                    RefusedCase{"Changed", "signals.changed_max", "65KiB", "between 0B and 64KiB"},
                    RefusedCase{"Content", "signals.content_max", "257KiB", "between 0B and 256KiB"},
                    RefusedCase{"ContentUnit", "signals.content_max", "64", "expected a size with its unit"},
                    RefusedCase{"MaxBody", "fetch.max_body", "65MiB", "between 1KiB and 64MiB"},
                    RefusedCase{"Contact", "fetch.contact", "me@example.org", "mailto:"},
                    RefusedCase{"ContactInjection", "fetch.contact", "https://e.org/\r\nX: y", "write a URL"},
                    RefusedCase{"Cidr", "egress.allow", "10.0.0.0/33", "is not CIDR"},
                    RefusedCase{"CidrPort", "egress.allow", "10.0.0.0/8:0", "is not CIDR"},
                    RefusedCase{"CidrName", "egress.deny", "localhost", "is not CIDR"},
                    RefusedCase{"Nat64Bits", "egress.nat64", "2001:db8:64::/95", "is not a NAT64 prefix"},
                    RefusedCase{"Nat64Mapped", "egress.nat64", "::ffff:0:0/96", "is not a NAT64 prefix"},
                    RefusedCase{"Nat64Ipv4", "egress.nat64", "10.0.0.0/32", "is not a NAT64 prefix"},
                    RefusedCase{"Ports", "egress.ports", "80,9000-8000", "9000-8000"},
                    RefusedCase{"NameServer", "dns.servers", "192.0.2.1,dns.example", "dns.example"},
                    RefusedCase{"NameServerPort", "dns.servers", "192.0.2.1:0", "192.0.2.1:0"},
                    RefusedCase{"NameServerBrackets", "dns.servers", "[192.0.2.1]:53", "[192.0.2.1]:53"},
                    RefusedCase{"ProxyScheme", "fetch.proxy", "socks5://10.0.0.1:1080", "http://host:port"},
                    RefusedCase{"ProxyPort", "fetch.proxy", "http://proxy.example", "http://host:port"},
                    RefusedCase{"ProxyPath", "fetch.proxy", "http://proxy.example:3128/x", "http://host:port"},
                    RefusedCase{"ProxyAlone", "fetch.proxy", "http://proxy.example:3128", "proxy_enforces_egress=true"},
                    RefusedCase{"Listen", "admin.listen", "::1:9810", "address:port"},
                    RefusedCase{"ListenPort", "admin.listen", "127.0.0.1:65536", "address:port"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ConfigTest, NeedsAUrlWhenThePrivateServerIsForbidden) {
  sources.flags["redis.embedded"] = "false";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("redis.url (default): redis.embedded is false")));
  sources.flags["redis.url"] = "redis://127.0.0.1";
  EXPECT_FALSE(load().embedded());
  sources.flags["redis.embedded"] = "true";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("contradicts redis.url")));
}

TEST_F(ConfigTest, TakesCertificatesForTlsAlone) {
  env("REDIS_URL", "redis://host");
  env("REDIS_CA_FILE", write("ca.pem", "").string());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("use rediss:// in redis.url")));
  if (!objection_to_redis_url("rediss://host").empty()) GTEST_SKIP() << "hiredis has no TLS here";
  env("REDIS_URL", "rediss://host");
  EXPECT_EQ(load().redis.ca_file, home / "ca.pem");
  env("REDIS_CERT_FILE", write("own.pem", "").string());
  EXPECT_THAT(problems(), ElementsAre(AllOf(HasSubstr("redis.key_file"), HasSubstr("must be set together"))));
  env("REDIS_KEY_FILE", (home / "own.key").string());
  EXPECT_THAT(problems(), ElementsAre(AllOf(HasSubstr("own.key"), HasSubstr("cannot be read"))));
  write("own.key", "");
  EXPECT_THAT(load().warnings, testing::IsEmpty());
  fs::permissions(home / "own.key", fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(load().warnings, ElementsAre(HasSubstr("readable by every user")));
}

TEST_F(ConfigTest, NamesTheRemedyWithoutTlsInHiredis) {
  if (objection_to_redis_url("rediss://host").empty()) GTEST_SKIP() << "hiredis has TLS here";
  env("REDIS_URL", "rediss://:hunter2@host");
  EXPECT_THAT(problems(), ElementsAre(AllOf(HasSubstr("redis.url = \"<redacted>\""), HasSubstr("stunnel"))));
}

TEST_F(ConfigTest, NeedsADecisionInKubernetes) {
  sources.environment["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("run one replica")));
  env("REDIS_EMBEDDED", "true");
  EXPECT_TRUE(load().embedded());
}

TEST_F(ConfigTest, LeavesServiceLinksOfKubernetesAlone) {
  // The variables of Services called feedmill, feedmill-admin and feedmill-redis.
  for (const std::string service : {"", "ADMIN_", "REDIS_"}) {
    env(service + "SERVICE_HOST", "10.0.0.1");
    env(service + "SERVICE_PORT", "9810");
    env(service + "SERVICE_PORT_ADMIN", "9810");
    env(service + "PORT", "tcp://10.0.0.1:9810");
    env(service + "PORT_9810_TCP", "tcp://10.0.0.1:9810");
    env(service + "PORT_9810_TCP_ADDR", "10.0.0.1");
  }
  load();
  env("ADMIN_PORT", "9810");  // a plausible guess
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("FEEDMILL_ADMIN_PORT (environment): no such option")));
}

TEST_F(ConfigTest, ReadsVariablesByTheirKeys) {
  env("FETCH_CONTACT", "https://example.org/us");
  env("WORKER_LANES", "7");
  env("SCHEDULE_FLOOR_FILE", write("floor", "11min\n").string());
  const Config config = load();
  EXPECT_EQ(config.fetch.contact, "https://example.org/us");
  EXPECT_EQ(config.worker.lanes, 7U);
  EXPECT_EQ(config.schedule.floor, 11min);
  EXPECT_EQ(config.origins.at("worker.lanes"), "environment FEEDMILL_WORKER_LANES");
  env("SCHEDULE_FLOOR", "12min");
  env("FLOOR", "12min");
  EXPECT_THAT(problems(),
              UnorderedElementsAre(HasSubstr("unset FEEDMILL_SCHEDULE_FLOOR_FILE or FEEDMILL_SCHEDULE_FLOOR"),
                                   HasSubstr("did you mean FEEDMILL_SCHEDULE_FLOOR?")));
}

TEST_F(ConfigTest, ShowsNoPassword) {
  env("REDIS_URL", "redis://me:hunter@2@host:6379/1");
  EXPECT_EQ(load().redis.url, "redis://me:hunter@2@host:6379/1");
  EXPECT_EQ(shown("redis.url"), "redis://me:<set>@host:6379/1");
  env("REDIS_URL", "http://me:hunter2@host");
  EXPECT_THAT(problems(), ElementsAre(testing::Not(HasSubstr("hunter2"))));
  env("REDIS_URL", "unix:///run/redis.sock");
  EXPECT_EQ(shown("redis.url"), "unix:///run/redis.sock");
}

TEST_F(ConfigTest, ReadsSecretsFromFiles) {
  env("REDIS_URL_FILE", write("url", "redis://:hunter2@host\n").string());
  env("REDIS_PASSWORD_FILE", write("password", "swordfish\n").string());
  const Config config = load();
  EXPECT_EQ(config.redis.url, "redis://:hunter2@host");
  EXPECT_EQ(config.redis.password, "swordfish");
  EXPECT_THAT(config.warnings, testing::IsEmpty());
  fs::permissions(home / "password", fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(load().warnings, ElementsAre(HasSubstr("readable by every user")));
  env("REDIS_PASSWORD_FILE", (home / "absent").string());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("the file cannot be read")));
}

TEST_F(ConfigTest, RefusesAValueGivenTwoWays) {
  env("REDIS_URL", "redis://a");
  env("REDIS_URL_FILE", write("url", "redis://b").string());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("set twice: unset ")));
}

TEST_F(ConfigTest, TakesItsPlacesFromSystemd) {
  write("credentials/redis-password", "swordfish");
  sources.environment["CREDENTIALS_DIRECTORY"] = (home / "credentials").string();
  sources.environment["STATE_DIRECTORY"] = "/var/lib/feedmill:/var/lib/other";
  const Config config = load();
  EXPECT_EQ(config.redis.password, "swordfish");
  EXPECT_EQ(config.store.data_dir, "/var/lib/feedmill");
}

TEST_F(ConfigTest, TurnsTheListenerOff) {
  sources.flags["admin.listen"] = "off";
  EXPECT_FALSE(load().admin.listen);
  EXPECT_EQ(shown("admin.listen"), "off");
}

// --- tables with named rows -----------------------------------------------------------------------------------------

TEST_F(ConfigTest, ReadsTheNamedTables) {
  const std::string password = write("password", "swordfish\n").string(), value = write("value", "k-1\r\n").string();
  file("[feed_auth.news]\nuser = \"me\"\npassword_file = \"" + password + "\"\norigin = \"https://news.example\"\n" +
       "[feed_auth.\"api.2\"]\nheader = \"X-Api-Key\"\nvalue_file = \"" + value +
       "\"\norigin = \"http://a.example:8080\"\n" + R"(
[host]
concurrency = 2
[host."slow.example"]
concurrency = 1
spacing = "30s"
min_interval = "6h"
http_version = "1.1"
[host."fast.example"]
spacing = 0
[host_group.family]
hosts = ["a.example", "b.example"]
[egress.policy.intranet]
allow = ["10.20.0.0/16:443"]
deny = "10.20.0.1"
ports = [443]
[dns]
servers = ["192.0.2.53", "192.0.2.54:5353", "[2001:db8::53]:53", "2001:db8::54"]
[fetch]
proxy = "http://me:hunter2@Proxy.example:3128"
proxy_enforces_egress = true
subscribers = true
)");
  const Config config = load();
  EXPECT_EQ(config.feed_auth.at("news").header_line, "Authorization: Basic bWU6c3dvcmRmaXNo");
  EXPECT_EQ(config.feed_auth.at("news").origin, "https://news.example");
  EXPECT_EQ(config.feed_auth.at("api.2").header_line, "X-Api-Key: k-1");
  EXPECT_EQ(config.host.concurrency, 2u);
  const HostOverride& slow = config.hosts.at("slow.example");
  EXPECT_EQ(slow.concurrency, 1u);
  EXPECT_EQ(slow.spacing, 30s);
  EXPECT_EQ(slow.min_interval, 6h);
  EXPECT_EQ(slow.http_version, "1.1");
  EXPECT_EQ(config.hosts.at("fast.example").spacing, 0ms);
  EXPECT_FALSE(config.hosts.at("fast.example").concurrency);
  EXPECT_THAT(config.host_groups.at("family").hosts, ElementsAre("a.example", "b.example"));
  EXPECT_THAT(config.egress_policies.at("intranet").allow, ElementsAre("10.20.0.0/16:443"));
  EXPECT_THAT(config.egress_policies.at("intranet").deny, ElementsAre("10.20.0.1"));
  EXPECT_THAT(config.egress_policies.at("intranet").ports, ElementsAre("443"));
  EXPECT_EQ(config.dns.servers.size(), 4u);
  EXPECT_TRUE(config.fetch.subscribers);
  EXPECT_TRUE(config.fetch.proxy_enforces_egress);
  EXPECT_THAT(config.warnings, testing::IsEmpty());
}

TEST_F(ConfigTest, ReadsTokensOfTheApiFromFiles) {
  const std::string one = write("one", "token-of-the-first\n").string(),
                    two = write("two", "token-of-the-other").string();
  const std::string rows = "[api.token.first]\nfile = \"" + one + "\"\nasks = true\n[api.token.other]\nfile = \"";
  file(rows + two + "\"\n");
  const Config config = load();
  EXPECT_EQ(config.api_tokens.at("first").token, "token-of-the-first");
  EXPECT_TRUE(config.api_tokens.at("first").asks);
  EXPECT_EQ(config.api_tokens.at("other").token, "token-of-the-other");
  EXPECT_FALSE(config.api_tokens.at("other").asks);
  EXPECT_FALSE(config.api.listen);
  for (const auto& option : show(config)) EXPECT_THAT(option.value, testing::Not(HasSubstr("token-of"))) << option.key;

  write("two", "token-of-the-first");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("same token as first")));
  write("two", "short");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("one line of 16 to 4096 bytes")));
  write("two", "a token\nof two lines");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("must hold one line")));
  fs::remove(two);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("cannot be read")));
  file("[api.token.first]\nasks = true\n");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("file is missing")));
}

TEST_F(ConfigTest, ShowsTheNamedTablesWithoutTheirSecrets) {
  const std::string password = write("password", "swordfish").string();
  file("[feed_auth.news]\nuser = \"me\"\npassword_file = \"" + password +
       "\"\norigin = \"https://news.example\"\n[host.\"slow.example\"]\nspacing = \"30s\"\n"
       "[fetch]\nproxy = \"http://me:hunter2@proxy.example:3128\"\nproxy_enforces_egress = true\n");
  EXPECT_EQ(shown("feed_auth.\"news\".origin"), "https://news.example");
  EXPECT_EQ(shown("feed_auth.\"news\".password_file"), password);
  EXPECT_EQ(shown("host.\"slow.example\".spacing"), "30s");
  EXPECT_EQ(shown("host.\"slow.example\".concurrency"), "no such option");
  EXPECT_EQ(shown("fetch.proxy"), "http://me:<set>@proxy.example:3128");
  for (const auto& option : show(load())) {
    EXPECT_THAT(option.value, testing::Not(HasSubstr("swordfish"))) << option.key;
    EXPECT_THAT(option.value, testing::Not(HasSubstr("hunter2"))) << option.key;
    EXPECT_THAT(option.value, testing::Not(HasSubstr("bWU6"))) << option.key;
  }
}

TEST_F(ConfigTest, WarnsOfAPasswordOnTheCommandLine) {
  sources.flags["redis.url"] = "redis://me:swordfish@localhost:6379/0";
  const auto warnings = load().warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::HasSubstr("redis.url: every user of this machine can read"));
  EXPECT_THAT(warnings[0], testing::Not(testing::HasSubstr("swordfish")));
  sources.flags["redis.url"] = "redis://me@localhost:6379/0";
  EXPECT_TRUE(load().warnings.empty());
  sources.flags.clear();
  sources.environment["FEEDMILL_REDIS_URL"] = "redis://me:swordfish@localhost:6379/0";
  EXPECT_TRUE(load().warnings.empty());
}

TEST_F(ConfigTest, WarnsOfSecretsThatEveryUserMayRead) {
  const fs::path password = write("password", "swordfish");
  fs::permissions(password, fs::perms::others_read, fs::perm_options::add);
  file("[feed_auth.news]\nuser = \"me\"\npassword_file = \"" + password.string() +
       "\"\norigin = \"https://news.example\"\n");
  EXPECT_THAT(load().warnings,
              ElementsAre(password.string() + " holds a secret but is readable by every user; chmod 600 it"));
}

struct RowCase {
  const char* name;
  const char* text;
  const char* problem;  ///< without its position
};
class BadRow : public ConfigTest, public testing::WithParamInterface<RowCase> {};
TEST_P(BadRow, IsRefusedWithARemedy) {
  const std::string secret = write("secret", "swordfish").string(), lines = write("lines", "sword\nfish").string();
  std::string text = GetParam().text;
  for (const auto& [name, path] : {std::pair<std::string, std::string>{"SECRET", secret}, {"LINES", lines}}) {
    if (const auto at = text.find(name); at != std::string::npos) text.replace(at, name.size(), path);
  }
  file(text);
  const auto found = problems();
  ASSERT_EQ(found.size(), 1u) << testing::PrintToString(found);
  EXPECT_THAT(found[0], HasSubstr(GetParam().problem));
  EXPECT_THAT(found[0], HasSubstr("(file " + sources.file.string() + ":"));
  EXPECT_THAT(found[0], testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(found[0], testing::Not(HasSubstr("swordfish")));
}
INSTANTIATE_TEST_SUITE_P(
    All, BadRow,
    testing::Values(
        RowCase{"UnknownTable", "[feed_aut.x]\nuser = \"me\"\n", "feed_aut"},
        RowCase{"UnknownCell", "[host.\"a.example\"]\nspacin = \"1s\"\n", "host.\"a.example\".spacin (file "},
        RowCase{"UnknownCellNearest", "[host.\"a.example\"]\nspacin = \"1s\"\n", "did you mean spacing?"},
        RowCase{"UnknownCellList", "[host_group.x]\nhosts = [\"a.example\"]\nspacing = \"1s\"\n",
                "no such option; one of: hosts"},
        RowCase{"HostName", "[host.\"A.example\"]\nspacing = \"1s\"\n", "is not a host name as in a URL"},
        RowCase{"HostPort", "[host.\"a.example:80\"]\nspacing = \"1s\"\n", "is not a host name as in a URL"},
        RowCase{"Name", "[egress.policy.\"a b\"]\nallow = []\n", "letters, digits"},
        RowCase{"Concurrency", "[host.\"a.example\"]\nconcurrency = 0\n", "between 1 and 1000"},
        RowCase{"Spacing", "[host.\"a.example\"]\nspacing = \"2h\"\n", "at most 1h"},
        RowCase{"MinInterval", "[host.\"a.example\"]\nmin_interval = \"31d\"\n", "at most 30d"},
        RowCase{"HttpVersion", "[host.\"a.example\"]\nhttp_version = \"2\"\n", "write \"1.1\""},
        RowCase{"TwoGroups", "[host_group.x]\nhosts = [\"a.example\"]\n[host_group.y]\nhosts = [\"a.example\"]\n",
                "a.example is already in the group x"},
        RowCase{"NoHosts", "[host_group.x]\n", "hosts is missing"},
        RowCase{"Policy", "[egress.policy.x]\nallow = [\"intranet.example\"]\n", "is not CIDR"},
        RowCase{"PolicyPorts", "[egress.policy.x]\nports = [0]\n", "is not a port"},
        RowCase{"AuthEmpty", "[feed_auth.x]\norigin = \"https://a.example\"\n", "give either user and password_file"},
        RowCase{"AuthBoth", "[feed_auth.x]\norigin = \"https://a.example\"\nuser = \"me\"\nheader = \"X-Key\"\n",
                "give either user and password_file"},
        RowCase{"AuthHalf", "[feed_auth.x]\norigin = \"https://a.example\"\nuser = \"me\"\n", "must be set together"},
        RowCase{"AuthOrigin", "[feed_auth.x]\nuser = \"me\"\npassword_file = \"SECRET\"\n", "origin is missing"},
        RowCase{"AuthOriginPath",
                "[feed_auth.x]\nuser = \"me\"\npassword_file = \"SECRET\"\norigin = \"https://a.example/feed\"\n",
                "write scheme://host[:port]"},
        RowCase{"AuthPassword",
                "[feed_auth.x]\nuser = \"me\"\npassword_file = \"SECRET\"\npassword = \"hunter2\"\n"
                "origin = \"https://a.example\"\n",
                "did you mean password_file?"},
        RowCase{"AuthHeaderLine",
                "[feed_auth.x]\nheader = \"X-Key: hunter2\"\nvalue_file = \"SECRET\"\norigin = \"https://a.example\"\n",
                "write the name of a header"},
        RowCase{"AuthHost",
                "[feed_auth.x]\nheader = \"Host\"\nvalue_file = \"SECRET\"\norigin = \"https://a.example\"\n",
                "write the name of a header"},
        RowCase{"AuthLines",
                "[feed_auth.x]\nheader = \"X-Key\"\nvalue_file = \"LINES\"\norigin = \"https://a.example\"\n",
                "must hold one line"},
        RowCase{"AuthNoFile",
                "[feed_auth.x]\nheader = \"X-Key\"\nvalue_file = \"/nowhere\"\norigin = \"https://a.example\"\n",
                "/nowhere: the file cannot be read: No such file"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ConfigTest, RepeatsNoPasswordOfAProxy) {
  env("FETCH_PROXY", "http://me:hunter2@proxy.example");
  EXPECT_THAT(problems(), ElementsAre(testing::Not(HasSubstr("hunter2"))));
  env("FETCH_PROXY", "http://me:hunter2@proxy.example:3128");
  EXPECT_THAT(problems(), ElementsAre(testing::Not(HasSubstr("hunter2"))));
}

TEST(NearestName, ForgivesTypingErrors) {
  const std::string_view names[] = {"add", "remove", "refresh", "entries"};
  EXPECT_EQ(nearest_name("refersh", names), "refresh");
  EXPECT_EQ(nearest_name("ad", names), "add");
  EXPECT_EQ(nearest_name("entrys", names), "entries");
  EXPECT_EQ(nearest_name("something", names), "");
  EXPECT_EQ(nearest_name("refr", names), "refresh") << "a name's beginning";
}

TEST_F(ConfigTest, WhatWorkersShouldShareLeavesOutSecretsPathsAndAddresses) {
  EXPECT_EQ(common_values(load()), (std::map<std::string, std::string>()));
  const fs::path secret = write("secret", "hunter2hunter2hunter2");
  env("RETENTION_ENTRIES", "50");  // the default
  env("EGRESS_ALLOW", "10.0.0.0/8");
  env("ADMIN_LISTEN", "127.0.0.1:0");
  env("WORKER_LANES", "7");
  env("REDIS_URL", "redis://me:hunter2@127.0.0.1:6379");
  env("FETCH_PROXY", "http://me:hunter2@proxy.example:3128");
  env("FETCH_PROXY_ENFORCES_EGRESS", "true");
  file("[host.\"a.example\"]\nspacing = \"5s\"\n[api.token.reader]\nfile = \"" + secret.string() +
       "\"\n[feed_auth.news]\nuser = \"me\"\npassword_file = \"" + secret.string() +
       "\"\norigin = \"https://a.example\"\n");
  const auto values = common_values(load());
  std::vector<std::string> keys;
  for (const auto& [key, value] : values) {
    keys.push_back(key);
    EXPECT_THAT(value, testing::Not(HasSubstr("hunter2")));
    EXPECT_THAT(value, testing::Not(HasSubstr("secret")));
  }
  EXPECT_THAT(keys, ElementsAre("egress.allow", "feed_auth", "host"));
}

TEST_F(ConfigTest, PublicAddressesDoNotEndAsAPartitionDoes) {
  env("REDIS_URL", "redis://127.0.0.1:6379");
  env("WEBSUB_PUBLIC_URL", "https://feeds.example.org/hooks/p3/");
  EXPECT_EQ(load().websub.public_url, "https://feeds.example.org/hooks/p3") << "there is one partition";
  env("REDIS_PARTITIONS", "4");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("choose another ending")));
  for (const char* good :
       {"https://p3", "https://p3/", "https://a.example/p3/hooks", "https://a.example/p", "https://a.example/p3a"}) {
    env("WEBSUB_PUBLIC_URL", good);
    EXPECT_THAT(problems(), ElementsAre()) << good;
  }
  env("PUSH_OUT_PUBLIC_URL", "https://a.example/p03");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("push_out.public_url")));
}

TEST_F(ConfigTest, SubscribesToHubsOnlyWhereTheyCanReachIt) {
  EXPECT_EQ(load().websub.public_url, "");
  EXPECT_EQ(load().websub.listen->port(), 9811);
  env("WEBSUB_PUBLIC_URL", "https://feeds.example.org/hooks/");
  EXPECT_EQ(load().websub.public_url, "https://feeds.example.org/hooks");
  for (const char* bad : {"feeds.example.org", "ftp://a.example", "https://", "https:///x", "https://u:p@a.example",
                          "https://a.example/?x", "https://a.example/#x", "https://a b.example"}) {
    env("WEBSUB_PUBLIC_URL", bad);
    EXPECT_THAT(problems(), ElementsAre(HasSubstr("write https://host"))) << bad;
  }
  env("WEBSUB_PUBLIC_URL", "http://127.0.0.1:9811");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("websub.allow_http=true")));
  env("WEBSUB_ALLOW_HTTP", "true");
  EXPECT_EQ(load().websub.public_url, "http://127.0.0.1:9811");
  env("WEBSUB_FALLBACK_MAX", "8d");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("between 1h and 7d")));
}

TEST_F(ConfigTest, ReadsTheTokenOfTheAdminListener) {
  env("ADMIN_TOKEN_FILE", write("token", "a secret of ours\n").string());
  EXPECT_EQ(load().admin.token, "a secret of ours");
  EXPECT_EQ(shown("admin.token_file"), (home / "token").string());
  env("ADMIN_TOKEN_FILE", write("token", "short\n").string());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("16 bytes or more")));
  env("ADMIN_TOKEN_FILE", (home / "nothing").string());
  EXPECT_FALSE(problems().empty());
}

TEST_F(ConfigTest, NamesWhatTheAdminListenerIsCalled) {
  EXPECT_THAT(load().admin.hosts, testing::IsEmpty());
  env("ADMIN_HOSTS", "feedmill,status.example.org");
  EXPECT_THAT(load().admin.hosts, ElementsAre("feedmill", "status.example.org"));
  for (const char* wrong : {"https://a.example", "a.example:9810", "*.example", "[::1]"}) {
    env("ADMIN_HOSTS", wrong);
    EXPECT_THAT(problems(), ElementsAre(HasSubstr("is not a host name")));
  }
}

TEST_F(ConfigTest, NamesParametersThatHoldSecrets) {
  env("LOG_REDACT_PARAMS", "sid,feed.key");
  EXPECT_THAT(load().log.redact_params, ElementsAre("sid", "feed.key"));
  env("LOG_REDACT_PARAMS", "sid,a=b");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is not a parameter name")));
}

}  // namespace
}  // namespace feedmill::config_test
