rockspec_format = "3.0"
package = "belay"
version = "scm-1"
source = { url = "git+https://belay.invalid/belay.git" }
description = {
  summary = "Distributed locks on Redis and Valkey",
  detailed = "Locks with fences, leases and a fair order; readers and writers, semaphores and latches. Needs libbelay.",
  homepage = "https://belay.invalid/belay",
  license = "Apache-2.0",
}
dependencies = { "lua >= 5.1" }
external_dependencies = { BELAY = { header = "belay/belay.h", library = "belay" } }
build = {
  type = "builtin",
  modules = {
    ["belay.native"] = {
      sources = { "native/belay_wrap.c" },
      libraries = { "belay" },
      incdirs = { "$(BELAY_INCDIR)" },
      libdirs = { "$(BELAY_LIBDIR)" },
    },
    ["belay"] = "belay/init.lua",
    ["belay.canceller"] = "belay/canceller.lua",
    ["belay.client"] = "belay/client.lua",
    ["belay.cqueues"] = "belay/cqueues.lua",
    ["belay.errors"] = "belay/errors.lua",
    ["belay.guard"] = "belay/guard.lua",
    ["belay.hold"] = "belay/hold.lua",
    ["belay.latch"] = "belay/latch.lua",
    ["belay.lock"] = "belay/lock.lua",
    ["belay.luv"] = "belay/luv.lua",
    ["belay.names"] = "belay/names.lua",
    ["belay.nginx"] = "belay/nginx.lua",
    ["belay.options"] = "belay/options.lua",
    ["belay.pump"] = "belay/pump.lua",
    ["belay.request"] = "belay/request.lua",
    ["belay.semaphore"] = "belay/semaphore.lua",
  },
}
