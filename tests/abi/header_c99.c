/* The public header alone as C99 and pedantic. */
#include <belay/belay.h>

int main(void) {
  return belay_status_class(BELAY_OK);
}
