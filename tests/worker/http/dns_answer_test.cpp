// Messages as name servers send them, byte by byte (SECURITY E3, T4).
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "worker/http/dns_channel.hpp"

namespace feedmill::dns_answer_test {
namespace {

using Addresses = std::vector<std::string>;

constexpr std::uint16_t a = 1, cname = 5, aaaa = 28;

std::string number(std::size_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string encoded(const std::string& name) {
  std::string result;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    result += static_cast<char>(end - begin) + name.substr(begin, end - begin);
    begin = end + 1;
  }
  return result + '\0';
}

std::string record(const std::string& owner, std::uint16_t type, const std::string& data, std::size_t ttl = 300) {
  return owner + number(type) + number(1) + number(ttl >> 16) + number(ttl & 0xffff) + number(data.size()) + data;
}

/// An answer to a question for www.example.
std::string message(const std::vector<std::string>& records) {
  std::string all = "id\x81\x80" + number(1) + number(records.size()) + number(0) + number(0) + encoded("www.example") +
                    number(a) + number(1);
  for (const std::string& one : records) all += one;
  return all;
}

const std::string asked("\xc0\x0c", 2);  // points to the question's name
const std::string first("\xc0\0\2\1", 4), second("\xc0\0\2\2", 4);

HostAddresses read(const std::vector<std::string>& records, AddressFamily family = AddressFamily::v4) {
  const auto found = read_dns_answer(message(records), "www.example", family);
  EXPECT_TRUE(found);
  return found.value_or(HostAddresses());
}

TEST(DnsAnswer, TakesAddressesOfTheNameAskedFor) {
  const HostAddresses found = read({record(asked, a, first, 300), record(encoded("WWW.Example"), a, second, 60)});
  EXPECT_EQ(found.addresses, (Addresses{"192.0.2.1", "192.0.2.2"}));
  EXPECT_EQ(found.ttl, std::chrono::seconds(60));
  EXPECT_EQ(
      read({record(asked, aaaa, std::string(15, '\0') + '\1'), record(asked, a, first)}, AddressFamily::v6).addresses,
      Addresses{"::1"});
  EXPECT_EQ(read_dns_answer(message({record(asked, a, first)}), "WWW.example.", AddressFamily::v4)->addresses,
            Addresses{"192.0.2.1"});
}

// Newer versions of c-ares truncate it before we see it.
TEST(DnsAnswer, CutsAnAddressThatIsTooLong) {
  EXPECT_EQ(read({record(asked, a, first + second)}).addresses, Addresses{"192.0.2.1"});
}

TEST(DnsAnswer, FollowsAliasesInWhateverOrder) {
  const HostAddresses found =
      read({record(encoded("c.example"), a, first, 300), record(encoded("b.example"), cname, encoded("C.example"), 20),
            record(asked, cname, encoded("b.example"), 100)});
  EXPECT_EQ(found.addresses, Addresses{"192.0.2.1"});
  EXPECT_EQ(found.ttl, std::chrono::seconds(20));
}

TEST(DnsAnswer, LeavesAddressesOfOtherNamesAlone) {
  const std::string evil = record(encoded("evil.example"), a, second);
  EXPECT_EQ(read({evil}).addresses, Addresses{});
  EXPECT_EQ(read({evil, record(asked, a, first), evil}).addresses, Addresses{"192.0.2.1"});
  EXPECT_EQ(read({record(asked, cname, encoded("b.example")), evil}).addresses, Addresses{});
  // An alias that points to the queried name does not add its addresses.
  EXPECT_EQ(read({record(encoded("evil.example"), cname, asked), evil}).addresses, Addresses{});
}

TEST(DnsAnswer, EndsWhereAliasesDoNot) {
  EXPECT_EQ(read({record(asked, cname, asked)}).addresses, Addresses{});
  std::vector<std::string> chain;
  for (int i = 0; i < 20; ++i) {
    const std::string owner = i == 0 ? "www.example" : "h" + std::to_string(i) + ".example";
    chain.push_back(record(encoded(owner), cname, encoded("h" + std::to_string(i + 1) + ".example")));
    auto whole = chain;
    whole.push_back(record(encoded("h" + std::to_string(i + 1) + ".example"), a, first));
    EXPECT_EQ(read(whole).addresses.size(), i < 16 ? 1u : 0u) << i;
  }
  EXPECT_EQ(read(std::vector(300, record(asked, a, first))).addresses.size(), 256u);
}

TEST(DnsAnswer, RejectsBrokenMessages) {
  const std::string whole = message({record(asked, a, first), record(asked, cname, encoded("b.example"))});
  EXPECT_TRUE(read_dns_answer(whole, "www.example", AddressFamily::v4));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_dns_answer(whole.substr(0, size), "www.example", AddressFamily::v4)) << size;
  }
  for (const std::string& broken :
       {record(asked, a, "\xc0"), record("\xff\xff", a, first), record(number(0xc000 + 29), a, first),
        record(asked, cname, number(0xc000 + 41)), record(asked, cname, "")}) {
    EXPECT_FALSE(read_dns_answer(message({broken}), "www.example", AddressFamily::v4))
        << testing::PrintToString(broken);
  }
  EXPECT_FALSE(read_dns_answer(std::string(3000, '\xa5'), "www.example", AddressFamily::v4));
}

}  // namespace
}  // namespace feedmill::dns_answer_test
