// The help texts, each within one screen of 24 lines and 80 columns, and belay help.
#ifndef BELAY_TOOLS_HELP_H
#define BELAY_TOOLS_HELP_H

#include <string>
#include <vector>

// Prints what is to be known of one subcommand, of the "options" of the library, or else of all.
// Returns the program's exit code.
int help(const std::vector<std::string>& topics);

constexpr char kMainHelp[] =
    R"(Hold distributed locks on Redis or Valkey, and see who holds them.

  belay run [OPTION...] NAME... -- COMMAND [ARG...]  hold all while COMMAND runs
  belay latch set|down|wait|show [OPTION...] NAME    a count to wait for
  belay semaphore set|show [OPTION...] NAME       how many permits there are
  belay inspect [OPTION...] NAME                  who holds NAME, who waits
  belay ls [OPTION...] [PATTERN]                  the names in use, by glob
  belay break [OPTION...] NAME                    take NAME from its holder
  belay top [OPTION...] [PATTERN]                 a live view of all of them
  belay help COMMAND|options | belay --version    more; the library's options

The server: --url, else $BELAY_URL, else redis://localhost:6379
  redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]  unix://[[USER]:PASSWORD@]/PATH
  redis://MASTER,REPLICA  redis-sentinel://A,B,C/MASTER  redis-cluster://A,B,C
  rediss:// is TLS: --tls-ca-file --tls-ca-dir --tls-cert-file --tls-key-file
  --tls-server-name --tls-min-version. --set NAME=VALUE: belay help options
Exit codes: 1 in use (run -n, -w), or nothing to break; 64 usage; 66 no latch;
  69 the server refuses or cannot be reached (without -n and -w, run and latch
  wait go on through outages); 71, 74 errors of this host;
  run: 75 lock lost, 126/127 COMMAND not run/found, 128+N signal, else its own.

Names are any bytes. Those that a terminal would not show are printed as \xNN,
and \ as \\. JSON is one object a line. In it a byte that is not UTF-8 becomes
\u00NN, and name_hex then has the name's bytes in hex.
)";

constexpr char kRunHelp[] =
    R"(belay run [OPTION...] NAME... -- COMMAND [ARG...]  (or: NAME COMMAND)
Waits for all NAMEs, holds them while COMMAND runs, then releases them.
  -n, --nonblock          do not wait: exit 1 if a NAME is in use
  -w, --wait SECONDS      wait that long at most; fractions; 0 is -n
  -E, --conflict-exit-code N   exit with N instead of 1 after -n or -w
  -x, --exclusive | -s, --shared     alone (the default) | with others who share
  --permits N/LIMIT | --identity TEXT  N of LIMIT units | with who says the same
  -c, --command TEXT      run TEXT by $SHELL, else /bin/sh (or: NAME -c TEXT)
  --lease SECONDS         how long others wait if this host dies (default 30)
  --lock-delay SECONDS    how long nobody gets what was lost with its holder
  --max-hold SECONDS      stop COMMAND before the lease that then runs has ended
  --kill-after SECONDS    if the lock is about to be lost, COMMAND gets TERM so
                          long before the end (default 5; at most a third of the
                          lease), at the end KILL, and belay exits with 75
  --label TEXT | -v, --verbose   shown beside host and pid | say time and fence
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
COMMAND finds BELAY_NAME and BELAY_FENCE, of the first NAME, and BELAY_FENCES; a
password in BELAY_URL is taken out. TERM HUP INT QUIT USR1 USR2 are passed on.
COMMAND leads a process group, which is signalled as a whole, unless stdin is a
terminal. If belay is killed, so is COMMAND, but not what it has started. What
runs as another user cannot be stopped: sudo belay run, not belay run NAME sudo.
69: the server refuses, or -n or -w could not reach it, for which they may take
--request-timeout more. Without these options belay waits through outages.
)";

