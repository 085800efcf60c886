--- Requests of nginx. BELAY_NGINX: where test.sh has unpacked Debian's nginx and its modules, for LuaJIT only: nginx has no other Lua.
local support = require "spec.support"

local root = os.getenv "BELAY_NGINX"
local describe_nginx = root and describe or function() end

local configuration = [[
load_module ROOT/usr/lib/nginx/modules/ndk_http_module.so;
load_module ROOT/usr/lib/nginx/modules/ngx_http_lua_module.so;
worker_processes 1; error_log stderr warn; pid DIR/nginx.pid; USER
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  lua_package_path "LUA_PATH;ROOT/usr/share/lua/5.1/?.lua;;";
  lua_package_cpath "LUA_CPATH;;";
  init_by_lua_block {
    belay = require "belay"
    of_master = assert(belay.connect "URL")
  }
  init_worker_by_lua_block {
    client = assert(belay.connect("URL", { watchdog_lease = 5 }))
    is_free, losses = {}, {}
    -- Holds a name until /free names it, or the hold is lost.
    function hold_until_free(name)
      local hold = assert(client:lock(name):acquire())
      while not is_free[name] and hold:state() ~= "LOST" do
        ngx.sleep(0.01)
      end
      return hold:release()
    end
  }
  server {
    listen unix:DIR/http;
    location /fast { content_by_lua_block { ngx.say "fast" } }
    location /pendings { content_by_lua_block { ngx.say(client:metrics().pendings) } }
    location /timers { content_by_lua_block { ngx.say(ngx.timer.running_count()) } }
    location /holds { content_by_lua_block { ngx.say(client:metrics().holds) } }
    location /free { content_by_lua_block { is_free[ngx.var.arg_name] = true } }
    location /hold { content_by_lua_block { ngx.say(tostring(hold_until_free(ngx.var.arg_name))) } }
    location /lock { content_by_lua_block {
      local hold, message, status = client:lock(ngx.var.arg_name):acquire { wait = tonumber(ngx.var.arg_wait) }
      ngx.say(hold and hold:fence() or status)
      return hold and assert(hold:release())
    } }
    location /master { content_by_lua_block { ngx.say((select(3, of_master:ping()))) } }
    location /log {
      access_by_lua_block { ngx.ctx.hold = assert(client:lock "log":acquire { wait = 5 }) }
      content_by_lua_block { ngx.say(ngx.ctx.hold:fence()) }
      log_by_lua_block { assert(ngx.ctx.hold:release { wait = false }) }
    }
    location /killed { content_by_lua_block {
      local hold = assert(client:lock "killed":acquire())
      local thread = ngx.thread.spawn(function() client:lock "killed":acquire() end)
      assert(ngx.thread.kill(thread))
      assert(hold:release())
      ngx.say(select(3, client:lock "killed":acquire { wait = 20 }) or "OK")
    } }
    location /cancel { content_by_lua_block {
      local hold, stop = assert(client:lock "cancel":acquire()), belay.canceller()
      local thread = ngx.thread.spawn(function() return select(3, client:lock "cancel":acquire { cancel = stop }) end)
      stop:cancel()
      local _, status = ngx.thread.wait(thread)
      ngx.say(status, " ", tostring(hold:release()))
    } }
    location /lost { content_by_lua_block {
      local reason
      local hold = assert(client:lock "lost":acquire { on_lost = function(_, why) reason = why end })
      assert(client:break_name "lost")
      while not reason do
        ngx.sleep(0.01)
      end
      ngx.say(reason)
    } }
  }
}
]]

