package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/eideticker/eideticker/netsim/link"
)

type exactRTTJSON struct {
	Link string `json:"link"` // packet, stream
	askedNS
	Met     bool         `json:"met"`     // by all packets
	Packets int          `json:"packets"` // that were sent
	Lost    int          `json:"lost_packets"`
	Stalls  *exactStalls `json:"stalls"` // nil: nobody watched the machine
	Verdict string       `json:"verdict"`
}

// exactStalls is what the machine did while a row was measured, and what is left of the row without.
type exactStalls struct {
	Count     int   `json:"count"`
	LongestNS int64 `json:"longest_ns"`
	TotalNS   int64 `json:"total_ns"`
	Aside     int   `json:"set_aside_packets"`
	MedianNS  int64 `json:"median_ns"` // of the others, as the next; 0: there are none
	P99NS     int64 `json:"p99_ns"`
}

// lostAfter is how late a packet is at least that is taken for lost; it counts as that late.
const lostAfter = time.Second

// mostAside is how many of a row's packets may be set aside. Where the machine stalls more often the others show nothing.
const mostAside = 0.05

// Verdicts of a row.
const (
	exactKept     = "kept"
	exactButFor   = "kept but for stalls" // by all packets but those set aside, which are few
	exactNotShown = "not shown"           // by all others too, but those set aside are too many
	exactNot      = "not kept"
)

func (x *exact) rtt(asked time.Duration) (string, link.Conditions, func(linkKind, measuredLine) error) {
	var c link.Conditions
	c.SetRTT(asked)
	return "round trip of " + asked.String(), c, func(k linkKind, l measuredLine) error {
		watch, err := link.WatchStalls()
		if err != nil {
			x.unwatched(err)
		}
		trips, err := l.Pings(x.ctx, exactPings)
		var stalls link.Stalls
		if watch != nil {
			stalls = watch.Stop()
		}
		if err != nil {
			return err
		}
		x.result.RTT = append(x.result.RTT, judgeRTT(k.name, c, exactPings, trips, watch != nil, stalls))
		return nil
	}
}

// unwatched notes once why nobody watches the machine.
func (x *exact) unwatched(why error) {
	if note := fmt.Sprintf("whether this machine stood still was not seen: %v", why); !slices.Contains(x.result.Notes, note) {
		x.result.Notes = append(x.result.Notes, note)
	}
}

// judgeRTT judges the round trips of a line. Packets of those sent that have not come back are later than all others, and no stall accounts for that.
func judgeRTT(name string, c link.Conditions, sent int, trips []link.RoundTrip, watched bool, stalls link.Stalls) exactRTTJSON {
	asked := c.RTT()
	share := time.Duration(promisedShare * float64(asked))
	met := func(got link.Spread) bool {
		return (got.Median-asked).Abs() <= max(share, promisedRTT) && got.P99 <= asked+share+promisedLate
	}
	lost := slices.Repeat([]link.RoundTrip{{Took: asked + lostAfter}}, sent-len(trips))
	all := link.SpreadOf(slices.Concat(trips, lost))
	row := exactRTTJSON{Link: name, askedNS: askedNS{int64(asked), int64(all.Least), int64(all.Median), int64(all.P99), int64(all.Most)}, Met: met(all), Packets: sent, Lost: len(lost), Verdict: exactNot}
	if row.Met {
		row.Verdict = exactKept
	}
	if !watched {
		return row
	}
	others, aside := stalls.SetAside(trips, c, share+promisedLate)
	row.Stalls = &exactStalls{Count: len(stalls), LongestNS: int64(stalls.Longest()), TotalNS: int64(stalls.Total()), Aside: aside}
	others = append(others, lost...)
	few := float64(aside) <= mostAside*float64(sent)
	without := len(others) == 0
	if len(others) > 0 {
		rest := link.SpreadOf(others)
		row.Stalls.MedianNS, row.Stalls.P99NS = int64(rest.Median), int64(rest.P99)
		without = met(rest)
	}
	switch {
	case row.Met || !without:
	case few:
		row.Verdict = exactButFor
	default:
		row.Verdict = exactNotShown
	}
	return row
}

// printed is what a row tells of stalls, and its verdict.
func (l *exactRTTJSON) printed() []string {
	ms := milliseconds
	met := map[string]string{exactKept: "yes", exactNot: "no", exactNotShown: "not shown: the machine stalls too often"}[l.Verdict]
	if l.Verdict == exactButFor {
		met = fmt.Sprintf("but for %d of %d packets, during stalls", l.Stalls.Aside, l.Packets)
	}
	if l.Lost > 0 {
		met += fmt.Sprintf("; lost %d of %d packets", l.Lost, l.Packets)
	}
	if l.Stalls == nil {
		return []string{"–", "–", "–", "–", "–", met}
	}
	p99 := "–"
	if l.Stalls.Aside < l.Packets {
		p99 = ms(l.Stalls.P99NS)
	}
	return []string{strconv.Itoa(l.Stalls.Count), ms(l.Stalls.LongestNS), ms(l.Stalls.TotalNS), strconv.Itoa(l.Stalls.Aside), p99, met}
}

func milliseconds(ns int64) string {
	return fmt.Sprintf("%.2f ms", float64(ns)/float64(time.Millisecond))
}
