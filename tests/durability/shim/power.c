/* Writes down what a process does to the files below one directory, so that a test can undo what a power
 * cut would have lost. Loaded before the C library (LD_PRELOAD); POWER_ROOT is the directory, POWER_TRACE
 * the file written to. A record is written once its call has succeeded, under one lock, so the order of
 * the records is the order of the calls. One call writes its record whole or, if it is killed, not at
 * all: an unfinished record at the end of the trace is ignored.
 *
 *   record: kind (1 byte), inode (8), offset or length (8), length of a (4), a, length of b (4), b
 *   C created a      O opened a          W wrote b at offset     T cut or grown to length
 *   S file synced    D directory a synced   R renamed a to b     L linked a as b
 *   U removed a      M made directory a     F sync failed
 *
 * POWER_JOURNAL is what the names of some files end with. POWER_IGNORED: syncs of those are answered and
 * not made, and nothing is written down of them. POWER_FAILING=N: the Nth of them fails with EIO.
 * POWER_KILLING=N: right after the Nth of them the process is killed.
 *
 * O tells of renames that bypassed the C library: the inode is then found under a name that has another.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_len;
static int trace = -1;
static const char *journal;
static int ignored;
/* How many more syncs of the journal it takes until one fails; below that, none does. */
static long until_failure;
/* How many more it takes until the process is killed. */
static long until_death;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("POWER_ROOT"), *file = getenv("POWER_TRACE");
    if (directory == NULL || file == NULL || realpath(directory, root) == NULL) return;
    root_len = strlen(root);
    journal = getenv("POWER_JOURNAL");
    ignored = getenv("POWER_IGNORED") != NULL;
    const char *failing = getenv("POWER_FAILING");
    until_failure = failing == NULL ? 0 : strtol(failing, NULL, 10);
    const char *killing = getenv("POWER_KILLING");
    until_death = killing == NULL ? 0 : strtol(killing, NULL, 10);
    trace = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_below(const char *path) {
    return trace >= 0 && strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || path[root_len] == 0);
}

/* The absolute path of a name relative to a directory. */
static int resolve(int dirfd, const char *name, char *path) {
    char link[64];
    if (name[0] == '/') return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    if (dirfd == AT_FDCWD) {
        if (getcwd(path, PATH_MAX) == NULL) return 0;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
        ssize_t length = readlink(link, path, PATH_MAX - 1);
        if (length < 0) return 0;
        path[length] = 0;
    }
    size_t length = strlen(path);
    return snprintf(path + length, PATH_MAX - length, "/%s", name) < (int)(PATH_MAX - length);
}

