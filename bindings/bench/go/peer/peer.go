// Package peer makes a lock library in Go a side of the benchmark, as tests/bench/peer.h asks for one.
package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	threads   = 16
	waiters   = 10_000
	manyNames = 10_000
	names     = 16
	warmUp    = 2 * time.Second
	held      = time.Millisecond       // how long a process that takes turns holds the lock
	gather    = 500 * time.Millisecond // until then all waiters stand in line

	heldLong = 20 * time.Millisecond // while a master is replaced
	retry    = 10 * time.Millisecond
)

// Client is one client of the library that is measured.
type Client interface {
	// Lock waits for the names until the context ends, and returns what unlocks them.
	Lock(ctx context.Context, names ...string) (unlock func() error, err error)
}

// workload works for so long, at least for one step. It says how long it has worked and what each of its steps took.
type workload func(length time.Duration) (worked time.Duration, steps []time.Duration)

// Must ends the program, as there is nothing to report.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// release says if the hold was lost: a machine that stands still for as long as a grant lasts loses one.
func release(unlock func() error) {
	if err := unlock(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// Run is the program: the last arguments are the server's URL, the workload and what names begin with. lacks says why the library does
// not have a workload.
func Run(open func(url string) Client, lacks map[string]string) {
	last := os.Args[len(os.Args)-3:]
	url, wanted, name := last[0], last[1], last[2]
	if why, ok := lacks[wanted]; ok {
		fmt.Println("none", why)
		return
	}
	c := open(url)
	workloads := map[string]func() workload{
		"pair":           func() workload { return pair(c, name, 1) },
		"names16":        func() workload { return pair(c, name, names) },
		"shared16":       func() workload { return shared(c, name) },
		"handoff_first":  func() workload { return handoff(c, name, true) },
		"handoff_second": func() workload { return handoff(c, name, false) },
		"failover":       func() workload { return failover(c, name) },
		"waiters10000":   func() workload { return crowd(c, name) },
		"names10000":     func() workload { return many(c, name) },
	}
	work := workloads[wanted]()
	if wanted != "waiters10000" { // which runs once before it counts
		work(warmUp)
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		ms, err := strconv.Atoi(in.Text())
		Must(err)
		tell(work(time.Duration(ms) * time.Millisecond))
	}
}

func tell(worked time.Duration, steps []time.Duration) {
	line := strconv.AppendFloat(nil, float64(worked)/1e3, 'f', 1, 64)
	for _, step := range steps {
		line = append(line, ' ')
		line = strconv.AppendFloat(line, float64(step)/1e3, 'f', 1, 64)
	}
	_, err := os.Stdout.Write(append(line, '\n'))
	Must(err)
}

// over says whether the context's end is the error's cause.
func over(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}

// each calls step in so many goroutines, with their numbers.
func each(count int, step func(i int)) {
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			step(i)
		}(i)
	}
	all.Wait()
}

// pair acquires and releases names that nobody has used before, so many at once.
func pair(c Client, prefix string, size int) workload {
	count := 0
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		began := time.Now()
		for before := began; before.Sub(began) < length; {
			fresh := make([]string, size)
			for i := range fresh {
				count++
				fresh[i] = prefix + ":" + strconv.Itoa(count)
			}
			unlock, err := c.Lock(context.Background(), fresh...)
			Must(err)
			release(unlock)
			after := time.Now()
			steps = append(steps, after.Sub(before))
			before = after
		}
		return time.Since(began), steps
	}
}

// shared has goroutines of one client take turns on one name.
func shared(c Client, name string) workload {
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), length)
		defer cancel()
		began := time.Now()
		stepsOf := make([][]time.Duration, threads)
		each(threads, func(i int) {
			for before := time.Now(); ctx.Err() == nil; {
				unlock, err := c.Lock(ctx, name)
				if over(ctx, err) {
					return
				}
				Must(err)
				release(unlock)
				after := time.Now()
				stepsOf[i] = append(stepsOf[i], after.Sub(before))
				before = after
			}
		})
		return time.Since(began), slices.Concat(stepsOf...)
	}
}

// handoff has two processes hand the name to each other: a process asks again when the other has the lock. The steps are three times of
// the machine's clock: when the process asked, had the lock, and began to release it.
func handoff(c Client, name string, first bool) workload {
	from, to := os.NewFile(3, "from the other"), os.NewFile(4, "to the other")
	tell := func(what byte) {
		_, err := to.Write([]byte{what})
		Must(err)
	}
	hear := func() byte {
		what := make([]byte, 1)
		_, err := from.Read(what)
		Must(err)
		return what[0]
	}
	now := machineClock()
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		turn := func() {
			asked := now()
			unlock, err := c.Lock(context.Background(), name)
			Must(err)
			had := now()
			tell('h')
			time.Sleep(held)
			released := now()
			release(unlock)
			steps = append(steps, asked, had, released)
		}
		began := time.Now()
		if !first {
			for hear() == 'h' {
				turn()
			}
			return time.Since(began), steps
		}
		for again := true; again; again = time.Since(began) < length {
			turn()
			hear()
		}
		tell('e')
		return time.Since(began), steps
	}
}

// failover competes for the name, whatever happens to the server. The steps are three times of each hold: when the process asked, had the
// lock, and began to release it.
func failover(c Client, name string) workload {
	now := machineClock()
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), length)
		defer cancel()
		began := time.Now()
		for ctx.Err() == nil {
			asked := now()
			unlock, err := c.Lock(ctx, name)
			if err != nil {
				time.Sleep(retry)
				continue
			}
			had := now()
			time.Sleep(heldLong)
			steps = append(steps, asked, had, now())
			_ = unlock() // what it says does not matter to who is next
		}
		return time.Since(began), steps
	}
}

// machineClock returns a clock that all processes of the machine share: CLOCK_MONOTONIC.
func machineClock() func() time.Duration {
	const monotonic = 1
	var start syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&start)), 0)
	local := time.Now()
	if errno != 0 {
		Must(errno)
	}
	return func() time.Duration { return time.Duration(start.Nano()) + time.Since(local) }
}

// crowd has very many wait on one name that is held. A step is how long after its release one of them has it.
func crowd(c Client, name string) workload {
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), gather+length)
		defer cancel()
		first, err := c.Lock(ctx, name)
		Must(err)
		var began time.Time // the lock itself guards this and steps
		go func() {
			time.Sleep(gather)
			began = time.Now()
			release(first)
		}()
		each(waiters, func(int) {
			unlock, err := c.Lock(ctx, name)
			if err != nil {
				return // it has not had it
			}
			steps = append(steps, time.Since(began))
			release(unlock)
		})
		return time.Since(began), steps
	}
}

// many takes very many names that nobody has used before, all asked for at once. A step is how long one takes, until it is held.
func many(c Client, prefix string) workload {
	count := 0
	return func(time.Duration) (worked time.Duration, steps []time.Duration) {
		steps = make([]time.Duration, manyNames)
		began := time.Now()
		each(manyNames, func(i int) {
			unlock, err := c.Lock(context.Background(), prefix+":"+strconv.Itoa(count+i))
			Must(err)
			steps[i] = time.Since(began)
			release(unlock)
		})
		count += manyNames
		return time.Since(began), steps
	}
}
