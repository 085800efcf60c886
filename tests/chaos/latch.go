package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// The model that Porcupine checks the history of a latch against.
//
// A call that sets or counts down is two operations, as it is repeated when its connection breaks, and then tells of the latch as it is by
// then: it takes place once, and tells of the latch afterwards, both between its call and its return. Where its outcome is unknown it takes
// place at any time after its call, which may be after all that matters. Of several such that do the same, those that were called first take
// place first: which of them did makes no difference, and one order is enough to try. Whoever passes has seen the latch open, in the
// generation that it is told, between its call and its return. Whoever was given a generation passes if that has opened before its return.
//
// A set with a time to live has a third operation, its expiry: the latch that it made is gone so long after it was set, if it has not been
// set again by then. A call that is repeated after that finds nothing, and may have taken place before.

const (
	unnumbered = int64(-1)
	// How much later than its time a latch may be seen: what the server asks its clock for and does are not one moment.
	expirySlack = 100 * millisecond
)

type latchState struct {
	generation int64 // 0: there is no latch; unnumbered: it has been set, and nobody has told its generation yet
	last       int64 // the latest generation that was told
	count      int64
	opened     string // the generations that have opened, but for the current one
	untold     string // what has taken place and not been told
	doubtful   string // what has taken place of that whose outcome is unknown
	setBy      string // what made the current generation
	living     string // what has set with a time to live that has not ended
}

// A latchStep is an operation of the model.
type latchStep struct {
	what              string // "set", "down", "tell", "missing", "busy", "passed", "given", "wiped", "expired"
	by                string // which call's; "": a question's, which changes nothing
	n                 int64
	lives             bool // of a set: not for ever
	doubtful          bool
	after             string // of doubtful ones, the one before that does the same
	generation, count int64  // told; or the generation that was given, 0: none
}

func (latch latchState) step(step *latchStep) (bool, latchState) {
	switch step.what {
	case "set", "down":
		return latch.change(step)
	case "wiped":
		latch.generation, latch.count, latch.setBy = 0, 0, ""
	case "expired":
		if !contains(latch.living, step.by) {
			return step.doubtful, latch
		}
		latch.living = without(latch.living, step.by)
		if latch.setBy == step.by {
			latch.generation, latch.count, latch.setBy = 0, 0, ""
		}
	case "missing":
		return latch.generation == 0 || step.generation != 0 && step.generation != latch.generation, latch
	case "busy":
		return latch.generation != 0 && latch.count > 0 && (step.generation == 0 || step.generation == latch.generation), latch
	case "given":
		return contains(latch.opened, fmt.Sprint(step.generation)) || latch.generation == step.generation && latch.count == 0, latch
	case "passed", "tell":
		if latch.generation == unnumbered && step.generation > latch.last {
			latch.generation, latch.last = step.generation, step.generation
		}
		if latch.generation == 0 || latch.generation != step.generation || latch.count != step.count {
			return false, latch
		}
		if step.by != "" && !contains(latch.untold, step.by) {
			return false, latch
		}
		latch.untold = without(latch.untold, step.by)
	}
	return true, latch
}

// change: a doubtful change may find that there is nothing to change.
func (latch latchState) change(step *latchStep) (bool, latchState) {
	possible := latch.generation != 0
	if step.what == "set" {
		possible = latch.generation == 0 || latch.count == 0
	}
	switch {
	case step.doubtful && step.after != "" && !contains(latch.doubtful, step.after), !step.doubtful && !possible:
		return false, latch
	case possible && step.what == "set":
		if latch.generation > 0 {
			latch.opened = with(latch.opened, fmt.Sprint(latch.generation))
		}
		latch.generation, latch.count, latch.setBy = unnumbered, step.n, step.by
		if step.lives {
			latch.living = with(latch.living, step.by)
		}
	case possible && latch.count > step.n:
		latch.count -= step.n
	case possible:
		latch.count = 0
	}
	if step.doubtful {
		latch.doubtful = with(latch.doubtful, step.by)
	} else {
		latch.untold = with(latch.untold, step.by)
	}
	return true, latch
}

