/* What a program asks of the disk below one folder, in order: preloaded, every change of a file and every sync is kept.

   Each record is a letter, an inode, a position, two lengths, and so many bytes: data, or a name from the folder on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LONGEST 4096

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char root[LONGEST];
static int tape = -1;

static void keep(const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    long wrote = syscall(SYS_write, tape, (const char *)bytes + done, size - done);
    if (wrote < 0 && errno != EINTR) _exit(70); /* a gap in the record would be taken for a kind disk */
    if (wrote > 0) done += wrote;
  }
}

static void record(char what, uint64_t inode, int64_t at, const void *one, size_t size, const char *two) {
  struct __attribute__((packed)) { char what; uint64_t inode; int64_t at; uint32_t one, two; } head = {
      what, inode, at, (uint32_t)size, two ? (uint32_t)strlen(two) : 0};
  keep(&head, sizeof head);
  keep(one, size);
  keep(two, head.two);
}

/* The name from the folder on; NULL for what lies elsewhere. Everything here is named by absolute paths. */
static const char *below(const char *path) {
  size_t length = strlen(root);
  return tape >= 0 && !strncmp(path, root, length) && path[length] == '/' ? path + length + 1 : NULL;
}

static int is_open_below(int file) {
  char link[64], path[LONGEST];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = tape < 0 ? -1 : readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return below(path) || !strcmp(path, root);
}

static uint64_t inode_of(int file) {
  struct stat found;
  return fstat(file, &found) ? 0 : found.st_ino;
}

void begin_recording(const char *folder, int file) {
  snprintf(root, sizeof root, "%s", folder);
  tape = file;
}

void end_recording(void) { tape = -1; }

void mark_recording(const char *text) {
  pthread_mutex_lock(&turn);
  record('!', 0, 0, text, strlen(text), NULL);
  pthread_mutex_unlock(&turn);
}

static int opened(const char *path, int flags, mode_t mode) {
  const char *name = below(path);
  if (!name) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  pthread_mutex_lock(&turn);
  int was_there = !access(path, F_OK);
  int file = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (file >= 0 && !was_there) record('c', inode_of(file), 0, name, strlen(name), NULL);
  if (file >= 0 && was_there && flags & O_TRUNC) record('t', inode_of(file), 0, NULL, 0, NULL);
  pthread_mutex_unlock(&turn);
  return file;
}

#define OPEN(name)                          \
  int name(const char *path, int flags, ...) { \
    va_list rest;                           \
    va_start(rest, flags);                  \
    mode_t mode = va_arg(rest, mode_t);     \
    va_end(rest);                           \
    return opened(path, flags, mode);       \
  }
OPEN(open)
OPEN(open64)

/* Each of these does what it is asked, and is recorded if that was done: so much of it as was. */
#define TURN(type, file, call, after)            \
  if (!is_open_below(file)) return call;         \
  pthread_mutex_lock(&turn);                     \
  type done = call;                              \
  int why = errno;                               \
  if (done >= 0) after;                          \
  pthread_mutex_unlock(&turn);                   \
  errno = why;                                   \
  return done;

#define WRITE(name, position)                                                               \
  ssize_t name(int file, const void *bytes, size_t size, position at) {                     \
    TURN(ssize_t, file, REAL(name)(file, bytes, size, at), record('w', inode_of(file), at, bytes, done, NULL)) \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

ssize_t write(int file, const void *bytes, size_t size) {
  TURN(ssize_t, file, REAL(write)(file, bytes, size),
       record('w', inode_of(file), lseek(file, 0, SEEK_CUR) - done, bytes, done, NULL))
}

#define TRUNCATE(name, position)                                                           \
  int name(int file, position size) {                                                      \
    TURN(int, file, REAL(name)(file, size), record('t', inode_of(file), size, NULL, 0, NULL)) \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name) \
  int name(int file) { TURN(int, file, REAL(name)(file), record('s', inode_of(file), 0, NULL, 0, NULL)) }
SYNC(fsync)
SYNC(fdatasync)

#define NAMED(path, call, after)         \
  const char *name = below(path);        \
  if (!name) return call;                \
  pthread_mutex_lock(&turn);             \
  int done = call, why = errno;          \
  if (!done) after;                      \
  pthread_mutex_unlock(&turn);           \
  errno = why;                           \
  return done;

int unlink(const char *path) { NAMED(path, REAL(unlink)(path), record('u', 0, 0, name, strlen(name), NULL)) }

int rename(const char *path, const char *to) {
  NAMED(path, REAL(rename)(path, to), record('r', 0, 0, name, strlen(name), below(to)))
}

int mkdir(const char *path, mode_t mode) {
  struct stat made;
  NAMED(path, REAL(mkdir)(path, mode), (stat(path, &made), record('m', made.st_ino, 0, name, strlen(name), NULL)))
}
