package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model that Porcupine checks a history of one name against: a lock with owners, groups, fences and leases, or a semaphore.
//
// Every hold is two operations. It is entered somewhere between the call and the return of its acquire, where it fits beside those who
// are in (see enter). It ends at the moment from which it is no longer vouched for (see Hold.end), or when it is entered where that is
// later. It may also have ended at any time after; but ending at the earliest moment permits the most, so that moment stands for all of
// them. Only to those who join a group it would permit too little: they may join it for as long as somebody of it may still have been in
// (see Hold.joins), unless somebody else has come between.
//
// An acquire whose outcome is unknown (in doubt, or of a worker that was killed) may or may not have been granted. If it was, nobody
// acts as if it held the lock, so it may have ended at once: it restricts nobody, with or without, and is left out.
//
// A downgrade is an operation of its own, which finds the hold alone and leaves it shared by readers; and so is a change of a semaphore's
// limit, which takes place up to twice, as it is repeated when its connection breaks. One whose outcome is unknown takes place at any time
// after its call, or never: hundreds of them, while a server is away, make more orders than can be tried, so it is no operation, but lets
// whoever is granted permits after its call have as many as it says.

type lockState struct {
	inside        string // the holds
	worker, owner int    // who has it alone, or began the tenure
	alone         int    // that owner's holds
	group         string // of those who hold it together, or were the last to do so
	together      int64  // their holds; of a semaphore permits
	fence         int64  // of the current or the last tenure; of a semaphore the latest
	limit         int64  // of a semaphore whose limit changes; 0: not set yet
	lost          bool   // who had it alone was lost, and an owner's own hold of a group goes on: others join that under a newer fence
}

const readers = "r"

// patience is for how long Porcupine looks for an order. It takes milliseconds where there is one.
const patience = 20 * time.Second

// A lockInput is an operation of the model.
type lockInput struct {
	what  string // "enter", "leave", "share", "limit"
	hold  *Hold
	limit int64 // that is set; to one who enters, the highest of those that may be
}

// enter: a lock is entered alone when it is free, and together when it is free or held by the same group, or by owners who have it
// already; each tenure has a fence higher than any before, and one for all of it. Permits are had while there are some, under a higher
// fence each.
func (lock lockState) enter(hold *Hold, maybe int64) (bool, lockState) {
	free := lock.alone == 0 && lock.together == 0
	again := lock.alone > 0 && lock.worker == hold.Worker && lock.owner == hold.Owner && hold.Owner != 0
	joins := lock.alone == 0 && hold.Group != "" && hold.Group == lock.group && (lock.together > 0 || hold.joins)
	limit := hold.Limit
	if limit == asItIsSet {
		limit = lock.limit
		if maybe > limit {
			limit = maybe
		}
	}
	switch {
	case hold.Limit != 0 && (hold.Fence <= lock.fence || lock.together+hold.Permits > limit):
		return false, lock
	case hold.Limit == 0 && free && hold.Fence > lock.fence:
		lock.worker, lock.owner, lock.group, lock.lost = hold.Worker, hold.Owner, "", false
	case hold.Limit == 0 && lock.lost && joins && hold.Fence > lock.fence:
		lock.lost = false
	case hold.Limit == 0 && (hold.Fence != lock.fence || !again && !joins):
		return false, lock
	}
	lock.fence = hold.Fence
	lock.inside = with(lock.inside, hold.key())
	if hold.alone() {
		lock.alone++
	} else {
		lock.group = hold.Group
		lock.together += hold.Permits
	}
	return true, lock
}

func (lock lockState) leave(hold *Hold) (bool, lockState) {
	shared := contains(lock.inside, hold.sharedKey())
	if !shared && !contains(lock.inside, hold.key()) {
		return false, lock
	}
	lock.inside = without(without(lock.inside, hold.key()), hold.sharedKey())
	if hold.alone() && !shared {
		lock.alone--
		lock.lost = lock.lost || hold.Lost != 0
	} else {
		lock.together -= hold.Permits
	}
	return true, lock
}

// share: a hold that is no longer counted on may have been shared before it ended, and readers may join its tenure.
func (lock lockState) share(hold *Hold) (bool, lockState) {
	switch {
	case contains(lock.inside, hold.key()) && lock.alone == 1:
		lock.inside = with(without(lock.inside, hold.key()), hold.sharedKey())
		lock.alone, lock.together, lock.group = 0, hold.Permits, readers
	case lock.inside == "" && lock.fence == hold.Fence:
		lock.group = readers
	}
	return true, lock
}

func (hold *Hold) key() string { return fmt.Sprintf("%d.%d", hold.Worker, hold.ID) }

func (hold *Hold) sharedKey() string { return hold.key() + readers }

func (hold *Hold) alone() bool { return hold.Group == "" && hold.Limit == 0 }

// Sets of words, as a state has to be comparable.

func contains(set, word string) bool { return strings.Contains(" "+set+" ", " "+word+" ") }

func with(set, word string) string {
	words := append(strings.Fields(set), word)
	sort.Strings(words)
	return strings.Join(words, " ")
}

func without(set, word string) string {
	return strings.Join(strings.Fields(strings.Replace(" "+set+" ", " "+word+" ", " ", 1)), " ")
}

var lockModel = porcupine.Model{
	Init: func() interface{} { return lockState{} },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		lock, op := state.(lockState), input.(lockInput)
		switch op.what {
		case "enter":
			return lock.enter(op.hold, op.limit)
		case "share":
			return lock.share(op.hold)
		case "limit":
			lock.limit = op.limit
			return true, lock
		}
		return lock.leave(op.hold)
	},
}

// linearizable asks Porcupine about the holds of one name that were granted up to `until`, and about the changes of its limit.
func linearizable(holds []*Hold, limits []limitChange, until int64) porcupine.CheckResult {
	var operations []porcupine.Operation
	add := func(input lockInput, from, to int64) {
		operations = append(operations, porcupine.Operation{Input: input, Call: from, Return: to})
	}
	for _, hold := range holds {
		if hold.Return > until {
			continue
		}
		maybe := int64(0)
		for _, change := range limits {
			if change.to == forever && change.from < hold.Return && change.limit > maybe {
				maybe = change.limit
			}
		}
		add(lockInput{what: "enter", hold: hold, limit: maybe}, hold.Call, hold.Return)
		if hold.Shares != 0 && hold.Shares <= until {
			add(lockInput{what: "share", hold: hold}, hold.Shares, hold.Shared)
		}
		if hold.end <= until {
			latest := hold.end
			if latest < hold.Return {
				latest = hold.Return
			}
			add(lockInput{what: "leave", hold: hold}, hold.end, latest)
		}
	}
	if len(operations) == 0 {
		return porcupine.Ok
	}
	for _, change := range limits {
		for i := 0; i < 2 && change.from <= until && change.to != forever; i++ {
			add(lockInput{what: "limit", limit: change.limit}, change.from, change.to)
		}
	}
	return porcupine.CheckOperationsTimeout(lockModel, operations, patience)
}

// firstUnlinearizable finds the hold whose grant makes the history of its name impossible; nil where it is possible, or where that is not
// found out.
func firstUnlinearizable(holds []*Hold, limits []limitChange) (*Hold, porcupine.CheckResult) {
	sorted := append([]*Hold(nil), holds...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Return < sorted[j].Return })
	result := linearizable(sorted, limits, forever)
	if result != porcupine.Illegal {
		return nil, result
	}
	first := sort.Search(len(sorted)-1, func(i int) bool {
		return linearizable(sorted, limits, sorted[i].Return) == porcupine.Illegal
	})
	return sorted[first], result
}
