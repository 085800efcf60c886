// The public header alone as C++11 and pedantic.
#include <belay/belay.h>

int main() {
  return belay_status_class(BELAY_OK);
}
