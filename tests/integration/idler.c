#include "idler.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static _Noreturn void stay_awake(int64_t* awake_at) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct sched_param none = {0};
  CHECK(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
  for (;; nap()) {
    __atomic_store_n(awake_at, now_ms(), __ATOMIC_RELAXED);
  }
}

Idler idler_start(void) {
  void* memory =
      mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  Idler idler = {.awake_at = memory};
  *idler.awake_at = now_ms();
  idler.pid = fork();
  CHECK(idler.pid >= 0);
  if (idler.pid == 0) {
    stay_awake(idler.awake_at);
  }
  return idler;
}

void idler_end(Idler* idler) {
  kill(idler->pid, SIGKILL);
  waitpid(idler->pid, NULL, 0);
  munmap(idler->awake_at, sizeof(int64_t));
}

int64_t idler_awake_at(const Idler* idler) {
  return __atomic_load_n(idler->awake_at, __ATOMIC_RELAXED);
}
