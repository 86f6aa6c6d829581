package harm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
)

// trial adds loads until one shows harm. It returns the number of loads until then.
func trial(loads []plan.Past) (n int, f Found) {
	var t plan.Trial
	for i, l := range loads {
		if look := Add(&t, l); look != nil {
			if f = look(); f.Reason != "" {
				return i + 1, f
			}
		}
	}
	return len(loads), f
}

// TestFound: worse pages are harm, and no others are. Loads without the event load have no time.
func TestFound(t *testing.T) {
	loads := func(n, plainEvery int, change func(i int, l *plan.Past)) (all []plan.Past) {
		for i := range n {
			l := plan.Past{LoadMS: 100 + float64(i%7), Plain: i%plainEvery == 3%plainEvery}
			if !l.Plain {
				change(i, &l)
			}
			all = append(all, l)
		}
		return all
	}
	for name, c := range map[string]struct {
		loads []plan.Past
		after int
		want  string
	}{
		"no change":       {loads(300, 10, func(int, *plan.Past) {}), 300, ""},
		"a little slower": {loads(300, 10, func(_ int, l *plan.Past) { l.LoadMS *= 1.19 }), 300, ""},
		"faster":          {loads(300, 10, func(_ int, l *plan.Past) { l.LoadMS /= 3 }), 300, ""},
		"twice the time": {loads(30, 10, func(_ int, l *plan.Past) { l.LoadMS *= 2 }), 30,
			"load time is 206 ms instead of 103 ms (medians of 27 and 3 loads, p = 0.002)"},
		"29 loads": {loads(29, 10, func(_ int, l *plan.Past) { l.LoadMS *= 2 }), 29, ""},
		"errors": {loads(60, 10, func(_ int, l *plan.Past) { l.Errors = 1 }), 30,
			"errors in 27 of 27 loads instead of 0 of 3"},
		"long tasks": {loads(60, 10, func(_ int, l *plan.Past) { l.BlockedMS = 90 }), 30,
			"blocked time is 90 ms instead of 0 ms"},
		"short tasks": {loads(300, 10, func(_ int, l *plan.Past) { l.BlockedMS = 50 }), 300, ""},
		"never loads": {loads(60, 10, func(_ int, l *plan.Past) { l.LoadMS = 0 }), 30,
			"no load event in 27 of 27 loads"},
		"the slow ones never load": {loads(300, 2, func(i int, l *plan.Past) {
			if i%3 > 0 {
				l.LoadMS = 0
			}
		}), 30, "no load event in 10 of 15 loads instead of 0 of 15"},
		"no plain loads":   {loads(90, 1000, func(_ int, l *plan.Past) { l.LoadMS *= 2 }), 90, ""},
		"two plain loads":  {loads(90, 50, func(_ int, l *plan.Past) { l.LoadMS *= 2 }), 90, ""},
		"all plain loads":  {loads(90, 1, func(int, *plan.Past) {}), 90, ""},
		"nothing measured": {make([]plan.Past, 90), 90, ""},
	} {
		n, f := trial(c.loads)
		broken := strings.Contains(c.want, "errors") || strings.Contains(c.want, "no load")
		if n != c.after || (f.Reason == "") != (c.want == "") || !strings.Contains(f.Reason, c.want) ||
			f.Broken != broken {
			t.Errorf("%s: after %d loads %+v, want %q after %d", name, n, f, c.want, c.after)
		}
	}
}

// world draws loads. Half of them have long tasks, 10 % errors, and 5 % no event load.
type world struct {
	*rand.Rand
	noise  float64 // of the logarithms of load times
	blocks bool    // one load of ten is plain, as in sets; otherwise each is by a tenth chance
}

// sequence returns loads. Instrumented ones are slower by just the allowed amount.
func (w world) sequence(n int, change func(l *plan.Past)) (all []plan.Past) {
	place := 0
	for i := range n {
		if i%10 == 0 {
			place = 1 + w.IntN(9)
		}
		l := plan.Past{LoadMS: 300 * math.Exp(w.noise*w.NormFloat64()), Plain: w.IntN(10) == 0}
		if w.blocks {
			l.Plain = i%10 == place
		}
		if w.IntN(2) == 0 {
			l.BlockedMS = 80 * w.ExpFloat64()
		}
		if w.IntN(10) == 0 {
			l.Errors = 1
		}
		if w.IntN(20) == 0 {
			l.LoadMS = 0
		}
		if !l.Plain {
			l.LoadMS *= extraTime
			l.BlockedMS = extraTime*l.BlockedMS + extraBlocked
			change(&l)
		}
		all = append(all, l)
	}
	return all
}

