#include "pairs.h"

#include <string>

#include "crew.h"

namespace belay::bench {

Side belay_pairs(const char* name, Target& target, std::int64_t& count) {
  return {name, [&target, &count](double seconds) {
            return run_alone(
                seconds, [&] { target.release(target.lock(name_of("pair", ++count).c_str())); });
          }};
}

Side plain_pairs(const char* name, Floor& floor, std::int64_t& count) {
  return {name, [&floor, &count](double seconds) {
            return run_alone(seconds, [&] {
              const std::string key = name_of("pair", ++count);
              floor.release(key, floor.acquire(key));
            });
          }};
}

}  // namespace belay::bench