// latchModel: `tells` are what each call tells, to give up early where it can no longer be true.
func latchModel(tells map[string]*latchStep) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return latchState{} },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			step := input.(*latchStep)
			possible, latch := state.(latchState).step(step)
			return possible && (step.what != "set" && step.what != "down" || latch.mayTell(tells)), latch
		},
	}
}

// mayTell: the generations of a latch rise, and the count of each falls.
func (latch latchState) mayTell(tells map[string]*latchStep) bool {
	for _, by := range strings.Fields(latch.untold) {
		told := tells[by]
		numbered := latch.generation > 0
		if numbered && told.generation < latch.generation || numbered && told.generation == latch.generation && told.count > latch.count ||
			!numbered && told.generation <= latch.last {
			return false
		}
	}
	return true
}

// ---- Reading

// A latchCall is what a worker asked of a latch, and what it was answered.
type latchCall struct {
	what, by   string
	asked      *Event
	answered   *Event // nil: it never was
	completion int    // how often
}

func isLatch(noun string) bool {
	return noun == "set" || noun == "down" || noun == "count" || noun == "await"
}

// latchCalls lists the calls about each latch in the order of time.
func (c *checker) latchCalls() map[string][]*latchCall {
	names, calls := map[string][]*latchCall{}, map[string]*latchCall{}
	for i := range c.record.Events {
		event := &c.record.Events[i]
		by := fmt.Sprintf("%d.%s", event.Worker, event.Fields["id"])
		switch call := calls[by]; {
		case !isLatch(event.Noun):
		case event.Verb == "call":
			c.expires = c.expires || event.number("ttl") > 0
			calls[by] = &latchCall{what: event.Noun, by: by, asked: event}
			names[event.Fields["name"]] = append(names[event.Fields["name"]], calls[by])
		case event.Verb == "return" && call == nil:
			c.violation(event.At, "worker %d: '%s' answers nothing that was asked", event.Worker, event.Text)
		case event.Verb == "return":
			call.answered = event
			call.completion++
			c.checkLatchAnswer(call)
		}
	}
	return names
}

func (c *checker) checkLatchAnswer(call *latchCall) {
	status, wait := call.answered.Fields["status"], call.asked.number("wait")
	lost := len(c.record.lossesOf(call.asked.Fields["name"])) > 0
	allowed := status == "OK" || status == "UNAVAILABLE" && wait >= 0 || status == "SERVER_ERROR" && c.record.Errors ||
		status == "NOT_FOUND" && (call.what != "set" || lost || c.expires) ||
		status == "IN_USE" && call.what == "set" && call.answered.number("left") > 0 ||
		call.what == "await" && (status == "BUSY" && wait == 0 || status == "TIMEOUT" && wait > 0)
	if !allowed {
		c.violation(call.answered.At, "worker %d: '%s' is no answer to '%s'", call.answered.Worker, call.answered.Text, call.asked.Text)
	}
	if given := call.asked.number("given"); given != 0 && call.what == "await" && status == "OK" && call.answered.number("generation") != given {
		c.violation(call.answered.At, "worker %d: '%s' passed another generation than '%s'", call.answered.Worker, call.answered.Text, call.asked.Text)
	}
	if call.completion > 1 {
		c.violation(call.answered.At, "worker %d: %s %s completed twice", call.answered.Worker, call.what, call.asked.Fields["id"])
	}
}

// ---- The history of one latch

// A latchHistory is the operations of one latch, as far as they are known at some moment.
type latchHistory struct {
	operations []porcupine.Operation
	tells      map[string]*latchStep
	latest     map[string]string // by what it does: the latest doubtful change
	expires    bool              // some latches have a time to live
}

func (history *latchHistory) add(step *latchStep, from, to int64) {
	history.operations = append(history.operations, porcupine.Operation{Input: step, Call: from, Return: to})
}

// addDoubtful adds a change that may have taken place, or may yet.
func (history *latchHistory) addDoubtful(call *latchCall) {
	does := fmt.Sprintf("%s %d %d", call.what, call.asked.number("n"), call.ttl())
	step := call.step()
	step.doubtful, step.after = true, history.latest[does]
	history.add(step, call.asked.At, forever)
	history.addExpiry(call, true, forever)
	history.latest[does] = call.by
}

