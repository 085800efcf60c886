#include "interposed.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { kMostTimers = 1024, kSecondNs = 1000 * 1000 * 1000 };

_Atomic(bool) threads_fail;
_Atomic(bool) wiping_fails;
_Atomic(uint32_t) first_address;

static _Atomic(int64_t) wall_ahead_s;
static _Atomic(int64_t) boot_ahead_ns;

// What each descriptor's timer was set to, in time that counts suspend.
static pthread_mutex_t timers_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct itimerspec timers[kMostTimers];

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  typedef int Create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (threads_fail) {
    return EAGAIN;
  }

  union {
    void* object;
    Create* function;
  } next = {.object = dlsym(RTLD_NEXT, "pthread_create")};

  return next.function(thread, attributes, body, argument);
}

// Freed by the system's freeaddrinfo, which frees each of a list as it was made.
int getaddrinfo(const char* name, const char* service, const struct addrinfo* hints,
                struct addrinfo** result) {
  typedef int Resolve(const char*, const char*, const struct addrinfo*, struct addrinfo**);

  union {
    void* object;
    Resolve* function;
  } next = {.object = dlsym(RTLD_NEXT, "getaddrinfo")};

  int error = next.function(name, service, hints, result);
  if (error == 0 && first_address != 0 && (hints->ai_flags & AI_NUMERICHOST) == 0) {
    char text[INET_ADDRSTRLEN];
    const struct in_addr address = {htonl(first_address)};
    inet_ntop(AF_INET, &address, text, sizeof text);
    struct addrinfo* others = *result;
    error = next.function(text, service, hints, result);
    (*result)->ai_next = others;
  }
  return error;
}

int madvise(void* address, size_t size, int advice) {
  if (wiping_fails && advice == MADV_WIPEONFORK) {
    errno = EINVAL;
    return -1;
  }
  return (int)syscall(SYS_madvise, address, size, advice);
}

static void add_ns(struct timespec* time, int64_t more_ns) {
  const int64_t ns = time->tv_nsec + more_ns % kSecondNs;
  time->tv_sec += more_ns / kSecondNs + (ns >= kSecondNs) - (ns < 0);
  time->tv_nsec = ns >= kSecondNs ? ns - kSecondNs : ns < 0 ? ns + kSecondNs : ns;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) {
    time->tv_sec += wall_ahead_s;
  } else if (result == 0 && clock == CLOCK_BOOTTIME) {
    add_ns(time, boot_ahead_ns);
  }
  return result;
}

time_t time(time_t* result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != NULL) {
    *result = now.tv_sec;
  }
  return now.tv_sec;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

// Sets the kernel's timer to what it is in the kernel's time.
static int set_timer(int fd, struct itimerspec setting, struct itimerspec* old) {
  add_ns(&setting.it_value, -boot_ahead_ns);
  if (setting.it_value.tv_sec < 0) {
    setting.it_value = (struct timespec){.tv_nsec = 1};  // at once
  }
  return (int)syscall(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME, &setting, old);
}

int timerfd_settime(int fd, int flags, const struct itimerspec* setting, struct itimerspec* old) {
  if (flags != TFD_TIMER_ABSTIME || fd >= kMostTimers) {
    errno = EINVAL;
    return -1;
  }
  pthread_mutex_lock(&timers_mutex);
  timers[fd] = *setting;
  const int result = set_timer(fd, *setting, old);
  pthread_mutex_unlock(&timers_mutex);
  return result;
}

void step_wall_clock(int64_t seconds) {
  wall_ahead_s += seconds;
}

void suspend_for(int64_t ms, bool timers_fire) {
  pthread_mutex_lock(&timers_mutex);
  boot_ahead_ns += ms * 1000 * 1000;
  for (int fd = 0; timers_fire && fd < kMostTimers; ++fd) {
    if (timers[fd].it_value.tv_sec != 0 || timers[fd].it_value.tv_nsec != 0) {
      set_timer(fd, timers[fd], NULL);
    }
  }
  pthread_mutex_unlock(&timers_mutex);
}
