# What the checks of our own sources share: examples that a check must judge right, and a walk over the product's lines.
# Whoever includes it defines
#   look_at(FILE LINE FOUND)   sets FOUND to what is wrong with a line of a file (relative to the source directory), or ""
# and is run with -D SOURCE_DIR=….
cmake_minimum_required(VERSION 3.25)
get_filename_component(check "${CMAKE_SCRIPT_MODE_FILE}" NAME_WE)

# A check must be able to fail: ends the run when look_at() finds something and IS_WRONG is FALSE, or the other way round.
macro(check_example file line is_wrong)
  look_at("${file}" "${line}" wrong)
  if((wrong AND NOT ${is_wrong}) OR (NOT wrong AND ${is_wrong}))
    message(FATAL_ERROR "${check}: expected another verdict on ${file}: ${line} (${wrong})")
  endif()
endmacro()

# Looks at every line of the product that matches REGEX, and appends what is wrong to the variable INTO. Only lines that can
# matter: file(STRINGS) would be slow on all, and list separators would get in the way.
function(look_at_lines regex into)
  set(found "${${into}}")
  set(looked_at 0)
  foreach(layer IN ITEMS parsers storage worker)
    file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/${layer}/*.cpp" "${SOURCE_DIR}/${layer}/*.hpp")
    foreach(file IN LISTS files)
      math(EXPR looked_at "${looked_at} + 1")
      file(STRINGS "${SOURCE_DIR}/${file}" lines REGEX "${regex}")
      foreach(line IN LISTS lines)
        look_at("${file}" "${line}" wrong)
        if(wrong)
          string(APPEND found "\n  ${file}: ${wrong}")
        endif()
      endforeach()
    endforeach()
  endforeach()
  if(looked_at LESS 50)
    message(FATAL_ERROR "${check}: found only ${looked_at} files below '${SOURCE_DIR}'")
  endif()
  set(${into} "${found}" PARENT_SCOPE)
endfunction()

# Ends the run when there is anything in WRONGS.
function(report wrongs)
  if(wrongs)
    message(FATAL_ERROR "${check}:${wrongs}")
  endif()
endfunction()
