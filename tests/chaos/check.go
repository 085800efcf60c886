package main

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	millisecond = int64(1000000)
	// How far the fences of a claim's local handoffs may be ahead of the server's time: a grant brings 8, a renewal at most 64.
	localFences = 72
	// For how long after its answer an acquire that was not granted may stand on the server beside its lease: the request timeout.
	lingers = 1000 * millisecond
	forever = int64(1) << 62
	// The limit of who takes a semaphore's as it is.
	asItIsSet = int64(-1)
)

// A Violation is a promise that a history broke.
type Violation struct {
	At   int64 // about when
	What string
}

// A Hold is what a history says of one hold.
type Hold struct {
	Worker, Owner  int
	ID, Fence      int64
	Name           string
	Whole          string // all names of its acquire, which are lost together
	Group          string // of those who may hold the lock together; "": alone
	Permits, Limit int64  // of a semaphore; of a lock 1 and 0
	LeaseMs        int64  // 0: the watchdog's
	DelayMs        int64  // lock-delay
	Call, Return   int64  // of its acquire
	Vouched        int64  // the latest moment until which the library has vouched for it
	Seen           int64  // when it was last seen to be held
	Shares, Shared int64  // call and return of its downgrade; 0: never; forever: in doubt
	ReleaseCall    int64  // 0: never
	ReleaseStatus  string
	ReleaseReturn  int64 // 0: never
	Hurried        bool  // its release did not wait for the server
	Lost           int64 // when LOST was told; 0: never
	SampledLost    int64 // when its state was first seen to be LOST; 0: never
	end            int64 // the moment from which nobody counts on it any more
	outdated       bool  // handed over locally in a tenure whose record the server has lost
	joins          bool  // somebody of its tenure may have been in when it asked
}

// A hold of several names is one Hold for each.
type holdKey struct {
	worker int
	id     int64
}

type call struct {
	event    Event
	returns  int
	returned *Event
}

func (asked *call) asksFor(name string) bool {
	for _, asksFor := range asked.names() {
		if asksFor == name {
			return true
		}
	}
	return false
}

func (asked *call) names() []string { return strings.Split(asked.event.Fields["name"], ",") }

// A limitChange is when a semaphore's limit was changed, at some moment between the two.
type limitChange struct{ from, to, limit int64 }

// A checker reads a record once, and collects what it finds wrong.
type checker struct {
	record     *Record
	holds      map[holdKey][]*Hold
	acquires   map[[2]int64]*call // by worker and id
	cancelled  map[[2]int64]bool
	writes     map[string]*Event // calls, by the write's id
	outcomes   map[string]*Event // returns
	limits     map[string][]limitChange
	expires    bool  // some latches have a time to live
	longest    int64 // lease in milliseconds
	violations []Violation
}

// Check holds a history against the promises of locks, semaphores and latches, and of the resources that the locks' fences guard.
func Check(record *Record) []Violation {
	c := &checker{record: record, holds: map[holdKey][]*Hold{}, acquires: map[[2]int64]*call{}, cancelled: map[[2]int64]bool{},
		writes: map[string]*Event{}, outcomes: map[string]*Event{}, limits: map[string][]limitChange{}}
	for i := range record.Events {
		c.readAcquire(&record.Events[i])
	}
	c.longest = c.longestLease()
	for i := range record.Events { // a loss may be told before the actor has written down its grant
		c.read(&record.Events[i])
	}
	c.readLimits()
	c.checkAnswers()
	for name, holds := range c.byName() {
		c.checkLosses(holds)
		c.checkExclusion(name, holds)
	}
	c.checkLatches()
	c.checkWrites()
	sort.SliceStable(c.violations, func(i, j int) bool { return c.violations[i].At < c.violations[j].At })
	return c.violations
}

func (c *checker) violation(at int64, format string, args ...interface{}) {
	c.violations = append(c.violations, Violation{at, fmt.Sprintf(format, args...)})
}

