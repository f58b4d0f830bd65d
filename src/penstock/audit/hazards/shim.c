/* Stands between a process and the system calls on the files of one folder: makes the n-th of them fail, and records
 * what is written. Preloaded (LD_PRELOAD); does nothing until it is armed or told to record. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ONCE = 0, SHORT = 1, ALWAYS = 2, KILL = 3 };

static char folder[PATH_MAX];
static char calls[256];          /* names of the calls that count, each between commas; empty for all */
static long seen, target;        /* how many were made; which one is hit (0 for none) */
static int mode, error, lockless, record = -1;

#define NEXT(type, name, ...) \
    static type (*next)(__VA_ARGS__); \
    if (!next) next = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* ---- what the harness calls -------------------------------------------------------------------------------------- */

void shim_arm(const char *where, const char *names, long n, int how, int number) {
    snprintf(folder, sizeof folder, "%s", where);
    snprintf(calls, sizeof calls, "%s", names);
    seen = 0, target = n, mode = how, error = number;
}

long shim_seen(void) { return seen; }

/* Locks of whole files always succeed, as on a file system that ignores them. */
void shim_ignore_locks(int on) { lockless = on; }

static void put(const void *data, size_t size) {
    NEXT(ssize_t, write, int, const void *, size_t);
    const char *rest = data;
    while (size > 0) {
        ssize_t taken = next(record, rest, size);
        if (taken <= 0) abort();
        rest += taken, size -= (size_t)taken;
    }
}

/* One event: its kind, the inode, a place, and two texts (a path and a second path or the bytes that were written). */
static void note(char kind, uint64_t inode, int64_t place, const char *path, const void *data, uint32_t size) {
    if (record < 0) return;
    uint32_t length = path ? (uint32_t)strlen(path) : 0;
    char *event = malloc(25 + length + size);
    event[0] = kind;
    memcpy(event + 1, &inode, 8), memcpy(event + 9, &place, 8);
    memcpy(event + 17, &length, 4), memcpy(event + 21, &size, 4);
    memcpy(event + 25, path ? path : "", length), memcpy(event + 25 + length, data ? data : "", size);
    put(event, 25 + length + size);
    free(event);
}

