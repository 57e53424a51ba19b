/* Writes the name of every file that a process opens for reading to the file $OPENS, one a line.

   Preloaded. Python's own opens and those of Arrow's libraries go through the same functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int (*open_really)(const char *, int, ...);

static void note(const char *path, int flags) {
    const char *log = getenv("OPENS");
    char line[4097];
    size_t n = strlen(path);
    if (!log || (flags & O_ACCMODE) != O_RDONLY || (flags & O_DIRECTORY) || n > 4095) return;
    int file = open_really(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0) return;
    memcpy(line, path, n);
    line[n] = '\n';
    if (write(file, line, n + 1) < 0) abort();
    close(file);
}

#define OPENS(NAME, ARGS, PASS)                                                                   \
    int NAME ARGS {                                                                               \
        static int (*really) ARGS;                                                                \
        mode_t mode = 0;                                                                          \
        if (!really) really = (int(*) ARGS)dlsym(RTLD_NEXT, #NAME);                               \
        if (!open_really) open_really = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"); \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                      \
            va_list rest;                                                                         \
            va_start(rest, flags);                                                                \
            mode = va_arg(rest, mode_t);                                                          \
            va_end(rest);                                                                         \
        }                                                                                         \
        note(path, flags);                                                                        \
        return really PASS;                                                                       \
    }

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int fd, const char *path, int flags, ...), (fd, path, flags, mode))
OPENS(openat64, (int fd, const char *path, int flags, ...), (fd, path, flags, mode))
