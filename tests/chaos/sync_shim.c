// SPDX-License-Identifier: Apache-2.0
// Preloaded into a daemon: each of its fsyncs and fdatasyncs takes so much longer as the file $CHAOS_SYNC holds (8 bytes:
// nanoseconds, in the machine's order).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* delay_ns;

__attribute__((constructor)) static void Map(void) {
  const char* path = getenv("CHAOS_SYNC");
  const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* at = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) delay_ns = at;
  close(fd);
}

// In pieces, so that a disk that is quick again is so at once.
static void Delay(void) {
  const int64_t piece = 20000000;
  for (int64_t waited = 0; delay_ns != NULL && waited < *delay_ns; waited += piece) {
    const struct timespec pause = {0, piece};
    nanosleep(&pause, NULL);
  }
}

static int Sync(const char* name, int fd) {
  int (*const real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  Delay();
  return real(fd);
}

int fsync(int fd) { return Sync("fsync", fd); }
int fdatasync(int fd) { return Sync("fdatasync", fd); }
