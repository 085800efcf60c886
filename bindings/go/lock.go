package belay

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"belay.invalid/belay/internal/native"
)

// lock is one way of acquiring: what all primitives have in common.
type lock struct {
	client    *Client
	primitive Primitive
	settings
}

func (c *Client) lock(primitive Primitive, options ...LockOption) *lock {
	l := &lock{client: c, primitive: primitive, settings: settings{wait: forever}}
	for _, option := range options {
		if option != nil {
			option(&l.settings)
		}
	}
	return l
}

func (l *lock) acquire(ctx context.Context, more ...func(request uintptr)) (*Hold, error) {
	e, err := l.submit(ctx, l.wait, more...)
	if err != nil {
		return nil, err
	}
	return l.hold(ctx, e)
}

// do runs fn with a hold, which ends with it.
func (l *lock) do(ctx context.Context, fn func(context.Context, *Hold) error, more ...func(request uintptr)) (err error) {
	hold, err := l.acquire(ctx, more...)
	if err != nil {
		return err
	}
	defer func() { // also of a panic
		if hold.ended.Load() {
			return
		}
		if unlocked := hold.Unlock(); unlocked != nil {
			err = errors.Join(err, unlocked)
		}
	}()
	return fn(hold.Context(ctx), hold)
}

// try does not wait for others.
func (l *lock) try(ctx context.Context, more ...func(request uintptr)) (*Hold, bool, error) {
	e, err := l.submit(ctx, 0, more...)
	if errors.Is(err, ErrBusy) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	hold, err := l.hold(ctx, e)
	return hold, err == nil, err
}

// One of so many acquires yields first. Go's monitor sees a goroutine that calls the library again and again as one that keeps its
// processor: after 10 ms it takes the processor away, and then wakes every 20 us for some ms. A yield starts a new time slice. It takes
// a few us, and delays no holder.
const yieldEvery = 32

var acquires atomic.Uint32

// submit waits so long at most, and no longer than the context lives.
func (l *lock) submit(ctx context.Context, limit time.Duration, more ...func(request uintptr)) (event, error) {
	wait := milliseconds(limit)
	switch {
	case limit == forever:
		wait = -1
	case limit < 0:
		return event{}, &Error{Status: ErrInvalidArgument, Message: "wait was " + limit.String() + ": 0s or more is allowed"}
	}
	if acquires.Add(1)%yieldEvery == 0 {
		runtime.Gosched()
	}
	return l.client.run(ctx, func(handle uintptr, tag int64, patienceMs int64, e *event) bool {
		request := native.BelayRequestNew(int(l.primitive))
		for _, set := range append(l.set[:len(l.set):len(l.set)], more...) {
			set(request)
		}
		if deadline, ok := ctx.Deadline(); ok && wait != 0 {
			left := max(1, milliseconds(time.Until(deadline)))
			if wait == -1 || left < wait {
				wait = left
			}
		}
		return native.AcquireOnce(handle, tag, request, l.owner, wait, patienceMs, e[:]) != 0
	})
}

// hold makes a hold of a grant, unless nobody waits for it any more.
func (l *lock) hold(ctx context.Context, e event) (*Hold, error) {
	id := e[native.FieldHold]
	if ctx.Err() != nil {
		l.client.with(func(handle uintptr) { native.BelayReleaseNowait(handle, id) })
		l.client.holds.remove(id)
		return nil, interrupted(ctx, 0, "")
	}
	h := &Hold{
		client:  l.client,
		id:      id,
		name:    strings.Join(l.names, "' and '"),
		fence:   e[native.FieldFence],
		permits: e[native.FieldPermits],
	}
	for i := 1; i < len(l.names); i++ {
		fence, _ := l.client.local(func(handle uintptr) int64 { return native.BelayHoldFence(handle, id, i) })
		h.further = append(h.further, fence) // 0 if the client is closed by now: then the hold is lost
	}
	runtime.SetFinalizer(h, (*Hold).drop)
	return h, nil
}

// Mutex is a lock that one holder has alone. Any goroutine may use it.
type Mutex struct{ lock lock }

// Mutex makes a lock of a name. It does not reach the server; a wrong name or option is reported by Lock.
func (c *Client) Mutex(name string, options ...LockOption) *Mutex {
	return &Mutex{*c.lock(PrimitiveLock, append([]LockOption{And(name)}, options...)...)}
}

// Multi makes a lock of several names: all or none. With options: Mutex(name, And(names...), options...).
func (c *Client) Multi(names ...string) *Mutex { return &Mutex{*c.lock(PrimitiveLock, And(names...))} }

// Do waits for the lock as [Mutex.Lock] does, runs fn, and releases the lock. If Lock fails, fn does not run. The context of fn is that of
// [Hold.Context]: it ends when the lock is lost, and context.Cause says why. Do returns the error of fn, joined with that of [Hold.Unlock]:
// after a loss errors.Is finds [ErrLost], whatever fn returned. A panic in fn releases the lock and goes on, and so does runtime.Goexit:
// they do not tell of a loss. A nil fn is such a panic.
// The release waits for the server's answer, as Unlock does, also if ctx has ended. If fn ends the hold itself, fn alone gets the error.
// An error of fn may be a [*Error], too, as of another lock: if that matters, note in fn that it has begun.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, hold *Hold) error) error {
	return m.lock.do(ctx, fn)
}

// Lock waits for the lock until the context ends. Waiters are served in the order in which they came. With any error you do not have
// the lock; the server may keep it for Error.InDoubt.
func (m *Mutex) Lock(ctx context.Context) (*Hold, error) { return m.lock.acquire(ctx) }

// TryLock does not wait: false, and not [ErrBusy], if the lock is held or others wait for it. An error says that nobody knows.
func (m *Mutex) TryLock(ctx context.Context) (*Hold, bool, error) { return m.lock.try(ctx) }

// RWMutex is a lock that many readers share, or one writer has alone. A reader does not pass a waiting writer, but for 0.1 s in a client
// that reads already. A Mutex of the same name excludes both.
type RWMutex struct{ write, read lock }

// RWMutex makes a read-write lock of a name.
func (c *Client) RWMutex(name string, options ...LockOption) *RWMutex {
	return &RWMutex{
		write: *c.lock(PrimitiveLock, append([]LockOption{And(name)}, options...)...),
		read:  *c.lock(PrimitiveLock, append([]LockOption{AndShared(name)}, options...)...),
	}
}

// Do runs fn under the writer's lock, as [Mutex.Do] does.
func (m *RWMutex) Do(ctx context.Context, fn func(ctx context.Context, hold *Hold) error) error {
	return m.write.do(ctx, fn)
}

// RDo runs fn under a reader's lock, as [Mutex.Do] does.
func (m *RWMutex) RDo(ctx context.Context, fn func(ctx context.Context, hold *Hold) error) error {
	return m.read.do(ctx, fn)
}

// Lock waits for the writer's lock, as [Mutex.Lock] does.
func (m *RWMutex) Lock(ctx context.Context) (*Hold, error) { return m.write.acquire(ctx) }

// TryLock does not wait for the writer's lock.
func (m *RWMutex) TryLock(ctx context.Context) (*Hold, bool, error) { return m.write.try(ctx) }

// RLock waits for a reader's lock. Readers that are granted together share a fence.
func (m *RWMutex) RLock(ctx context.Context) (*Hold, error) { return m.read.acquire(ctx) }

// TryRLock does not wait for a reader's lock.
func (m *RWMutex) TryRLock(ctx context.Context) (*Hold, bool, error) { return m.read.try(ctx) }
