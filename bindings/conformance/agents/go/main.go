// The agent in Go: it does what lines on stdin say, as ../../README.md has it. A task is a goroutine with a context of its own.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"belay.invalid/belay"
)

// line is a request.
type line struct {
	verb    string
	words   []string // the arguments after the verb
	options map[string]string
	order   []string // the options' keys as they came
}

func parse(words []string) line {
	l := line{verb: words[0], options: map[string]string{}}
	for _, word := range words[1:] {
		if key, value, is := strings.Cut(word, "="); is {
			l.options[key] = value
			l.order = append(l.order, key)
		} else {
			l.words = append(l.words, word)
		}
	}
	return l
}

func (l line) number(key string) int64 {
	number, _ := strconv.ParseInt(l.options[key], 10, 64)
	return number
}

func (l line) duration(key string) time.Duration {
	return time.Duration(l.number(key)) * time.Millisecond
}

func (l line) word(index int) string { return l.words[index] }

// list are the byte strings of a word.
func (l line) list(index int) []string {
	var list []string
	for _, text := range strings.Split(l.words[index], ",") {
		list = append(list, decode(text))
	}
	return list
}

func (l line) name() string { return decode(l.words[0]) }

func decode(text string) string {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(bytes)
}

// held is what a label of a hold names.
type held struct {
	hold *belay.Hold
	news chan belay.Change
}

type task struct {
	cancel context.CancelFunc
	reply  string
	done   chan struct{}
}

// agent has one client. Tasks use it concurrently.
type agent struct {
	client     *belay.Client
	openedWith []belay.Option
	logs       chan string
	tasks      map[string]*task
	mu         sync.Mutex
	holds      map[string]*held
}

func (a *agent) held(l line) *held {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.holds[l.word(0)]
}

func (a *agent) keep(label string, hold *belay.Hold) {
	h := &held{hold, make(chan belay.Change, 100)}
	hold.OnChange(func(change belay.Change) { h.news <- change })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds[label] = h
}

// call performs a request that may also be a task.
type call func(a *agent, ctx context.Context, l line) (reply, error)

var calls map[string]call

func init() {
	calls = map[string]call{
		"acquire":          (*agent).acquire,
		"release":          (*agent).release,
		"abandon":          func(a *agent, _ context.Context, l line) (reply, error) { return nil, a.held(l).hold.Abandon() },
		"hold":             (*agent).hold,
		"extend":           (*agent).extend,
		"verify":           func(a *agent, ctx context.Context, l line) (reply, error) { return nil, a.held(l).hold.Verify(ctx) },
		"downgrade":        func(a *agent, ctx context.Context, l line) (reply, error) { return nil, a.held(l).hold.Downgrade(ctx) },
		"ping":             func(a *agent, ctx context.Context, _ line) (reply, error) { return nil, a.client.Ping(ctx) },
		"id":               func(a *agent, _ context.Context, _ line) (reply, error) { return reply{"id=" + a.client.ID()}, nil },
		"metrics":          (*agent).metrics,
		"set_limit":        (*agent).setLimit,
		"available":        (*agent).available,
		"latch_set":        (*agent).latchSet,
		"latch_count_down": (*agent).latchCountDown,
		"latch_count":      (*agent).latchCount,
		"latch_await":      (*agent).latchAwait,
		"fenced_write":     (*agent).fencedWrite,
		"inspect":          (*agent).inspect,
		"break":            (*agent).breakName,
		"list":             (*agent).list,
	}
}

func (a *agent) perform(ctx context.Context, l line) string {
	call := calls[l.verb]
	if call == nil {
		return "BAD message=" + hex.EncodeToString([]byte("no verb "+l.verb))
	}
	r, err := call(a, ctx, l)
	if err != nil {
		return failure(err)
	}
	return strings.Join(append(reply{"OK"}, r...), " ")
}

func (a *agent) options(l line) []belay.LockOption {
	var options []belay.LockOption
	for _, key := range l.order {
		switch key {
		case "owner":
			options = append(options, belay.Owner(l.number(key)))
		case "lease":
			options = append(options, belay.Lease(l.duration(key)))
		case "max_hold":
			options = append(options, belay.MaxHold(l.duration(key)))
		case "lock_delay":
			options = append(options, belay.LockDelay(l.duration(key)))
		case "confirmed":
			options = append(options, belay.Confirmed())
		case "identity":
			options = append(options, belay.Identity(decode(l.options[key])))
		case "wait":
			if l.number(key) > 0 {
				options = append(options, belay.Wait(l.duration(key)))
			}
		}
	}
	return options
}

func (a *agent) acquire(ctx context.Context, l line) (reply, error) {
	hold, got, err := a.lock(ctx, l)
	if err != nil {
		return nil, err
	}
	if !got {
		return nil, belay.ErrBusy
	}
	a.keep(l.word(0), hold)
	r := reply{"fence=" + numbers(hold.Fences())}
	if l.word(1) == "semaphore" {
		r.number("permits", hold.Permits())
	}
	return r, nil
}

