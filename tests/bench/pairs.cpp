#include "pairs.h"

#include <string>
#include <vector>

#include "crew.h"

namespace belay::bench {

Side belay_pairs(const char* name, Target& target, std::int64_t& count) {
  return {name, [&target, &count](double seconds) {
            return run_alone(
                seconds, [&] { target.release(target.lock(name_of("pair", ++count).c_str())); });
          }};
}

Side names_pairs(const char* side, int names, Target& target, std::int64_t& count) {
  return {side, [names, &target, &count](double seconds) {
            return run_alone(seconds, [&] {
              std::vector<std::string> fresh;
              for (int i = 0; i < names; ++i) {
                fresh.push_back(name_of("names", ++count));
              }
              Request request(fresh);
              target.release(target.acquire(request));
            });
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
