// What inspect, ls and break print. JSON uses the words of the C API: the fields of
// enum belay_member_field in lower case. Pure but for print().
#ifndef BELAY_TOOLS_REPORT_H
#define BELAY_TOOLS_REPORT_H

#include <string>
#include <vector>

#include "json.h"
#include "member.h"

struct Entry {
  std::string name;
  Members members;
};

// Write to stdout. Returns `exit_code`, or after a complaint that of an output not written.
int print(const std::string& text, int exit_code);
// Several lines for people.
std::string inspected_text(const std::string& name, const Members& members);
// "orders:42: held by web-7 pid 4711 (billing) for 12 s, fence 17\n".
std::string holder_line(const std::string& name, const Members& members);
// One object, without a line end.
std::string inspected_json(const std::string& name, const Members& members);
// One object that says whether the name was taken from anybody, and from whom.
std::string broken_json(const std::string& name, const Members& parted);
// One object, of a latch's name and count.
std::string latch_json(const std::string& name, std::int64_t count);
std::string semaphore_json(const std::string& name, std::int64_t available, std::int64_t limit);
// Members of an object: "name", and "name_hex" where that may mislead.
void append_name(Json& json, const std::string& name);
// Members of an object: "holder", which is the first one or null, and "holders", which are all.
void append_holders(Json& json, const Members& members);
// A line each, in columns.
std::string in_use_table(const std::vector<Entry>& entries);
// An object each, as inspected_json.
std::string in_use_json_lines(const std::vector<Entry>& entries);

#endif