func (hold *Hold) String() string {
	mode := ""
	if hold.Group != "" {
		mode = ", group " + hold.Group
	} else if hold.Limit != 0 {
		mode = fmt.Sprintf(", %d permits", hold.Permits)
	}
	return fmt.Sprintf("worker %d's hold %d of '%s' (owner %d, fence %d%s)", hold.Worker, hold.ID, hold.Name, hold.Owner, hold.Fence, mode)
}

// ---- Reading

func (c *checker) readAcquire(event *Event) {
	key := [2]int64{int64(event.Worker), event.number("id")}
	switch {
	case event.is("call", "acquire"):
		c.acquires[key] = &call{event: *event}
	case event.is("cancel", "acquire"):
		c.cancelled[key] = true
	case event.is("return", "acquire"):
		c.readAcquired(event, c.acquires[key])
	}
}

func (c *checker) read(event *Event) {
	holds := c.holds[holdKey{event.Worker, event.number("id")}]
	switch {
	case event.is("call", "write"):
		c.writes[event.Fields["id"]] = event
	case event.is("return", "write"):
		c.outcomes[event.Fields["id"]] = event
	case event.Noun != "hold" && event.Noun != "release" && event.Noun != "downgrade":
	case len(holds) == 0:
		c.violation(event.At, "worker %d: '%s' of a hold that was never granted", event.Worker, event.Text)
	}
	for _, hold := range holds {
		c.readOfHold(event, hold)
	}
}

func (c *checker) readOfHold(event *Event, hold *Hold) {
	switch {
	case event.is("sample", "hold"):
		c.readSample(event, hold)
	case event.is("told", "hold"):
		c.readNews(event, hold)
	case event.is("call", "downgrade"):
		hold.Shares, hold.Shared = event.At, forever
	case event.is("return", "downgrade"):
		c.readDowngraded(event, hold)
	case event.is("call", "release") && hold.ReleaseCall == 0:
		hold.ReleaseCall = event.At
		hold.Hurried = event.number("nowait") == 1
	case event.is("return", "release"):
		c.readReleased(event, hold)
	}
}

var tooFar = regexp.MustCompile(`a round trip to \S+ takes (\d+) ms: 4 of them are more than the lease of (\d+) ms`)

// isTooFar: even who waits without a limit is refused where the round trip is too long for the lease that was asked for.
func (c *checker) isTooFar(event *Event, asked *call) bool {
	said := tooFar.FindStringSubmatch(event.Text)
	if said == nil {
		return false
	}
	trip, _ := strconv.ParseInt(said[1], 10, 64)
	lease, _ := strconv.ParseInt(said[2], 10, 64)
	wanted := asked.event.number("lease")
	return 4*(trip+1) > lease && (lease == wanted || wanted == 0 && lease <= c.longest)
}

func (c *checker) readAcquired(event *Event, asked *call) {
	if asked == nil {
		c.violation(event.At, "worker %d: '%s' answers nothing that was asked", event.Worker, event.Text)
		return
	}
	asked.returns++
	asked.returned = event
	if asked.returns > 1 {
		c.violation(event.At, "worker %d: acquire %s completed twice", event.Worker, event.Fields["id"])
	}
	status, wait := event.Fields["status"], asked.event.number("wait")
	allowed := status == "UNAVAILABLE" && (wait >= 0 || c.isTooFar(event, asked)) || status == "BUSY" && wait == 0 || status == "TIMEOUT" && wait > 0 ||
		status == "CANCELLED" && asked.event.number("cancel") >= 0 || status == "SERVER_ERROR" && c.record.Errors ||
		asked.event.number("limit") == asItIsSet && (status == "NOT_FOUND" || status == "LIMIT_DIFFERS" && asked.event.number("permits") > 1)
	if status != "OK" {
		if !allowed {
			c.violation(event.At, "worker %d: '%s' is no answer to '%s'", event.Worker, event.Text, asked.event.Text)
		}
		return
	}
	names, fences := asked.names(), strings.Split(event.Fields["fence"], ",")
	key := holdKey{event.Worker, event.number("hold")}
	if key.id <= 0 || c.holds[key] != nil || len(fences) != len(names) {
		c.violation(event.At, "worker %d: '%s' has no proper id, or not a fence for each name", event.Worker, event.Text)
		return
	}
	for i, name := range names {
		fence, _ := strconv.ParseInt(fences[i], 10, 64)
		c.holds[key] = append(c.holds[key], c.grantedHold(event, asked, name, fence))
	}
}

