// Package belay has distributed locks on Redis and Valkey.
//
// A [Client] talks to one server; any number of goroutines share it. It makes a [Mutex], an [RWMutex], a [Semaphore] or a [Latch] of a
// name. Locking one gives a [Hold], which stands for the lock until you unlock it. A hold has a lease: how long the server keeps the
// lock without hearing from this client. The client renews the lease until the release. A hold also has a fence: a number that is
// greater than the fence of every earlier holder of the name.
//
//	client, err := belay.Open("redis://localhost:6379")
//	defer client.Close()
//	err = client.Mutex("orders:42").Do(ctx, func(ctx context.Context, hold *belay.Hold) error {
//		return charge(ctx, hold.Fence()) // ctx ends if the lock is lost
//	})
//	if errors.Is(err, belay.ErrLost) {
//		// another process may have charged, too
//	}
//
// If the client cannot confirm a hold, it declares the hold lost before or when its lease ends. It needs no network for that. Then the
// contexts of [Hold.Context] end, and the first Unlock returns [ErrLost]. Look at what Unlock returns, as Do does: a deferred Unlock
// drops it.
//
// Contexts limit and cancel every wait: without a deadline a wait for a lock has no limit, also through outages. A try and other calls
// try to reach the server for [WithRequestTimeout] at most. A change that was sent, other than an acquire, is not undone when its context
// ends: the call still returns how it ended, within the request timeout. If its context has ended before, a call sends nothing and
// returns [ErrUnavailable] for a deadline, [ErrCancelled] for a cancel. [Hold.UnlockContext] sends all the same.
//
// A failed call returns an [*Error]; errors.Is finds its [Status], and context.Canceled or context.DeadlineExceeded if the context ended
// the call.
//
// Only Open and the methods of a [Client] make usable values. On a nil or zero Client, and on what such a one or a zero value would lock,
// calls return [ErrInvalidArgument], as they do for a nil context. On a nil or zero Hold they return [ErrUnknownHold]; those of its methods
// that return no error panic, and so do other methods of nil pointers.
//
// Names are bytes: 1..1024, any of them. The package is cgo: it needs libbelay, pkg-config and a C compiler, and runs on 64-bit systems.
package belay