// TestLevel: of 2,000 sequences of 300 loads without harm, judged after every load, about 1 % are
// switched off. Instrumented loads are slower by as much as is allowed, so all tests are at their
// limits.
func TestLevel(t *testing.T) {
	t.Parallel()
	const sequences = 2000
	alarms := 0
	for i := range sequences {
		w := world{rand.New(rand.NewPCG(7, uint64(i))), 0.4, i%2 == 0}
		if n, f := trial(w.sequence(300, func(*plan.Past) {})); f.Reason != "" {
			alarms++
			t.Logf("sequence %d after %d loads: %s", i, n, f.Reason)
		}
	}
	limit := stats.MaxByChance(sequences, level, 0.999)
	t.Logf("%d of %d sequences have an alarm; at most %d may be chance", alarms, sequences, limit)
	if alarms > limit {
		t.Errorf("%d alarms, more than %d", alarms, limit)
	}
}

func someErrors(w world, l *plan.Past) {
	if l.Errors = 0; w.IntN(10) < 3 {
		l.Errors = 1
	}
}

// TestPower: planted harm is found in 95 % of the sequences within so many loads.
func TestPower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		noise  float64
		within int
		change func(world, *plan.Past)
	}{
		{"load time doubled", 0.1, 60, func(_ world, l *plan.Past) { l.LoadMS *= 2 / extraTime }},
		{"load time doubled", 0.4, 337, func(_ world, l *plan.Past) { l.LoadMS *= 2 / extraTime }},
		{"errors in 30 % of loads", 0.1, 705, someErrors},
		{"errors in all loads", 0.4, 50, func(_ world, l *plan.Past) { l.Errors = 1 }},
		{"errors and load time", 0.4, 337, func(w world, l *plan.Past) {
			someErrors(w, l)
			l.LoadMS *= 2 / extraTime
		}},
		{"half of the loads never load", 0.4, 337, func(w world, l *plan.Past) {
			if w.IntN(2) == 0 {
				l.LoadMS = 0
			}
		}},
	} {
		var counts []int
		for i := range 200 {
			w := world{rand.New(rand.NewPCG(8, uint64(i))), c.noise, i%2 == 0}
			all := w.sequence(1000, func(l *plan.Past) { c.change(w, l) })
			if strings.HasPrefix(c.name, "errors") {
				for i := range all { // the page has none of its own
					if all[i].Plain {
						all[i].Errors = 0
					}
				}
			}
			n, _ := trial(all)
			counts = append(counts, n)
		}
		slices.Sort(counts)
		text := fmt.Sprintf("%s, times vary by %.0f %%: half are found within %d loads, and 95 %% within %d", c.name,
			100*c.noise, counts[100], counts[190])
		if t.Log(text); counts[190] > c.within {
			t.Errorf("%s, want %d", text, c.within)
		}
	}
}

// TestLooksShareTheLevel: the parts of all looks sum up to the level. Looks go on with new loads.
func TestLooksShareTheLevel(t *testing.T) {
	var trial plan.Trial
	var at []int
	sum := 0.0
	for i := range 3000 {
		if look := Add(&trial, plan.Past{LoadMS: 1, Plain: i%10 == 3}); look != nil {
			at = append(at, i+1)
			sum += 1 / float64(trial.Looks*(trial.Looks+1))
		}
	}
	if fmt.Sprint(at[:8]) != "[30 45 67 100 150 225 337 505]" || at[8]-at[7] != 200 || sum >= 1 ||
		len(trial.Loads) != 400 {
		t.Errorf("looks at %v, sum %g, %d loads are kept", at, sum, len(trial.Loads))
	}
	for before, want := range []string{"p = 0.002)", "p = 0.0059)", ""} { // 1 of 4,060, times 8, 24, 48
		trial := plan.Trial{Looks: before}
		var f Found
		for i := range firstLook {
			if look := Add(&trial, plan.Past{LoadMS: 1, Plain: i%10 == 0, Errors: i % 10}); look != nil {
				f = look()
			}
		}
		if !strings.HasSuffix(f.Reason, want) || (f.Reason == "") != (want == "") {
			t.Errorf("look %d: %s, want %s", before+1, f.Reason, want)
		}
	}
}

// TestSwitchOff: slow pages lose the policy with the most records, broken ones that with the most
// places. Each begins a new trial.
func TestSwitchOff(t *testing.T) {
	for _, c := range []struct {
		broken bool
		want   string
	}{{false, "calls loops errors"}, {true, "loops calls errors"}} {
		p := analyzetest.Must(plan.New("", 0, 1))(t)
		p.Costs = []plan.Cost{{Policy: "errors"}, {Policy: "calls", Records: 50, Places: 3},
			{Policy: "loops", Places: 4}}
		var names []string
		for i := 1; len(p.On()) > 0; i++ {
			p.Trial = plan.Trial{Count: 35, Looks: 1}
			o := SwitchOff(p, Found{"slow", c.broken, 30})
			if names = append(names, o.Policy); o.Loads != 30*i || o.Reason != "slow" ||
				p.Trial.Count+p.Trial.Looks != 0 {
				t.Errorf("%+v, %+v", o, p.Trial)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("broken %t: %s, want %s", c.broken, got, c.want)
		}
	}
}
