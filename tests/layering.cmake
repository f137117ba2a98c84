# Fails when a room includes from one that it does not use by its CMakeLists.txt, or says that it uses one and does not; when
# a file stands in no room, or a room is not on the map in docs/ARCHITECTURE.md; when a layer includes a library that is another layer's business; and when a key's name
# stands anywhere but in storage/store/keys.hpp and storage/lua/. That no room uses one above it CMakeLists.txt sees to.
#   cmake -D SOURCE_DIR=… -P tests/layering.cmake
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/source_lines.cmake")
# What a layer must not include, as regular expressions of what stands between the quotes or angle brackets.
set(parsers_forbidden  # I/O, clocks' users, threads, and what the other layers are made of
  "^(storage|worker|tests)/"
  "^(fstream|iostream|istream|ostream|filesystem|cstdio|stdio\\.h|csignal|signal\\.h|random|ctime|time\\.h)$"
  "^(thread|mutex|shared_mutex|condition_variable|future|stop_token|semaphore|latch|barrier|atomic|coroutine)$"
  "^(unistd|fcntl|poll|netdb|dirent|spawn|pthread|dlfcn)\\.h$" "^(sys|net|netinet|arpa)/"
  "^boost/(asio|beast|filesystem|process|thread|redis)" "^(curl|hiredis|ares|prometheus|spdlog|fmt|toml\\+\\+|CLI)/" "^ares\\.h$")
set(storage_forbidden
  "^(worker|tests)/" "^(thread|mutex|shared_mutex|condition_variable|future|coroutine)$"
  "^boost/(asio|beast|process|thread)" "^(curl|ares|prometheus|spdlog|toml\\+\\+|CLI)/" "^ares\\.h$"
  "^(pugixml|pugiconfig|simdjson)\\.h" "^(brotli/decode|zstd|libdeflate)\\.h$")
set(worker_forbidden
  "^tests/" "^(pugixml|pugiconfig|simdjson)\\.h" "^hiredis" "^(sw/redis|boost/redis)")

# What each room says that it uses.
file(GLOB rooms RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/parsers/*/CMakeLists.txt" "${SOURCE_DIR}/storage/*/CMakeLists.txt"
     "${SOURCE_DIR}/worker/*/CMakeLists.txt")
list(TRANSFORM rooms REPLACE "/CMakeLists.txt$" "")
foreach(room IN LISTS rooms)
  file(READ "${SOURCE_DIR}/${room}/CMakeLists.txt" text)
  set(uses_${room} "")
  if(text MATCHES "\n  USES ([a-z_/ \n]+)")
    string(REGEX REPLACE "[ \n]+" ";" uses_${room} "${CMAKE_MATCH_1}")
    list(REMOVE_ITEM uses_${room} "")
  endif()
endforeach()
set(uses_worker/app worker/base worker/cli worker/verbs storage/redis)  # an executable, which nobody uses
set(uses_storage/lua "")  # its sources are made by CMake

# Names of keys, in string literals: their beginnings, and the endings of those that begin with a feed's URL.
string(CONCAT key_names
  "\"(ids:Entry|Entry:|Feed:|state:(feed|host|worker|channels|trace|watch|request)|stats:feeds|stream:(signals|requests)|meta:store|conf:hosts|websub:callback"
  "|lock:delivery|channel_sortorder_|zchannel:|list:notification|hash:notification|deliver:)"
  "|(:sort|:guidmap|:digests|:tombs)\"")

