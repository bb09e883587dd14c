// How the allocator of a daemon or a simulation is set (jemalloc, TUNING of its manual page).
//
// What a scheduler holds of a large cluster is hundreds of megabytes that are visited at random. On pages of 4 KiB most of
// its time is then the search for pages, so memory is asked for in huge ones where the system has them (`madvise` or
// `always` in /sys/kernel/mm/transparent_hugepage/enabled). MALLOC_CONF in the environment overrides this.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
