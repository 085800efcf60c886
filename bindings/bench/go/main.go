// Belay from Go, as a side of the benchmark.
package main

import (
	"context"

	"belay.invalid/belay"
	"belay.invalid/bench/peer"
)

type client struct{ *belay.Client }

func open(url string) peer.Client {
	c, err := belay.Open(url)
	peer.Must(err)
	return client{c}
}

func (c client) Lock(ctx context.Context, names ...string) (func() error, error) {
	mutex := c.Mutex(names[0])
	if len(names) > 1 {
		mutex = c.Multi(names...)
	}
	hold, err := mutex.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return hold.Unlock, nil
}

func main() { peer.Run(open, nil) }
