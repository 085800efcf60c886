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
	"time"
)

const (
	threads = 16
	waiters = 10_000
	names   = 16
	warmUp  = 2 * time.Second
	held    = time.Millisecond       // how long who takes turns holds the lock
	gather  = 500 * time.Millisecond // until then all waiters stand in line
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

// Run is the program: the last arguments are the server's port and the workload. The library has those that are named.
func Run(open func(port string) Client, has ...string) {
	port, name := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	if !slices.Contains(has, name) {
		fmt.Println("none")
		return
	}
	c := open(port)
	workloads := map[string]func() workload{
		"pair":         func() workload { return pair(c, 1) },
		"names16":      func() workload { return pair(c, names) },
		"shared16":     func() workload { return shared(c) },
		"handoff":      func() workload { return handoff(c, open(port)) },
		"waiters10000": func() workload { return crowd(c) },
	}
	work := workloads[name]()
	if name != "waiters10000" { // which runs once before it counts
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
func pair(c Client, size int) workload {
	prefix := fmt.Sprintf("pair:%d:", os.Getpid())
	count := 0
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		began := time.Now()
		for before := began; before.Sub(began) < length; {
			fresh := make([]string, size)
			for i := range fresh {
				count++
				fresh[i] = prefix + strconv.Itoa(count)
			}
			unlock, err := c.Lock(context.Background(), fresh...)
			Must(err)
			Must(unlock())
			after := time.Now()
			steps = append(steps, after.Sub(before))
			before = after
		}
		return time.Since(began), steps
	}
}

// shared has goroutines of one client take turns on one name.
func shared(c Client) workload {
	name := fmt.Sprintf("shared:%d", os.Getpid())
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
				Must(unlock())
				after := time.Now()
				stepsOf[i] = append(stepsOf[i], after.Sub(before))
				before = after
			}
		})
		return time.Since(began), slices.Concat(stepsOf...)
	}
}

// handoff has two clients take turns: who has released asks again when the other has the lock.
func handoff(clients ...Client) workload {
	name := fmt.Sprintf("handoff:%d", os.Getpid())
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), length)
		defer cancel()
		began := time.Now()
		var released time.Time      // the lock itself guards this, next and steps
		next := make(chan struct{}) // closed when the other has the lock
		each(len(clients), func(i int) {
			for ctx.Err() == nil {
				asked := time.Now()
				unlock, err := clients[i].Lock(ctx, name)
				if over(ctx, err) {
					return
				}
				Must(err)
				if released.After(asked) { // else it found the lock free: that is no handoff
					steps = append(steps, time.Since(released))
				}
				close(next)
				mine := make(chan struct{})
				next = mine
				time.Sleep(held)
				released = time.Now()
				Must(unlock())
				select {
				case <-mine:
				case <-ctx.Done():
				}
			}
		})
		return time.Since(began), steps
	}
}

// crowd has very many wait on one name that is held. A step is how long after its release one of them has it.
func crowd(c Client) workload {
	name := fmt.Sprintf("waiters:%d", os.Getpid())
	return func(length time.Duration) (worked time.Duration, steps []time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), gather+length)
		defer cancel()
		first, err := c.Lock(ctx, name)
		Must(err)
		var began time.Time // the lock itself guards this and steps
		go func() {
			time.Sleep(gather)
			began = time.Now()
			Must(first())
		}()
		each(waiters, func(int) {
			unlock, err := c.Lock(ctx, name)
			if err != nil {
				return // it has not had it
			}
			steps = append(steps, time.Since(began))
			Must(unlock())
		})
		return time.Since(began), steps
	}
}
