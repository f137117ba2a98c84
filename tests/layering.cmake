# Fails when an include goes against parsers ◀ storage ◀ worker (DESIGN §6), past a public face, or to a library that
# is another layer's business; when one within worker/ goes against the order of its places; and when a key's name
# stands anywhere but in storage/keys.hpp and storage/scripts/.
#   cmake -D SOURCE_DIR=… -P tests/layering.cmake
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/source_lines.cmake")
set(parsers_faces charset.hpp date.hpp discovery.hpp document_json.hpp entry_values.hpp escape.hpp explain.hpp feed.hpp hub_links.hpp
  limits.hpp normalise.hpp opml.hpp read_feed.hpp sanitise.hpp strings.hpp text.hpp url.hpp)
set(storage_faces archive.hpp byte_text.hpp channels.hpp deliveries.hpp diff.hpp entry_record.hpp feed_fields.hpp
  fields.hpp given_entry.hpp identity.hpp key_value.hpp notifications.hpp pushes.hpp records.hpp rekey.hpp resanitise.hpp
  signal_record.hpp store.hpp test_point.hpp traces.hpp utf8.hpp verify.hpp)

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

# The places of worker/ from below. A file may include what stands in its own place or below it; which files a place has,
# within worker/, is said in the order in which they are tried.
set(places ground http config text heart told push admin parts commands program)
set(places_tried ground told parts program http config text push admin commands heart)
set(ground_files "^(cancellation|descriptor_watch|exits|held_signals|host_name|log|memory_budget|report|run_on|unique_fd|text/(characters|redact|units))[.]")
set(told_files "^(followed_refresh|text/(answer|trace)_text)[.]")  # the words for a refresh under way
set(parts_files "^((config/run_options|discover|doctor|egress_view|probe|run)[.]|run/)")  # put together from the configuration: a worker, a question
set(program_files "^main[.]")
foreach(folder IN ITEMS http config text push admin commands)
  set(${folder}_files "^${folder}/")
endforeach()
set(heart_files "")  # claim, fetch, read, decide, store, and what they need: all the rest
# What goes against that, file>header, and why. One that has no use any more is an error too.
set(against
  "http/fetch.hpp>config/feed_settings.hpp"    # a request carries what its feed's operator has set
  "decide.hpp>push/push_health.hpp"            # a refresh judges the pushes since the last one, as the policy it is
  "worker.cpp>push/push_turns.hpp"             # … and tells when a subscription's state has turned
  "liveness.hpp>admin/admin.hpp"               # its checks are what the listener answers with
  "worker.cpp>followed_refresh.hpp"            # a refresh that is followed is put into words as it goes on
  "push/callback.cpp>admin/query.hpp"          # both listeners are made of the same parts, which stand in admin/
  "push/callback_listener.hpp>admin/listener.hpp"
  "admin/feed_pages.hpp>commands/explain.hpp")  # a feed's page says what `explain` says

# Names of keys, in string literals: their beginnings, and the endings of those that begin with a feed's URL.
string(CONCAT key_names
  "\"(ids:Entry|Entry:|Feed:|state:(feed|host|worker|channels|trace|watch)|stats:feeds|stream:signals|meta:store|conf:hosts|websub:callback"
  "|lock:delivery|channel_sortorder_|zchannel:|list:notification|hash:notification|deliver:)"
  "|(:sort|:guidmap|:digests|:tombs)\"")