// lock acquires in the way of the kind, or tries if the wait is 0.
func (a *agent) lock(ctx context.Context, l line) (hold *belay.Hold, got bool, err error) {
	names, options := l.list(2), a.options(l)
	others, sharedOthers := belay.And(names[1:]...), belay.AndShared(names[1:]...)
	try := l.options["wait"] == "0"
	switch kind := l.word(1); {
	case kind == "lock" && try:
		return a.client.Mutex(names[0], append(options, others)...).TryLock(ctx)
	case kind == "lock":
		hold, err = a.client.Mutex(names[0], append(options, others)...).Lock(ctx)
	case kind == "write" && try:
		return a.client.RWMutex(names[0], append(options, others)...).TryLock(ctx)
	case kind == "write":
		hold, err = a.client.RWMutex(names[0], append(options, others)...).Lock(ctx)
	case kind == "read" && try:
		return a.client.RWMutex(names[0], append(options, sharedOthers)...).TryRLock(ctx)
	case kind == "read":
		hold, err = a.client.RWMutex(names[0], append(options, sharedOthers)...).RLock(ctx)
	default:
		permits := int64(1)
		if _, given := l.options["permits"]; given {
			permits = l.number("permits")
		}
		semaphore := a.client.Semaphore(names[0], l.number("limit"), options...)
		if try {
			return semaphore.TryAcquire(ctx, permits)
		}
		hold, err = semaphore.Acquire(ctx, permits)
	}
	return hold, err == nil, err
}

func (a *agent) release(_ context.Context, l line) (reply, error) {
	if l.options["nowait"] != "" {
		return nil, a.held(l).hold.UnlockNoWait()
	}
	return nil, a.held(l).hold.Unlock()
}

func (a *agent) hold(_ context.Context, l line) (reply, error) {
	hold := a.held(l).hold
	if hold.State() == belay.Released {
		return nil, belay.ErrUnknownHold
	}
	r := reply{"state=" + hold.State().String(), "fence=" + numbers(hold.Fences())}
	r.number("remaining", hold.Remaining().Milliseconds())
	return r, nil
}

func (a *agent) extend(ctx context.Context, l line) (reply, error) {
	return nil, a.held(l).hold.Extend(ctx, l.duration("lease"))
}

func (a *agent) metrics(context.Context, line) (reply, error) {
	metrics, err := a.client.Metrics()
	var r reply
	for name, value := range metrics.All {
		r.number(name, value)
	}
	return r, err
}

func (a *agent) setLimit(ctx context.Context, l line) (reply, error) {
	available, err := a.client.Semaphore(l.name(), 0).SetLimit(ctx, l.number("limit"))
	var r reply
	r.number("limit", l.number("limit"))
	r.number("available", available)
	return r, err
}

func (a *agent) available(ctx context.Context, l line) (reply, error) {
	available, limit, err := a.client.Semaphore(l.name(), 0).Available(ctx)
	var r reply
	r.number("limit", limit)
	r.number("available", available)
	return r, err
}

func (a *agent) latchSet(ctx context.Context, l line) (reply, error) {
	generation, err := a.client.Latch(l.name()).Set(ctx, l.number("count"), l.duration("ttl"))
	var r reply
	r.number("generation", generation)
	return r, err
}

func (a *agent) latchCountDown(ctx context.Context, l line) (reply, error) {
	count, err := a.client.Latch(l.name()).CountDown(ctx, l.number("n"))
	var r reply
	r.number("count", count)
	return r, err
}

func (a *agent) latchCount(ctx context.Context, l line) (reply, error) {
	count, err := a.client.Latch(l.name()).Count(ctx)
	var r reply
	r.number("count", count)
	return r, err
}

func (a *agent) latchAwait(ctx context.Context, l line) (r reply, err error) {
	latch := a.client.Latch(l.name())
	opened, ok := int64(0), true
	if l.options["wait"] == "0" {
		opened, ok, err = latch.TryWait(ctx, l.number("generation"))
	} else {
		if wait := l.duration("wait"); wait > 0 {
			limited, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			ctx = limited
		}
		opened, err = latch.Wait(ctx, l.number("generation"))
	}
	if !ok && err == nil {
		err = belay.ErrBusy
	}
	r.number("generation", opened)
	return r, err
}

func (a *agent) fencedWrite(ctx context.Context, l line) (r reply, err error) {
	text, err := a.client.FencedWrite(ctx, l.name(), l.number("fence"), l.list(1)...)
	r.text("text", text)
	return r, err
}

func (a *agent) inspect(ctx context.Context, l line) (r reply, err error) {
	found, err := a.client.Inspect(ctx, l.name())
	if err != nil {
		return nil, err
	}
	if found.Primitive != belay.PrimitiveNone {
		r = append(r, "primitive="+strings.ToLower(found.Primitive.String()))
	}
	switch found.Primitive {
	case belay.PrimitiveSemaphore:
		r.number("limit", found.Limit)
		r.number("available", found.Available)
	case belay.PrimitiveLatch:
		r.number("generation", found.Generation)
		r.number("count", found.Count)
	}
	if found.Slot >= 0 {
		r.number("slot", int64(found.Slot))
	}
	r.number("total", found.Total)
	r.members("holder", found.Holders, 0)
	r.members("waiter", found.Waiters, len(found.Holders))
	return r, nil
}

