//go:build go1.23

package belay_test

import (
	"context"
	"fmt"

	"belay.invalid/belay"
)

func ExampleHold_Changes() {
	hold, _ := client.Mutex("leader").Lock(context.Background())
	client.Break(context.Background(), "leader", 0) // by an operator, elsewhere
	for change := range hold.Changes(context.Background()) {
		switch change.State {
		case belay.AtRisk: // stop, if you can
		case belay.Held: // go on
		case belay.Lost:
			fmt.Println("no longer the leader:", change.Reason)
		}
	}
	hold.Unlock()
	// Output: no longer the leader: BROKEN
}
