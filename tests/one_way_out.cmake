# Fails when anything but worker/http/http_transfer.cpp can make a connection that outside data decides about (SECURITY E3), and
# when that file does not ask the egress policy where it must. Redis and systemd are the operator's, and named here.
#   cmake -D SOURCE_DIR=… -P tests/one_way_out.cmake
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/source_lines.cmake")

# Whatever opens, connects or resolves.
string(CONCAT ways_out
  "(^|[^A-Za-z0-9_>.])(socket|connect|sendto|getaddrinfo|gethostbyname|gethostbyname2|getnameinfo|getaddrinfo_a)[ \t]*\\("
  "|::(socket|connect|sendto|getaddrinfo)[ \t]*\\("
  "|async_connect|async_resolve|tcp::resolver|udp::resolver|udp::socket|[.]connect[ \t]*\\("
  "|curl_easy_perform|curl_easy_init|curl_multi_init|redisConnect|redisAsyncConnect")

# file:way — what is allowed, and why.
set(allowed
  "worker/http/http_transfer.cpp:::socket("            # the choke point itself: after the policy has agreed
  "worker/http/http_engine.cpp:curl_easy_init"       # handles for it
  "worker/http/http_engine.cpp:curl_multi_init"
  "worker/redis_server/server_program.cpp:::socket("   # the private Redis, over a unix socket
  "worker/redis_server/server_program.cpp:::connect("
  "worker/redis_server/server_program.hpp:connect(const std::filesystem::path"
  "worker/redis_server/private_server.cpp:ServerTalk::connect("
  "worker/process/sd_notify.cpp:::socket("              # systemd, over a unix socket
  "worker/process/sd_notify.cpp:::sendto("
  "storage/redis/redis.hpp:connect()"                 # the operator's Redis
  "storage/redis/redis.cpp:connect()"
  "storage/store/store.cpp:redis.connect()"
  "storage/feeds/fleet.cpp:redis.connect()"
  "storage/redis/redis.cpp:redisConnect"
  "worker/verbs/open_store.cpp:connect(const Config& config, StoreUse use)"  # the store of a verb
  "worker/verbs/open_store.cpp:auto session = connect(config, use)"
  "worker/verbs/open_store.hpp:connect(const Config& config,"
  "worker/verbs/doctor_verb.cpp:StoreSession::connect(config)"
  "worker/verbs/doctor.cpp:tcp::socket socket(loop)"
  "worker/verbs/doctor.cpp:socket.async_connect(endpoint"  # the operator's own proxy, which nothing is sent to
  "worker/verbs/admin_client.cpp:tcp::socket socket(loop)"         # our own admin listener, where the operator put it
  "worker/verbs/admin_client.cpp:socket.async_connect(endpoint_"
  "worker/push_out/live_streams.cpp:tcp::socket taken")  # a client's, taken over from the listener

function(look_at file line found)
  set(${found} "" PARENT_SCOPE)
  string(REGEX REPLACE "(^|[^:])//.*$" "\\1" code "${line}")
  string(REGEX REPLACE "\"[^\"]*\"" "\"\"" code "${code}")
  if(NOT code MATCHES "${ways_out}")
    return()
  endif()
  foreach(entry IN LISTS allowed)
    string(REGEX MATCH "^([^:]+):(.+)$" matched "${entry}")
    set(way "${CMAKE_MATCH_2}")
    string(FIND "${code}" "${way}" at)
    if(file STREQUAL "${CMAKE_MATCH_1}" AND NOT at EQUAL -1)
      return()
    endif()
  endforeach()
  set(${found} "another way out: ${line}" PARENT_SCOPE)
endfunction()

check_example(worker/http/fetch.cpp "  const int s = ::socket(AF_INET, SOCK_STREAM, 0)" TRUE)
check_example(worker/http/fetch.cpp "  if (connect(s, address, size) != 0) return" TRUE)
check_example(worker/http/fetch.cpp "  co_await socket.async_connect(endpoint, token)" TRUE)
check_example(worker/http/fetch.cpp "  asio::ip::tcp::resolver resolver(executor)" TRUE)
check_example(worker/http/fetch.cpp "  curl_easy_perform(easy)" TRUE)
check_example(worker/http/resolver.cpp "  getaddrinfo(host, nullptr, &hints, &found)" TRUE)
check_example(storage/store/store.cpp "  redisConnect(host, port)" TRUE)
check_example(worker/http/resolver.cpp "  ares_getaddrinfo(channel_, host, nullptr, &hints, answered, argument)" FALSE)
check_example(worker/http/http_transfer.cpp "  const int socket = ::socket(address->family, type, address->protocol)" FALSE)
check_example(worker/http/fetch.cpp "  timings.connect += trace.connect" FALSE)
check_example(worker/http/fetch.cpp "  // then connect() is called" FALSE)

set(wrongs "")
look_at_lines("socket|connect|sendto|getaddrinfo|gethostbyname|getnameinfo|resolve|curl_|Connect" wrongs)

file(READ "${SOURCE_DIR}/worker/http/http_transfer.cpp" transfer)
foreach(option IN ITEMS OPENSOCKETFUNCTION PREREQFUNCTION CLOSESOCKETFUNCTION PROTOCOLS_STR REDIR_PROTOCOLS_STR FOLLOWLOCATION
        HTTP09_ALLOWED DISALLOW_USERNAME_IN_URL UNRESTRICTED_AUTH NETRC NOPROXY RESOLVE SSL_VERIFYPEER SSL_VERIFYHOST)
  string(REGEX MATCHALL "CURLOPT_${option}," uses "${transfer}")
  list(LENGTH uses count)
  if(NOT count EQUAL 1)
    string(APPEND wrongs "\n  worker/http/http_transfer.cpp sets CURLOPT_${option} ${count} times")
  endif()
endforeach()
report("${wrongs}")
