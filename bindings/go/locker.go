package belay

import (
	"context"
	"sync"
)

// Locker is a sync.Locker for code that takes one. It cannot return errors, so Lock and Unlock panic with them: Lock if ctx ends, on a
// closed client ([ErrClosed]), and wherever [Mutex.Lock] fails; Unlock if the lock was lost ([ErrLost]), also as the client was closed
// meanwhile, and wherever [Hold.Unlock] fails. An Unlock of what is not locked panics, too. Nothing tells of a loss before Unlock.
func (m *Mutex) Locker(ctx context.Context) sync.Locker { return &locker{ctx: ctx, lock: &m.lock} }

// Locker is a sync.Locker of the writer's lock, as [Mutex.Locker].
func (m *RWMutex) Locker(ctx context.Context) sync.Locker { return &locker{ctx: ctx, lock: &m.write} }

// RLocker is a sync.Locker of the reader's lock, as [Mutex.Locker].
func (m *RWMutex) RLocker(ctx context.Context) sync.Locker { return &locker{ctx: ctx, lock: &m.read} }

type locker struct {
	ctx   context.Context
	lock  *lock
	mu    sync.Mutex
	holds []*Hold // several of readers, and of a lock that was lost
}

func (l *locker) Lock() {
	hold, err := l.lock.acquire(l.ctx)
	if err != nil {
		panic(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = append(l.holds, hold)
}

func (l *locker) Unlock() {
	l.mu.Lock()
	if len(l.holds) == 0 {
		l.mu.Unlock()
		panic("belay: Unlock of a Locker that is not locked")
	}
	hold := l.holds[0]
	l.holds = l.holds[1:]
	l.mu.Unlock()
	if err := hold.Unlock(); err != nil {
		panic(err)
	}
}
