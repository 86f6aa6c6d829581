package observe

import (
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/harm"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// metaJS reports a load. It runs in plain and in instrumented loads of instrumented users.
//
//go:embed meta.js
var metaJS string

// metaPolicy adds the report to instrumented loads.
func metaPolicy() policy.Policy {
	return policy.Policy{About: policy.About{Name: "meta", Meaning: "Harm by other policies."}, Runtime: metaJS}
}

// metaPrelude is the report of plain loads.
func metaPrelude(collector string) string {
	return "{const base=" + strconv.Quote(collector) + ";" + strings.Join(strings.Fields(metaJS), " ") + "}"
}

// readLoad reads the claim of a page about its load.
func readLoad(r *http.Request) (l plan.Past, err error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxLoadBody))
	if err != nil {
		return l, err
	}
	if _, err := fmt.Sscanf(string(text), "%g %g %d", &l.LoadMS, &l.BlockedMS, &l.Errors); err != nil {
		return l, err
	}
	// false for NaN
	if !(l.LoadMS >= 0 && l.LoadMS < maxLoadTime && l.BlockedMS >= 0 && l.BlockedMS < maxLoadTime && l.Errors >= 0) {
		return l, fmt.Errorf("load %.64q is out of range", text)
	}
	return l, nil
}

// Limits of the reports of loads.
const (
	maxLoadBody = 64
	maxLoadTime = 1e7         // ms
	patience    = time.Minute // after which a load is taken for one without the event load
	maxWaiting  = 100_000     // loads without a report
)

// The sides of a comparison.
const (
	plain        = 0
	instrumented = 1
)

// meta judges plain and instrumented loads. Reports do not name their loads. So a report is that of
// the longest waiting load of its side. More reports than loads do not count.
type meta struct {
	waiting  [2][]time.Time // loads that should report
	reported [2]int
	look     func() harm.Found // judges all loads until now; nil: it is not time to
}

// begins notes a load that should report.
func (m *meta) begins(side int, now time.Time) {
	if len(m.waiting[side]) < maxWaiting {
		m.waiting[side] = append(m.waiting[side], now)
	}
}

// ends adds a reported load to a trial.
func (m *meta) ends(t *plan.Trial, side int, l plan.Past) {
	if len(m.waiting[side]) == 0 {
		return
	}
	m.waiting[side] = m.waiting[side][1:]
	m.reported[side]++
	m.add(t, side, l)
}

func (m *meta) add(t *plan.Trial, side int, l plan.Past) {
	l.Plain = side == plain
	if look := harm.Add(t, l); look != nil {
		m.look = look
	}
}

// expire adds loads that waited too long for their reports to a trial. Pages that break send none.
func (m *meta) expire(t *plan.Trial, now time.Time) {
	for side, of := range m.waiting {
		for ; len(of) > 0 && now.Sub(of[0]) >= patience; of = of[1:] {
			m.add(t, side, plan.Past{})
		}
		m.waiting[side] = of
	}
}
