// SPDX-License-Identifier: Apache-2.0
// Preloaded into a daemon: its wall clock is the machine's plus what the file $CHAOS_CLOCK holds (8 bytes: nanoseconds, signed,
// in the machine's order). Clocks that do not jump (CLOCK_MONOTONIC and the like) are left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* offset_ns;

__attribute__((constructor)) static void Map(void) {
  const char* path = getenv("CHAOS_CLOCK");
  const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* at = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) offset_ns = at;
  close(fd);
}

int clock_gettime(clockid_t id, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(id, out);
  if (result != 0 || offset_ns == NULL || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return result;
  const int64_t ns = out->tv_nsec + *offset_ns % 1000000000;
  const int64_t carry = ns < 0 ? -1 : ns / 1000000000;
  out->tv_sec += *offset_ns / 1000000000 + carry;
  out->tv_nsec = ns - carry * 1000000000;
  return 0;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