# Sets `found` to what is wrong with `line` of `file` (relative to the source directory), or to "".
function(look_at file line found)
  set(${found} "" PARENT_SCOPE)
  string(REGEX MATCH "^[a-z]+" layer "${file}")
  if(line MATCHES "^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]")
    set(quote "${CMAKE_MATCH_1}")
    set(header "${CMAKE_MATCH_2}")
    foreach(forbidden IN LISTS ${layer}_forbidden)
      if(header MATCHES "${forbidden}")
        set(${found} "${layer}/ must not include ${header}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
    get_filename_component(room "${file}" DIRECTORY)
    if(header MATCHES "^((parsers|storage|worker)/[a-z_]+)/[a-z_0-9]+[.]hpp$")
      set(used "${CMAKE_MATCH_1}")
      if(used IN_LIST uses_${room})
        set_property(GLOBAL APPEND PROPERTY used "${room} ${used}")
      elseif(NOT used STREQUAL room)
        set(${found} "${room} does not say that it uses ${used}" PARENT_SCOPE)
      endif()
    elseif(quote STREQUAL "\"")
      set(${found} "our own headers are included as <layer>/<room>/<header>, not as ${header}" PARENT_SCOPE)
    endif()
  elseif(NOT file STREQUAL "storage/store/keys.hpp")
    string(REGEX REPLACE "(^|[^:])//.*$" "\\1" code "${line}")
    if(code MATCHES "${key_names}")
      set(${found} "the name of a key (${CMAKE_MATCH_0}) stands outside of storage/store/keys.hpp" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# These lines are wrong, and those below are not.
check_example(parsers/feed/rss.cpp "#include \"storage/records/commit.hpp\"" TRUE)
check_example(parsers/feed/rss.cpp "#include <fstream>" TRUE)
check_example(parsers/feed/rss.cpp "#  include <sys/stat.h>" TRUE)
check_example(parsers/feed/rss.cpp "#include <thread>" TRUE)
check_example(parsers/feed/rss.cpp "#include \"xml.hpp\"" TRUE)
check_example(parsers/feed/rss.cpp "#include \"parsers/rss.hpp\"" TRUE)
check_example(parsers/markup/xml.cpp "#include \"parsers/feed/feed.hpp\"" TRUE)
check_example(storage/store/store.cpp "#include \"worker/base/log.hpp\"" TRUE)
check_example(storage/store/store.cpp "#include <boost/asio/post.hpp>" TRUE)
check_example(storage/store/store.cpp "#include <curl/curl.h>" TRUE)
check_example(storage/store/store.cpp "  return prefix + \"state:feed:\" + url;" TRUE)
check_example(worker/process/run.cpp "#include <pugixml.hpp>" TRUE)
check_example(worker/process/run.cpp "#include <simdjson.h>" TRUE)
check_example(worker/process/run.cpp "#include <hiredis/hiredis.h>" TRUE)
check_example(worker/process/run.cpp "  const std::string key = url + \":guidmap\"" TRUE)
check_example(worker/http/resolver.cpp "#include \"worker/ingest/refresh.hpp\"" TRUE)
check_example(worker/config/config.cpp "#include \"worker/ingest/refresh.hpp\"" TRUE)
check_example(parsers/feed/rss.cpp "#include \"parsers/markup/xml.hpp\"" FALSE)
check_example(parsers/feed/rss.cpp "#include \"parsers/feed/fields.hpp\"" FALSE)
check_example(storage/store/store.cpp "#include \"storage/redis/redis.hpp\"" FALSE)
check_example(storage/store/store.cpp "  // \"state:feed:\" is a key" FALSE)
check_example(storage/store/keys.hpp "join(feed_url, \":guidmap\")" FALSE)
check_example(worker/process/run.cpp "#include <boost/asio/post.hpp>" FALSE)
check_example(worker/app/main.cpp "#include \"worker/cli/cli.hpp\"" FALSE)
set_property(GLOBAL PROPERTY used "")

set(wrongs "")
look_at_lines("#[ \t]*include|${key_names}" wrongs)
get_property(used GLOBAL PROPERTY used)
foreach(room IN LISTS rooms)
  foreach(other IN LISTS uses_${room})
    if(NOT "${room} ${other}" IN_LIST used)
      string(APPEND wrongs "\n  ${room}/CMakeLists.txt: it does not use ${other}")
    endif()
  endforeach()
endforeach()
file(GLOB loose RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/parsers/*.?pp" "${SOURCE_DIR}/storage/*.?pp" "${SOURCE_DIR}/worker/*.?pp")
foreach(file IN LISTS loose)
  string(APPEND wrongs "\n  ${file} stands in no room")
endforeach()
file(READ "${SOURCE_DIR}/docs/ARCHITECTURE.md" map)
foreach(room IN LISTS rooms)
  if(NOT map MATCHES "\n[|] `${room}` [|]")
    string(APPEND wrongs "\n  docs/ARCHITECTURE.md does not name ${room}")
  endif()
endforeach()
string(REGEX MATCHALL "\n[|] `[a-z_/]+` [|]" named "${map}")
foreach(row IN LISTS named)
  string(REGEX REPLACE ".*`(.*)`.*" "\\1" room "${row}")
  if(NOT room IN_LIST rooms)
    string(APPEND wrongs "\n  docs/ARCHITECTURE.md names ${room}, which there is not")
  endif()
endforeach()
report("${wrongs}")
