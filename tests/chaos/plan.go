package main

import (
	"fmt"
	"math/rand"
	"strings"
	"time"
)

// A Plan is what a seed decides of a history. When what happens it cannot decide: processes and the machine go their own ways, so the
// same seed gives the same faults at different moments of the workers' lives.
type Plan struct {
	seed            int64
	program         string
	aof             bool // the server keeps its data in an append-only file
	on              deployment
	safe            bool // the master takes nothing without a replica
	lossy           bool // faults may lose the server's data
	workers, actors int
	names           int
	sets            bool  // several of which are taken at once
	modes           bool  // locks are shared by readers and identities, too
	permits         int64 // a semaphore's, beside the locks; 0: there is none
	limits          bool  // and their number changes
	latch           bool  // there is a latch
	ttl             bool  // and sometimes it has a time to live
	delay           int64 // lock-delay in milliseconds
	watchdog        int64 // milliseconds
	duration        time.Duration
	faults          map[string]bool // those drawn, by name
	flags           []string        // further arguments of the workers
}

type deployment string

const (
	onOne     deployment = "one server"
	onTrio    deployment = "a trio" // a master, two replicas, and sentinels
	onCluster deployment = "a cluster"
)

// possible are the faults that may be drawn. What keeps a master from answering for a while is a failover's cause where it has replicas.
func (plan Plan) possible() []fault {
	possible := failovers()
	switch plan.on {
	case onOne:
		return allFaults()
	case onCluster:
		possible = clusterFaults()
	}
	for _, fault := range allFaults() {
		if fault.track != onServer || fault.name == "CLIENT KILL" || fault.name == "SCRIPT FLUSH" || fault.name == "FLUSHALL" {
			possible = append(possible, fault)
		}
	}
	return possible
}

func newPlan(seed int64, on deployment) Plan {
	random := rand.New(rand.NewSource(seed))
	plan := Plan{seed: seed, on: on, program: "redis-server", faults: map[string]bool{}}
	if seed%2 == 0 {
		plan.program = "valkey-server"
	}
	plan.aof = random.Intn(2) == 0
	plan.lossy = random.Intn(5) < 2
	plan.workers = 2 + random.Intn(4)
	plan.actors = 1 + random.Intn(3)
	plan.names = 1 + random.Intn(2)
	plan.watchdog = 1000 + random.Int63n(1001)
	plan.duration = time.Duration(3000+random.Intn(2500)) * time.Millisecond
	for len(plan.faults) == 0 {
		for _, fault := range plan.possible() {
			allowed := plan.lossy || !fault.loses(plan.aof)
			if random.Intn(2) == 0 && allowed {
				plan.faults[fault.name] = true
			}
		}
	}
	plan.modes = random.Intn(5) < 3
	if random.Intn(2) == 0 {
		plan.permits = 2 + random.Int63n(4)
	}
	plan.latch = random.Intn(2) == 0
	plan.limits = plan.permits > 0 && random.Intn(2) == 0
	plan.ttl = plan.latch && random.Intn(2) == 0
	if random.Intn(3) == 0 {
		plan.delay = 100 + random.Int63n(500)
	}
	plan.sets = random.Intn(2) == 0
	if plan.sets {
		plan.names = 3
	}
	if plan.on != onOne {
		plan.replicate(random)
	}
	return plan
}

// replicate: a failover takes some seconds. What latches and limits are where the latest changes are lost, the checks cannot tell.
func (plan *Plan) replicate(random *rand.Rand) {
	plan.aof = false
	plan.duration = 2*plan.duration + 2*time.Second
	if plan.on == onTrio {
		plan.safe = random.Intn(2) == 0
		plan.faults[failovers()[random.Intn(4)].name] = true
	} else if plan.faults["move slot"] = true; plan.lossy {
		plan.faults[clusterFaults()[2+random.Intn(3)].name] = true
	} else {
		plan.faults["CLUSTER FAILOVER"] = true
	}
	if plan.on == onTrio || plan.lossy {
		plan.latch, plan.ttl, plan.limits = false, false, false
	}
}

func (plan Plan) String() string {
	var faults []string
	for _, fault := range plan.possible() {
		if plan.faults[fault.name] {
			faults = append(faults, fault.name)
		}
	}
	return fmt.Sprintf("seed %d: %s, %s (append-only file: %v, with a replica for each write: %v), %d workers of %d actors, %d names (several at once: %v, shared: %v, lock-delay %d ms),"+
		" %d permits (changing: %v), latch: %v (with a time to live: %v), watchdog's lease %d ms, faults for %v: %s",
		plan.seed, plan.program, plan.on, plan.aof, plan.safe, plan.workers, plan.actors, plan.names, plan.sets, plan.modes, plan.delay,
		plan.permits, plan.limits, plan.latch, plan.ttl, plan.watchdog, plan.duration, strings.Join(faults, ", "))
}
