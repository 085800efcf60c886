package belay

import (
	"context"

	"belay.invalid/belay/internal/native"
)

// Semaphore has a number of permits. Any goroutine may use it. The fences of permits tell the order of the grants; they do not exclude.
type Semaphore struct {
	lock  lock
	name  string
	limit int64
}

// Semaphore makes a semaphore of a name. The first use sets the limit, how many permits there are; it is kept for a day after the last
// use. With another limit than that, an acquire returns [ErrLimitDiffers]. 0: whatever is set, or [ErrNotFound].
func (c *Client) Semaphore(name string, limit int64, options ...LockOption) *Semaphore {
	return &Semaphore{*c.lock(PrimitiveSemaphore, append([]LockOption{And(name)}, options...)...), name, limit}
}

func (s *Semaphore) permits(n int64) func(request uintptr) {
	return func(request uintptr) { native.BelayRequestSetPermits(request, n, s.limit) }
}

// Do waits for n permits, runs fn, and releases them, as [Mutex.Do] does with a lock.
func (s *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context, hold *Hold) error) error {
	return s.lock.do(ctx, fn, s.permits(n))
}

// Acquire waits for n permits until the context ends. Waiters are served in the order in which they came.
func (s *Semaphore) Acquire(ctx context.Context, n int64) (*Hold, error) {
	return s.lock.acquire(ctx, s.permits(n))
}

// TryAcquire does not wait: false if n permits are not free. With 0 it takes all that are free; [Hold.Permits] says how many.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64) (*Hold, bool, error) {
	return s.lock.try(ctx, s.permits(n))
}

// SetLimit sets how many permits there are, and returns how many of them are free. Waiters get new permits at once. A lower limit takes
// no permit back.
func (s *Semaphore) SetLimit(ctx context.Context, limit int64) (available int64, err error) {
	e, err := s.lock.client.ask(ctx, native.SubmitSemaphoreSetLimit(s.name, limit))
	return e[native.FieldAvailable], err
}

// Available asks how many permits are free, and how many there are. Others may take them before you do.
func (s *Semaphore) Available(ctx context.Context) (available, limit int64, err error) {
	e, err := s.lock.client.ask(ctx, native.SubmitSemaphoreAvailable(s.name))
	return e[native.FieldAvailable], e[native.FieldLimit], err
}