void shim_record(const char *where, const char *into) {
    NEXT(int, open, const char *, int, ...);
    snprintf(folder, sizeof folder, "%s", where);
    record = next(into, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

void shim_note(const char *text) { note('n', 0, 0, text, NULL, 0); }

/* ---- which calls are hit ------------------------------------------------------------------------------------------- */

static int inside(const char *path) {
    size_t length = strlen(folder);
    return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int path_of(int handle, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return inside(path);
}

static int named(const char *name, char *path) {
    if (name[0] == '/') snprintf(path, PATH_MAX, "%s", name);
    else if (getcwd(path, PATH_MAX / 2)) strcat(strcat(path, "/"), name);
    else return 0;
    return inside(path);
}

/* 0: go on, 1: fail, 2: take half of what is given */
static int hit(const char *call) {
    char pattern[32];
    snprintf(pattern, sizeof pattern, ",%s,", call);
    if (target == 0 || (calls[0] && !strstr(calls, pattern))) return 0;
    seen++;
    if (mode == ALWAYS ? seen < target : seen != target) return 0;
    if (mode == KILL) kill(getpid(), SIGKILL);
    if (mode == SHORT) return 2;
    errno = error;
    return 1;
}

static uint64_t inode_of(int handle) {
    struct stat about;
    return fstat(handle, &about) == 0 ? (uint64_t)about.st_ino : 0;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

ssize_t write(int handle, const void *data, size_t size) {
    NEXT(ssize_t, write, int, const void *, size_t);
    char path[PATH_MAX];
    if (!folder[0] || !path_of(handle, path)) return next(handle, data, size);
    int how = hit("write");
    if (how == 1) return -1;
    off_t place = lseek(handle, 0, SEEK_CUR);
    ssize_t taken = next(handle, data, how == 2 && size > 1 ? size / 2 : size);
    if (taken > 0) note('w', inode_of(handle), place, NULL, data, (uint32_t)taken);
    return taken;
}

static ssize_t write_at(ssize_t (*next)(int, const void *, size_t, off_t), int handle, const void *data, size_t size,
                        off_t place) {
    char path[PATH_MAX];
    if (!folder[0] || !path_of(handle, path)) return next(handle, data, size, place);
    int how = hit("pwrite");
    if (how == 1) return -1;
    ssize_t taken = next(handle, data, how == 2 && size > 1 ? size / 2 : size, place);
    if (taken > 0) note('w', inode_of(handle), place, NULL, data, (uint32_t)taken);
    return taken;
}

ssize_t pwrite(int handle, const void *data, size_t size, off_t place) {
    NEXT(ssize_t, pwrite, int, const void *, size_t, off_t);
    return write_at(next, handle, data, size, place);
}

ssize_t pwrite64(int handle, const void *data, size_t size, off_t place) {
    NEXT(ssize_t, pwrite64, int, const void *, size_t, off_t);
    return write_at(next, handle, data, size, place);
}

static int sync_file(int (*next)(int), const char *call, int handle) {
    char path[PATH_MAX];
    if (!folder[0] || !path_of(handle, path)) return next(handle);
    if (hit(call)) return -1;
    int outcome = next(handle);
    if (outcome == 0) note('s', inode_of(handle), 0, path, NULL, 0);
    return outcome;
}

int fsync(int handle) {
    NEXT(int, fsync, int);
    return sync_file(next, "fsync", handle);
}

int fdatasync(int handle) {
    NEXT(int, fdatasync, int);
    return sync_file(next, "fsync", handle);
}

static int cut(int (*next)(int, off_t), int handle, off_t size) {
    char path[PATH_MAX];
    if (!folder[0] || !path_of(handle, path)) return next(handle, size);
    if (hit("ftruncate")) return -1;
    int outcome = next(handle, size);
    if (outcome == 0) note('t', inode_of(handle), size, NULL, NULL, 0);
    return outcome;
}

int ftruncate(int handle, off_t size) {
    NEXT(int, ftruncate, int, off_t);
    return cut(next, handle, size);
}

int ftruncate64(int handle, off_t size) {
    NEXT(int, ftruncate64, int, off_t);
    return cut(next, handle, size);
}

int rename(const char *from, const char *to) {
    NEXT(int, rename, const char *, const char *);
    char first[PATH_MAX], second[PATH_MAX];
    if (!folder[0] || !named(from, first) || !named(to, second)) return next(from, to);
    if (hit("rename")) return -1;
    int outcome = next(from, to);
    if (outcome == 0) note('r', 0, 0, first, second, (uint32_t)strlen(second));
    return outcome;
}

int unlink(const char *name) {
    NEXT(int, unlink, const char *);
    char path[PATH_MAX];
    if (!folder[0] || !named(name, path)) return next(name);
    if (hit("unlink")) return -1;
    int outcome = next(name);
    if (outcome == 0) note('u', 0, 0, path, NULL, 0);
    return outcome;
}

static int opened(int (*next)(const char *, int, ...), const char *name, int flags, mode_t rights) {
    char path[PATH_MAX];
    if (!folder[0] || !named(name, path)) return next(name, flags, rights);
    if (hit("open")) return -1;
    int handle = next(name, flags, rights);
    if (handle >= 0 && (flags & O_CREAT)) note('c', inode_of(handle), 0, path, NULL, 0);
    if (handle >= 0 && (flags & O_TRUNC)) note('t', inode_of(handle), 0, NULL, NULL, 0);
    return handle;
}

#define RIGHTS(flags) \
    mode_t rights = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        rights = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *name, int flags, ...) {
    NEXT(int, open, const char *, int, ...);
    RIGHTS(flags)
    return opened(next, name, flags, rights);
}

int open64(const char *name, int flags, ...) {
    NEXT(int, open64, const char *, int, ...);
    RIGHTS(flags)
    return opened(next, name, flags, rights);
}

ssize_t read(int handle, void *data, size_t size) {
    NEXT(ssize_t, read, int, void *, size_t);
    char path[PATH_MAX];
    if (folder[0] && path_of(handle, path) && hit("read") == 1) return -1;
    return next(handle, data, size);
}

ssize_t pread(int handle, void *data, size_t size, off_t place) {
    NEXT(ssize_t, pread, int, void *, size_t, off_t);
    char path[PATH_MAX];
    if (folder[0] && path_of(handle, path) && hit("pread") == 1) return -1;
    return next(handle, data, size, place);
}

ssize_t pread64(int handle, void *data, size_t size, off_t place) {
    NEXT(ssize_t, pread64, int, void *, size_t, off_t);
    char path[PATH_MAX];
    if (folder[0] && path_of(handle, path) && hit("pread") == 1) return -1;
    return next(handle, data, size, place);
}

int flock(int handle, int operation) {
    NEXT(int, flock, int, int);
    return lockless ? 0 : next(handle, operation);
}