func (c *checker) grantedHold(event *Event, asked *call, name string, fence int64) *Hold {
	hold := &Hold{Worker: event.Worker, Owner: int(asked.event.number("owner")), ID: event.number("hold"), Fence: fence,
		Name: name, Whole: asked.event.Fields["name"], Group: asked.event.Fields["group"], Permits: 1, Limit: asked.event.number("limit"),
		LeaseMs: asked.event.number("lease"), DelayMs: asked.event.number("delay"), Call: asked.event.At, Return: event.At, Seen: event.At}
	if fence <= 0 {
		c.violation(event.At, "%v has no proper fence", hold)
	}
	if hold.Limit != 0 {
		hold.Permits = event.number("permits")
		wanted := asked.event.number("permits")
		if hold.Permits < 1 || wanted > 0 && hold.Permits != wanted {
			c.violation(event.At, "%v asked for %d permits", hold, wanted)
		}
	}
	return hold
}

func (c *checker) readSample(event *Event, hold *Hold) {
	remaining, lost := event.number("remaining"), event.number("state") == 3
	if lost && hold.SampledLost == 0 {
		hold.SampledLost = event.At
	}
	if hold.Lost != 0 && (remaining > 0 || !lost) {
		c.violation(event.At, "%v was vouched for after LOST", hold)
	}
	lease := hold.LeaseMs
	if lease == 0 {
		lease = c.longest
	}
	if remaining > lease {
		c.violation(event.At, "%v was vouched for for %d ms, longer than its lease", hold, remaining)
	}
	if remaining > 0 {
		hold.Seen = event.At
	}
	if until := event.At + remaining*millisecond; remaining > 0 && until > hold.Vouched {
		hold.Vouched = until
	}
}

func (c *checker) readNews(event *Event, hold *Hold) {
	switch {
	case hold.Lost != 0:
		c.violation(event.At, "%v: '%s' after LOST", hold, event.Text)
	case event.Fields["news"] == "LOST":
		hold.Lost = event.At
	}
}

func (c *checker) readDowngraded(event *Event, hold *Hold) {
	status, doubtful := event.Fields["status"], event.number("in_doubt") > 0
	if status != "OK" && status != "LOST" && status != "UNAVAILABLE" && !(status == "SERVER_ERROR" && c.record.Errors) {
		c.violation(event.At, "downgrade of %v answered %s", hold, status)
	}
	if hold.Lost != 0 && hold.Lost < hold.Shares && status != "LOST" {
		c.violation(event.At, "downgrade of %v, which was LOST, answered %s", hold, status)
	}
	if status == "OK" && !doubtful {
		hold.Shared = event.At
	}
}

// readLimits: whoever changes a limit is told that it is so.
func (c *checker) readLimits() {
	asked := map[[2]int64]*Event{}
	changes := map[[2]int64]*limitChange{}
	for i := range c.record.Events {
		event := &c.record.Events[i]
		key := [2]int64{int64(event.Worker), event.number("id")}
		switch status := event.Fields["status"]; {
		case event.is("call", "limit"):
			asked[key], changes[key] = event, &limitChange{event.At, forever, event.number("n")}
		case !event.is("return", "limit"):
		case asked[key] == nil:
			c.violation(event.At, "worker %d: '%s' answers nothing that was asked", event.Worker, event.Text)
		case status == "OK" && event.number("limit") == changes[key].limit:
			changes[key].to = event.At
		case status == "OK", status != "UNAVAILABLE" && !(status == "SERVER_ERROR" && c.record.Errors):
			c.violation(event.At, "worker %d: '%s' is no answer to '%s'", event.Worker, event.Text, asked[key].Text)
		}
	}
	for key, change := range changes {
		name := asked[key].Fields["name"]
		c.limits[name] = append(c.limits[name], *change)
	}
}