func (a *agent) breakName(ctx context.Context, l line) (r reply, err error) {
	losers, err := a.client.Break(ctx, l.name(), l.number("fence"))
	r.members("holder", losers, 0)
	return r, err
}

func (a *agent) list(ctx context.Context, l line) (r reply, err error) {
	names, total, err := a.client.List(ctx, l.name(), int(l.number("limit")))
	r.number("total", total)
	for i, name := range names {
		r.text(fmt.Sprintf("m%d.name", i), name)
	}
	return r, err
}

// ---- Verbs of the agent's own

func (a *agent) serve(l line) string {
	switch l.verb {
	case "supports":
		return "OK cannot=fork"
	case "open":
		return a.open(l)
	case "change":
		for i := range a.openedWith {
			a.openedWith[i] = belay.With(l.order[0], l.options[l.order[0]])
		}
		return "OK"
	case "close":
		a.client.Close()
		return "OK"
	case "news":
		return a.news(l)
	case "log":
		select {
		case text := <-a.logs:
			return "OK " + text
		case <-time.After(l.duration("limit")):
			return "OK"
		}
	case "start":
		return a.start(l)
	case "await":
		t := a.tasks[l.word(0)]
		select {
		case <-t.done:
			return t.reply
		case <-time.After(l.duration("limit")):
			return "PENDING"
		}
	case "cancel":
		a.tasks[l.word(0)].cancel()
		return "OK"
	}
	return a.perform(context.Background(), l)
}

func (a *agent) open(l line) string {
	a.end()
	a.logs = make(chan string, 10000)
	a.openedWith = []belay.Option{logTo(a.logs)}
	for _, key := range l.order {
		if key != "url" {
			a.openedWith = append(a.openedWith, belay.With(key, l.options[key]))
		}
	}
	client, err := belay.Open(l.options["url"], a.openedWith...)
	if err != nil {
		return failure(err)
	}
	a.client, a.tasks, a.holds = client, map[string]*task{}, map[string]*held{}
	return "OK"
}

func (a *agent) end() {
	if a.client != nil {
		a.client.Close()
	}
}

func (a *agent) news(l line) string {
	select {
	case change := <-a.held(l).news:
		if change.State == belay.Held {
			return "OK news=RECOVERED"
		}
		return "OK news=" + change.State.String() + " reason=" + change.Reason.String()
	case <-time.After(l.duration("limit")):
		return "OK"
	}
}

func (a *agent) start(l line) string {
	inner := line{l.words[1], l.words[2:], l.options, l.order}
	ctx, cancel := context.WithCancel(context.Background())
	t := &task{cancel: cancel, done: make(chan struct{})}
	a.tasks[l.word(0)] = t
	go func() {
		defer close(t.done)
		t.reply = a.perform(ctx, inner)
	}()
	return "OK"
}

// ---- Replies

type reply []string

func (r *reply) number(key string, value int64) { *r = append(*r, fmt.Sprintf("%s=%d", key, value)) }

func (r *reply) text(key, value string) {
	if value != "" {
		*r = append(*r, key+"="+hex.EncodeToString([]byte(value)))
	}
}

func (r *reply) members(role string, members []belay.Member, first int) {
	for i, m := range members {
		key := func(name string) string { return fmt.Sprintf("m%d.%s", first+i, name) }
		*r = append(*r, key("role")+"="+role, key("client")+"="+m.Client)
		r.text(key("label"), m.Label)
		r.text(key("host"), m.Host)
		r.number(key("pid"), int64(m.PID))
		r.number(key("since"), m.Since.Milliseconds())
		if role == "holder" {
			r.number(key("lease"), m.Lease.Milliseconds())
			r.number(key("fence"), m.Fence)
			r.number(key("holds"), m.Holds)
			r.number(key("waiters"), m.LocalWaiters)
		}
		if m.Permits > 0 {
			r.number(key("permits"), m.Permits)
		}
		if m.Shared {
			r.number(key("shared"), 1)
		}
	}
}

func numbers(list []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}

func failure(err error) string {
	var status belay.Status
	if !errors.As(err, &status) {
		return "BAD message=" + hex.EncodeToString([]byte(err.Error()))
	}
	r := reply{status.String()}
	var full *belay.Error
	if errors.As(err, &full) {
		r.text("message", full.Message)
		if full.InDoubt > 0 {
			r.number("in_doubt", full.InDoubt.Milliseconds())
		}
		if full.Remaining > 0 {
			r.number("remaining", full.Remaining.Milliseconds())
		}
		if full.Reason != 0 {
			r = append(r, "reason="+full.Reason.String())
		}
		if full.Status == belay.ErrInUse {
			r.number("count", full.Count)
		}
		if full.Status == belay.ErrStaleFence {
			r.number("fence", full.Fence)
		}
	}
	return strings.Join(r, " ")
}

func main() {
	a := &agent{}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if words := strings.Fields(in.Text()); len(words) > 0 {
			fmt.Println(a.serve(parse(words)))
		}
	}
	a.end()
}
