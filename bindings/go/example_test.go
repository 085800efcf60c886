package belay_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync"
	"time"

	"belay.invalid/belay"
)

// The examples share a client, as the parts of a program do. The server is that of the variable BELAY_URL.
var client *belay.Client

func init() {
	var err error
	if client, err = belay.Open(""); err != nil {
		log.Fatal(err)
	}
}

func charge(ctx context.Context, order string, fence int64) error {
	fmt.Println("charging", order, "under a fence:", fence > 0)
	return ctx.Err()
}

func Example() {
	client, err := belay.Open("", belay.WithLabel("billing")) // the server: BELAY_URL, else localhost
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = client.Mutex("orders:42").Do(ctx, func(ctx context.Context, hold *belay.Hold) error {
		// This context ends when the lock is lost. The database refuses older fences.
		return charge(ctx, "orders:42", hold.Fence())
	})
	if errors.Is(err, belay.ErrLost) {
		log.Print("another process may have charged, too")
	}
	fmt.Println(err)
	// Output:
	// charging orders:42 under a fence: true
	// <nil>
}

func ExampleMutex_Lock() {
	pay := func(ctx context.Context, order string) (err error) {
		hold, err := client.Mutex(order).Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, hold.Unlock()) }()
		return charge(hold.Context(ctx), order, hold.Fence())
	}
	fmt.Println(pay(context.Background(), "orders:48"))
	// Output:
	// charging orders:48 under a fence: true
	// <nil>
}

func ExampleMutex_TryLock() {
	report := func() {
		hold, ok, err := client.Mutex("nightly-report").TryLock(context.Background())
		switch {
		case err != nil:
			fmt.Println("nobody knows:", err)
		case !ok:
			fmt.Println("somebody else is on it")
		default:
			fmt.Println("reporting")
			if err := hold.Unlock(); errors.Is(err, belay.ErrLost) {
				fmt.Println("somebody else may have reported, too")
			}
		}
	}
	report()
	hold, _ := client.Mutex("nightly-report").Lock(context.Background())
	report()
	fmt.Println(hold.Unlock())
	// Output:
	// reporting
	// somebody else is on it
	// <nil>
}

func ExampleHold_Abandon() {
	report := func(day string) error {
		// The lease is longer than the job, and than the hosts' clocks differ.
		hold, ok, err := client.Mutex("report:"+day, belay.Lease(time.Hour)).TryLock(context.Background())
		if err != nil || !ok {
			return err // not ok: it is done, or another host is on it
		}
		fmt.Println("reporting", day)
		return hold.Abandon() // no Unlock: whoever starts later finds the name taken
	}
	fmt.Println(report("2026-11-25"))
	fmt.Println(report("2026-11-25"))
	// Output:
	// reporting 2026-11-25
	// <nil>
	// <nil>
}

func ExampleError() {
	mutex := client.Mutex("orders:43", belay.Wait(20*time.Millisecond))
	first, _ := mutex.Lock(context.Background())
	err := mutex.Do(context.Background(), func(ctx context.Context, hold *belay.Hold) error {
		return charge(ctx, "orders:43", hold.Fence())
	})
	var failure *belay.Error
	errors.As(err, &failure)
	switch {
	case err == nil:
	case errors.Is(err, belay.ErrLost):
		fmt.Println("another process may have worked, too")
	case failure == nil:
		fmt.Println("our own work failed:", err)
	case failure.InDoubt > 0:
		fmt.Println("nobody knows until then:", failure.InDoubt)
	case errors.Is(err, belay.ErrTimeout):
		fmt.Println("others held it all the time; try again in", failure.Remaining.Round(10*time.Second))
	case failure.Status.Class() == belay.ClassRetry:
		fmt.Println("the server did not answer, or the context had ended:", failure)
	default:
		fmt.Println("a wrong argument, a missing right or a closed client:", failure)
	}
	fmt.Println(first.Unlock())
	// Output:
	// others held it all the time; try again in 30s
	// <nil>
}

func ExampleHold_OnChange_leader() {
	work := func(ctx context.Context) {
		fmt.Println("leading")
		client.Break(ctx, "cluster-leader", 0) // by an operator, elsewhere
		<-ctx.Done()
	}
	lead := func(ctx context.Context) error {
		hold, err := client.Mutex("cluster-leader").Lock(ctx)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(hold.Context(ctx))
		defer stop()
		hold.OnChange(func(change belay.Change) {
			if change.State == belay.AtRisk { // a third of the lease before the loss
				stop()
			}
		})
		work(ctx)
		return hold.Unlock()
	}
	err := lead(context.Background()) // in a loop, until your program ends or the error is none to try again after
	fmt.Println(errors.Is(err, belay.ErrLost))
	// Output:
	// leading
	// true
}

func ExampleHold_Context() {
	hold, _ := client.Mutex("orders:44", belay.Lease(100*time.Millisecond)).Lock(context.Background())
	ctx := hold.Context(context.Background())
	<-ctx.Done() // here: work that takes too long for the lease
	var lost *belay.Error
	if errors.As(context.Cause(ctx), &lost) {
		fmt.Println(lost.Reason)
	}
	fmt.Println(errors.Is(hold.Unlock(), belay.ErrLost))
	// Output:
	// LEASE_ENDED
	// true
}

func ExampleClient_Break_loss() {
	other, err := belay.Open("")
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()
	ctx := context.Background()
	hold, err := client.Mutex("orders:49").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work := hold.Context(ctx)
	if _, err := other.Break(ctx, "orders:49", 0); err != nil {
		log.Fatal(err)
	}
	<-work.Done()
	fmt.Println(errors.Is(context.Cause(work), belay.ErrLost))
	// Output: true
}

