/* Counts the file operations of a process below one folder, and kills it at a chosen one.

   Preloaded into a process that arms it: torture_arm(folder, at, torn). Operation number `at` does
   not happen; a write that is `torn` happens by half. The kill is a real SIGKILL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char root[4096];
static size_t n_root;
static long goal;
static int halves;
static atomic_long count;

void torture_arm(const char *folder, long at, int torn) {
    strncpy(root, folder, sizeof root - 1);
    n_root = strlen(root);
    goal = at;
    halves = torn;
    atomic_store(&count, 0);
}

void torture_disarm(void) { n_root = 0; }

long torture_count(void) { return atomic_load(&count); }

static int inside(const char *path) {
    if (!n_root || !path) return 0;
    return path[0] != '/' || strncmp(path, root, n_root) == 0;
}

static int inside_fd(int fd) {
    char link[64], path[4096];
    if (!n_root) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n >= (ssize_t)n_root && memcmp(path, root, n_root) == 0;
}

static int inside_at(int fd, const char *path) {
    if (path && (path[0] == '/' || fd == AT_FDCWD)) return inside(path);
    return inside_fd(fd);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int hit(void) { return atomic_fetch_add(&count, 1) + 1 == goal; }
static void tick(int is_inside) { if (is_inside && hit()) die(); }

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t n) {
    REAL(write);
    if (inside_fd(fd) && hit()) { if (halves) real(fd, data, n / 2); die(); }
    return real(fd, data, n);
}
#define PWRITE(name, offset_t) \
    ssize_t name(int fd, const void *data, size_t n, offset_t at) { \
        REAL(name); \
        if (inside_fd(fd) && hit()) { if (halves) real(fd, data, n / 2, at); die(); } \
        return real(fd, data, n, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

int fsync(int fd) { REAL(fsync); tick(inside_fd(fd)); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); tick(inside_fd(fd)); return real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); tick(inside_fd(fd)); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); tick(inside_fd(fd)); return real(fd, n); }
int rename(const char *a, const char *b) { REAL(rename); tick(inside(b)); return real(a, b); }
int renameat(int fa, const char *a, int fb, const char *b) {
    REAL(renameat); tick(inside_at(fb, b)); return real(fa, a, fb, b);
}
int unlink(const char *path) { REAL(unlink); tick(inside(path)); return real(path); }
int unlinkat(int fd, const char *path, int flags) {
    REAL(unlinkat); tick(inside_at(fd, path)); return real(fd, path, flags);
}
int rmdir(const char *path) { REAL(rmdir); tick(inside(path)); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); tick(inside(path)); return real(path, mode); }
int chmod(const char *path, mode_t mode) { REAL(chmod); tick(inside(path)); return real(path, mode); }
int fchmod(int fd, mode_t mode) { REAL(fchmod); tick(inside_fd(fd)); return real(fd, mode); }

#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY)
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) {
    MODE(flags) REAL(open); tick(WRITES(flags) && inside(path)); return real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags) REAL(open64); tick(WRITES(flags) && inside(path)); return real(path, flags, mode);
}
int openat(int fd, const char *path, int flags, ...) {
    MODE(flags) REAL(openat); tick(WRITES(flags) && inside_at(fd, path));
    return real(fd, path, flags, mode);
}
int openat64(int fd, const char *path, int flags, ...) {
    MODE(flags) REAL(openat64); tick(WRITES(flags) && inside_at(fd, path));
    return real(fd, path, flags, mode);
}
