package main

import (
	"fmt"
	"math/rand"
	"sync"
	"syscall"
	"time"
)

// A fault does something bad, waits, and heals it. Each track draws faults of its kind, one after the other; the tracks run side by
// side, so that faults of different tracks meet.
type fault struct {
	name  string
	track track
	apply func(run *Run, random *rand.Rand)
}

type track int

const (
	onServer track = iota
	onProcess
	onNetwork
)

// loses tells whether a fault loses the server's data.
func (fault fault) loses(aof bool) bool {
	switch fault.name {
	case "FLUSHALL", "kill node", "stop node", "part node":
		return true
	}
	return fault.name == "kill server" && !aof
}

func between(random *rand.Rand, low, high int) time.Duration {
	return time.Duration(low+random.Intn(high-low)) * time.Millisecond
}

func allFaults() []fault {
	return []fault{
		{"stop server", onServer, stopServer},
		{"kill server", onServer, killServer},
		{"DEBUG SLEEP", onServer, func(run *Run, random *rand.Rand) {
			run.ask(random, "DEBUG", "SLEEP", fmt.Sprintf("%.3f", between(random, 100, 2000).Seconds()))
		}},
		{"CLIENT PAUSE", onServer, pauseClients},
		{"CLIENT KILL", onServer, killClients},
		{"SCRIPT FLUSH", onServer, func(run *Run, random *rand.Rand) { run.ask(random, "SCRIPT", "FLUSH") }},
		{"FLUSHALL", onServer, flushAll},
		{"full memory", onServer, fillMemory},
		{"stop process", onProcess, stopProcess},
		{"kill process", onProcess, killProcess},
		{"cut", onNetwork, func(run *Run, random *rand.Rand) {
			run.withProxy(random, func(proxy *Proxy) { proxy.cut(between(random, 0, 600)) })
		}},
		{"half-open", onNetwork, toxics(200, 3000, `{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`,
			`{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)},
		{"dropped replies", onNetwork, toxics(100, 1500, `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)},
		{"timeout", onNetwork, toxics(100, 1000, `{"type":"timeout","stream":"upstream","attributes":{"timeout":300}}`)},
		{"reset_peer", onNetwork, toxics(50, 500, `{"type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`)},
		{"limit_data", onNetwork, limitData},
		{"latency", onNetwork, delay},
		{"bandwidth", onNetwork, toxics(300, 2000, `{"type":"bandwidth","stream":"upstream","attributes":{"rate":2}}`,
			`{"type":"bandwidth","stream":"downstream","attributes":{"rate":2}}`)},
	}
}

// ---- The server

func stopServer(run *Run, random *rand.Rand) {
	server := run.deployment.master(random)
	server.tell("pause")
	time.Sleep(between(random, 100, 2500))
	server.tell("continue")
}

func killServer(run *Run, random *rand.Rand) {
	server := run.deployment.master(random)
	timer := beginLoss()
	server.tell("kill")
	if !server.aof {
		run.log.lost(timer.end())
	}
	time.Sleep(between(random, 0, 500))
	server.tell("start")
}

func pauseClients(run *Run, random *rand.Rand) {
	mode := []string{"ALL", "WRITE"}[random.Intn(2)]
	pause := between(random, 100, 2000)
	run.ask(random, "CLIENT", "PAUSE", fmt.Sprint(pause.Milliseconds()), mode)
	time.Sleep(pause)
}

