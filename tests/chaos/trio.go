package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	hosts         = 3
	sentinels     = 3
	failoverLimit = 60 * time.Second // beyond it something hangs
	// What a master has answered for so long is with its replicas, unless it is parted from them: far more than they need here.
	longestLag = time.Second
)

// A Trio is a master with two replicas, and three sentinels. Hosts and sentinels reach each host through a proxy, whose address is the
// one that is announced. So a host whose proxy is cut is parted from those, but not from the workers, which map the address to theirs.
// Used by one goroutine at a time.
type Trio struct {
	program   string
	hosts     []*Server
	inner     []*Proxy // by host
	sentinels []*Server
	leader    int // the master, of the hosts
}

// startTrio: `safe`: its master takes nothing without a replica.
func startTrio(program string, safe bool) (*Trio, error) {
	trio := &Trio{program: program}
	for len(trio.hosts) < hosts {
		host, err := startServer(program, false, "--repl-diskless-sync-delay", "0", "--min-replicas-to-write", fmt.Sprint(oneIf(safe)))
		if err != nil {
			return nil, err
		}
		trio.hosts = append(trio.hosts, host)
		proxy, err := startProxy("127.0.0.1:0", host.address())
		if err != nil {
			return nil, err
		}
		trio.inner = append(trio.inner, proxy)
		trio.announce(host, proxy)
	}
	trio.followAll()
	for len(trio.sentinels) < sentinels {
		sentinel, err := trio.startSentinel(len(trio.sentinels))
		if err != nil {
			return nil, err
		}
		trio.sentinels = append(trio.sentinels, sentinel)
	}
	return trio, trio.settle()
}

func (trio *Trio) startSentinel(number int) (*Server, error) {
	path := filepath.Join(trio.hosts[0].directory, fmt.Sprintf("sentinel%d.conf", number))
	text := fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %s 2\nsentinel down-after-milliseconds mymaster 1500\n"+
		"sentinel failover-timeout mymaster 1000\n", portOf(trio.inner[0]))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return launch(trio.program, path, "--sentinel")
}

func portOf(proxy *Proxy) string { return strings.TrimPrefix(proxy.address(), "127.0.0.1:") }

func (trio *Trio) end() {
	for _, server := range append(trio.sentinels, trio.hosts...) {
		server.end()
	}
	for _, proxy := range trio.inner {
		proxy.stop()
	}
}

// endpoints are those that a worker has proxies to: the hosts, then the sentinels.
func (trio *Trio) endpoints() []*Server {
	return append(append([]*Server(nil), trio.hosts...), trio.sentinels...)
}

func (trio *Trio) master(*rand.Rand) *Server { return trio.hosts[trio.leader] }
func (trio *Trio) namesAt(*Server) string    { return allNames }

func (trio *Trio) url(proxies []*Proxy) string {
	var names, pairs []string
	for i, inner := range trio.inner {
		pairs = append(pairs, inner.address()+"="+proxies[i].address())
	}
	for _, proxy := range proxies[hosts:] {
		names = append(names, proxy.address())
	}
	return "redis-sentinel://" + strings.Join(names, ",") + "/mymaster?address_map=" + strings.Join(pairs, ",")
}

// ---- What hosts and sentinels say and are told

// mustTell makes sure of what a host is told. It may not be there for the moment.
func mustTell(host *Server, words ...string) {
	for deadline := time.Now().Add(failoverLimit); ; time.Sleep(20 * time.Millisecond) {
		if _, err := host.command(words...); err == nil {
			return
		} else if time.Now().After(deadline) {
			panic(fmt.Sprintf("%v: %v", words, err))
		}
	}
}

func (trio *Trio) announce(host *Server, proxy *Proxy) {
	mustTell(host, "CONFIG", "SET", "replica-announce-ip", "127.0.0.1")
	mustTell(host, "CONFIG", "SET", "replica-announce-port", portOf(proxy))
}

// followAll makes the others replicas of the master. Sentinels do so in 10 s, or later where one of them stops just then.
func (trio *Trio) followAll() {
	for i, host := range trio.hosts {
		if i != trio.leader {
			mustTell(host, "REPLICAOF", "127.0.0.1", portOf(trio.inner[trio.leader]))
		}
	}
}

// named tells which host a sentinel names as the master; -1: it does not say.
func (trio *Trio) named(sentinel *Server) int {
	reply, _ := sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	if address, _ := reply.([]interface{}); len(address) == 2 {
		for i, inner := range trio.inner {
			if address[1] == portOf(inner) {
				return i
			}
		}
	}
	return -1
}

// fields reads the names and values of SENTINEL MASTER.
func (trio *Trio) fields(sentinel *Server) map[string]string {
	reply, _ := sentinel.command("SENTINEL", "MASTER", "mymaster")
	words, _ := reply.([]interface{})
	fields := map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		name, _ := words[i].(string)
		fields[name], _ = words[i+1].(string)
	}
	return fields
}

func eventually(what string, holds func() bool) error {
	for deadline := time.Now().Add(failoverLimit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v", what, failoverLimit)
		}
	}
	return nil
}

