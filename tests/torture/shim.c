/* Counts the file operations of a process below one folder, and ends it at a chosen one.

   Preloaded into a process that arms it: torture_arm(folder, at, ending, torn). `ending` is a
   signal. With SIGKILL, operation number `at` does not happen; a write that is `torn` happens by
   half. Another signal is sent to the process, and the operation happens. With 0 the disk is full
   from that operation on: what needs space fails. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

static char root[4096];
static size_t n_root;
static long goal;
static int ending;
static int halves;
static atomic_long count;

void torture_arm(const char *folder, long at, int signal, int torn) {
    strncpy(root, folder, sizeof root - 1);
    n_root = strlen(root);
    goal = at;
    ending = signal;
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

/* Whether the operation that is counted must not happen. */
static int hit(void) {
    long number = atomic_fetch_add(&count, 1) + 1;
    if (!goal || number < goal) return 0;
    if (!ending) return 1;
    if (number == goal && ending != SIGKILL) kill(getpid(), ending);
    return number == goal && ending == SIGKILL;
}
static void tick(int is_inside) { if (is_inside && hit() && ending) die(); }

/* An operation that needs space: fails on a full disk. */
#define SPACE(is_inside) do { \
    if ((is_inside) && hit()) { if (ending) die(); errno = ENOSPC; return -1; } \
} while (0)

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t n) {
    REAL(write);
    if (inside_fd(fd) && hit()) {
        if (!ending) { errno = ENOSPC; return -1; }
        if (halves) real(fd, data, n / 2);
        die();
    }
    return real(fd, data, n);
}
#define PWRITE(name, offset_t) \
    ssize_t name(int fd, const void *data, size_t n, offset_t at) { \
        REAL(name); \
        if (inside_fd(fd) && hit()) { \
            if (!ending) { errno = ENOSPC; return -1; } \
            if (halves) real(fd, data, n / 2, at); \
            die(); \
        } \
        return real(fd, data, n, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

int fsync(int fd) { REAL(fsync); tick(inside_fd(fd)); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); tick(inside_fd(fd)); return real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); SPACE(inside_fd(fd)); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); SPACE(inside_fd(fd)); return real(fd, n); }
int rename(const char *a, const char *b) { REAL(rename); tick(inside(b)); return real(a, b); }
int renameat(int fa, const char *a, int fb, const char *b) {
    REAL(renameat); tick(inside_at(fb, b)); return real(fa, a, fb, b);
}
int unlink(const char *path) { REAL(unlink); tick(inside(path)); return real(path); }
int unlinkat(int fd, const char *path, int flags) {
    REAL(unlinkat); tick(inside_at(fd, path)); return real(fd, path, flags);
}
int rmdir(const char *path) { REAL(rmdir); tick(inside(path)); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); SPACE(inside(path)); return real(path, mode); }
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

/* A full disk says that it is full. */
#define STATVFS(name, type) \
    int name(const char *path, struct type *facts) { \
        REAL(name); \
        int result = real(path, facts); \
        if (n_root && goal && !ending && atomic_load(&count) >= goal) \
            facts->f_bavail = facts->f_bfree = 0; \
        return result; \
    }
STATVFS(statvfs, statvfs)
STATVFS(statvfs64, statvfs64)
