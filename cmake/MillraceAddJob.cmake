# SPDX-License-Identifier: Apache-2.0
# For projects that write jobs or policies of their own, in this tree (add_subdirectory) or against an installed one (find_package).

# millrace_add_job(NAME SOURCE ...): a program that is a job (docs/use/writing-jobs.md). It travels to every worker, so it
# does not carry what it does not use.
function(millrace_add_job name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE millrace::job)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endfunction()

# millrace_add_policy(NAME SOURCE ...): a program that orders jobs (docs/schedulers/external.md). It stands on a header
# alone, client/policy/policy.h.
function(millrace_add_policy name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE millrace::policy)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endfunction()

# millrace_add_test(NAME SOURCE ...): a program that tests a job (client/api/testing.h), which CTest runs. Its assert is
# one in a release build, too. The whole project is tested by ctest where the first directory calls enable_testing().
function(millrace_add_test name)
  millrace_add_job(${name} ${ARGN})
  target_compile_options(${name} PRIVATE -UNDEBUG)
  enable_testing()
  add_test(NAME ${name} COMMAND ${name})
endfunction()
