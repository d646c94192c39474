# How a module, its tests and a program are declared; nothing else in the tree adds targets.

add_library(muster_options INTERFACE)
target_compile_options(muster_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(muster_options INTERFACE -Wthread-safety)
endif()
target_include_directories(muster_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(muster_options INTERFACE Threads::Threads)

# tests_LABEL builds the tests that carry the label: a sanitizer run builds no more than it runs.
foreach(label unit sim store tsan)
  add_custom_target(tests_${label})
endforeach()

# muster_module(NAME DEPS modules… LINK libraries…)
# A static library of src/NAME/**.cc, and test_NAME of src/NAME/**_test.cc.
# Tests may use TEST_DEPS on top.
function(muster_module name)
  cmake_parse_arguments(ARG "" "" "DEPS;LINK;TEST_DEPS;LABELS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_main\\.cc$|/main\\.cc$|_fuzz\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(muster_${name} STATIC ${sources})
  list(TRANSFORM ARG_DEPS PREPEND muster_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND muster_)
  # Our warnings are for us: who uses the installed library does not get them.
  target_link_libraries(muster_${name} PUBLIC $<BUILD_INTERFACE:muster_options> Threads::Threads
    ${ARG_DEPS} ${ARG_LINK})
  # Outside they are <muster/client/…>, so that no other project's client/ is in the way.
  target_include_directories(muster_${name} INTERFACE $<INSTALL_INTERFACE:include>)
  # Known as headers so that the check of that name can compile each one alone.
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.h)
  set(test_headers ${headers})
  list(FILTER test_headers INCLUDE REGEX "_test_|/testing")
  list(FILTER headers EXCLUDE REGEX "_test_|/testing")
  target_sources(muster_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${headers}
    FILE_SET test_headers TYPE HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${test_headers})
  if(MUSTER_TESTS AND tests)
    muster_test(test_${name} SOURCES ${tests} DEPS ${name} LINK ${ARG_TEST_DEPS}
      LABELS unit ${ARG_LABELS})
  endif()
  file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_fuzz.cc)
  if(MUSTER_FUZZ)
    foreach(source ${fuzzers})
      get_filename_component(fuzzer ${source} NAME_WE)
      add_executable(${fuzzer} ${source})
      target_link_libraries(${fuzzer} PRIVATE muster_${name})
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

# muster_test(NAME SOURCES files… DEPS modules… LABELS labels… ARGS arguments…)
function(muster_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;DEPS;LINK;LABELS;ARGS" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND muster_)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LINK} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  math(EXPR timeout "${ARG_TIMEOUT} * ${MUSTER_TIMEOUT_FACTOR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout}
    RUN_SERIAL "${ARG_SERIAL}")
  foreach(label ${ARG_LABELS})
    if(TARGET tests_${label})
      add_dependencies(tests_${label} ${name})
    endif()
  endforeach()
endfunction()

# muster_program(NAME SOURCES files… DEPS modules… LINK libraries…)
function(muster_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND muster_)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE muster_options ${ARG_DEPS} ${ARG_LINK})
endfunction()