func (c *checker) readReleased(event *Event, hold *Hold) {
	status := event.Fields["status"]
	if hold.ReleaseReturn != 0 {
		if status != "UNKNOWN_HOLD" {
			c.violation(event.At, "%v was released twice and answered %s", hold, status)
		}
		return
	}
	hold.ReleaseReturn = event.At
	hold.ReleaseStatus = status
	if status != "OK" && status != "LOST" && status != "UNAVAILABLE" {
		c.violation(event.At, "release of %v answered %s", hold, status)
	}
	lost := hold.Lost != 0 && hold.Lost < hold.ReleaseCall || hold.SampledLost != 0
	if lost && status != "LOST" {
		c.violation(event.At, "release of %v, which was LOST, answered %s", hold, status)
	}
}

// ---- Checks

// checkAnswers: whatever was asked was answered once, and every loss was told: of what the server had forgotten by the release at the
// latest.
func (c *checker) checkAnswers() {
	for key, asked := range c.acquires {
		if asked.returns == 0 && c.record.Ended[int(key[0])] {
			c.violation(asked.event.At, "worker %d: acquire %d never completed", key[0], key[1])
		}
	}
	for key, holds := range c.holds {
		if hold := holds[0]; hold.ReleaseStatus == "LOST" && hold.Lost == 0 && !c.mayBeForgotten(holds) && c.record.Ended[key.worker] {
			c.violation(hold.ReleaseCall, "%v: its release answered LOST, but no LOST was told", hold)
		}
	}
}

func (c *checker) byName() map[string][]*Hold {
	names := map[string][]*Hold{}
	for _, parts := range c.holds {
		for _, hold := range parts {
			hold.end = c.endOf(hold)
			names[hold.Name] = append(names[hold.Name], hold)
		}
	}
	for _, holds := range names {
		sort.Slice(holds, func(i, j int) bool {
			if holds[i].Fence != holds[j].Fence {
				return holds[i].Fence < holds[j].Fence
			}
			return holds[i].Call < holds[j].Call
		})
		extendTenures(holds)
		for _, hold := range holds {
			hold.joins = hold.Group != "" && (joins(hold, holds) || c.joinsInDoubt(hold))
		}
	}
	return names
}

// endOf: the moment from which nobody counts on a hold any more.
func (c *checker) endOf(hold *Hold) int64 {
	lost := hold.Lost
	// Of several names, some of which the server has not lost, the next has those in the moment in which LOST is told.
	if lost != 0 && hold.Whole != hold.Name && len(c.record.lossesOf(hold.Whole)) > 0 {
		lost = hold.Seen
	}
	if c.isDelayed(hold) {
		begins := hold.Vouched
		if lost != 0 && lost < begins {
			begins = lost
		}
		return begins + hold.DelayMs*millisecond
	}
	end := hold.Call
	if hold.Vouched > end {
		end = hold.Vouched
	}
	for _, ended := range []int64{hold.ReleaseCall, lost, hold.SampledLost} {
		if ended != 0 && ended < end {
			end = ended
		}
	}
	return end
}

// isDelayed: a hold that was lost, or never released, keeps the others out for its lock-delay, as long as the server remembers it.
func (c *checker) isDelayed(hold *Hold) bool {
	lost := hold.Lost
	if lost == 0 || hold.SampledLost != 0 && hold.SampledLost < lost {
		lost = hold.SampledLost
	}
	released := hold.ReleaseCall != 0 && (lost == 0 || hold.ReleaseCall < lost)
	return hold.DelayMs > 0 && hold.Vouched > 0 && !released && len(c.record.lossesOf(hold.Name)) == 0
}