// addExpiry: the latest moment counts from when the call was answered.
func (history *latchHistory) addExpiry(call *latchCall, doubtful bool, answered int64) {
	if ttl := call.ttl(); ttl > 0 {
		to := forever
		if answered != forever {
			to = answered + ttl + expirySlack
		}
		history.add(&latchStep{what: "expired", by: call.by, doubtful: doubtful}, call.asked.At+ttl, to)
	}
}

func (call *latchCall) ttl() int64 { return call.asked.number("ttl") * millisecond }

func (call *latchCall) step() *latchStep {
	return &latchStep{what: call.what, by: call.by, n: call.asked.number("n"), lives: call.ttl() > 0}
}

func (history *latchHistory) addCall(call *latchCall, until int64, losses []Loss) {
	changes := call.what == "set" || call.what == "down"
	from, answer := call.asked.At, call.answered
	if answer == nil || answer.At > until {
		if changes {
			history.addDoubtful(call)
		}
		return
	}
	status, given := answer.Fields["status"], call.asked.number("given")
	told := &latchStep{what: "tell", generation: answer.number("generation"), count: answer.number("left")}
	switch {
	case status == "OK" && changes:
		told.by = call.by
		history.tells[call.by] = told
		history.add(call.step(), from, answer.At)
		history.add(told, from, answer.At)
		history.addExpiry(call, false, answer.At)
	case status == "OK" && call.what == "count" || status == "IN_USE":
		history.add(told, from, answer.At)
	case status == "OK":
		told.what, told.count = "passed", 0
		if given != 0 {
			told.what = "given"
		}
		history.add(told, from, answer.At)
	case status == "NOT_FOUND":
		history.add(&latchStep{what: "missing", generation: given}, from, answer.At)
		if changes && history.expires { // it may have been repeated after what it changed was gone
			before := call.step()
			before.doubtful = true
			history.add(before, from, answer.At)
			history.addExpiry(call, true, answer.At)
		}
	case status == "BUSY":
		history.add(&latchStep{what: "busy", generation: given}, from, answer.At)
	}
	doubtful := answer.number("in_doubt") > 0
	for _, loss := range losses { // what took place before it is not remembered when the call is repeated
		doubtful = doubtful || from <= loss.To && answer.At >= loss.From
	}
	if changes && doubtful {
		history.addDoubtful(call)
	}
}

// latchPossible asks Porcupine about what is known of a latch at the moment `until`.
func latchPossible(calls []*latchCall, losses []Loss, until int64) porcupine.CheckResult {
	history := latchHistory{tells: map[string]*latchStep{}, latest: map[string]string{}}
	for _, call := range calls {
		history.expires = history.expires || call.ttl() > 0
	}
	for _, loss := range losses {
		if loss.From <= until {
			history.add(&latchStep{what: "wiped"}, loss.From, loss.To)
		}
	}
	for _, call := range calls {
		if call.asked.At <= until {
			history.addCall(call, until, losses)
		}
	}
	if len(history.operations) == 0 {
		return porcupine.Ok
	}
	return porcupine.CheckOperationsTimeout(latchModel(history.tells), history.operations, patience)
}

// checkLatches: each latch was set and counted down once by each that did so, nobody passed before it was open, and everybody passed then.
func (c *checker) checkLatches() {
	for name, calls := range c.latchCalls() {
		losses := c.record.lossesOf(name)
		var answers []*Event
		for _, call := range calls {
			if call.answered != nil {
				answers = append(answers, call.answered)
			} else if c.record.Ended[call.asked.Worker] {
				c.violation(call.asked.At, "worker %d: %s %s never completed", call.asked.Worker, call.what, call.asked.Fields["id"])
			}
		}
		sort.SliceStable(answers, func(i, j int) bool { return answers[i].At < answers[j].At })
		if len(answers) == 0 || latchPossible(calls, losses, forever) == porcupine.Ok {
			continue
		}
		first := sort.Search(len(answers)-1, func(i int) bool {
			return latchPossible(calls, losses, answers[i].At) != porcupine.Ok
		})
		c.violation(answers[first].At, "latch '%s' cannot have been as it was told: worker %d was told '%s'", name, answers[first].Worker,
			answers[first].Text)
	}
}
