// Lock libraries of others in Go as sides of the benchmark, with what their own pages advise for one server, for sentinels, or for a cluster. The first argument says
// which: redsync, redislock or rueidislock.
package main

import (
	"context"
	"math"
	"os"
	"strings"
	"time"

	"belay.invalid/bench/peer"
	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const lease = 8 * time.Second // redsync's default

// split returns a URL's hosts, and the name of the master if these are sentinels.
func split(url string) (hosts []string, master string) {
	_, after, _ := strings.Cut(url, "://")
	list, master, _ := strings.Cut(after, "/")
	return strings.Split(list, ","), master
}

// connect lets callers wait for a connection as long as they like: with 10 000 of them go-redis would refuse some.
func connect(url string) redis.UniversalClient {
	hosts, master := split(url)
	return redis.NewUniversalClient(&redis.UniversalOptions{Addrs: hosts, MasterName: master, PoolTimeout: time.Hour,
		IsClusterMode: strings.HasPrefix(url, "redis-cluster:")})
}

type redsyncClient struct{ *redsync.Redsync }

func (c redsyncClient) Lock(ctx context.Context, names ...string) (func() error, error) {
	mutex := c.NewMutex(names[0], redsync.WithTries(math.MaxInt))
	if err := mutex.LockContext(ctx); err != nil {
		return nil, err
	}
	return func() error { _, err := mutex.Unlock(); return err }, nil
}

type redislockClient struct{ *redislock.Client }

func (c redislockClient) Lock(ctx context.Context, names ...string) (func() error, error) {
	lock, err := c.Obtain(ctx, names[0], lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(context.Background()) }, nil
}

type rueidislockClient struct{ rueidislock.Locker }

// Lock asks again after a while: on a busy machine a wait may miss that the lock is free, and never ends.
func (c rueidislockClient) Lock(ctx context.Context, names ...string) (func() error, error) {
	for {
		try, giveUp := context.WithCancel(ctx) // what ends it also ends the hold
		limit := time.AfterFunc(lease, giveUp)
		_, release, err := c.WithContext(try, names[0])
		if limit.Stop() {
			return func() error { release(); giveUp(); return nil }, err
		}
		if err == nil {
			release()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

var libraries = map[string]func(url string) peer.Client{
	"redsync":   func(url string) peer.Client { return redsyncClient{redsync.New(goredis.NewPool(connect(url)))} },
	"redislock": func(url string) peer.Client { return redislockClient{redislock.New(connect(url))} },
	"rueidislock": func(url string) peer.Client {
		hosts, master := split(url)
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: hosts, Sentinel: rueidis.SentinelOption{MasterSet: master}},
			KeyMajority:    1,
			NoLoopTracking: true,
			TryNextAfter:   lease, // there is no next key, and a try that is given up may never be repeated
		})
		peer.Must(err)
		return rueidislockClient{locker}
	},
}

func main() {
	peer.Run(libraries[os.Args[1]], map[string]string{"names16": "it locks one name at a time"})
}
