package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	progressLimit = 30 * time.Second // for every actor to get a lock once the faults are over: beyond it something hangs
	endLimit      = 30 * time.Second // for a worker to end in order
)

// A Worker is a process that takes locks. Its output is the history.
type Worker struct {
	number  int
	process *exec.Cmd
	done    chan struct{} // closed when its output has ended
}

// A Run is one history being made.
type Run struct {
	plan       Plan
	binary     string // of the worker
	deployment Deployment
	unasked    bool // a failover of a cluster changed more than the checks are told
	begun      lossTimer
	resource   *Server    // of the fenced counter; never attacked
	proxies    [][]*Proxy // of each slot, to each server
	table      string
	proxyLocks []sync.Mutex
	log        *Log
	mutex      sync.Mutex // guards what follows
	workers    []*Worker  // by slot; each slot has a proxy
	started    int
	ended      map[int]bool
	counts     map[string]int // of faults
	progress   time.Duration  // from the end of the faults until everybody had been granted a lock
}

func (run *Run) count(what string) {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	run.counts[what]++
}

func (run *Run) workerAt(slot int) *Worker {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	return run.workers[slot]
}

// ask tells a master something; where it does not obey, there is simply no such fault.
func (run *Run) ask(random *rand.Rand, words ...string) *Server {
	master := run.deployment.master(random)
	_, err := master.command(words...)
	run.log.note("%s: %v", strings.Join(words, " "), err)
	return master
}

func (run *Run) prefix() string { return fmt.Sprintf("history%d", run.plan.seed) }

func oneIf(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

// ---- Workers

func (run *Run) startWorker(slot int) {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	run.started++
	worker := &Worker{number: run.started, done: make(chan struct{})}
	arguments := append([]string{
		"url=" + run.deployment.url(run.proxies[slot]), "table=" + run.table, "prefix=" + run.prefix(),
		fmt.Sprintf("port=%d", run.resource.port), fmt.Sprintf("worker=%d", worker.number),
		fmt.Sprintf("seed=%d", run.plan.seed*100%1000000+int64(worker.number)), fmt.Sprintf("names=%d", run.plan.names), fmt.Sprintf("sets=%d", oneIf(run.plan.sets)),
		fmt.Sprintf("actors=%d", run.plan.actors), fmt.Sprintf("watchdog=%d", run.plan.watchdog),
		fmt.Sprintf("modes=%d", oneIf(run.plan.modes)), fmt.Sprintf("permits=%d", run.plan.permits),
		fmt.Sprintf("delay=%d", run.plan.delay), fmt.Sprintf("limits=%d", oneIf(run.plan.limits)),
		fmt.Sprintf("latch=%d", oneIf(run.plan.latch)), fmt.Sprintf("ttl=%d", oneIf(run.plan.ttl)),
	}, run.plan.flags...)
	worker.process = exec.Command(run.binary, arguments...)
	worker.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	worker.process.Stderr = os.Stderr
	output, err := worker.process.StdoutPipe()
	if err == nil {
		err = worker.process.Start()
	}
	if err != nil {
		panic(err)
	}
	go func() {
		defer close(worker.done)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			event, err := parseEvent(worker.number, lines.Text())
			if err != nil {
				run.log.problem("%v", err)
				continue
			}
			run.log.add(event)
		}
	}()
	if slot == len(run.workers) {
		run.workers = append(run.workers, nil)
	}
	run.workers[slot] = worker
}

func (worker *Worker) signal(signal syscall.Signal) { _ = worker.process.Process.Signal(signal) }

func (worker *Worker) kill() {
	worker.signal(syscall.SIGKILL)
	<-worker.done
	_ = worker.process.Wait()
}

// finish ends all workers in order; one that does not end, or ends otherwise, breaks a promise.
func (run *Run) finish() {
	for _, worker := range run.workers {
		worker.signal(syscall.SIGTERM)
	}
	deadline := time.Now().Add(endLimit)
	for _, worker := range run.workers {
		left := time.Until(deadline)
		if left < 0 {
			left = 100 * time.Millisecond // for those that did end while another hung
		}
		select {
		case <-worker.done:
			if err := worker.process.Wait(); err != nil {
				run.log.problem("worker %d ended with %v", worker.number, err)
			} else {
				run.ended[worker.number] = true
			}
		case <-time.After(left):
			run.log.problem("worker %d did not end within %v", worker.number, endLimit)
			worker.kill()
		}
	}
}

