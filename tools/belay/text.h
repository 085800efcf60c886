// Text for people: names of any bytes made printable, durations in words, and the one way in which
// this program speaks on stderr. Pure but for complain(), which writes one line in one piece, and
// time_ago(), which reads the clock.
#ifndef BELAY_TOOLS_TEXT_H
#define BELAY_TOOLS_TEXT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The length of the well-formed UTF-8 sequence that `bytes` begins with; 0 where there is none.
std::size_t utf8_length(std::string_view bytes);
// The bytes with everything that a terminal would not show as itself written as \xNN; a backslash
// is doubled, so that two names never look alike.
std::string printable(std::string_view bytes);
// What the library gives as text, likewise. It has no doubled backslashes: those that it has
// written stand as they are.
std::string visible(std::string_view text);
// printable() between single quotes.
std::string in_quotes(std::string_view bytes);
// "'a'", or "'a' and 2 more".
std::string in_words(const std::vector<std::string>& names);
// A word of the command line in quotes, for a complaint. There may be a password in it: of an
// option only the name is shown, of a URL nothing.
std::string shown_word(const std::string& word);
// At most `columns` characters of printable text.
std::string cut_to_width(std::string_view text, std::size_t columns);
// How many characters printable text has.
std::size_t width(std::string_view text);
// "12 s", "3 min 5 s", "2 h 3 min", "1 d 2 h".
std::string duration(std::int64_t ms);
// "25.1s", "3m05s", "2h03m", "1d02h": the same where room is scarce.
std::string short_duration(std::int64_t ms);
// "25.1 s".
std::string seconds(std::int64_t ms);
// Padded with blanks on the right, or on the left.
std::string padded(const std::string& text, std::size_t columns);
std::string padded_left(const std::string& text, std::size_t columns);
// The local date and time of `ms` ago.
std::string time_ago(std::int64_t ms);
// "1 waiter", "2 waiters".
std::string counted(std::int64_t count, const char* noun);
// Write "belay: " and the message to stderr as one line.
void complain(const std::string& message);

#endif
