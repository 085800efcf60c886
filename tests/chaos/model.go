package main

import (
	"sort"

	"github.com/anishathalye/porcupine"
)

// The model that Porcupine checks a history of one name against: a lock with owners, fences and leases.
//
// Every hold is two operations. It is entered somewhere between the call and the return of its acquire: the lock must be free and the
// fence higher than any before, or the same owner must hold it already, under the same fence. It ends at the moment from which it is
// no longer vouched for (see Hold.end), or when it is entered where that is later: nobody else may have entered before. It may also have
// ended at any time after; but ending at the earliest moment permits the most, so that moment stands for all of them.
//
// An acquire whose outcome is unknown (in doubt, or of a worker that was killed) may or may not have been granted. If it was, nobody
// acts as if it held the lock, so it may have ended at once: it restricts nobody, with or without, and is left out.

type lockState struct {
	worker, owner int
	fence         int64 // of the current or the last tenure
	depth         int   // holds of the current tenure
}

type lockInput struct {
	enter         bool
	worker, owner int
	fence         int64
}

func stepLock(state, input, _ interface{}) (bool, interface{}) {
	lock, op := state.(lockState), input.(lockInput)
	same := lock.depth > 0 && lock.worker == op.worker && lock.owner == op.owner && lock.fence == op.fence
	switch {
	case !op.enter && same:
		lock.depth--
		return true, lock
	case op.enter && same && op.owner != 0:
		lock.depth++
		return true, lock
	case op.enter && lock.depth == 0 && op.fence > lock.fence:
		return true, lockState{op.worker, op.owner, op.fence, 1}
	}
	return false, lock
}

var lockModel = porcupine.Model{
	Init: func() interface{} { return lockState{} },
	Step: stepLock,
}

// linearizable asks Porcupine about the holds of one name that were granted up to `until`.
func linearizable(holds []*Hold, until int64) bool {
	var operations []porcupine.Operation
	for _, hold := range holds {
		if hold.Return > until {
			continue
		}
		input := lockInput{true, hold.Worker, hold.Owner, hold.Fence}
		operations = append(operations, porcupine.Operation{Input: input, Call: hold.Call, Return: hold.Return})
		if hold.end <= until {
			input.enter = false
			latest := hold.end
			if latest < hold.Return {
				latest = hold.Return
			}
			operations = append(operations, porcupine.Operation{Input: input, Call: hold.end, Return: latest})
		}
	}
	return len(operations) == 0 || porcupine.CheckOperations(lockModel, operations)
}

// firstUnlinearizable finds the hold whose grant makes the history of its name impossible; nil where it is possible.
func firstUnlinearizable(holds []*Hold) *Hold {
	sorted := append([]*Hold(nil), holds...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Return < sorted[j].Return })
	if len(sorted) == 0 || linearizable(sorted, int64(1)<<62) {
		return nil
	}
	first := sort.Search(len(sorted)-1, func(i int) bool { return !linearizable(sorted, sorted[i].Return) })
	return sorted[first]
}