func ExampleHold_OnChange() {
	hold, _ := client.Mutex("leader-elsewhere").Lock(context.Background())
	lost := make(chan belay.Reason, 1)
	hold.OnChange(func(change belay.Change) {
		if change.State == belay.Lost {
			lost <- change.Reason
		}
	})
	client.Break(context.Background(), "leader-elsewhere", 0)
	fmt.Println(<-lost)
	hold.Unlock()
	// Output: BROKEN
}

func ExampleClient_Multi() {
	both := client.Multi("account:7", "account:9") // or neither
	err := both.Do(context.Background(), func(ctx context.Context, hold *belay.Hold) error {
		fmt.Println("transferring under", len(hold.Fences()), "fences")
		return nil
	})
	fmt.Println(err)
	// Output:
	// transferring under 2 fences
	// <nil>
}

func ExampleOwner() {
	mutex := client.Mutex("account:8", belay.Owner(7)) // 7: a task of yours
	outer, _ := mutex.Lock(context.Background())
	inner, _ := mutex.Lock(context.Background())
	inner.Unlock()
	fmt.Println(outer.State())
	outer.Unlock()
	// Output: HELD
}

func ExampleRWMutex() {
	config := client.RWMutex("config")
	one, _ := config.RLock(context.Background())
	two, _ := config.RLock(context.Background())
	_, ok, _ := config.TryLock(context.Background())
	fmt.Println("a writer beside two readers:", ok)
	one.Unlock()
	two.Unlock()

	writer, _ := config.Lock(context.Background())
	writer.Downgrade(context.Background())
	_, ok, _ = config.TryRLock(context.Background())
	fmt.Println("a reader beside a downgraded writer:", ok)
	// Output:
	// a writer beside two readers: false
	// a reader beside a downgraded writer: true
}

func ExampleSemaphore() {
	gpu := client.Semaphore("gpu", 8)
	err := gpu.Do(context.Background(), 2, func(ctx context.Context, hold *belay.Hold) error {
		available, limit, err := gpu.Available(ctx)
		fmt.Println(available, "of", limit, "are free")
		return err
	})
	fmt.Println(err)
	// Output:
	// 6 of 8 are free
	// <nil>
}

func ExampleLatch() {
	ctx := context.Background()
	start := client.Latch("start")
	generation, err := start.Set(ctx, 3, time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	for party := 0; party < 3; party++ {
		go start.CountDown(ctx, 1)
	}
	opened, err := start.Wait(ctx, generation)
	fmt.Println(opened == generation, err)
	// Output: true <nil>
}

func ExampleClient_FencedWrite() {
	ctx := context.Background()
	mutex := client.Mutex("order:45")
	late, _ := mutex.Lock(ctx)
	late.Unlock() // here: its process was stopped, and the lease ended
	hold, _ := mutex.Lock(ctx)
	reply, err := client.FencedWrite(ctx, "order:45:state", hold.Fence(), "SET", "paid", "EX", "60")
	fmt.Println(reply, err)
	_, err = client.FencedWrite(ctx, "order:45:state", late.Fence(), "SET", "new")
	fmt.Println(errors.Is(err, belay.ErrStaleFence))
	fmt.Println(hold.Unlock())
	// Output:
	// OK <nil>
	// true
	// <nil>
}

func ExampleClient_Inspect() {
	ctx := context.Background()
	hold, _ := client.Mutex("orders:46").Lock(ctx)
	found, err := client.Inspect(ctx, "orders:46")
	if err != nil {
		log.Fatal(err)
	}
	for _, holder := range found.Holders {
		fmt.Println("held by this process:", holder.PID == os.Getpid(), "of this client:", holder.Client == client.ID())
	}
	fmt.Println(len(found.Waiters), "waiters")
	fmt.Println(hold.Unlock())
	// Output:
	// held by this process: true of this client: true
	// 0 waiters
	// <nil>
}

func ExampleClient_Break() {
	ctx := context.Background()
	hold, _ := client.Mutex("orders:47").Lock(ctx)
	names, total, _ := client.List(ctx, "orders:47*", 10)
	fmt.Println(names, total)
	losers, _ := client.Break(ctx, "orders:47", hold.Fence())
	fmt.Println(len(losers), "lost it")
	// Output:
	// [orders:47] 1
	// 1 lost it
}

func ExampleWithLogger() {
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	client, err := belay.Open("", belay.WithLogger(logger)) // warnings and errors
	if err != nil {
		log.Fatal(err)
	}
	client.Close()
	// Output:
}

func ExampleOptions() {
	for _, option := range belay.Options() {
		if option.Unit == "ms" {
			fmt.Println(option.Name, option.Default, option.Range)
		}
	}
	// Output:
	// watchdog_lease_ms 30000 100..86400000
	// request_timeout_ms 5000 10..3600000
	// max_hold_ms 0 0, 100..2592000000
}

func ExampleMutex_Locker() {
	var locker sync.Locker = client.Mutex("legacy", belay.Wait(time.Minute)).Locker(context.Background())
	locker.Lock()
	fmt.Println("alone")
	locker.Unlock() // panics if the lock was lost
	// Output: alone
}

func ExampleClient_Metrics() {
	client, _ := belay.Open("")
	defer client.Close()
	hold, _ := client.Mutex("metered").Lock(context.Background())
	hold.Unlock()
	metrics, err := client.Metrics()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(metrics.Grants, metrics.Releases, metrics.Wait.Count, metrics.Holds)
	// Output: 1 1 1 0
}