func killClients(run *Run, random *rand.Rand) {
	kind := []string{"normal", "pubsub"}[random.Intn(2)]
	run.ask(random, "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
}

func flushAll(run *Run, random *rand.Rand) {
	timer := beginLoss()
	master := run.ask(random, "FLUSHALL")
	loss := timer.end()
	loss.Names = run.deployment.namesAt(master)
	run.log.lost(loss)
}

func fillMemory(run *Run, random *rand.Rand) {
	run.ask(random, "CONFIG", "SET", "maxmemory", "1")
	time.Sleep(between(random, 100, 1500))
	run.ask(random, "CONFIG", "SET", "maxmemory", "0")
}

// ---- Processes

func stopProcess(run *Run, random *rand.Rand) {
	slot, role := run.victim(random)
	run.count("stop " + role)
	worker := run.workerAt(slot)
	run.log.note("stops worker %d, %s", worker.number, role)
	worker.signal(syscall.SIGSTOP)
	time.Sleep(between(random, 50, 3000))
	worker.signal(syscall.SIGCONT)
	run.log.note("continues worker %d", worker.number)
}

func killProcess(run *Run, random *rand.Rand) {
	slot, role := run.victim(random)
	run.count("kill " + role)
	worker := run.workerAt(slot)
	run.log.note("kills worker %d, %s", worker.number, role)
	worker.kill()
	time.Sleep(between(random, 0, 500))
	run.startWorker(slot)
}

// victim draws a slot: a holder's or a waiter's, where there is one.
func (run *Run) victim(random *rand.Rand) (slot int, role string) {
	wanted := []string{"holder", "waiter"}[random.Intn(2)]
	slots := random.Perm(len(run.workers))
	for _, slot := range slots {
		if run.log.role(run.workerAt(slot).number) == wanted {
			return slot, wanted
		}
	}
	return slots[0], run.log.role(run.workerAt(slots[0]).number)
}

// ---- The network

func toxics(low, high int, texts ...string) func(*Run, *rand.Rand) {
	return func(run *Run, random *rand.Rand) {
		run.withProxy(random, func(proxy *Proxy) { proxy.poison(between(random, low, high), texts...) })
	}
}

// limitData lets some bytes of replies through and closes then: in the middle of one, or after the effect of a command.
func limitData(run *Run, random *rand.Rand) {
	toxics(100, 600, fmt.Sprintf(`{"type":"limit_data","stream":"downstream","attributes":{"bytes":%d}}`, random.Intn(800)))(run, random)
}

func delay(run *Run, random *rand.Rand) {
	latency := 1 + random.Intn(100)
	toxics(300, 3000,
		fmt.Sprintf(`{"type":"latency","stream":"upstream","attributes":{"latency":%d,"jitter":%d}}`, latency, random.Intn(latency)),
		fmt.Sprintf(`{"type":"latency","stream":"downstream","attributes":{"latency":%d,"jitter":%d}}`, latency, random.Intn(latency)),
	)(run, random)
}

// withProxy takes one worker's proxy from the other network tracks.
func (run *Run) withProxy(random *rand.Rand, apply func(*Proxy)) {
	slot := random.Intn(len(run.proxies))
	run.proxyLocks[slot].Lock()
	defer run.proxyLocks[slot].Unlock()
	run.log.note("network fault for slot %d", slot)
	apply(run.proxies[slot][random.Intn(len(run.proxies[slot]))])
}

// ---- Tracks

// attack applies the plan's faults until its time is over and all are healed.
func (run *Run) attack() {
	var tracks sync.WaitGroup
	end := time.Now().Add(run.plan.duration)
	for number, kind := range []track{onServer, onProcess, onNetwork, onNetwork} {
		var faults []fault
		for _, fault := range run.plan.possible() {
			if fault.track == kind && run.plan.faults[fault.name] {
				faults = append(faults, fault)
			}
		}
		if len(faults) == 0 {
			continue
		}
		random := rand.New(rand.NewSource(run.plan.seed*10 + int64(number)))
		tracks.Add(1)
		go func() {
			defer tracks.Done()
			for time.Sleep(between(random, 50, 700)); time.Now().Before(end); time.Sleep(between(random, 100, 1000)) {
				fault := faults[random.Intn(len(faults))]
				run.count(fault.name)
				run.log.note("begins: %s", fault.name)
				fault.apply(run, random)
				run.log.note("ends: %s", fault.name)
			}
		}()
	}
	tracks.Wait()
}
