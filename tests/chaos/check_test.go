package main

import (
	"strconv"
	"strings"
	"testing"
)

// told reads a history made by hand, a line an event: "MILLISECONDS WORKER ACTOR VERB NOUN KEY=VALUE...". Other lines: "loses AT UNTIL
// [kept] [of NAMES]" in milliseconds, with fences in the same measure, "took WHERE NAME FENCE ID", "counted WHERE NAME N". All workers ended by themselves but
// those of "killed WORKER".
func told(t *testing.T, history string) *Record {
	t.Helper()
	record := &Record{Ended: map[int]bool{}, Watchdog: 1000, Counts: map[string]int{}, Took: map[string][]Took{}}
	number := func(word string) int64 {
		value, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	killed := map[int]bool{}
	for _, line := range strings.Split(history, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "loses":
			kinds := strings.Join(words[3:], " ")
			_, names, found := strings.Cut(kinds, "of ")
			if !found {
				names = allNames
			}
			record.Losses = append(record.Losses, Loss{number(words[1]) * millisecond, number(words[2]) * millisecond, number(words[1]) * 1000,
				number(words[2]) * 1000, strings.HasPrefix(kinds, "kept"), names})
		case "took":
			record.took(words[1]+" "+words[2], words[3], words[4])
		case "counted":
			record.Counts[words[1]+" "+words[2]] = int(number(words[3]))
		case "killed":
			killed[int(number(words[1]))] = true
		default:
			worker := int(number(words[1]))
			event, err := parseEvent(worker, words[0]+" "+strings.Join(words[2:], " "))
			if err != nil {
				t.Fatal(err)
			}
			event.At *= millisecond
			record.Events = append(record.Events, event)
			record.Ended[worker] = true
		}
	}
	for worker := range killed {
		delete(record.Ended, worker)
	}
	return record
}

// Worker 1 holds 'a' under fence 100000 from 10 on, vouched for until 1010, and worker 2 asks at 20.
const held = `
	5 1 1 call acquire id=1 name=a owner=1 wait=-1 cancel=-1
	10 1 1 return acquire id=1 status=OK hold=1 fence=100000
	10 1 1 sample hold id=1 remaining=1000 state=1
	20 2 1 call acquire id=1 name=a owner=1 wait=-1 cancel=-1
`

// Worker 1 holds 'a' and 'b' at once from 10 on, under fences of their own, vouched for until 1010, and worker 2 asks for 'b' at 20.
const heldTwo = `
	5 1 1 call acquire id=1 name=a,b owner=1 wait=-1 cancel=-1
	10 1 1 return acquire id=1 status=OK hold=1 fence=100000,200000
	10 1 1 sample hold id=1 remaining=1000 state=1
	20 2 1 call acquire id=1 name=b owner=1 wait=-1 cancel=-1
`

// Worker 1 reads 'a' under fence 100000 from 10 on, vouched for until 1010; worker 2 wants to read it at 20, worker 3 to write it at 21.
const reading = `
	5 1 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
	10 1 1 return acquire id=1 status=OK hold=1 fence=100000
	10 1 1 sample hold id=1 remaining=1000 state=1
	20 2 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
	21 3 1 call acquire id=1 name=a group= owner=0 wait=-1 cancel=-1
`

// Worker 1 has two of three permits of 's' from 10 on, vouched for until 1010; workers 2 and 3 want one and two.
const permitted = `
	5 1 1 call acquire id=1 name=s group= permits=2 limit=3 owner=0 wait=-1 cancel=-1
	10 1 1 return acquire id=1 status=OK hold=1 fence=100000 permits=2
	10 1 1 sample hold id=1 remaining=1000 state=1
	20 2 1 call acquire id=1 name=s group= permits=1 limit=3 owner=0 wait=-1 cancel=-1
	21 3 1 call acquire id=1 name=s group= permits=2 limit=3 owner=0 wait=-1 cancel=-1
`

// Worker 1 sets the latch 'l' to 2, which is generation 100, and worker 2 awaits it from 20 on.
const set = `
	5 1 1 call set id=1 name=l n=2
	10 1 1 return set id=1 status=OK generation=100 left=2
	20 2 1 call await id=1 name=l wait=-1
`

// Counts it down to 0, from 30 to 40 and from 50 to 60.
const opened = `
	30 1 1 call down id=2 name=l n=1
	40 1 1 return down id=2 status=OK generation=100 left=1
	50 1 1 call down id=3 name=l n=1
	60 1 1 return down id=3 status=OK generation=100 left=0
`

// It opens, and worker 3 sets it again: generation 101.
const again = set + opened + `
	61 2 1 return await id=1 status=OK generation=100
	70 3 1 call set id=1 name=l n=1
	71 3 1 return set id=1 status=OK generation=101 left=1
`

// Worker 1 holds 'a' as above, and downgrades from 40 on.
const downgrading = held + `
	40 1 1 call downgrade id=1
	45 3 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
`

// As held and reading, with a lock-delay of 500 ms.
var (
	delayed        = strings.ReplaceAll(held, "cancel=-1", "delay=500 cancel=-1")
	delayedReading = strings.ReplaceAll(reading, "cancel=-1", "delay=500 cancel=-1")
)

// Worker 1 sets the limit of 's' to 3 and takes two permits at 10, vouched for until 1010; worker 2 wants two.
const limited = `
	1 1 1 call limit id=9 name=s n=3
	3 1 1 return limit id=9 status=OK limit=3
	5 1 1 call acquire id=1 name=s group= permits=2 limit=-1 owner=0 wait=-1 cancel=-1
	10 1 1 return acquire id=1 status=OK hold=1 fence=100000 permits=2
	10 1 1 sample hold id=1 remaining=1000 state=1
	20 2 1 call acquire id=1 name=s group= permits=2 limit=-1 owner=0 wait=-1 cancel=-1
`

// While a server is away, each change of the limit is in doubt.
var doubted = func() string {
	text := ""
	for id := 100; id < 400; id++ {
		change := " 3 1 %s limit id=" + strconv.Itoa(id)
		text += "25" + strings.Replace(change, "%s", "call", 1) + " name=s n=" + strconv.Itoa(1+id%3) + "\n" +
			"26" + strings.Replace(change, "%s", "return", 1) + " status=UNAVAILABLE in_doubt=900\n"
	}
	return text
}()

