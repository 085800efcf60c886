package belay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func wantLost(t *testing.T, err error, reason Reason) {
	t.Helper()
	var lost *Error
	if !errors.As(err, &lost) || lost.Status != ErrLost || lost.Reason != reason {
		t.Errorf("got %v, want a loss by %v", err, reason)
	}
}

func TestDeletionOfTheDataIsALoss(t *testing.T) {
	server := ownServer(t)
	deletions := map[string][]string{"flushed": {"flushall"}, "deleted": {"del", "belay:r:{deleted}"}}
	for lock, deletion := range deletions {
		renewed := mustLock(t, openAt(t, server.url(), WithWatchdogLease(300*time.Millisecond)).Mutex(lock))
		cli(t, server, deletion...)
		wantLost(t, context.Cause(waitFor(renewed.Context(within(t, patience)))), ReasonGone)
		wantError(t, renewed.Unlock(), ErrLost)
	}
	for lock, deletion := range deletions { // before a renewal tells of it
		client := openAt(t, server.url())
		released := mustLock(t, client.Mutex(lock))
		cli(t, server, deletion...)
		wantLost(t, released.Unlock(), ReasonGone)
		verified := mustLock(t, client.Mutex(lock))
		cli(t, server, deletion...)
		wantLost(t, verified.Verify(within(t, patience)), ReasonGone)
		wantError(t, verified.Unlock(), ErrLost)
	}
}

// While a process is stopped, its lease ends, and another one works. When it goes on, it hears of that.
func TestStoppedProcessLearnsOfItsLoss(t *testing.T) {
	if lock := os.Getenv("BELAY_TEST_CHILD"); lock != "" {
		holdUntilLost(t, lock)
		return
	}
	lock := name(t)
	child := exec.CommandContext(within(t, patience), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "BELAY_TEST_CHILD="+lock)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	lines := bufio.NewScanner(out)
	said := func() string {
		lines.Scan()
		return lines.Text()
	}
	if said() != "held" {
		t.Fatal(lines.Text())
	}
	must(t, child.Process.Signal(syscall.SIGSTOP))
	other := mustLock(t, open(t).Mutex(lock))
	must(t, child.Process.Signal(syscall.SIGCONT))
	for _, want := range []string{"the context: true", "Unlock: true"} {
		if said() != want {
			t.Errorf("the process that was stopped said %q, not %q", lines.Text(), want)
		}
	}
	must(t, other.Unlock())
	must(t, child.Process.Kill())
	child.Wait() //nolint:errcheck // it was killed
}

func holdUntilLost(t *testing.T, lock string) {
	hold := mustLock(t, open(t, WithWatchdogLease(300*time.Millisecond)).Mutex(lock))
	fmt.Println("held")
	ctx := waitFor(hold.Context(within(t, patience)))
	fmt.Println("the context:", errors.Is(context.Cause(ctx), ErrLost))
	fmt.Println("Unlock:", errors.Is(hold.Unlock(), ErrLost))
}

// A server that stops says neither yes nor no. Each error says for how long that may last, and whose deadline has ended the call.
func TestOutcomeInDoubtIsTold(t *testing.T) {
	server := ownServerBeside(t)
	client := openAt(t, server.url(), WithRequestTimeout(300*time.Millisecond))
	mutex := client.Mutex("held", Lease(time.Minute))
	hold := mustLock(t, mutex)
	for what, call := range map[string]func(context.Context) error{
		"FencedWrite": func(ctx context.Context) error { _, err := client.FencedWrite(ctx, "key", 1, "SET", "x"); return err },
		"Extend":      func(ctx context.Context) error { return hold.Extend(ctx, time.Minute) },
		"Lock":        func(ctx context.Context) error { _, err := client.Mutex("free").Lock(ctx); return err },
	} {
		for _, cause := range []error{context.DeadlineExceeded, context.Canceled, nil} {
			must(t, client.Ping(within(t, patience)))
			server.tell(t, "pause")
			ctx, status := within(t, patience), ErrUnavailable
			switch cause {
			case context.DeadlineExceeded:
				ctx = within(t, 20*time.Millisecond)
			case context.Canceled:
				cancelled, cancel := context.WithCancel(ctx)
				time.AfterFunc(20*time.Millisecond, cancel)
				ctx = cancelled
				if what == "Lock" { // a cancel ends it at once
					status = ErrCancelled
				}
			}
			err := call(ctx)
			server.tell(t, "continue")
			var doubt *Error
			wantError(t, err, status)
			if !errors.As(err, &doubt) || doubt.InDoubt <= 0 || doubt.cause != cause {
				t.Errorf("%s until %v: in doubt for %v: %v", what, cause, doubt.InDoubt, err)
			}
		}
	}
	must(t, hold.Unlock())
}

// Nothing was sent, so nothing needs to be waited for, and nothing is in doubt.
func TestCallsThatWereNotSentEndWithTheirContext(t *testing.T) {
	server := ownServerBeside(t)
	client := openAt(t, server.url(), WithRequestTimeout(time.Hour))
	hold := mustLock(t, client.Mutex("held", Lease(time.Hour)))
	several := mustLock(t, client.Mutex("one", And("two"), Lease(time.Hour)))
	server.stop()
	eventually(t, "the end of the connection", func() bool { return errors.Is(client.Ping(within(t, time.Millisecond)), ErrUnavailable) })
	for what, call := range map[string]func(context.Context) error{
		"Lock":        func(ctx context.Context) error { _, err := client.Mutex("free").Lock(ctx); return err },
		"FencedWrite": func(ctx context.Context) error { _, err := client.FencedWrite(ctx, "key", 1, "SET", "x"); return err },
		"Break":       func(ctx context.Context) error { _, err := client.Break(ctx, "held", 0); return err },
		"SetLimit":    func(ctx context.Context) error { _, err := client.Semaphore("s", 1).SetLimit(ctx, 2); return err },
		"Set":         func(ctx context.Context) error { _, err := client.Latch("l").Set(ctx, 1, 0); return err },
		"CountDown":   func(ctx context.Context) error { _, err := client.Latch("l").CountDown(ctx, 1); return err },
		"Extend":      func(ctx context.Context) error { return hold.Extend(ctx, time.Hour) },
		"Downgrade":   hold.Downgrade,
		"Extend two":  func(ctx context.Context) error { return several.Extend(ctx, time.Hour) },
	} {
		ended := make(chan error)
		go func() { ended <- call(within(t, 20*time.Millisecond)) }()
		select {
		case err := <-ended:
			var known *Error
			wantError(t, err, ErrUnavailable, context.DeadlineExceeded)
			if !errors.As(err, &known) || known.InDoubt != 0 {
				t.Errorf("%s: in doubt for %v: %v", what, known.InDoubt, err)
			}
		case <-time.After(patience):
			t.Fatal(what, "goes on")
		}
	}
}
