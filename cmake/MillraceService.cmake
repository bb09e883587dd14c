# SPDX-License-Identifier: Apache-2.0
# What an installation has beside programs, library and headers: manual pages and completion, the pages of docs, units for
# systemd with their settings, and what Debian's package asks for.
include(GNUInstallDirs)

# Printed from the declared options, by the programs themselves: a cross build needs an emulator for them.
find_program(MILLRACE_HELP2MAN help2man)
if(MILLRACE_TESTS OR NOT MILLRACE_HELP2MAN OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  message(STATUS "no manual pages and no completion: they need help2man, a build without tests, and programs that run here")
else()
  set(manual ${PROJECT_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${manual}/completion.bash
    COMMAND ${PROJECT_SOURCE_DIR}/deploy/manual-pages ${manual} $<TARGET_FILE_DIR:millrace> ${CMAKE_CROSSCOMPILING_EMULATOR}
    DEPENDS millrace millrace-generate millrace-experiments ${PROJECT_SOURCE_DIR}/deploy/manual-pages
    COMMENT "Printing the manual pages" VERBATIM)
  add_custom_target(millrace_manual ALL DEPENDS ${manual}/completion.bash)
  install(DIRECTORY ${manual}/ COMPONENT runtime DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1.gz")
  install(FILES ${manual}/completion.bash COMPONENT runtime
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions RENAME millrace)
  install(FILES ${manual}/completion.zsh COMPONENT runtime
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions RENAME _millrace)
  install(FILES ${manual}/completion.fish COMPONENT runtime
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d RENAME millrace.fish)
endif()

# README.md is about the tree; this one points only to what is installed (tests/docs/test_installed.py).
install(FILES deploy/README.installed COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME README.md)
install(FILES CHANGELOG.md CONTRIBUTING.md SECURITY.md COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg")

# The units name programs and settings by the prefix with which the build was configured, or by Debian's. Only for Debian's
# package is anything put outside of the prefix, into /etc.
option(MILLRACE_DEBIAN "Install for Debian's package: deploy/build-packages sets this" OFF)
set(MILLRACE_BIN ${CMAKE_INSTALL_FULL_BINDIR})
set(MILLRACE_SETTINGS ${CMAKE_INSTALL_FULL_DATAROOTDIR}/millrace)
set(MILLRACE_DOCUMENTATION ${CMAKE_INSTALL_FULL_DOCDIR})
set(settings ${CMAKE_INSTALL_DATAROOTDIR}/millrace)
if(MILLRACE_DEBIAN)
  set(MILLRACE_BIN /usr/bin)
  set(MILLRACE_SETTINGS /etc/millrace)
  set(MILLRACE_DOCUMENTATION /usr/share/doc/millrace)
  set(settings /etc/millrace)
endif()
foreach(daemon master worker)
  configure_file(deploy/systemd/millrace-${daemon}.service.in ${PROJECT_BINARY_DIR}/install/millrace-${daemon}.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/millrace-${daemon}.service COMPONENT runtime DESTINATION lib/systemd/system)
  install(FILES deploy/systemd/${daemon}.toml COMPONENT runtime DESTINATION ${settings})
endforeach()
configure_file(deploy/systemd/millrace-backup.service.in ${PROJECT_BINARY_DIR}/install/millrace-backup.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/millrace-backup.service deploy/systemd/millrace-backup.timer COMPONENT runtime
        DESTINATION lib/systemd/system)
install(FILES deploy/systemd/programs.conf COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES deploy/systemd/access.toml deploy/systemd/backup.env COMPONENT runtime DESTINATION ${settings})

# Debian's form of a changelog names this version and sends the reader to CHANGELOG.md. The time is that of
# SOURCE_DATE_EPOCH where it is set, so that the same tree makes the same package.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if(NOT DEFINED ENV{DEBFULLNAME} OR NOT DEFINED ENV{DEBEMAIL})
  set(maintainer "The Millrace developers <millrace@localhost>")
endif()
set(CPACK_PACKAGE_CONTACT "${maintainer}")
find_program(MILLRACE_GZIP gzip REQUIRED)
foreach(package millrace millrace-dev)
  set(changelog ${PROJECT_BINARY_DIR}/install/${package}-changelog)
  file(WRITE ${changelog} "${package} (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
                          "  * What has changed stands in CHANGELOG.md of millrace's documentation.\n\n -- ${maintainer}  ${now}\n")
  execute_process(COMMAND ${MILLRACE_GZIP} -9nkf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/install/millrace-changelog.gz COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME changelog.gz)
install(FILES CHANGELOG.md COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_BINARY_DIR}/install/millrace-dev-changelog.gz COMPONENT dev
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/millrace-dev RENAME changelog.gz)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/deploy/debian/conffiles;${PROJECT_SOURCE_DIR}/deploy/debian/postinst;${PROJECT_SOURCE_DIR}/deploy/debian/prerm;${PROJECT_SOURCE_DIR}/deploy/debian/postrm")