// Worker 1 sets the latch 'l' to 2 for 500 ms, and worker 2 awaits it from 20 on.
var living = strings.Replace(set, "n=2", "n=2 ttl=500", 1)

var allowed = map[string]string{
	"two names at once, and one of them after": heldTwo + `
			50 1 1 call release id=1
			51 2 1 return acquire id=1 status=OK hold=1 fence=200001
			52 1 1 return release id=1 status=OK
			60 2 1 call release id=1
			61 2 1 return release id=1 status=OK`,
	"a write to one of two names": heldTwo + `
			30 1 1 call write id=w to=redis name=b hold=1 fence=200000
			31 1 1 return write id=w outcome=accepted
			took redis b 200000 w
			counted redis b 1
			50 1 1 call release id=1
			51 2 1 return acquire id=1 status=OK hold=1 fence=200001
			52 1 1 return release id=1 status=OK`,
	"one after the other": held + `
			50 1 1 call release id=1
			51 2 1 return acquire id=1 status=OK hold=1 fence=100001
			52 1 1 return release id=1 status=OK
			60 2 1 call release id=1
			61 2 1 return release id=1 status=OK`,
	"the same owner again, under the same fence": held + `
			30 1 1 call acquire id=2 name=a owner=1 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			40 1 1 call release id=2
			41 1 1 return release id=2 status=OK
			50 1 1 call release id=1
			51 2 1 return acquire id=1 status=OK hold=1 fence=100001
			52 1 1 return release id=1 status=OK`,
	"entered again after the last news, which shows that it was still held": held + `
			1500 1 1 call acquire id=2 name=a owner=1 wait=0 cancel=-1
			1501 1 1 return acquire id=2 status=OK hold=2 fence=100000
			1502 1 1 call release id=2
			1503 1 1 return release id=2 status=OK
			1504 1 1 call release id=1
			1505 1 1 return release id=1 status=OK
			1506 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"a holder that was killed, and its lease": held + `
			killed 1
			1010 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"a holder that was stopped and learns that it lost the lock": held + `
			1010 2 1 return acquire id=1 status=OK hold=1 fence=100001
			2000 1 0 told hold id=1 news=LOST
			2001 1 1 sample hold id=1 remaining=0 state=3
			2002 1 1 call release id=1
			2003 1 1 return release id=1 status=LOST`,
	"a release in doubt, which took place": held + `
			50 1 1 call release id=1
			52 2 1 return acquire id=1 status=OK hold=1 fence=100001
			1050 1 1 return release id=1 status=UNAVAILABLE in_doubt=900`,
	"a release in doubt, which did not": held + `
			50 1 1 call release id=1
			1050 1 1 return release id=1 status=UNAVAILABLE in_doubt=900
			1060 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"an acquire in doubt, which may have been granted": `
			1 3 1 call acquire id=1 name=a owner=0 wait=500 cancel=-1
			2 3 1 return acquire id=1 status=UNAVAILABLE in_doubt=900` + held + `
			1060 1 1 call release id=1
			1061 1 1 return release id=1 status=OK
			1062 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"an acquire of a worker that was killed": held + `
			killed 2`,
	"a grant that was lost before its holder looked": held + `
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK
			60 3 1 call acquire id=1 name=a owner=0 wait=-1 cancel=-1
			900 3 1 return acquire id=1 status=OK hold=1 fence=100002
			2000 2 1 return acquire id=1 status=OK hold=1 fence=100001
			2001 2 0 told hold id=1 news=LOST
			2001 2 1 sample hold id=1 remaining=0 state=3`,
	"renewed after a failover to a replica that had it": held + `
			loses 200 201 kept
			900 1 1 sample hold id=1 remaining=900 state=1
			1900 2 1 return acquire id=1 status=OK hold=1 fence=201500`,
	"LOST that only the release told, after the data were lost": held + `
			loses 200 201
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			211 1 1 call release id=1
			212 1 1 return release id=1 status=LOST`,
	"readers beside an owner whose writer was lost": held + `
			30 1 1 call acquire id=2 name=a group=r owner=1 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			1000 1 1 sample hold id=2 remaining=900 state=1
			1010 1 0 told hold id=1 news=LOST
			1011 3 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			1012 3 1 return acquire id=1 status=OK hold=1 fence=100001
			1013 3 1 sample hold id=1 remaining=1000 state=1
			1014 1 1 sample hold id=2 remaining=900 state=1
			1014 1 1 call write id=1.1.1 to=redis name=a hold=2 fence=100000
			1014 1 1 return write id=1.1.1 outcome=refused
			1015 1 1 call release id=2
			1016 1 1 return release id=2 status=OK
			1017 3 1 call release id=1
			1018 3 1 return release id=1 status=OK
			1019 2 1 return acquire id=1 status=OK hold=1 fence=100002`,
	"two holders after the data were lost": held + `
			loses 200 201
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			202 2 1 sample hold id=1 remaining=1000 state=1
			203 1 1 sample hold id=1 remaining=800 state=1
			300 1 0 told hold id=1 news=LOST
			301 1 1 sample hold id=1 remaining=0 state=3`,
	"LOST of two names, after the data of one were lost": heldTwo + `
			killed 2
			loses 200 201 of b
			300 1 0 told hold id=1 news=LOST
			301 1 1 sample hold id=1 remaining=0 state=3`,
	"entered again in a tenure that is LOST later, and after the data were lost": "loses 1 2\n" + held + `
			killed 2
			30 1 1 call acquire id=2 name=a owner=1 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			1010 1 0 told hold id=1 news=LOST
			1010 1 0 told hold id=2 news=LOST`,
	"the next has one of two names, just before LOST is told as data of the other were lost": heldTwo + `
			loses 200 201 of a
			300 2 1 return acquire id=1 status=OK hold=1 fence=200001
			300 2 1 sample hold id=1 remaining=1000 state=1
			301 1 0 told hold id=1 news=LOST
			302 1 1 sample hold id=1 remaining=0 state=3
			310 2 1 call release id=1
			311 2 1 return release id=1 status=OK`,
	"two holders after the data of a node of a cluster were lost": held + `
			loses 200 201 of ca
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			202 2 1 sample hold id=1 remaining=1000 state=1
			203 1 1 sample hold id=1 remaining=800 state=1
			300 1 0 told hold id=1 news=LOST
			301 1 1 sample hold id=1 remaining=0 state=3`,
	"entered again in a tenure that the server has lost, which its release tells": held + `
			killed 2
			loses 200 201
			210 1 1 call acquire id=2 name=a owner=1 wait=0 cancel=-1
			211 1 1 return acquire id=2 status=OK hold=2 fence=100000
			212 1 1 call release id=1
			213 1 1 return release id=1 status=OK
			214 1 1 call release id=2
			215 1 1 return release id=2 status=LOST`,
	"local handoffs of a tenure that the server has lost": held + `
			loses 200 201
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			203 1 1 call release id=1
			204 1 2 call acquire id=2 name=a owner=0 wait=-1 cancel=-1
			205 1 2 return acquire id=2 status=OK hold=2 fence=100001
			205 1 1 return release id=1 status=OK
			205 1 2 sample hold id=2 remaining=800 state=1
			300 1 0 told hold id=2 news=LOST
			301 1 2 sample hold id=2 remaining=0 state=3`,
	"entered again while the server was being killed": held + `
			killed 2
			loses 200 220
			210 1 1 call acquire id=2 name=a owner=1 wait=0 cancel=-1
			211 1 1 return acquire id=2 status=OK hold=2 fence=100000
			212 1 1 call release id=2
			213 1 1 return release id=2 status=OK
			300 1 0 told hold id=1 news=LOST
			301 1 1 sample hold id=1 remaining=0 state=3`,
	"a stale write that was refused": held + `
			1500 2 1 return acquire id=1 status=OK hold=1 fence=100001
			1501 2 1 call write id=2.1.1 to=redis name=a hold=1 fence=100001
			1502 2 1 return write id=2.1.1 outcome=accepted
			1503 1 1 call write id=1.1.1 to=redis name=a hold=1 fence=100000
			1504 1 1 return write id=1.1.1 outcome=refused
			took redis a 100001 2.1.1
			counted redis a 1`,
	"a write of a worker that was killed, which was taken": held + `
			killed 1
			killed 2
			30 1 1 call write id=1.1.1 to=sqlite name=a hold=1 fence=100000
			took sqlite a 100000 1.1.1
			counted sqlite a 1`,
	"two readers at once, and then a writer": reading + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100000
			31 2 1 sample hold id=1 remaining=1000 state=1
			40 1 1 call release id=1
			41 1 1 return release id=1 status=OK
			50 2 1 call release id=1
			51 3 1 return acquire id=1 status=OK hold=1 fence=100001
			52 2 1 return release id=1 status=OK`,
	"a reader who joins one whose release is still on its way": reading + `
			15 1 1 call release id=1 nowait=1
			16 1 1 return release id=1 status=OK
			killed 3
			17 4 1 call acquire id=1 name=a group=r owner=0 wait=0 cancel=-1
			18 4 1 return acquire id=1 status=OK hold=1 fence=100000
			19 4 1 call release id=1
			20 4 1 return release id=1 status=OK
			40 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"a reader who joins when the other has not been vouched for of late": reading + `
			killed 3
			1500 2 1 return acquire id=1 status=OK hold=1 fence=100000
			1501 1 1 sample hold id=1 remaining=500 state=1`,
	"a reader who joins one that never knew": `
			1 4 1 call acquire id=1 name=a group=r owner=0 wait=500 cancel=-1
			6 4 1 return acquire id=1 status=UNAVAILABLE in_doubt=900` + reading + `
			15 1 1 call release id=1
			16 1 1 return release id=1 status=OK
			killed 3
			40 2 1 return acquire id=1 status=OK hold=1 fence=100000`,
	"a reader who joins one that learned of its grant too late, and was granted it anew": `
			1 4 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1` + reading + `
			15 1 1 call release id=1
			16 1 1 return release id=1 status=OK
			killed 3
			40 2 1 return acquire id=1 status=OK hold=1 fence=100000
			41 2 1 call release id=1
			42 2 1 return release id=1 status=OK
			500 4 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"readers one after the other, under a fence each": reading + `
			15 1 1 call release id=1
			16 1 1 return release id=1 status=OK
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001
			40 2 1 call release id=1
			41 2 1 return release id=1 status=OK
			42 3 1 return acquire id=1 status=OK hold=1 fence=100002`,
	"a writer who reads, and reads on with others": reading + `
			killed 2
			11 1 1 call release id=1
			12 1 1 return release id=1 status=OK
			13 5 1 call acquire id=1 name=a group= owner=1 wait=-1 cancel=-1
			14 5 1 return acquire id=1 status=OK hold=1 fence=100001
			14 5 1 sample hold id=1 remaining=1000 state=1
			15 5 1 call acquire id=2 name=a group=r owner=1 wait=0 cancel=-1
			16 5 1 return acquire id=2 status=OK hold=2 fence=100001
			16 5 1 sample hold id=2 remaining=1000 state=1
			30 4 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			31 5 1 call release id=1
			32 5 1 return release id=1 status=OK
			33 4 1 return acquire id=1 status=OK hold=1 fence=100001
			33 4 1 sample hold id=1 remaining=1000 state=1
			34 5 1 call release id=2
			35 5 1 return release id=2 status=OK
			36 4 1 call release id=1
			37 4 1 return release id=1 status=OK
			38 3 1 return acquire id=1 status=OK hold=1 fence=100002`,
	"the same identity at once": strings.ReplaceAll(reading, "group=r", "group=ix") + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100000
			1010 3 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"permits up to the limit, and more when some have come back": permitted + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=1
			31 2 1 sample hold id=1 remaining=1000 state=1
			40 1 1 call release id=1
			41 3 1 return acquire id=1 status=OK hold=1 fence=100002 permits=2
			42 1 1 return release id=1 status=OK`,
	"all permits that are free": permitted + `
			killed 2
			killed 3
			30 4 1 call acquire id=1 name=s group= permits=0 limit=3 owner=0 wait=0 cancel=-1
			31 4 1 return acquire id=1 status=OK hold=1 fence=100001 permits=1`,
	"permits of those whose leases ended": permitted + `
			killed 2
			1010 3 1 return acquire id=1 status=OK hold=1 fence=100002 permits=2`,
	"permits that the server has forgotten": permitted + `
			killed 2
			loses 200 201
			202 3 1 return acquire id=1 status=OK hold=1 fence=201500 permits=2
			203 3 1 sample hold id=1 remaining=1000 state=1
			300 1 0 told hold id=1 news=LOST`,
	"a latch that is passed when it has opened, and set again": set + opened + `
			61 2 1 return await id=1 status=OK generation=100
			70 2 1 call set id=2 name=l n=1
			71 2 1 return set id=2 status=OK generation=101 left=1
			72 3 1 call set id=1 name=l n=5
			73 3 1 return set id=1 status=IN_USE generation=101 left=1
			74 3 1 call await id=2 name=l wait=0
			75 3 1 return await id=2 status=BUSY`,
	"a latch that was set again before who passes learns of it": set + opened + `
			70 3 1 call set id=1 name=l n=1
			71 3 1 return set id=1 status=OK generation=101 left=1
			80 2 1 return await id=1 status=OK generation=100`,
	"a given generation, which has opened, though the next one has begun": again + `
			80 3 1 call await id=2 name=l wait=0 given=100
			81 3 1 return await id=2 status=OK generation=100
			82 3 1 call await id=3 name=l wait=0 given=101
			83 3 1 return await id=3 status=BUSY`,
	"a given generation that the server does not remember": again + `
			80 3 1 call await id=2 name=l wait=-1 given=100
			81 3 1 return await id=2 status=NOT_FOUND`,
	"a count-down in doubt, which counted": set + `
			killed 2
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=UNAVAILABLE in_doubt=900
			50 1 1 call down id=3 name=l n=1
			60 1 1 return down id=3 status=OK generation=100 left=0`,
	"a count-down in doubt, which did not": set + `
			killed 2
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=UNAVAILABLE in_doubt=900
			50 1 1 call down id=3 name=l n=1
			60 1 1 return down id=3 status=OK generation=100 left=1`,
	"count-downs of workers that were killed, one of which counted late": set + `
			killed 3
			killed 4
			30 3 1 call down id=2 name=l n=1
			31 4 1 call down id=2 name=l n=1
			40 2 1 call count id=2 name=l n=0
			41 2 1 return count id=2 status=OK generation=100 left=2
			50 1 1 call down id=3 name=l n=1
			60 1 1 return down id=3 status=OK generation=100 left=0
			61 2 1 return await id=1 status=OK generation=100`,
	"a count-down that was repeated, and tells what others have done since": set + `
			30 1 1 call down id=2 name=l n=1
			50 3 1 call down id=1 name=l n=1
			60 3 1 return down id=1 status=OK generation=100 left=0
			61 1 1 return down id=2 status=OK generation=100 left=0
			62 2 1 return await id=1 status=OK generation=100`,
	"a latch that the server has forgotten": set + `
			loses 200 201
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=OK generation=100 left=1
			250 2 1 return await id=1 status=NOT_FOUND
			260 1 1 call down id=3 name=l n=1
			261 1 1 return down id=3 status=NOT_FOUND`,
	"a reader beside one who has stopped writing": downgrading + `
			50 1 1 return downgrade id=1 status=OK
			60 3 1 return acquire id=1 status=OK hold=1 fence=100000
			60 3 1 sample hold id=1 remaining=1000 state=1
			70 1 1 call release id=1
			71 1 1 return release id=1 status=OK
			80 3 1 call release id=1
			81 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"a reader who is let in before the downgrade is answered": downgrading + `
			killed 2
			50 3 1 return acquire id=1 status=OK hold=1 fence=100000
			60 1 1 return downgrade id=1 status=OK`,
	"a downgrade in doubt, which took place": downgrading + `
			killed 2
			50 1 1 return downgrade id=1 status=UNAVAILABLE in_doubt=900
			60 3 1 return acquire id=1 status=OK hold=1 fence=100000`,
	"a downgrade in doubt, which did not": downgrading + `
			50 1 1 return downgrade id=1 status=UNAVAILABLE in_doubt=900
			51 1 1 call release id=1
			52 1 1 return release id=1 status=OK
			60 2 1 return acquire id=1 status=OK hold=1 fence=100001
			61 2 1 call release id=1
			62 3 1 return acquire id=1 status=OK hold=1 fence=100002`,
	"a reader who joins one that downgraded and has not been vouched for of late": downgrading + `
			killed 2
			50 1 1 return downgrade id=1 status=OK
			1500 3 1 return acquire id=1 status=OK hold=1 fence=100000
			1501 1 1 sample hold id=1 remaining=500 state=1`,
	"a downgrade after the last news, which shows that it was still held": held + `
			killed 2
			1100 1 1 call downgrade id=1
			1110 1 1 return downgrade id=1 status=OK
			1120 3 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			1130 3 1 return acquire id=1 status=OK hold=1 fence=100000`,
	"a downgrade that comes too late": downgrading + `
			killed 3
			1010 2 1 return acquire id=1 status=OK hold=1 fence=100001
			1011 1 0 told hold id=1 news=LOST
			1012 1 1 return downgrade id=1 status=LOST`,
	"a release, which ends the lock-delay": delayed + `
			50 1 1 call release id=1
			51 2 1 return acquire id=1 status=OK hold=1 fence=100001
			52 1 1 return release id=1 status=OK`,
	"a holder that was killed, and its lock-delay": delayed + `
			killed 1
			1510 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"a release before the loss was known, which ends the lock-delay": delayed + `
			1011 1 1 call release id=1
			1012 1 1 return release id=1 status=OK
			1013 2 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"a lock-delay that the server has forgotten": delayed + `
			killed 1
			loses 200 201
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500`,
	"a reader within the lock-delay of another": delayedReading + `
			killed 1
			1200 2 1 return acquire id=1 status=OK hold=1 fence=100000
			1200 2 1 sample hold id=1 remaining=100 state=1
			1201 2 1 call release id=1
			1202 2 1 return release id=1 status=OK
			1510 3 1 return acquire id=1 status=OK hold=1 fence=100001`,
	"permits of a limit that was raised": limited + `
			30 3 1 call limit id=1 name=s n=4
			40 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2
			50 3 1 return limit id=1 status=OK limit=4`,
	"permits of a limit that was raised in doubt": limited + `
			30 3 1 call limit id=1 name=s n=4
			35 3 1 return limit id=1 status=UNAVAILABLE in_doubt=900
			40 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2`,
	"a limit that was set by two at once, one of them twice": limited + `
			30 3 1 call limit id=1 name=s n=4
			40 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2
			41 2 1 call release id=1
			42 2 1 return release id=1 status=OK
			43 2 1 call limit id=2 name=s n=2
			44 2 1 return limit id=2 status=OK limit=2
			45 2 1 call acquire id=3 name=s group= permits=2 limit=-1 owner=0 wait=-1 cancel=-1
			46 2 1 return acquire id=3 status=OK hold=3 fence=100002 permits=2
			50 3 1 return limit id=1 status=OK limit=4`,
	"permits above a limit that was lowered are kept": limited + `
			30 3 1 call limit id=1 name=s n=1
			35 3 1 return limit id=1 status=OK limit=1
			40 2 1 return acquire id=1 status=LIMIT_DIFFERS`,
	"a latch whose time has ended": living + opened[:strings.Index(opened, "50")] + `
			505 2 1 return await id=1 status=NOT_FOUND
			510 1 1 call count id=3 name=l n=0
			511 1 1 return count id=3 status=NOT_FOUND
			512 1 1 call set id=4 name=l n=1
			513 1 1 return set id=4 status=OK generation=101 left=1
			2000 1 1 call count id=5 name=l n=0
			2001 1 1 return count id=5 status=OK generation=101 left=1`,
	"an open latch that was set again, for ever": living + opened + `
			61 2 1 return await id=1 status=OK generation=100
			70 1 1 call set id=4 name=l n=1 ttl=0
			71 1 1 return set id=4 status=OK generation=101 left=1
			2000 1 1 call count id=5 name=l n=0
			2001 1 1 return count id=5 status=OK generation=101 left=1`,
	"a set that is answered after its latch has ended": `
			5 1 1 call set id=1 name=l n=2 ttl=500
			300 2 1 call count id=1 name=l n=0
			301 2 1 return count id=1 status=OK generation=100 left=2
			600 1 1 return set id=1 status=NOT_FOUND`,
	"a count-down that is answered after its latch has ended": living + `
			30 1 1 call down id=2 name=l n=2
			40 2 1 return await id=1 status=OK generation=100
			600 1 1 return down id=2 status=NOT_FOUND`,
	"a set in doubt, whose latch has ended": `
			5 1 1 call set id=1 name=l n=2 ttl=500
			10 1 1 return set id=1 status=UNAVAILABLE in_doubt=900
			300 2 1 call count id=1 name=l n=0
			301 2 1 return count id=1 status=OK generation=100 left=2
			600 2 1 call count id=2 name=l n=0
			601 2 1 return count id=2 status=NOT_FOUND`,
	"a set in doubt, which took place": `
			5 1 1 call set id=1 name=l n=2
			10 1 1 return set id=1 status=UNAVAILABLE in_doubt=900
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=OK generation=100 left=1`,
}

func TestCheckerAcceptsWhatThePromisesAllow(t *testing.T) {
	for what, history := range allowed {
		for _, violation := range Check(told(t, history)) {
			t.Errorf("%s: %s", what, violation.What)
		}
	}
}

const granted, latched, two = "cannot have been granted", "cannot have been as it was told", `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001`

var forbidden = map[string]struct{ history, violation string }{
	"one of two names that somebody else has": {heldTwo + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=200001
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK`, granted},
	"the fence of another of its names": {heldTwo + `
			50 1 1 call release id=1
			51 2 1 return acquire id=1 status=OK hold=1 fence=100001
			52 1 1 return release id=1 status=OK`, granted},
	"two names and one fence": {`
			5 1 1 call acquire id=1 name=a,b owner=1 wait=-1 cancel=-1
			10 1 1 return acquire id=1 status=OK hold=1 fence=100000`, "not a fence for each name"},
	"a write that is refused to who holds two names": {heldTwo + `
			30 1 1 call write id=w to=redis name=b hold=1 fence=200000
			31 1 1 return write id=w outcome=refused
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK`, "was refused although"},
	"two holders": {held + two + `
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK`, granted},
	"two holders, one of them killed":             {held + "killed 1" + two, granted},
	"two holders, before a release in doubt":      {held + two + "\n50 1 1 call release id=1\n1050 1 1 return release id=1 status=UNAVAILABLE", granted},
	"two holders, the first told that it lost it": {held + two + "\n1010 1 0 told hold id=1 news=LOST", granted},
	"two owners of one client": {held + `
			30 1 2 call acquire id=2 name=a owner=2 wait=0 cancel=-1
			31 1 2 return acquire id=2 status=OK hold=2 fence=100001
			60 1 1 call release id=1
			61 1 1 return release id=1 status=OK`, granted},
	"re-entry by another owner": {held + `
			30 1 2 call acquire id=2 name=a owner=2 wait=0 cancel=-1
			31 1 2 return acquire id=2 status=OK hold=2 fence=100000
			60 1 1 call release id=1
			61 1 1 return release id=1 status=OK`, granted},
	"re-entry of another client": {held + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100000
			60 1 1 call release id=1
			61 1 1 return release id=1 status=OK`, granted},
	"re-entry by nobody's owner": {`
			5 1 1 call acquire id=1 name=a owner=0 wait=-1 cancel=-1
			10 1 1 return acquire id=1 status=OK hold=1 fence=100000
			10 1 1 sample hold id=1 remaining=1000 state=1
			30 1 1 call acquire id=2 name=a owner=0 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			60 1 1 call release id=1
			61 1 1 return release id=1 status=OK`, granted},
	"granted when the inner hold was released": {held + `
			30 1 1 call acquire id=2 name=a owner=1 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			40 1 1 call release id=2
			41 1 1 return release id=2 status=OK
			42 2 1 return acquire id=1 status=OK hold=1 fence=100001
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK`, granted},
	"a fence given twice": {held + `
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK
			52 2 1 return acquire id=1 status=OK hold=1 fence=100000`, granted},
	"a fence that fell": {held + `
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK
			52 2 1 return acquire id=1 status=OK hold=1 fence=99999`, granted},
	"a fence that fell after the data were lost": {held + `
			loses 200 201
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			210 2 1 call release id=1
			211 2 1 return release id=1 status=OK
			220 3 1 call acquire id=1 name=a owner=0 wait=-1 cancel=-1
			221 3 1 return acquire id=1 status=OK hold=1 fence=201400`, granted},
	"two holders, both since the data were lost": {held + `
			loses 200 201
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			202 2 1 sample hold id=1 remaining=1000 state=1
			220 3 1 call acquire id=1 name=a owner=0 wait=-1 cancel=-1
			221 3 1 return acquire id=1 status=OK hold=1 fence=220500
			300 1 0 told hold id=1 news=LOST`, granted},
	"a newer fence of readers beside an owner whose writer released": {held + `
			30 1 1 call acquire id=2 name=a group=r owner=1 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			1000 1 1 sample hold id=2 remaining=900 state=1
			1009 1 1 call release id=1
			1010 1 1 return release id=1 status=OK
			1011 3 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			1012 3 1 return acquire id=1 status=OK hold=1 fence=100001
			1013 3 1 sample hold id=1 remaining=1000 state=1
			1014 1 1 sample hold id=2 remaining=900 state=1
			1015 1 1 call release id=2
			1016 1 1 return release id=2 status=OK
			1017 3 1 call release id=1
			1018 3 1 return release id=1 status=OK
			1019 2 1 return acquire id=1 status=OK hold=1 fence=100002`, granted},
	"two holders, before the data were lost": {held + two + "\nloses 200 201", granted},
	"the next has one of two names, of which none is LOST": {heldTwo + `
			loses 200 201 of c
			300 2 1 return acquire id=1 status=OK hold=1 fence=200001
			301 1 1 sample hold id=1 remaining=700 state=1`, granted},
	"two holders after the data of other names were lost": {held + `
			loses 200 201 of bc
			202 2 1 return acquire id=1 status=OK hold=1 fence=201500
			202 2 1 sample hold id=1 remaining=1000 state=1
			203 1 1 sample hold id=1 remaining=800 state=1
			300 1 0 told hold id=1 news=LOST
			301 1 1 sample hold id=1 remaining=0 state=3`, granted},
	"LOST before its time, when data of other names were lost": {held + `
			loses 200 201 of bc
			500 1 0 told hold id=1 news=LOST`, "before the time that it had been vouched for"},
	"renewed after the data were lost": {held + `
			loses 200 201
			900 1 1 sample hold id=1 remaining=900 state=1`, "renewed after the server had lost it"},
	"LOST before its time": {held + "500 1 0 told hold id=1 news=LOST", "before the time that it had been vouched for"},
	"LOST told twice":      {held + "1010 1 0 told hold id=1 news=LOST\n1011 1 0 told hold id=1 news=LOST", "after LOST"},
	"recovered after LOST": {held + "1010 1 0 told hold id=1 news=LOST\n1011 1 0 told hold id=1 news=RECOVERED", "after LOST"},
	"held after LOST": {held + "1010 1 0 told hold id=1 news=LOST\n1011 1 1 sample hold id=1 remaining=900 state=1",
		"vouched for after LOST"},
	"released as if it had not been LOST": {held + `
			1010 1 0 told hold id=1 news=LOST
			1011 1 1 call release id=1
			1012 1 1 return release id=1 status=OK`, "which was LOST, answered OK"},
	"LOST that only the release told, of what was granted after the loss": {held + `
			1011 1 1 call release id=1
			1012 1 1 return release id=1 status=OK
			loses 1013 1014
			1010 2 1 return acquire id=1 status=OK hold=1 fence=1015000
			1020 2 1 call release id=1
			1021 2 1 return release id=1 status=LOST`, "no LOST was told"},
	"LOST that only the release told": {held + `
			1011 1 1 call release id=1
			1012 1 1 return release id=1 status=LOST`, "no LOST was told"},
	"released twice": {held + `
			50 1 1 call release id=1
			51 1 1 return release id=1 status=OK
			52 1 1 call release id=1
			53 1 1 return release id=1 status=OK`, "released twice"},
	"a lease longer than was asked for": {`
			5 1 1 call acquire id=1 name=a owner=1 lease=300 wait=-1 cancel=-1
			10 1 1 return acquire id=1 status=OK hold=1 fence=100000
			10 1 1 sample hold id=1 remaining=301 state=1`, "longer than its lease"},
	"completed twice": {held + "\n11 1 1 return acquire id=1 status=TIMEOUT", "completed twice"},
	"never completed": {held, "never completed"},
	"an answer to nothing": {held + "\n30 2 1 return acquire id=7 status=OK hold=7 fence=100007",
		"answers nothing that was asked"},
	"BUSY to one who waits":        {held + "\n30 2 1 return acquire id=1 status=BUSY", "is no answer to"},
	"CANCELLED that nobody asked":  {held + "\n30 2 1 return acquire id=1 status=CANCELLED", "is no answer to"},
	"news of a hold never granted": {held + "\n30 1 0 told hold id=2 news=LOST", "never granted"},
	"a write taken twice": {held + `
			30 1 1 call write id=1.1.1 to=redis name=a hold=1 fence=100000
			31 1 1 return write id=1.1.1 outcome=accepted
			took redis a 100000 1.1.1
			took redis a 100000 1.1.1
			counted redis a 2`, "twice"},
	"a write accepted and not taken": {held + `
			30 1 1 call write id=1.1.1 to=redis name=a hold=1 fence=100000
			31 1 1 return write id=1.1.1 outcome=accepted`, "says otherwise"},
	"a write refused and taken": {held + `
			1030 1 1 call write id=1.1.1 to=redis name=a hold=1 fence=100000
			1031 1 1 return write id=1.1.1 outcome=refused
			took redis a 100000 1.1.1
			counted redis a 1`, "says otherwise"},
	"a write counted twice": {held + `
			30 1 1 call write id=1.1.1 to=redis name=a hold=1 fence=100000
			31 1 1 return write id=1.1.1 outcome=accepted
			took redis a 100000 1.1.1
			counted redis a 2`, "counted 2 writes and took 1"},
	"a write that nobody sent": {held + `
			took redis a 100000 1.1.1
			counted redis a 1`, "nobody sent"},
	"a stale write taken": {held + `
			1500 2 1 return acquire id=1 status=OK hold=1 fence=100001
			1501 2 1 call write id=2.1.1 to=sqlite name=a hold=1 fence=100001
			1502 2 1 return write id=2.1.1 outcome=accepted
			1503 1 1 call write id=1.1.1 to=sqlite name=a hold=1 fence=100000
			1504 1 1 return write id=1.1.1 outcome=accepted
			took sqlite a 100001 2.1.1
			took sqlite a 100000 1.1.1
			counted sqlite a 2`, "after fence 100001"},
	"a writer beside a reader": {reading + `
			30 3 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"a reader beside a writer": {held + `
			30 3 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			31 3 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"a reader under a writer's fence": {held + `
			30 3 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			31 3 1 return acquire id=1 status=OK hold=1 fence=100000`, granted},
	"another owner who reads what is written": {held + `
			30 1 2 call acquire id=2 name=a group=r owner=2 wait=-1 cancel=-1
			31 1 2 return acquire id=2 status=OK hold=2 fence=100000`, granted},
	"a writer beside one who has only stopped writing": {held + `
			30 1 1 call acquire id=2 name=a group=r owner=1 wait=0 cancel=-1
			31 1 1 return acquire id=2 status=OK hold=2 fence=100000
			31 1 1 sample hold id=2 remaining=1000 state=1
			40 1 1 call release id=1
			41 1 1 return release id=1 status=OK
			42 2 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"readers at once under two fences": {reading + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"readers one after the other under one fence": {reading + `
			15 1 1 call release id=1
			16 1 1 return release id=1 status=OK
			30 2 1 return acquire id=1 status=OK hold=1 fence=100000`, granted},
	"a reader under the fence of readers before the last writer": {reading + `
			30 1 1 call release id=1
			31 3 1 return acquire id=1 status=OK hold=1 fence=100001
			40 3 1 call release id=1
			41 3 1 return release id=1 status=OK
			42 2 1 return acquire id=1 status=OK hold=1 fence=100000
			42 2 1 sample hold id=1 remaining=1000 state=1`, granted},
	"two identities at once": {strings.Replace(strings.Replace(reading, "group=r", "group=ix", 1), "group=r", "group=iy", 1) + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100000`, granted},
	"one beside those of an identity": {strings.ReplaceAll(reading, "group=r", "group=ix") + `
			30 3 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"more permits than the limit": {permitted + `
			30 3 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2`, granted},
	"more permits than the limit, each of few": {permitted + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=1
			30 2 1 sample hold id=1 remaining=1000 state=1
			40 2 2 call acquire id=2 name=s group= permits=1 limit=3 owner=0 wait=-1 cancel=-1
			41 2 2 return acquire id=2 status=OK hold=2 fence=100002 permits=1`, granted},
	"permits under one fence": {permitted + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100000 permits=1`, granted},
	"fewer permits than were asked for": {permitted + `
			1010 3 1 return acquire id=1 status=OK hold=1 fence=100001 permits=1`, "asked for 2 permits"},
	"a latch that is passed before it has opened": {set + `
			30 2 1 return await id=1 status=OK generation=100`, latched},
	"a latch that is passed while one is left": {set + strings.Split(opened, "50")[0] + `
			50 2 1 return await id=1 status=OK generation=100`, latched},
	"a latch that is passed because the one before it had opened": {set + opened + `
			61 2 1 return await id=1 status=OK generation=100
			70 3 1 call set id=1 name=l n=1
			71 3 1 return set id=1 status=OK generation=101 left=1
			72 2 1 call await id=2 name=l wait=-1
			73 2 1 return await id=2 status=OK generation=100`, latched},
	"a given generation that is passed before it has opened": {again + `
			80 3 1 call await id=2 name=l wait=0 given=101
			81 3 1 return await id=2 status=OK generation=101`, latched},
	"a given generation that is passed as another": {again + `
			80 3 1 call await id=2 name=l wait=0 given=101
			81 3 1 return await id=2 status=OK generation=100`, "passed another generation"},
	"a given generation that has opened, and others wait for": {again + `
			80 3 1 call await id=2 name=l wait=0 given=100
			81 3 1 return await id=2 status=BUSY`, latched},
	"a given generation that is missing while it runs": {again + `
			80 3 1 call await id=2 name=l wait=0 given=101
			81 3 1 return await id=2 status=NOT_FOUND`, latched},
	"a latch that is never passed":             {set + opened, "never completed"},
	"a latch that is missing and was not lost": {set + "\n30 2 1 return await id=1 status=NOT_FOUND", latched},
	"an open latch that is not passed by a try": {set + opened + `
			70 3 1 call await id=1 name=l wait=0
			71 3 1 return await id=1 status=BUSY`, latched},
	"a count-down that counts twice": {set + `
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=OK generation=100 left=0`, latched},
	"a count-down in doubt that counts twice": {strings.Replace(strings.Replace(set, "n=2", "n=9", 1), "left=2", "left=9", 1) + `
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=UNAVAILABLE in_doubt=900
			50 1 1 call down id=3 name=l n=1
			60 1 1 return down id=3 status=OK generation=100 left=6`, latched},
	"a count-down that does not count": {set + `
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=OK generation=100 left=1
			50 3 1 call down id=1 name=l n=1
			60 3 1 return down id=1 status=OK generation=100 left=1`, latched},
	"a count-down that failed for certain and counted": {set + `
			30 1 1 call down id=2 name=l n=1
			40 1 1 return down id=2 status=UNAVAILABLE in_doubt=0
			50 1 1 call count id=3 name=l n=0
			60 1 1 return count id=3 status=OK generation=100 left=1`, latched},
	"a running latch that is set again": {set + `
			30 3 1 call set id=1 name=l n=5
			40 3 1 return set id=1 status=OK generation=101 left=5`, latched},
	"a latch that is set again under the same generation": {set + opened + `
			70 3 1 call set id=1 name=l n=1
			71 3 1 return set id=1 status=OK generation=100 left=1`, latched},
	"an open latch that is in use": {set + opened + `
			70 3 1 call set id=1 name=l n=1
			71 3 1 return set id=1 status=IN_USE generation=100 left=0`, "is no answer to"},
	"a latch passed twice": {set + opened + `
			70 2 1 return await id=1 status=OK generation=100
			71 2 1 return await id=1 status=OK generation=100`, "completed twice"},
	"a latch that is missing to who sets it": {`
			5 1 1 call set id=1 name=l n=2
			10 1 1 return set id=1 status=NOT_FOUND`, "is no answer to"},
	"a reader beside one who has not stopped writing": {downgrading + `
			35 4 1 call acquire id=1 name=a group=r owner=0 wait=-1 cancel=-1
			39 4 1 return acquire id=1 status=OK hold=1 fence=100000
			50 1 1 return downgrade id=1 status=OK`, granted},
	"a writer beside one who has downgraded": {downgrading + `
			50 1 1 return downgrade id=1 status=OK
			60 2 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"a reader under another fence than who has downgraded": {downgrading + `
			50 1 1 return downgrade id=1 status=OK
			60 3 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"an identity beside one who has downgraded": {strings.Replace(downgrading, "group=r", "group=ix", 1) + `
			50 1 1 return downgrade id=1 status=OK
			60 3 1 return acquire id=1 status=OK hold=1 fence=100000`, granted},
	"a writer after a downgrade, beside the reader": {downgrading + `
			50 1 1 return downgrade id=1 status=OK
			60 3 1 return acquire id=1 status=OK hold=1 fence=100000
			60 3 1 sample hold id=1 remaining=1000 state=1
			70 1 1 call release id=1
			71 1 1 return release id=1 status=OK
			80 2 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"a downgrade of what was LOST": {downgrading + `
			39 1 0 told hold id=1 news=LOST
			50 1 1 return downgrade id=1 status=OK`, "which was LOST, answered OK"},
	"a downgrade that is taken for misuse": {downgrading + `
			50 1 1 return downgrade id=1 status=WOULD_DEADLOCK`, "answered WOULD_DEADLOCK"},
	"a grant within the lock-delay of a holder that was killed": {delayed + `
			killed 1
			1490 2 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"a grant within the lock-delay of a holder that lost it": {delayed + `
			1010 1 0 told hold id=1 news=LOST
			1011 1 1 call release id=1
			1012 1 1 return release id=1 status=LOST
			1490 2 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"a writer within the lock-delay of a reader": {delayedReading + `
			killed 1
			1490 3 1 return acquire id=1 status=OK hold=1 fence=100001`, granted},
	"more permits than a limit that was not raised": {limited + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2`, granted},
	"more permits than a limit that was raised later": {limited + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2
			40 3 1 call limit id=1 name=s n=4
			50 3 1 return limit id=1 status=OK limit=4`, granted},
	"more permits than the limit, beside hundreds of lower ones in doubt": {limited + doubted + `
			30 2 1 return acquire id=1 status=OK hold=1 fence=100001 permits=2`, granted},
	"permits of a limit that was lowered": {limited + `
			21 1 1 call release id=1
			22 1 1 return release id=1 status=OK
			30 3 1 call limit id=1 name=s n=1
			40 3 1 return limit id=1 status=OK limit=1
			50 2 2 call acquire id=2 name=s group= permits=2 limit=-1 owner=0 wait=0 cancel=-1
			51 2 2 return acquire id=2 status=OK hold=1 fence=100001 permits=2`, granted},
	"permits where no limit was set":   {strings.Replace(limited, "name=s n=3", "name=t n=3", 1), granted},
	"a limit that is not what was set": {strings.Replace(limited, "status=OK limit=3", "status=OK limit=2", 1), "is no answer to"},
	"LIMIT_DIFFERS to one who wants the least": {limited + `
			30 3 1 call acquire id=1 name=s group= permits=1 limit=-1 owner=0 wait=0 cancel=-1
			31 3 1 return acquire id=1 status=LIMIT_DIFFERS`, "is no answer to"},
	"a latch that ends before its time": {living + `
			490 2 1 return await id=1 status=NOT_FOUND`, latched},
	"a latch that stands beyond its time": {living + `
			700 1 1 call count id=3 name=l n=0
			701 1 1 return count id=3 status=OK generation=100 left=2`, latched},
	"a latch for ever that ends": {living + opened + `
			61 2 1 return await id=1 status=OK generation=100
			70 1 1 call set id=4 name=l n=1 ttl=0
			71 1 1 return set id=4 status=OK generation=101 left=1
			700 1 1 call count id=5 name=l n=0
			701 1 1 return count id=5 status=NOT_FOUND`, latched},
	"a latch that is passed because its time has ended": {living + `
			505 2 1 return await id=1 status=OK generation=100`, latched},
	"a holder's write refused": {held + `
			30 1 1 call write id=1.1.1 to=sqlite name=a hold=1 fence=100000
			31 1 1 return write id=1.1.1 outcome=refused`, "was refused although"},
}

func TestCheckerRejectsWhatThePromisesForbid(t *testing.T) {
	for what, wrong := range forbidden {
		found := false
		for _, violation := range Check(told(t, wrong.history)) {
			found = found || strings.Contains(violation.What, wrong.violation)
		}
		if !found {
			t.Errorf("%s: not noticed: %v", what, Check(told(t, wrong.history)))
		}
	}
}
