-- The scripts that Redis and Valkey run: Lua 5.1 with the globals that the server gives them.
std = "lua51"
max_line_length = 130
read_globals = { "redis", "struct", "cjson", "cmsgpack", "bit", "KEYS", "ARGV" }