# Sets `rank` to how high `path`, within worker/, stands among the places.
function(rank_of path rank)
  foreach(place IN LISTS places_tried)
    if(path MATCHES "${${place}_files}")
      list(FIND places ${place} at)
      set(${rank} ${at} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

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
    if(header MATCHES "^(parsers|storage|worker)/(.*)$")
      set(other "${CMAKE_MATCH_1}")
      set(face "${CMAKE_MATCH_2}")
      if(NOT other STREQUAL layer AND NOT face IN_LIST ${other}_faces)
        set(${found} "${header} is no public face of ${other}/" PARENT_SCOPE)
      elseif(other STREQUAL layer AND layer STREQUAL worker)
        string(REGEX REPLACE "^worker/" "" includer "${file}")
        rank_of("${includer}" from)
        rank_of("${face}" to)
        if(to GREATER from AND "${includer}>${face}" IN_LIST against)
          set_property(GLOBAL APPEND PROPERTY went_against "${includer}>${face}")
        elseif(to GREATER from)
          list(GET places ${from} below)
          list(GET places ${to} above)
          set(${found} "${header} stands above it (${above} over ${below})" PARENT_SCOPE)
        endif()
      endif()
    elseif(quote STREQUAL "\"")
      set(${found} "our own headers are included as <layer>/<header>, not as ${header}" PARENT_SCOPE)
    endif()
  elseif(NOT file STREQUAL "storage/keys.hpp")
    string(REGEX REPLACE "(^|[^:])//.*$" "\\1" code "${line}")
    if(code MATCHES "${key_names}")
      set(${found} "the name of a key (${CMAKE_MATCH_0}) stands outside of storage/keys.hpp" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# These lines are wrong, and those below are not.
check_example(parsers/rss.cpp "#include \"storage/records.hpp\"" TRUE)
check_example(parsers/rss.cpp "#include <fstream>" TRUE)
check_example(parsers/rss.cpp "#  include <sys/stat.h>" TRUE)
check_example(parsers/rss.cpp "#include <thread>" TRUE)
check_example(parsers/rss.cpp "#include \"xml.hpp\"" TRUE)
check_example(storage/store.cpp "#include \"worker/log.hpp\"" TRUE)
check_example(storage/store.cpp "#include <boost/asio/post.hpp>" TRUE)
check_example(storage/store.cpp "#include <curl/curl.h>" TRUE)
check_example(storage/store.cpp "#include \"parsers/xml.hpp\"" TRUE)
check_example(storage/store.cpp "  return prefix + \"state:feed:\" + url;" TRUE)
check_example(worker/run.cpp "#include <pugixml.hpp>" TRUE)
check_example(worker/run.cpp "#include <simdjson.h>" TRUE)
check_example(worker/run.cpp "#include <hiredis/hiredis.h>" TRUE)
check_example(worker/run.cpp "#include \"storage/keys.hpp\"" TRUE)
check_example(worker/run.cpp "#include \"parsers/xml.hpp\"" TRUE)
check_example(worker/run.cpp "  const std::string key = url + \":guidmap\"" TRUE)
check_example(worker/http/resolver.cpp "#include \"worker/config/config.hpp\"" TRUE)
check_example(worker/config/config.cpp "#include \"worker/refresh.hpp\"" TRUE)
check_example(worker/refresh.cpp "#include \"worker/commands/cli.hpp\"" TRUE)
check_example(worker/log.hpp "#include \"worker/metrics.hpp\"" TRUE)
check_example(worker/text/records.cpp "#include \"worker/text/answer_text.hpp\"" TRUE)
check_example(parsers/rss.cpp "#include \"parsers/xml.hpp\"" FALSE)
check_example(storage/store.cpp "#include \"storage/keys.hpp\"" FALSE)
check_example(storage/store.cpp "#include \"parsers/feed.hpp\"" FALSE)
check_example(storage/store.cpp "  // \"state:feed:\" is a key" FALSE)
check_example(storage/keys.hpp "join(feed_url, \":guidmap\")" FALSE)
check_example(worker/run.cpp "#include \"storage/store.hpp\"" FALSE)
check_example(worker/run.cpp "#include <boost/asio/post.hpp>" FALSE)
check_example(worker/main.cpp "#include \"worker/commands/cli.hpp\"" FALSE)
check_example(worker/config/run_options.cpp "#include \"worker/refresh.hpp\"" FALSE)
check_example(worker/http/resolver.cpp "#include \"worker/report.hpp\"" FALSE)

set(wrongs "")
look_at_lines("#[ \t]*include|${key_names}" wrongs)
get_property(went_against GLOBAL PROPERTY went_against)
foreach(arrow IN LISTS against)
  if(NOT arrow IN_LIST went_against)
    string(APPEND wrongs "\n  nothing needs the exception ${arrow} any more")
  endif()
endforeach()
report("${wrongs}")