// calm waits until every actor of every worker has been granted a lock after the faults.
func (run *Run) calm() {
	since, start := now(), time.Now()
	run.log.note("all faults are over")
	deadline := start.Add(progressLimit)
	defer func() { run.progress = time.Since(start) }()
	for slot := range run.workers {
		worker := run.workerAt(slot)
		for actor := 1; actor <= run.plan.actors; {
			switch {
			case run.log.acquiredSince(worker.number, actor, since):
				actor++
			case time.Now().After(deadline):
				run.log.problem("actor %d of worker %d was granted nothing within %v of calm", actor, worker.number, progressLimit)
				return
			default:
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
}

// ---- What the resources took

func (run *Run) readRedis(record *Record) error {
	for name := 0; name < run.plan.names; name++ {
		letter := string(rune('a' + name))
		count, err := run.resource.command("GET", run.prefix()+":count:"+letter)
		if err != nil {
			return err
		}
		where := "redis " + letter
		record.Counts[where], _ = strconv.Atoi(count.(string))
		log, err := run.resource.command("LRANGE", run.prefix()+":log:"+letter, "0", "-1")
		if err != nil {
			return err
		}
		entries, _ := log.([]interface{})
		for _, entry := range entries {
			fence, id, _ := strings.Cut(entry.(string), " ")
			record.took(where, fence, id)
		}
		for _, kind := range []string{":count:", ":log:", ":fence:"} {
			_, _ = run.resource.command("DEL", run.prefix()+kind+letter)
		}
	}
	return nil
}

func (run *Run) readTable(record *Record) error {
	output, err := exec.Command(run.binary, "dump="+run.table).Output()
	if err != nil {
		return err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "count":
			record.Counts["sqlite "+words[1]], _ = strconv.Atoi(words[2])
		case len(words) == 4 && words[0] == "took":
			record.took("sqlite "+words[1], words[2], words[3])
		}
	}
	return nil
}

func (record *Record) took(where, fence, id string) {
	number, _ := strconv.ParseInt(fence, 10, 64)
	record.Took[where] = append(record.Took[where], Took{number, id})
}

// ---- A history

func newRun(plan Plan, binary string, resource *Server) (*Run, error) {
	run := &Run{plan: plan, binary: binary, resource: resource, log: newLog(), ended: map[int]bool{},
		counts: map[string]int{}, proxyLocks: make([]sync.Mutex, plan.workers)}
	if err := run.deploy(); err != nil {
		return nil, err
	}
	servers := run.deployment.endpoints()
	run.table = filepath.Join(servers[0].directory, "table")
	run.begun = beginLoss()
	for slot := 0; slot < plan.workers; slot++ {
		run.proxies = append(run.proxies, nil)
		for _, server := range servers {
			proxy, err := startProxy("127.0.0.1:0", server.address())
			if err != nil {
				return nil, err
			}
			run.proxies[slot] = append(run.proxies[slot], proxy)
		}
		run.startWorker(slot)
	}
	return run, nil
}

func (run *Run) deploy() (err error) {
	switch run.plan.on {
	case onTrio:
		run.deployment, err = startTrio(run.plan.program, run.plan.safe)
	case onCluster:
		run.deployment, err = startCluster(run.plan.program)
	default:
		var server *Server
		server, err = startServer(run.plan.program, run.plan.aof)
		run.deployment = &Single{server}
	}
	return err
}

// complete ends the run and gathers what is known of it.
func (run *Run) complete() (*Record, error) {
	run.finish()
	for _, proxies := range run.proxies {
		for _, proxy := range proxies {
			proxy.stop()
		}
	}
	run.deployment.noticeFailover(run)
	record := &Record{Events: run.log.sorted(), Losses: run.log.losses, Ended: run.ended, Errors: run.plan.safe || run.plan.faults["full memory"],
		Watchdog: run.plan.watchdog, Counts: map[string]int{}, Took: map[string][]Took{}}
	if err := run.readRedis(record); err != nil {
		return nil, err
	}
	return record, run.readTable(record)
}
