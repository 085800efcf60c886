/* A library of an ABI that is none of ours, for dl_test. */
#include <stdint.h>

int32_t belay_abi(void);

int32_t belay_abi(void) {
  return 2;
}