describe_nginx("in nginx,", function()
  local server, directory, nginx, pid

  local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end

  local function read(path)
    local file = io.open(path)
    local text = file and file:read "*a" or ""
    if file then
      file:close()
    end
    return text
  end

  local function get(path, options)
    return support.run(("curl -sS -g %s --max-time 60 --unix-socket %s/http 'http://nginx%s'"):format(options or "", directory, path))
  end

  local function start()
    support.run(nginx .. " >" .. directory .. "/log 2>&1 &")
    support.eventually(function() return get "/fast" == "fast\n" end)
    pid = read(directory .. "/nginx.pid"):match "%d+"
  end

  local function is_there()
    return support.run("kill -0 " .. pid .. "; echo $?"):match "(%d+)%s*$" == "0"
  end

  before_each(function()
    server = support.server()
    directory = server.directory
    local text = configuration:gsub("%u[%u_]+", {
      ROOT = root, DIR = directory, URL = server.url, LUA_PATH = os.getenv "LUA_PATH":gsub(";;$", ""),
      LUA_CPATH = os.getenv "LUA_CPATH":gsub(";;$", ""), USER = support.run "id -u" == "0\n" and "user root;" or "",
    })
    write(directory .. "/nginx.conf", text)
    nginx = ("LD_LIBRARY_PATH=$LD_LIBRARY_PATH:%s/usr/lib/x86_64-linux-gnu:%s/lib/x86_64-linux-gnu "
      .. "%s/usr/sbin/nginx -p %s -c %s/nginx.conf")
      :format(root, root, root, directory, directory) .. " -g 'daemon off;'"
    start()
  end)

  after_each(function()
    if is_there() then
      support.run("kill -QUIT " .. pid)
      support.eventually(function() return not is_there() end)
    end
    server:stop()
  end)

  it("200 requests wait while others are served", function()
    support.run(("curl -sS --unix-socket %s/http 'http://nginx/hold?name=q' >%s/holder 2>&1 &"):format(directory, directory))
    support.eventually(function() return get "/holds" == "1\n" end)
    support.run(("curl -sS -Z --no-progress-meter --parallel-max 200 --parallel-immediate --max-time 60 --unix-socket %s/http "
      .. "'http://nginx/lock?name=q&n=[1-200]' >%s/fences 2>/dev/null &"):format(directory, directory))
    support.eventually(function() return get "/pendings" == "200\n" end)
    local slowest = 0
    for _ = 1, 20 do
      local answer, seconds = get("/fast", "-w '%{time_total}'"):match "(%a+)\n([%d.]+)"
      assert.equal("fast", answer)
      slowest = math.max(slowest, tonumber(seconds))
    end
    print(("# nginx: 20 requests while 200 waited: %.1f ms at most"):format(slowest * 1000))
    assert.is_true(slowest < 5, "seconds: it hung") -- how long they take is the bench's: tools/bench.sh bindings
    assert.equal("200\n", get "/pendings")
    get "/free?name=q"
    support.eventually(function() return read(directory .. "/holder") == "true\n" end)
    local fences = support.eventually(function()
      local text = read(directory .. "/fences")
      return select(2, text:gsub("\n", "")) == 200 and text
    end)
    local seen, count = {}, 0
    for fence in fences:gmatch "(%d+)\n" do
      assert.is_nil(seen[fence])
      seen[fence] = true
      count = count + 1
    end
    assert.equal(200, count)
    assert.equal("0\n", get "/pendings")
    assert.equal("0\n", get "/holds")
  end)

  it("a worker whose requests wait has one pump, and sleeps", function()
    local other = assert(require("belay").connect(server.url))
    local hold = assert(other:lock("idle"):acquire())
    support.run(("curl -sS -Z --no-progress-meter --parallel-max 20 --parallel-immediate --max-time 60 --unix-socket %s/http "
      .. "'http://nginx/lock?name=idle&n=[1-20]' >%s/fences 2>/dev/null &"):format(directory, directory))
    support.eventually(function() return get "/pendings" == "20\n" end)
    assert.equal("1\n", get "/timers")
    local worker = support.run("pgrep -P " .. pid):match "%d+"
    local function wake_ups() -- of the thread that serves requests
      return tonumber(read(("/proc/%s/task/%s/status"):format(worker, worker)):match "\nvoluntary_ctxt_switches:%s*(%d+)")
    end
    local before = wake_ups()
    assert.equal("TIMEOUT", select(3, other:lock("idle"):acquire { wait = 0.5 }))
    assert.is_true(wake_ups() - before < 5) -- polling 100 times a second would be 50
    assert.is_true(hold:release())
    support.eventually(function() return select(2, read(directory .. "/fences"):gsub("\n", "")) == 20 end)
    other:close()
  end)

  it("a request times out, is cancelled, is killed, is told of a loss", function()
    support.run(("curl -sS --unix-socket %s/http 'http://nginx/hold?name=t' >%s/holder 2>&1 &"):format(directory, directory))
    support.eventually(function() return get "/holds" == "1\n" end)
    assert.equal("TIMEOUT\n", get "/lock?name=t&wait=0.05")
    assert.equal("BUSY\n", get "/lock?name=t&wait=0")
    assert.equal("CANCELLED true\n", get "/cancel")
    assert.equal("OK\n", get "/killed")
    assert.equal("BROKEN\n", get "/lost")
    get "/free?name=t"
    support.eventually(function() return read(directory .. "/holder") == "true\n" end)
  end)

  it("a log phase releases without waiting, and a client of the master is no worker's", function()
    assert.truthy(get "/log":match "^%d+\n$")
    assert.truthy(get "/log":match "^%d+\n$")
    support.eventually(function() return get "/holds" == "0\n" end)
    assert.equal("FORKED\n", get "/master")
  end)

  it("a worker that stops serves who waits, and then ends", function()
    local belay = require "belay"
    local other = assert(belay.connect(server.url))
    for round = 1, 5 do -- the waiter's release starts a pump while another one ends
      if round > 1 then
        start()
      end
      support.run(("curl -sS --unix-socket %s/http 'http://nginx/hold?name=s' >%s/holder 2>&1 &"):format(directory, directory))
      support.eventually(function() return get "/holds" == "1\n" end)
      support.run(("curl -sS --unix-socket %s/http 'http://nginx/lock?name=s&wait=30' >%s/waiter 2>&1 &"):format(directory, directory))
      support.eventually(function() return get "/pendings" == "1\n" end)
      support.run("kill -QUIT " .. pid)
      support.eventually(function() return get("/fast"):match "^curl" end) -- it takes no more requests
      assert.equal("", read(directory .. "/waiter"))
      assert.equal(1, #other:break_name "s")
      support.eventually(function() return read(directory .. "/waiter"):match "^%d+\n$" end)
      support.eventually(function() return not is_there() end)
      assert.is_falsy(read(directory .. "/log"):match "%[error%]")
      assert.is_falsy(read(directory .. "/log"):match "%[alert%]")
    end
    other:close()
  end)

  it("a worker without waits ends at once", function()
    assert.truthy(get "/lock?name=e":match "^%d+\n$")
    support.run("kill -QUIT " .. pid)
    support.eventually(function() return not is_there() end)
    assert.is_falsy(read(directory .. "/log"):match "%[alert%]")
  end)
end)
