/* Two libraries of Belay with different ABIs in one process: whoever was linked with one calls that
 * one. */
#include <stdint.h>
#include <stdio.h>

int32_t abi_of_ours(void);
int32_t abi_of_other(void);

int main(void) {
  const int ours = (int)abi_of_ours();
  const int other = (int)abi_of_other();
  printf("linked with ABI 1: calls %d; with ABI 2: calls %d\n", ours, other);
  return ours == 1 && other == 2 ? 0 : 1;
}
