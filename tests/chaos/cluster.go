package main

import (
	"fmt"
	"math/rand"
	"net"
	"strings"
	"time"
)

const (
	shards = 3
	slots  = 16384
)

// A Cluster is three masters with a replica each, and what the nodes say to each other goes through wires. Workers map the addresses that
// the nodes announce to those of their proxies. Used by one goroutine at a time.
type Cluster struct {
	program   string
	wires     *Wires
	listeners []net.Listener
	nodes     []*Server // each shard's first master, then each shard's other node
	announced []string
	ids       []string
	masters   [shards]int
	slotOf    map[string]string // by name
	shardOf   map[string]int
}

func startCluster(program string) (*Cluster, error) {
	cluster := &Cluster{program: program, wires: newWires(), slotOf: map[string]string{}, shardOf: map[string]int{}}
	var meeting []string
	for node := 0; node < 2*shards; node++ {
		ports, err := cluster.startNode(node)
		if err != nil {
			return nil, err
		}
		if node == 0 {
			meeting = append([]string{"CLUSTER", "MEET", "127.0.0.1"}, ports...)
		} else {
			mustTell(cluster.nodes[node], meeting...)
		}
	}
	each := slots/shards + 1
	for shard := range cluster.masters {
		cluster.masters[shard] = shard
		last := (shard+1)*each - 1
		if last >= slots {
			last = slots - 1
		}
		mustTell(cluster.nodes[shard], "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(shard*each), fmt.Sprint(last))
	}
	for shard := range cluster.masters { // refused until it knows that one
		mustTell(cluster.nodes[shards+shard], "CLUSTER", "REPLICATE", cluster.ids[shard])
	}
	for _, name := range strings.Split(allNames, "") {
		slot, err := cluster.nodes[0].command("CLUSTER", "KEYSLOT", name)
		if err != nil {
			return nil, err
		}
		cluster.slotOf[name] = slot.(string)
		var number int
		_, _ = fmt.Sscan(slot.(string), &number)
		cluster.shardOf[name] = number / each
	}
	return cluster, cluster.settle()
}

// busPort: where launchers and connections take none, so that a node that starts again finds it free.
func busPort() int {
	for {
		port := 2000 + int(time.Now().UnixMicro()%10000)
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
}

// startNode gives the two ports that it announces.
func (cluster *Cluster) startNode(node int) ([]string, error) {
	var ports []string
	var listeners []net.Listener
	for len(ports) < 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		ports = append(ports, strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:"))
	}
	// A replica takes over even if it has heard nothing for long: what is lost then, the checks are told.
	bus := busPort()
	server, err := launch(cluster.program, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no",
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0", "--maxmemory-policy", "noeviction",
		"--bind-source-addr", sourceOf(node), "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", ports[0],
		"--cluster-announce-bus-port", ports[1])
	if err != nil {
		return nil, err
	}
	go cluster.wires.to(node, listeners[0], server.port)
	go cluster.wires.to(node, listeners[1], bus)
	id, err := server.command("CLUSTER", "MYID")
	if err != nil {
		return nil, err
	}
	mustTell(server, "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(node+1))
	cluster.nodes, cluster.ids = append(cluster.nodes, server), append(cluster.ids, id.(string))
	cluster.announced = append(cluster.announced, "127.0.0.1:"+ports[0])
	cluster.listeners = append(cluster.listeners, listeners...)
	return ports, nil
}

func (cluster *Cluster) end() {
	for _, node := range cluster.nodes {
		node.end()
	}
	for _, listener := range cluster.listeners {
		listener.Close()
	}
}

func (cluster *Cluster) endpoints() []*Server { return cluster.nodes }

func (cluster *Cluster) url(proxies []*Proxy) string {
	var names, pairs []string
	for node, proxy := range proxies {
		pairs = append(pairs, cluster.announced[node]+"="+proxy.address())
		if node < shards {
			names = append(names, proxy.address())
		}
	}
	return "redis-cluster://" + strings.Join(names, ",") + "?address_map=" + strings.Join(pairs, ",")
}

func (cluster *Cluster) master(random *rand.Rand) *Server {
	return cluster.nodes[cluster.masters[random.Intn(shards)]]
}

func (cluster *Cluster) namesAt(master *Server) string {
	names := ""
	for name, shard := range cluster.shardOf {
		if cluster.nodes[cluster.masters[shard]] == master {
			names += name
		}
	}
	return names
}

// ---- What nodes say of each other

// masterSeen is a shard's master in the eyes of another shard's; -1: it sees none that is well.
func (cluster *Cluster) masterSeen(shard int) int {
	reply, _ := cluster.nodes[cluster.masters[(shard+1)%shards]].command("CLUSTER", "NODES")
	text, _ := reply.(string)
	for _, node := range []int{shard, shard + shards} {
		for _, line := range strings.Split(text, "\n") {
			words := strings.Fields(line)
			if len(words) > 8 && words[0] == cluster.ids[node] && words[2] == "master" {
				return node
			}
		}
	}
	return -1
}

// says tells whether a node's reply has all of these.
func (cluster *Cluster) says(node int, parts []string, words ...string) bool {
	reply, err := cluster.nodes[node].command(words...)
	text, _ := reply.(string)
	for _, part := range parts {
		if err != nil || !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// isWell: all see each other, agree on who is what, and the replicas have the masters' data.
func (cluster *Cluster) isWell() bool {
	info, _ := cluster.nodes[0].command("CLUSTER", "INFO")
	text, _ := info.(string)
	_, epoch, _ := strings.Cut(text, "cluster_current_epoch:")
	epoch, _, _ = strings.Cut(epoch, "\r\n")
	for node := range cluster.nodes {
		other := (node + shards) % len(cluster.nodes)
		role := []string{"role:master", "state=online"}
		if cluster.masters[node%shards] == other {
			role = []string{"role:slave", "master_link_status:up"}
		}
		reply, _ := cluster.nodes[node].command("CLUSTER", "NODES")
		seen, _ := reply.(string)
		well := strings.Count(seen, " connected") == len(cluster.nodes) && strings.Count(seen, "slave ") == shards && !strings.Contains(seen, "fail")
		if !well || !cluster.says(node, role, "INFO", "replication") ||
			!cluster.says(node, []string{"cluster_state:ok", "cluster_current_epoch:" + epoch + "\r"}, "CLUSTER", "INFO") {
			return false
		}
	}
	return true
}

func (cluster *Cluster) settle() error {
	err := eventually("a cluster that is well", cluster.isWell)
	if err != nil {
		seen, _ := cluster.nodes[cluster.masters[0]].command("CLUSTER", "NODES")
		err = fmt.Errorf("%w: %s", err, seen)
	}
	return err
}

// ---- Faults

func clusterFaults() []fault {
	return []fault{
		{"move slot", onServer, func(run *Run, random *rand.Rand) { run.cluster().moveSlot(run, random) }},
		{"CLUSTER FAILOVER", onServer, func(run *Run, random *rand.Rand) {
			cluster := run.cluster()
			run.replaceMaster(random, cluster.askForFailover, func(int) {})
		}},
		{"kill node", onServer, func(run *Run, random *rand.Rand) {
			cluster := run.cluster()
			run.loseMaster(random, func(old int) { cluster.nodes[old].tell("kill") }, func(old int) { cluster.nodes[old].tell("start") })
		}},
		{"stop node", onServer, func(run *Run, random *rand.Rand) {
			cluster := run.cluster()
			run.loseMaster(random, func(old int) { cluster.nodes[old].tell("pause") }, func(old int) { cluster.nodes[old].tell("continue") })
		}},
		{"part node", onServer, func(run *Run, random *rand.Rand) {
			wires := run.cluster().wires
			run.loseMaster(random, wires.part, wires.join)
		}},
	}
}

func (run *Run) cluster() *Cluster { return run.deployment.(*Cluster) }

// moveSlot moves the slot of a name to another shard, key by key, and leaves it half done for a while.
func (cluster *Cluster) moveSlot(run *Run, random *rand.Rand) {
	name := string(allNames[random.Intn(len(allNames))])
	slot, from := cluster.slotOf[name], cluster.shardOf[name]
	to := (from + 1 + random.Intn(shards-1)) % shards
	source, target := cluster.masters[from], cluster.masters[to]
	run.log.note("slot of '%s' goes from node %d to node %d", name, source, target)
	mustTell(cluster.nodes[target], "CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ids[source])
	mustTell(cluster.nodes[source], "CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ids[target])
	time.Sleep(between(random, 0, 1000))
	for most := fmt.Sprint(1 + random.Intn(3)); ; time.Sleep(between(random, 0, 300)) {
		reply, _ := cluster.nodes[source].command("CLUSTER", "GETKEYSINSLOT", slot, most)
		keys, _ := reply.([]interface{})
		if len(keys) == 0 {
			break
		}
		for _, key := range keys {
			mustTell(cluster.nodes[source], "MIGRATE", "127.0.0.1", fmt.Sprint(cluster.nodes[target].port), key.(string), "0", "5000")
		}
	}
	for _, node := range []int{target, source} {
		mustTell(cluster.nodes[node], "CLUSTER", "SETSLOT", slot, "NODE", cluster.ids[target])
	}
	cluster.shardOf[name] = to
	if err := cluster.settle(); err != nil {
		run.log.problem("%v", err)
	}
}

// askForFailover: a replica that cannot agree with its master in five seconds gives it up.
func (cluster *Cluster) askForFailover(old int) {
	shard, replica := old%shards, cluster.nodes[(old+shards)%len(cluster.nodes)]
	_ = eventually("a failover", func() bool {
		_, err := replica.command("CLUSTER", "FAILOVER")
		for asked := time.Now(); err == nil && cluster.masterSeen(shard) == old && time.Since(asked) < 6*time.Second; {
			time.Sleep(20 * time.Millisecond)
		}
		return cluster.masterSeen(shard) != old
	})
}

// loseMaster: what a shard granted since shortly before the cause, until its old master follows the new one, may be lost, and may be had
// twice.
func (run *Run) loseMaster(random *rand.Rand, cause, heal func(old int)) {
	timer := beginLoss().earlier(longestLag)
	replaced := run.replaceMaster(random, cause, heal)
	loss := timer.end()
	loss.Kept, loss.Names = true, run.cluster().namesAt(replaced)
	run.log.lost(loss)
}

// replaceMaster gives the new master of some shard.
func (run *Run) replaceMaster(random *rand.Rand, cause, heal func(old int)) *Server {
	cluster := run.cluster()
	cluster.noticeFailover(run)
	shard := random.Intn(shards)
	old := cluster.masters[shard]
	next := (old + shards) % len(cluster.nodes)
	run.log.note("node %d shall follow node %d as a master", next, old)
	cause(old)
	err := eventually("another master", func() bool { return cluster.masterSeen(shard) == next })
	heal(old)
	cluster.masters[shard] = next
	if err == nil {
		err = cluster.settle()
	}
	if err != nil {
		run.log.problem("%v", err)
	}
	return cluster.nodes[next]
}

// noticeFailover: on a machine that is too slow the nodes may replace a master that is well. When that was, nobody has seen.
func (cluster *Cluster) noticeFailover(run *Run) {
	for shard := range cluster.masters {
		if seen := cluster.masterSeen(shard); seen >= 0 && seen != cluster.masters[shard] {
			run.unasked = true
			cluster.masters[shard] = seen
		}
	}
}