static int path_of(int fd, char *path) {
    char link[64];
    if (trace < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static void record(char kind, uint64_t inode, uint64_t number, const void *a, size_t a_len, const void *b,
                   size_t b_len) {
    uint32_t lengths[2] = {(uint32_t)a_len, (uint32_t)b_len};
    struct iovec parts[7] = {
        {&kind, 1},        {&inode, 8},        {&number, 8},      {&lengths[0], 4},
        {(void *)a, a_len}, {&lengths[1], 4},  {(void *)b, b_len},
    };
    ssize_t written = syscall(SYS_writev, trace, parts, 7);
    if (written != (ssize_t)(25 + a_len + b_len)) {
        static const char message[] = "power: the trace cannot be written\n";
        syscall(SYS_write, 2, message, sizeof message - 1);
        abort();
    }
}

static void record_path(char kind, uint64_t inode, const char *path) {
    record(kind, inode, 0, path, strlen(path), "", 0);
}

static uint64_t inode_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static int open_traced(int dirfd, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (trace < 0 || !resolve(dirfd, name, path) || !is_below(path))
        return (int)syscall(SYS_openat, dirfd, name, flags, mode);
    pthread_mutex_lock(&order);
    struct stat status;
    int existed = lstat(path, &status) == 0;
    int fd = (int)syscall(SYS_openat, dirfd, name, flags, mode), error = errno;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        record_path(existed ? 'O' : 'C', status.st_ino, path);
        if (existed && (flags & O_TRUNC)) record('T', status.st_ino, 0, "", 0, "", 0);
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return fd;
}

#define MODE(flags, last)                                    \
    mode_t mode = 0;                                         \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                   \
        va_list rest;                                        \
        va_start(rest, last);                                \
        mode = (mode_t)va_arg(rest, int);                    \
        va_end(rest);                                        \
    }

int open(const char *name, int flags, ...) { MODE(flags, flags) return open_traced(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags, flags) return open_traced(AT_FDCWD, name, flags, mode); }
int openat(int dirfd, const char *name, int flags, ...) { MODE(flags, flags) return open_traced(dirfd, name, flags, mode); }
int openat64(int dirfd, const char *name, int flags, ...) { MODE(flags, flags) return open_traced(dirfd, name, flags, mode); }

static ssize_t written(int fd, const void *bytes, ssize_t count, off_t offset) {
    int error = errno;
    if (count > 0) record('W', inode_of(fd), (uint64_t)offset, "", 0, bytes, (size_t)count);
    errno = error;
    return count;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return syscall(SYS_write, fd, bytes, size);
    pthread_mutex_lock(&order);
    ssize_t count = syscall(SYS_write, fd, bytes, size);
    if (count > 0) count = written(fd, bytes, count, lseek(fd, 0, SEEK_CUR) - count);
    pthread_mutex_unlock(&order);
    return count;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return syscall(SYS_pwrite64, fd, bytes, size, offset);
    pthread_mutex_lock(&order);
    ssize_t count = written(fd, bytes, syscall(SYS_pwrite64, fd, bytes, size, offset), offset);
    pthread_mutex_unlock(&order);
    return count;
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) { return pwrite(fd, bytes, size, offset); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return syscall(SYS_writev, fd, parts, count);
    /* A short write is allowed: the caller writes the rest. */
    for (int part = 0; part < count; part++)
        if (parts[part].iov_len > 0) return write(fd, parts[part].iov_base, parts[part].iov_len);
    return 0;
}

int ftruncate(int fd, off_t length) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_ftruncate, fd, length), error = errno;
    if (result == 0) record('T', inode_of(fd), (uint64_t)length, "", 0, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

static int is_of_journal(const char *path) {
    size_t length = strlen(path), end = journal == NULL ? 0 : strlen(journal);
    return end > 0 && length >= end && strcmp(path + length - end, journal) == 0;
}

static int synced(int fd, long call) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(call, fd);
    struct stat status;
    int of_journal = is_of_journal(path);
    if (of_journal && ignored) return 0;
    pthread_mutex_lock(&order);
    if (of_journal && until_failure > 0 && --until_failure == 0) {
        record('F', inode_of(fd), 0, "", 0, "", 0);
        pthread_mutex_unlock(&order);
        errno = EIO;
        return -1;
    }
    int result = (int)syscall(call, fd), error = errno;
    if (result == 0 && fstat(fd, &status) == 0) {
        if (S_ISDIR(status.st_mode)) record_path('D', status.st_ino, path);
        else record('S', status.st_ino, 0, "", 0, "", 0);
    }
    if (of_journal && until_death > 0 && --until_death == 0) kill(getpid(), SIGKILL);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    char old_path[PATH_MAX], new_path[PATH_MAX];
    int traced = trace >= 0 && resolve(from_fd, from, old_path) && resolve(to_fd, to, new_path) && is_below(new_path);
    if (!traced) return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags), error = errno;
    if (result == 0) record('R', 0, 0, old_path, strlen(old_path), new_path, strlen(new_path));
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int renameat(int from_fd, const char *from, int to_fd, const char *to) { return renameat2(from_fd, from, to_fd, to, 0); }
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int dirfd, const char *name, int flags) {
    char path[PATH_MAX];
    if (trace < 0 || !resolve(dirfd, name, path) || !is_below(path))
        return (int)syscall(SYS_unlinkat, dirfd, name, flags);
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_unlinkat, dirfd, name, flags), error = errno;
    if (result == 0) record_path('U', 0, path);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int dirfd, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (trace < 0 || !resolve(dirfd, name, path) || !is_below(path))
        return (int)syscall(SYS_mkdirat, dirfd, name, mode);
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_mkdirat, dirfd, name, mode), error = errno;
    if (result == 0) record_path('M', 0, path);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* What is not written down may not happen. */
static int unheard(const char *call) {
    dprintf(2, "power: %s is not traced\n", call);
    abort();
}
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t size, unsigned flags) {
    char path[PATH_MAX];
    if (path_of(out, path)) unheard("copy_file_range");
    return syscall(SYS_copy_file_range, in, in_at, out, out_at, size, flags);
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
    char path[PATH_MAX];
    if (path_of(fd, path)) unheard("fallocate");
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}
int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    char old_path[PATH_MAX], new_path[PATH_MAX];
    int traced = trace >= 0 && resolve(from_fd, from, old_path) && resolve(to_fd, to, new_path) && is_below(new_path);
    if (!traced) return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags), error = errno;
    if (result == 0) record('L', 0, 0, old_path, strlen(old_path), new_path, strlen(new_path));
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
