// Preloaded into a program: aborts it when a thread that runs an event loop makes a call that may block (SECURITY E11).
// A thread counts as running a loop once it has called epoll_wait(). Such calls: opening a path that contains the text
// $LOOP_GUARD_NAMED, which a test puts into requests and documents; opening a pipe, device or terminal, or reading from
// one without O_NONBLOCK; getaddrinfo().
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

namespace {

thread_local bool runs_loop = false;

template <class Function>
Function real(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

[[noreturn]] void fail(const char* what, const char* of) {
  ::dprintf(2, "loop guard: %s %s\n", what, of);
  std::abort();
}

bool may_block(mode_t mode) {
  return S_ISFIFO(mode) || S_ISCHR(mode) || S_ISBLK(mode);
}

bool is_harmless(const char* path) {
  for (const char* known : {"/dev/null", "/dev/urandom", "/dev/random"}) {
    if (std::strcmp(path, known) == 0) return true;
  }
  return false;
}

void judge_path(const char* path) {
  if (!runs_loop || path == nullptr) return;
  const char* const named = std::getenv("LOOP_GUARD_NAMED");
  if (named != nullptr && *named != '\0' && std::strstr(path, named) != nullptr) fail("opens", path);
  struct stat status {};
  if (::stat(path, &status) == 0 && may_block(status.st_mode) && !is_harmless(path)) fail("opens", path);
}

mode_t mode_in(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

extern "C" {

int epoll_wait(int poll, epoll_event* events, int most, int timeout) {
  static const auto next = real(&::epoll_wait, "epoll_wait");
  runs_loop = true;
  return next(poll, events, most, timeout);
}

#define GUARDED_OPEN(name)                         \
  int name(const char* path, int flags, ...) {     \
    static const auto next = real(&::name, #name); \
    judge_path(path);                              \
    va_list rest;                                  \
    va_start(rest, flags);                         \
    const mode_t mode = mode_in(flags, rest);      \
    va_end(rest);                                  \
    return next(path, flags, mode);                \
  }
GUARDED_OPEN(open)
GUARDED_OPEN(open64)

#define GUARDED_OPENAT(name)                                  \
  int name(int directory, const char* path, int flags, ...) { \
    static const auto next = real(&::name, #name);            \
    judge_path(path);                                         \
    va_list rest;                                             \
    va_start(rest, flags);                                    \
    const mode_t mode = mode_in(flags, rest);                 \
    va_end(rest);                                             \
    return next(directory, path, flags, mode);                \
  }
GUARDED_OPENAT(openat)
GUARDED_OPENAT(openat64)

#define GUARDED_FOPEN(name)                        \
  FILE* name(const char* path, const char* mode) { \
    static const auto next = real(&::name, #name); \
    judge_path(path);                              \
    return next(path, mode);                       \
  }
GUARDED_FOPEN(fopen)
GUARDED_FOPEN(fopen64)

ssize_t read(int descriptor, void* into, size_t size) {
  static const auto next = real(&::read, "read");
  struct stat status {};
  if (runs_loop && ::fstat(descriptor, &status) == 0 && may_block(status.st_mode) &&
      (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0) {
    fail("reads", "a pipe or device that blocks");
  }
  return next(descriptor, into, size);
}

int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto next = real(&::getaddrinfo, "getaddrinfo");
  if (runs_loop) fail("looks up", node == nullptr ? "" : node);
  return next(node, service, hints, found);
}

}  // extern "C"
