package main

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// An Event is a line of a history. Worker 0 is the orchestrator itself, actor 0 a worker's thread that takes events.
type Event struct {
	At            int64 // nanoseconds of CLOCK_MONOTONIC, which all processes share
	Worker, Actor int
	Verb, Noun    string // "call acquire", "told hold", ...
	Fields        map[string]string
	Text          string // what was said, without the time
}

// now reads the clock that the workers read.
func now() int64 {
	var clock unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &clock); err != nil {
		panic(err)
	}
	return clock.Nano()
}

// parseEvent reads "AT ACTOR VERB NOUN KEY=VALUE...". The value of `said` goes on to the end of the line.
func parseEvent(worker int, line string) (Event, error) {
	words := strings.SplitN(line, " ", 5)
	if len(words) < 4 {
		return Event{}, fmt.Errorf("worker %d wrote %q", worker, line)
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return Event{}, fmt.Errorf("worker %d wrote %q: %w", worker, line, err)
	}
	actor, err := strconv.Atoi(words[1])
	if err != nil {
		return Event{}, fmt.Errorf("worker %d wrote %q: %w", worker, line, err)
	}
	event := Event{At: at, Worker: worker, Actor: actor, Verb: words[2], Noun: words[3], Fields: map[string]string{},
		Text: strings.Join(words[2:], " ")}
	if len(words) == 5 {
		facts, said, _ := strings.Cut(words[4], "said=")
		event.Fields["said"] = said
		for _, fact := range strings.Fields(facts) {
			key, value, _ := strings.Cut(fact, "=")
			event.Fields[key] = value
		}
	}
	return event, nil
}

func (event *Event) is(verb, noun string) bool { return event.Verb == verb && event.Noun == noun }

// number reads a field that is a whole number; 0 where there is none.
func (event *Event) number(key string) int64 {
	number, _ := strconv.ParseInt(event.Fields[key], 10, 64)
	return number
}

// A Loss is a moment at which the server lost its data: between From and To, on our clock, and between two fences, since a fence is
// the server's time at its grant, in microseconds, or little more.
// Kept: some of the data are still there, or there again, as on a replica that was behind. Names: the letters of those that it concerns.
type Loss struct {
	From, To       int64
	Before, Behind int64
	Kept           bool
	Names          string
}

// A lossTimer measures a loss.
type lossTimer struct{ from, before int64 }

func beginLoss() lossTimer { return lossTimer{now(), time.Now().UnixMicro()} }

func (timer lossTimer) end() Loss {
	return Loss{From: timer.from, To: now(), Before: timer.before, Behind: time.Now().UnixMicro(), Names: allNames}
}

// earlier: what was there by then is not lost.
func (timer lossTimer) earlier(lag time.Duration) lossTimer {
	return lossTimer{timer.from - lag.Nanoseconds(), timer.before - lag.Microseconds()}
}

// A Took is a write that a resource says it has taken.
type Took struct {
	Fence int64
	ID    string
}

// lossesOf are those that concern a name, or any of several.
func (record *Record) lossesOf(names string) []Loss {
	var losses []Loss
	for _, loss := range record.Losses {
		if strings.ContainsAny(loss.Names, names) {
			losses = append(losses, loss)
		}
	}
	return losses
}

// A Record is all that is known of one history; what the checks read.
type Record struct {
	Events   []Event        // in order of time
	Losses   []Loss         // when the server lost its data
	Ended    map[int]bool   // workers that ended by themselves, in order
	Errors   bool           // faults that make the server answer with errors were among those drawn
	Watchdog int64          // the watchdog's lease in milliseconds
	Counts   map[string]int // by "resource name": how many writes it counted
	Took     map[string][]Took
}

// A Log collects the events of a running history from several goroutines.
type Log struct {
	mutex    sync.Mutex
	events   []Event
	losses   []Loss
	problems []string
	acquired map[[2]int]int64 // by worker and actor: when it was last granted a lock
	holding  map[int]int      // by worker
	waiting  map[int]int
}

func newLog() *Log {
	return &Log{acquired: map[[2]int]int64{}, holding: map[int]int{}, waiting: map[int]int{}}
}

func (log *Log) add(event Event) {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	log.events = append(log.events, event)
	switch {
	case event.is("call", "acquire"):
		log.waiting[event.Worker]++
	case event.is("return", "acquire"):
		log.waiting[event.Worker]--
		if event.Fields["status"] == "OK" {
			log.holding[event.Worker]++
			log.acquired[[2]int{event.Worker, event.Actor}] = event.At
		}
	case event.is("return", "release") && event.Fields["status"] != "UNKNOWN_HOLD":
		log.holding[event.Worker]--
	}
}

// note adds what the orchestrator did.
func (log *Log) note(format string, args ...interface{}) {
	log.add(Event{At: now(), Verb: "fault", Text: fmt.Sprintf(format, args...)})
}

func (log *Log) lost(loss Loss) {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	log.losses = append(log.losses, loss)
}

// problem notes a violation that needs no checking afterwards.
func (log *Log) problem(format string, args ...interface{}) {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	log.problems = append(log.problems, fmt.Sprintf(format, args...))
}

// role tells what a worker is to the lock just now.
func (log *Log) role(worker int) string {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	switch {
	case log.holding[worker] > 0:
		return "holder"
	case log.waiting[worker] > 0:
		return "waiter"
	}
	return "neither"
}

func (log *Log) acquiredSince(worker, actor int, at int64) bool {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	return log.acquired[[2]int{worker, actor}] > at
}

// sorted returns the events in order of time.
func (log *Log) sorted() []Event {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	events := append([]Event(nil), log.events...)
	sort.SliceStable(events, func(i, j int) bool { return events[i].At < events[j].At })
	return events
}
