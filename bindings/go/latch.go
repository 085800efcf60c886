package belay

import (
	"context"
	"errors"
	"time"

	"belay.invalid/belay/internal/native"
)

// Latch is a countdown latch: it opens when its count is 0, and stays open until it is set again or ends. Each setting is a generation
// with a higher number than all before. Any goroutine may use it.
type Latch struct {
	client *Client
	name   string
}

// Latch makes a latch of a name.
func (c *Client) Latch(name string) *Latch { return &Latch{c, name} }

// Set sets the count, 1..10^9, and returns the generation. The latch ends so long from now; 0: never. [ErrInUse]: it is set and has not
// opened yet; Error.Count says how many are to go.
func (l *Latch) Set(ctx context.Context, count int64, ttl time.Duration) (generation int64, err error) {
	return l.ask(ctx, native.FieldGeneration, native.SubmitLatchSet(l.name, count, milliseconds(ttl)))
}

// CountDown counts down by n, to 0 at the lowest, and returns how many are to go. It counts once, also if the connection breaks
// meanwhile. [ErrNotFound]: the latch is not set.
func (l *Latch) CountDown(ctx context.Context, n int64) (count int64, err error) {
	return l.ask(ctx, native.FieldCount, native.SubmitLatchCountDown(l.name, n))
}

// Count asks how many are to go; 0: the latch is open.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	return l.ask(ctx, native.FieldCount, native.SubmitLatchCount(l.name))
}

func (l *Latch) ask(ctx context.Context, field int, submit native.Submission) (int64, error) {
	e, err := l.client.ask(ctx, submit)
	return e[field], err
}

// Wait waits until the latch opens or the context ends, and returns the generation that has opened. It waits for the given generation, as
// Set returned it; a generation that has opened lets pass at once, also if a later one has begun. 0: the one that the server has now.
// [ErrNotFound]: the latch is not set, or ends meanwhile.
func (l *Latch) Wait(ctx context.Context, generation int64) (opened int64, err error) {
	e, err := l.lock(generation).submit(ctx, forever)
	return e[native.FieldGeneration], err
}

// TryWait does not wait: false if the latch is not open.
func (l *Latch) TryWait(ctx context.Context, generation int64) (opened int64, ok bool, err error) {
	e, err := l.lock(generation).submit(ctx, 0)
	if errors.Is(err, ErrBusy) {
		return 0, false, nil
	}
	return e[native.FieldGeneration], err == nil, err
}

func (l *Latch) lock(generation int64) *lock {
	return l.client.lock(PrimitiveLatch, And(l.name), setting(native.BelayRequestSetGeneration, generation))
}
