// Command chaos makes histories: worker processes that take locks, permits and latches on a real server, each behind a fault proxy, while
// faults are drawn from a seed. It checks each history against what these promise. tools/chaos.sh builds and starts it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	shownBefore = 1500 * millisecond // what is shown of a history around a violation
	shownAfter  = 100 * millisecond
	shownLines  = 200
)

// A Tally adds up what all histories did.
type Tally struct {
	mutex                 sync.Mutex
	histories, violations int
	faults, operations    map[string]int
	progress              time.Duration // the longest time from the end of the faults until everybody had been granted a lock
}

func (tally *Tally) add(run *Run, record *Record, violations int) {
	tally.mutex.Lock()
	defer tally.mutex.Unlock()
	tally.histories++
	tally.violations += violations
	tally.operations["histories on "+run.plan.program]++
	tally.operations["histories on "+string(run.plan.on)]++
	if run.progress > tally.progress {
		tally.progress = run.progress
	}
	for fault, count := range run.counts {
		tally.faults[fault] += count
	}
	for i := range record.Events {
		event := &record.Events[i]
		switch {
		case event.Verb == "return" && event.Noun != "write":
			tally.operations[event.Noun+" "+event.Fields["status"]]++
		case event.is("return", "write"):
			tally.operations["write "+event.Fields["outcome"]]++
		case event.is("told", "hold"):
			tally.operations["told "+event.Fields["news"]]++
		}
	}
}

// giveUp: nothing can be said of a history.
func (tally *Tally) giveUp() {
	tally.mutex.Lock()
	defer tally.mutex.Unlock()
	tally.faults["failover that nobody asked for"]++
}

func list(title string, counts map[string]int) {
	var words []string
	for what, count := range counts {
		words = append(words, fmt.Sprintf("%s %d", what, count))
	}
	sort.Strings(words)
	fmt.Printf("%s: %s\n", title, strings.Join(words, ", "))
}

// show prints the violations of a history and what happened around the first of them, and keeps all of it in a file.
func show(plan Plan, record *Record, problems []string, violations []Violation, directory string) {
	path := filepath.Join(directory, fmt.Sprintf("violation-%d.txt", plan.seed))
	text := fmt.Sprintf("VIOLATION in %v\n", plan)
	for _, problem := range problems {
		text += "  " + problem + "\n"
	}
	for _, violation := range violations {
		text += fmt.Sprintf("  at %d: %s\n", violation.At, violation.What)
	}
	whole, around, lines := text, text, 0
	for i := range record.Events {
		event := &record.Events[i]
		line := fmt.Sprintf("  %d worker %d.%d %s\n", event.At, event.Worker, event.Actor, event.Text)
		if event.Worker == 0 {
			line = fmt.Sprintf("  %d -- %s\n", event.At, event.Text)
		}
		whole += line
		if len(violations) > 0 && event.At > violations[0].At-shownBefore && event.At < violations[0].At+shownAfter && lines < shownLines {
			around += line
			lines++
		}
	}
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%s  All of it: %s\n  Again: tools/chaos.sh 0 %d (the same plan; processes and the machine go their own ways, so it may take"+
		" several tries)\n", around, path, plan.seed)
}

// makeHistory makes and checks one history.
func makeHistory(plan Plan, binary, output string, resource *Server, tally *Tally) error {
	run, err := newRun(plan, binary, resource)
	if err != nil {
		return err
	}
	defer run.deployment.end()
	run.attack()
	run.calm()
	record, err := run.complete()
	if err != nil {
		return err
	}
	if run.unasked {
		tally.giveUp()
		return nil
	}
	violations := Check(record)
	tally.add(run, record, len(violations)+len(run.log.problems))
	if len(violations)+len(run.log.problems) > 0 {
		show(plan, record, run.log.problems, violations, output)
	}
	return nil
}

// makeAll makes so many histories, or as many as begin within the time, several at once.
func makeAll(first int64, histories int, limit time.Duration, parallel int, makeOne func(seed int64, tally *Tally) error) *Tally {
	tally := &Tally{faults: map[string]int{}, operations: map[string]int{}}
	end := time.Now().Add(limit)
	seeds := make(chan int64)
	var makers sync.WaitGroup
	for i := 0; i < parallel; i++ {
		makers.Add(1)
		go func() {
			defer makers.Done()
			for seed := range seeds {
				if err := makeOne(seed, tally); err != nil {
					panic(err)
				}
			}
		}()
	}
	for next := int64(0); next == 0 || next < int64(histories) || histories == 0 && time.Now().Before(end); next++ {
		seeds <- first + next
	}
	close(seeds)
	makers.Wait()
	return tally
}

func main() {
	binary := flag.String("worker", "", "the worker's program")
	output := flag.String("output", ".", "a directory for histories with violations")
	minutes := flag.Float64("minutes", 0, "begin histories for so long; at least one")
	histories := flag.Int("histories", 0, "begin so many, whatever the time; 0: as many as the time allows")
	seed := flag.Int64("seed", time.Now().Unix(), "of the first history; the next has the next")
	trios := flag.Bool("trios", false, "all on a master with replicas and sentinels, not only each sixth")
	clusters := flag.Bool("clusters", false, "all on a cluster, not only each sixth")
	parallel := flag.Int("parallel", 2*runtime.NumCPU(), "how many at once: they mostly wait")
	flag.Parse()
	zerolog.SetGlobalLevel(zerolog.Disabled)

	resource, err := startServer("redis-server", false)
	if err != nil {
		panic(err)
	}
	defer resource.end()

	fmt.Printf("first seed %d\n", *seed)
	tally := makeAll(*seed, *histories, time.Duration(*minutes*float64(time.Minute)), *parallel, func(seed int64, tally *Tally) error {
		on := onOne
		if *trios || !*clusters && seed%6 == 5 {
			on = onTrio
		} else if *clusters || seed%6 == 2 {
			on = onCluster
		}
		return makeHistory(newPlan(seed, on), *binary, *output, resource, tally)
	})
	list("faults", tally.faults)
	list("operations", tally.operations)
	fmt.Printf("after the faults everybody was granted a lock within %v\n", tally.progress.Round(time.Millisecond))
	fmt.Printf("histories=%d violations=%d\n", tally.histories, tally.violations)
	if tally.violations > 0 {
		resource.end()
		os.Exit(1)
	}
}
