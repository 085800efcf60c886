//go:build go1.23

package belay_test

import (
	"context"
	"fmt"
	"log"

	"belay.invalid/belay"
)

func ExampleClient_Names() {
	ctx := context.Background()
	hold, _ := client.Multi("jobs:1", "jobs:2").Lock(ctx)
	for name, err := range client.Names(ctx, "jobs:*") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name)
	}
	fmt.Println(hold.Unlock())
	// Unordered output:
	// jobs:1
	// jobs:2
	// <nil>
}

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