// settle waits until all know each other, and the replicas have the master's data: another failover may come. Sentinels that were stopped
// for a moment may make one more host the master first.
func (trio *Trio) settle() error {
	seen := ""
	err := eventually("replicas and sentinels to be complete", func() bool {
		if trio.adoptMaster() {
			trio.followAll()
		}
		info, _ := trio.hosts[trio.leader].command("INFO", "replication")
		seen, _ = info.(string)
		complete := strings.Count(seen, "state=online") == hosts-1
		for _, sentinel := range trio.sentinels {
			fields := trio.fields(sentinel)
			sees := fields["flags"] + " " + fields["num-slaves"] + " " + fields["num-other-sentinels"]
			seen += sees + "\n"
			complete = complete && sees == "master 2 2"
		}
		return complete
	})
	if err != nil {
		err = fmt.Errorf("%w: %s", err, seen)
	}
	return err
}

// adoptMaster: true if all sentinels name the same other master than before.
func (trio *Trio) adoptMaster() bool {
	other := trio.named(trio.sentinels[0])
	for _, sentinel := range trio.sentinels[1:] {
		if trio.named(sentinel) != other {
			return false
		}
	}
	if other < 0 || other == trio.leader {
		return false
	}
	trio.leader = other
	return true
}

// ---- Failovers

// askForFailover: it is refused while no replica has answered lately, and given up where its sentinel is stopped.
func (trio *Trio) askForFailover(old int) {
	sentinel := trio.sentinels[0]
	_ = eventually("a failover", func() bool {
		_, err := sentinel.command("SENTINEL", "FAILOVER", "mymaster")
		for asked := time.Now(); err == nil && trio.named(sentinel) == old && time.Since(asked) < 5*time.Second; {
			time.Sleep(20 * time.Millisecond)
		}
		return trio.named(sentinel) != old
	})
}

func failovers() []fault {
	return []fault{
		{"SENTINEL FAILOVER", onServer, func(run *Run, random *rand.Rand) {
			run.failOver(random, run.trio().askForFailover, func(int) {})
		}},
		{"kill master", onServer, func(run *Run, random *rand.Rand) {
			trio := run.trio()
			run.failOver(random, func(old int) { trio.hosts[old].tell("kill") }, func(old int) {
				trio.hosts[old].tell("start\t--replicaof\t127.0.0.1 " + portOf(trio.inner[trio.leader]) +
					"\t--replica-announce-ip\t127.0.0.1\t--replica-announce-port\t" + portOf(trio.inner[old]))
			})
		}},
		{"stop master", onServer, func(run *Run, random *rand.Rand) {
			trio := run.trio()
			run.failOver(random, func(old int) { trio.hosts[old].tell("pause") }, func(old int) { trio.hosts[old].tell("continue") })
		}},
		{"part master", onServer, func(run *Run, random *rand.Rand) {
			trio := run.trio()
			run.failOver(random, func(old int) { trio.inner[old].part() }, func(old int) { trio.inner[old].join() })
		}},
		{"stop sentinel", onProcess, func(run *Run, random *rand.Rand) {
			sentinel := run.trio().sentinels[random.Intn(sentinels)]
			sentinel.tell("pause")
			time.Sleep(between(random, 100, 1500)) // after 2 s it distrusts its clock for half a minute, and replaces nobody
			sentinel.tell("continue")
		}},
	}
}

func (run *Run) trio() *Trio { return run.deployment.(*Trio) }

// failOver: what was granted since shortly before the cause, until all follow the new master, may be lost, and may be had twice.
func (run *Run) failOver(random *rand.Rand, cause, heal func(old int)) {
	trio := run.trio()
	trio.noticeFailover(run)
	timer := beginLoss().earlier(longestLag)
	old := trio.leader
	cause(old)
	if err := eventually("another master", trio.adoptMaster); err != nil {
		run.log.problem("%v", err)
		return
	}
	run.log.note("host %d follows host %d as the master", trio.leader, old)
	heal(old)
	time.Sleep(between(random, 0, 1000)) // two are masters meanwhile, or the old one is a replica that says READONLY
	trio.followAll()
	if random.Intn(2) == 0 {
		_, _ = trio.hosts[old].command("CLIENT", "KILL", "TYPE", "normal")
		_, _ = trio.hosts[old].command("CLIENT", "KILL", "TYPE", "pubsub")
	}
	if err := trio.settle(); err != nil {
		run.log.problem("%v", err)
	}
	loss := timer.end()
	loss.Kept = true
	run.log.lost(loss)
}

// noticeFailover: on a machine that is too slow the sentinels may replace a master that is well. When that was, nobody has seen.
func (trio *Trio) noticeFailover(run *Run) {
	if trio.adoptMaster() {
		run.count("failover that nobody asked for")
		run.log.lost(Loss{From: run.begun.from, To: now(), Before: run.begun.before, Behind: time.Now().UnixMicro(), Kept: true, Names: allNames})
	}
}
