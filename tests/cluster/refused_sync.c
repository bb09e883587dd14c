// SPDX-License-Identifier: Apache-2.0
// Preloaded into a worker: the first sync of a block that is being written fails with EIO, once for the process, as on a
// disk that cannot write the pages back. They are lost then, and count as clean: the file reads as zeros, and the next
// sync of it succeeds. With $REFUSED_SYNC=checksums that happens to the block's checksums instead; with "never" the first
// sync does not return, as on a disk that has gone. $REFUSED_READ is a part of the paths of files that cannot be read,
// and $REFUSED_FSYNC one of the paths of files and directories whose syncs all fail.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_flag refused = ATOMIC_FLAG_INIT;

static const char* PathOf(int fd, char* path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, size - 1);
  path[length > 0 ? length : 0] = '\0';
  return path;
}

static int IsRefused(int fd) {
  char path[4096];
  const char* what = getenv("REFUSED_SYNC");
  if (what == NULL || strstr(PathOf(fd, path, sizeof path), "/writing/") == NULL) return 0;
  const int checksums = strstr(path, ".crc") != NULL;
  return checksums == (strcmp(what, "checksums") == 0) && !atomic_flag_test_and_set(&refused);
}

static int CannotSync(int fd) {
  char path[4096];
  const char* part = getenv("REFUSED_FSYNC");
  return part != NULL && strstr(PathOf(fd, path, sizeof path), part) != NULL;
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  if (!CannotSync(fd)) return real(fd);
  errno = EIO;
  return -1;
}

static void Lose(int fd) {
  static const char zeros[1 << 16];
  struct stat info;
  if (fstat(fd, &info) != 0) return;
  for (off_t at = 0; at < info.st_size; at += sizeof zeros) {
    const off_t left = info.st_size - at;
    if (pwrite(fd, zeros, left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros, at) < 0) return;
  }
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  if (CannotSync(fd)) {
    errno = EIO;
    return -1;
  }
  if (!IsRefused(fd)) return real(fd);
  if (strcmp(getenv("REFUSED_SYNC"), "never") == 0) {
    fputs("a sync does not return\n", stderr);
    while (1) pause();
  }
  Lose(fd);
  errno = EIO;
  return -1;
}

static int CannotRead(int fd) {
  char path[4096];
  const char* part = getenv("REFUSED_READ");
  return part != NULL && strstr(PathOf(fd, path, sizeof path), part) != NULL;
}

ssize_t sendfile(int to, int from, off_t* at, size_t size) {
  static ssize_t (*real)(int, int, off_t*, size_t);
  if (real == NULL) real = (ssize_t(*)(int, int, off_t*, size_t))dlsym(RTLD_NEXT, "sendfile");
  if (!CannotRead(from)) return real(to, from, at, size);
  errno = EIO;
  return -1;
}

ssize_t pread(int fd, void* data, size_t size, off_t at) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (real == NULL) real = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  if (!CannotRead(fd)) return real(fd, data, size, at);
  errno = EIO;
  return -1;
}
