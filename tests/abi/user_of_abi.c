/* A library that is linked with one of two libraries of Belay, for two_abis. */
#include <stdint.h>

int32_t belay_abi(void);
int32_t NAME(void);

int32_t NAME(void) {
  return belay_abi();
}
