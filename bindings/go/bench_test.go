package belay

import (
	"context"
	"sync"
	"testing"
)

func pair(b *testing.B, mutex *Mutex) {
	hold, err := mutex.Lock(context.Background())
	if err == nil {
		err = hold.Unlock()
	}
	if err != nil {
		b.Error(err)
	}
}

func BenchmarkUncontended(b *testing.B) {
	mutex := open(b).Mutex(name(b))
	for i := 0; i < b.N; i++ {
		pair(b, mutex)
	}
}

func BenchmarkUncontendedWithoutWaitingForTheRelease(b *testing.B) {
	mutex := open(b).Mutex(name(b))
	for i := 0; i < b.N; i++ {
		hold, err := mutex.Lock(context.Background())
		must(b, err)
		must(b, hold.UnlockNoWait())
	}
}

// contend has goroutines lock one name b.N times, as often as they get it.
func contend(b *testing.B, clients, goroutines int) {
	lock := name(b)
	var all sync.WaitGroup
	turns := make(chan struct{}, b.N)
	for i := 0; i < b.N; i++ {
		turns <- struct{}{}
	}
	close(turns)
	mutexes := []*Mutex{}
	for i := 0; i < clients; i++ {
		mutexes = append(mutexes, open(b).Mutex(lock))
	}
	b.ResetTimer()
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for range turns {
				pair(b, mutexes[i%clients])
			}
		}()
	}
	all.Wait()
}

func BenchmarkHandoffBetweenTwoClients(b *testing.B) { contend(b, 2, 2) }

func BenchmarkSixteenOnOneName(b *testing.B) { contend(b, 1, 16) }

func BenchmarkTenThousandOnOneName(b *testing.B) { contend(b, 1, 10000) }
