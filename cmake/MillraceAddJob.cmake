# For projects that write jobs of their own, in this tree (add_subdirectory) or against an installed one (find_package).

# millrace_add_job(NAME SOURCE ...): a program that is a job (docs/writing-jobs.md). It travels to every worker, so it
# does not carry what it does not use.
function(millrace_add_job name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE millrace::job)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endfunction()