constexpr char kLatchHelp[] = R"(belay latch set [OPTION...] NAME COUNT
belay latch down [OPTION...] NAME [N]
belay latch wait [OPTION...] NAME
belay latch show [OPTION...] NAME
A latch is a count that goes down to nothing; then it is open, and stays so.
set begins one and exits with 1 where NAME has a count to go; down takes N (1)
from it; wait returns when it is open; show says how many are to go. Where there
is no latch NAME, all but set exit with 66.
  --ttl SECONDS           set: forget it after that time (default: never)
  -n, --nonblock          wait: do not wait: exit 1 if it is not open
  -w, --wait SECONDS      wait: that long at most, then exit 1; 0 is -n
  --json                  down, show: {"name", "count"}, which is what is to go
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
Without -n and -w, wait waits through outages of the server; with them it ends
after --request-timeout more where there is no server, with 69.
)";

constexpr char kSemaphoreHelp[] = R"(belay semaphore set [OPTION...] NAME LIMIT
belay semaphore show [OPTION...] NAME
A semaphore gives out as many permits as its limit says (belay run --permits).
set begins one, or changes its limit: more serves waiters at once, less takes no
permit back. show says how many are free; where nobody has set a limit for NAME,
it exits with 66.
  --json        show: {"name", "available", "limit"}
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
Whoever asks by --permits N/LIMIT with another LIMIT is refused from then on.
)";

constexpr char kInspectHelp[] = R"(belay inspect [OPTION...] NAME
Shows who holds NAME (host, pid, label), since when, the fence, what is left of
the lease, who waits, in order, and where in a cluster. Exits with 0 also when
NAME is free.
  --json        {"name", "primitive", "server", "slot", "held", "holder",
                "holders", "waiters", "waiters_total"}, where primitive is
                "lock", null (not in use), "semaphore", with "limit" and
                "available", or "latch", with "to_go" (the count). server has
                the name; slot is null outside of a cluster. Each of holders is
                {"client", "label", "host", "pid", "since_ms", "lease_ms",
                "fence", "holds", "local_waiters", "permits", "shared"}; holder
                is the first of them, or null. since_ms is for how long; holds
                and local_waiters date from the holder's last renewal
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
)";

constexpr char kListHelp[] = R"(belay ls [OPTION...] [PATTERN]
Lists the names in use that match the glob PATTERN (* ? [a-z] \; default: all),
one a line: name, holder, what is left of the lease, how many wait.
  --limit N     this many names at most (default 10000)
  --json        one object a line, each as of belay inspect --json
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
)";

constexpr char kBreakHelp[] = R"(belay break [OPTION...] NAME
Says who holds NAME, then takes it from exactly that holder, who learns that the
lock is lost, and gives it to the first waiter. Exits with 1 when nothing was
broken: NAME was free, changed hands meanwhile, or has another fence.
  --fence N     only if the holder's fence is N
  --json        {"name", "broken", "holder", "holders"}: who lost it; each as of
                belay inspect --json
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
)";

constexpr char kTopHelp[] = R"(belay top [OPTION...] [PATTERN]
Shows again and again which names (of those that match the glob PATTERN) are in
use: on a terminal a screen, left by q or ^C, sorted by w waiters, h held for or
c changes; elsewhere a block of lines each time.
  --interval SECONDS   between two looks (default 2, at least 0.1)
  --limit N     names inspected at a look (default 200). Of more, half are those
                with the most waiters so far, the rest are taken in turn
  --count N     end after N looks
  --sort waiters|held|changes
  --json        an object a look: {"time_ms", "names_total", "names_inspected",
                "changes", "since_last_ms", "names"}; names are {"name",
                "holder" and "holders" as of belay inspect --json,
                "waiters_total", "longest_wait_ms", "changes_per_s"}; "error" is
                there when something could not be read, and alone when nothing
                could
  --url URL   --user NAME   --password-file FILE   --prefix TEXT (belay:)
  --request-timeout SECONDS (5)   --tls-... and --set NAME=VALUE: belay help
HOLDER is label@host:pid, LEASE what is left of it, LONGEST the longest wait.
CHANGES/S are the changes of holder that were seen, per second, over the last
ten looks at the name. It has had that many grants, or more: between two looks
one change is seen at most. A shorter --interval sees more.
An unreachable server is waited for; but without a terminal, where it cannot be
reached at the first look, belay exits with 69.
)";

#endif