// sharesGroup: of the same group by its downgrade, if not from its grant on.
func (hold *Hold) sharesGroup(group string, until int64) bool {
	return hold.Group == group || hold.Shares != 0 && hold.Shares < until && group == readers
}

// joins: somebody else has been granted the name in the same tenure, and had not certainly left when this one asked.
func joins(hold *Hold, holds []*Hold) bool {
	for _, other := range holds {
		left := other.ReleaseStatus == "OK" && !other.Hurried && other.ReleaseReturn < hold.Call
		if other != hold && other.sharesGroup(hold.Group, hold.Return) && other.Fence == hold.Fence && other.Call < hold.Return && !left {
			return true
		}
	}
	return false
}

// joinsInDoubt: or the server may have granted it to somebody who never knew, did not want it any more, or learned of it too late and was
// granted it anew later.
func (c *checker) joinsInDoubt(hold *Hold) bool {
	for key, asked := range c.acquires {
		own := asked.returned != nil && int(key[0]) == hold.Worker && asked.returned.number("hold") == hold.ID
		same := asked.asksFor(hold.Name) && asked.event.Fields["group"] == hold.Group
		if own || !same || asked.event.At >= hold.Return {
			continue
		}
		until := forever
		if asked.returned != nil {
			until = asked.returned.At
			if status := asked.returned.Fields["status"]; status != "OK" && status != "BUSY" {
				until += c.longest*millisecond + lingers
			}
		}
		if hold.Call < until {
			return true
		}
	}
	return false
}

// extendTenures: what the same owner enters again, under the same fence, was still held when it asked.
func extendTenures(holds []*Hold) {
	for i, inner := range holds {
		for _, outer := range holds[:i] {
			ended := false
			for _, at := range []int64{outer.ReleaseCall, outer.Lost, outer.SampledLost} {
				ended = ended || at != 0 && at < inner.Call
			}
			if outer.Worker == inner.Worker && outer.Fence == inner.Fence && !ended && outer.end < inner.Call {
				outer.end = inner.Call
			}
		}
	}
}

// checkLosses: what the server has forgotten ends when it does so, as far as others are concerned; until the holder learns of it two
// may hold the lock, and the older tenure may go on handing over locally, under its own lower fences. But nothing renews it, and where
// nothing was forgotten nothing is LOST before its time.
func (c *checker) checkLosses(holds []*Hold) {
	for _, hold := range holds {
		for _, loss := range c.record.lossesOf(hold.Name) {
			if hold.Fence <= loss.Behind {
				c.applyLoss(hold, loss)
			}
		}
		if len(c.record.lossesOf(hold.Whole)) == 0 && hold.Lost != 0 && hold.Lost < hold.Vouched {
			c.violation(hold.Lost, "%v was LOST %d us before the time that it had been vouched for", hold, (hold.Vouched-hold.Lost)/1000)
		}
	}
}

// mayBeForgotten: the server has lost its data since it granted one of these, or what that one joined.
func (c *checker) mayBeForgotten(holds []*Hold) bool {
	for _, hold := range holds {
		for _, loss := range c.record.lossesOf(hold.Name) {
			if hold.Fence <= loss.Behind+localFences && loss.From <= hold.ReleaseReturn {
				return true
			}
		}
	}
	return false
}

func (c *checker) applyLoss(hold *Hold, loss Loss) {
	before := hold.Fence < loss.Before-localFences
	// Granted locally since, or in that very moment: nothing can be said of it.
	hold.outdated = hold.outdated || !before || hold.Call > loss.From
	if hold.end > loss.From {
		hold.end = loss.From
	}
	if hold.end < hold.Call {
		hold.end = hold.Call
	}
	if before && !loss.Kept && hold.Vouched > loss.To+c.longest*millisecond {
		c.violation(hold.Vouched, "%v was renewed after the server had lost it", hold)
	}
}

