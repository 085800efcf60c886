-- The binding runs on Lua 5.1 to 5.4, LuaJIT and nginx.
std = "min"
max_line_length = 140
files["belay/nginx.lua"] = { std = "ngx_lua" }
files["spec"] = { std = "min+busted" }
