# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# dpa_unit_test(NAME SOURCE... [LIBS lib...] [INCLUDES dir...] [RUN command...])
#   One Criterion executable, one ctest entry. It gets the private include folders of the device.
#   RUN: what to run it by, e.g. bin/dpa-run.
#   If it is named in tests/tsan/threads it has the label `threads`. Targets: unit_tests, threaded_tests.
#   A test that hangs is ended after 120 s (300 s in sanitizer builds): a limit, not a measurement.
#
# dpa_test_objects(NAME SOURCE... [LIBS lib...] [INCLUDES dir...])
#   Sources that several tests share, compiled once: $<TARGET_OBJECTS:NAME> is among the tests' SOURCEs. Of
#   the libraries it gets what their headers need.
find_package(PkgConfig REQUIRED)

# Criterion starts itself anew for each test, which neither a thread sanitizer nor an emulator of
# another processor gets along with, and which takes longer than most tests with any sanitizer.
if(DPA_SANITIZE OR CMAKE_CROSSCOMPILING)
  add_library(dpa_criterion STATIC ${CMAKE_SOURCE_DIR}/tests/tsan/runner.c)
  target_include_directories(dpa_criterion PUBLIC ${CMAKE_SOURCE_DIR}/tests/tsan)
  target_link_libraries(dpa_criterion PUBLIC Threads::Threads m)
  if(DPA_SANITIZE MATCHES "address")
    add_library(dpa_asan_fork OBJECT ${CMAKE_SOURCE_DIR}/tests/asan/fork.c)
    add_library(dpa_asan_thread OBJECT ${CMAKE_SOURCE_DIR}/tests/asan/thread.c)
    target_sources(dpa_criterion INTERFACE $<TARGET_OBJECTS:dpa_asan_fork>)
  endif()
else()
  pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
  add_library(dpa_criterion INTERFACE)
  target_link_libraries(dpa_criterion INTERFACE PkgConfig::CRITERION Threads::Threads)
endif()

# What sanitizer builds compile: the unit tests and the programs that they start.
foreach(all unit_tests threaded_tests)
  if(NOT TARGET ${all})
    add_custom_target(${all})
    foreach(t dpa-run dpactl dpa-preload dpadv)
      if(TARGET ${t})
        add_dependencies(${all} ${t})
      endif()
    endforeach()
  endif()
endforeach()
file(STRINGS ${CMAKE_SOURCE_DIR}/tests/tsan/threads DPA_THREADED REGEX "^test_")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/tsan/threads)

# ctest starts them first: one of them at the end would run alone.
set(DPA_LONG_TESTS test_libdpa_watchdog test_libdpa_exec_rpc test_libdpa_exec_eus test_libdpa_dma_far_kill
    test_libdpa_rdma_faults test_libdpa_exec_many test_transport_direct test_libdpa_sync_watch test_board_num)

set(DPA_TEST_OPTIONS -O0 -g1 -U_FORTIFY_SOURCE)

function(dpa_test_objects name)
  cmake_parse_arguments(T "" "" "LIBS;INCLUDES" ${ARGN})
  add_library(${name} OBJECT ${T_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/device ${CMAKE_SOURCE_DIR} ${T_INCLUDES})
  foreach(lib ${T_LIBS} dpa_criterion)
    foreach(what INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
      set_property(TARGET ${name} APPEND PROPERTY ${what} $<TARGET_PROPERTY:${lib},INTERFACE_${what}>)
    endforeach()
  endforeach()
  target_compile_options(${name} PRIVATE ${DPA_TEST_OPTIONS})
endfunction()

function(dpa_unit_test name)
  cmake_parse_arguments(T "" "LSAN" "LIBS;INCLUDES;RUN" ${ARGN})
  if(NOT T_LSAN) # what the leak sanitizer is not to report
    set(T_LSAN ${CMAKE_SOURCE_DIR}/tests/lsan.supp)
  endif()
  add_executable(${name} ${T_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/device ${CMAKE_SOURCE_DIR}
                                             ${T_INCLUDES})
  # the rules of injected failures, which most of the device and of the provider asks
  target_link_libraries(${name} PRIVATE ${T_LIBS} dpa_inject_rules dpa_criterion)
  # half of what there is to compile, each run once: what is tested is optimised, in its library
  target_compile_options(${name} PRIVATE ${DPA_TEST_OPTIONS})
  add_dependencies(unit_tests ${name})
  set(threaded FALSE)
  if(name IN_LIST DPA_THREADED)
    set(threaded TRUE)
    add_dependencies(threaded_tests ${name})
  elseif(DPA_SANITIZE MATCHES "address" AND NOT T_RUN)
    # one that starts a thread fails there, and says where to list it
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:dpa_asan_thread>)
    target_link_options(${name} PRIVATE -Wl,--wrap=pthread_create)
  endif()
  if(CMAKE_CROSSCOMPILING AND (T_RUN OR NOT CMAKE_CROSSCOMPILING_EMULATOR))
    return() # what runs it starts programs of the other processor
  endif()
  add_test(NAME ${name} COMMAND ${T_RUN} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>)
  set(limit 120)
  if(DPA_SANITIZE OR CMAKE_CROSSCOMPILING) # several times slower; may have commas: no generator expression
    set(limit 300)
  endif()
  set(env "LSAN_OPTIONS=suppressions=${T_LSAN}:print_suppressions=0"
          "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
  if(T_RUN) # dpa-run preloads a library of its own
    list(APPEND env "ASAN_OPTIONS=verify_asan_link_order=0")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} SKIP_RETURN_CODE 77
                                          ENVIRONMENT "${env}")
  if(threaded)
    set_tests_properties(${name} PROPERTIES LABELS threads)
  endif()
  if(name IN_LIST DPA_LONG_TESTS)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()