// longestLease is what a hold that the watchdog renews may be vouched for, at most: it may have taken over a claim with a longer lease.
func (c *checker) longestLease() int64 {
	longest := c.record.Watchdog
	for _, asked := range c.acquires {
		if lease := asked.event.number("lease"); lease > longest {
			longest = lease
		}
	}
	return longest
}

func (c *checker) checkExclusion(name string, holds []*Hold) {
	var current []*Hold
	for _, hold := range holds {
		if !hold.outdated {
			current = append(current, hold)
		}
	}
	hold, result := firstUnlinearizable(current, c.limits[name])
	if result == porcupine.Unknown {
		c.violation(0, "whether '%s' can have been granted as it was is not known: no order was found in %v", name, patience)
	}
	if hold == nil {
		return
	}
	c.violation(hold.Return, "'%s' cannot have been granted as it was: %v did not fit beside those who were vouched for, or its fence"+
		" was wrong%s", name, hold, rivals(current, hold))
}

// rivals lists the holds that stand beside a grant, for people.
func rivals(holds []*Hold, granted *Hold) string {
	text := ""
	for _, hold := range holds {
		beside := hold.Call <= granted.Return && hold.end >= granted.Return
		if hold != granted && (beside || hold.Fence >= granted.Fence && hold.Return < granted.Call) {
			text += fmt.Sprintf("; beside it: %v, granted %.6f s before, vouched for until %+.6f s", hold,
				float64(granted.Return-hold.Return)/1e9, float64(hold.end-granted.Return)/1e9)
		}
	}
	return text
}

// checkWrites: each resource took every write that it accepted exactly once, in the order of fences, and none that it refused; and it
// refused nobody who held the lock.
func (c *checker) checkWrites() {
	taken := map[string]string{} // by the write's id: where
	for where, writes := range c.record.Took {
		if len(writes) != c.record.Counts[where] {
			c.violation(0, "%s counted %d writes and took %d", where, c.record.Counts[where], len(writes))
		}
		var last int64
		for _, write := range writes {
			asked := c.writes[write.ID]
			if asked == nil || asked.Fields["to"]+" "+asked.Fields["name"] != where || asked.number("fence") != write.Fence {
				c.violation(0, "%s took write %s with fence %d, which nobody sent there", where, write.ID, write.Fence)
				continue
			}
			if write.Fence < last {
				c.violation(asked.At, "%s took write %s with fence %d after fence %d", where, write.ID, write.Fence, last)
			}
			if taken[write.ID] != "" {
				c.violation(asked.At, "%s took write %s twice", where, write.ID)
			}
			last, taken[write.ID] = write.Fence, where
		}
	}
	for id, outcome := range c.outcomes {
		result := outcome.Fields["outcome"]
		if result == "accepted" && taken[id] == "" || result == "refused" && taken[id] != "" {
			c.violation(outcome.At, "write %s was %s, but the resource says otherwise", id, result)
		}
		if result == "refused" && c.writes[id] != nil {
			c.checkRefused(c.writes[id], outcome)
		}
	}
}

// writerWasLost: its owner had the name alone, too, and lost that: who joined its tenure since has a newer fence.
func (c *checker) writerWasLost(hold *Hold, before int64) bool {
	for key, holds := range c.holds {
		for _, other := range holds {
			if key.worker == hold.Worker && other.Name == hold.Name && other.Owner == hold.Owner && other.Fence == hold.Fence && !hold.alone() &&
				other.alone() && other.Lost != 0 && other.Lost < before {
				return true
			}
		}
	}
	return false
}

func (c *checker) checkRefused(asked, outcome *Event) {
	for _, hold := range c.holds[holdKey{asked.Worker, asked.number("hold")}] {
		if hold.Name == asked.Fields["name"] && !hold.outdated && outcome.At < hold.end && !c.writerWasLost(hold, outcome.At) {
			c.violation(outcome.At, "write %s was refused although %v was vouched for", asked.Fields["id"], hold)
		}
	}
}
