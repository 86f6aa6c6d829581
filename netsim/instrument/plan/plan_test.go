package plan_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
)

const url = "http://a.test:80/a.js"

var hashes = [2]string{strings.Repeat("ab", 32), strings.Repeat("cd", 32)}

func newPlan(t testing.TB, adapt string, share float64) *plan.Plan {
	t.Helper()
	p, err := plan.New(adapt, share, 7)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loadOf returns a load of one program with functions at the offsets 0, 10, 20 and so on.
func loadOf(hash string, functions int, calls map[uint32]plan.Calls) plan.Load {
	s := plan.Served{URL: url, Hash: hash}
	for i := range functions {
		s.Starts = append(s.Starts, uint32(10*i))
	}
	return plan.Load{Programs: []plan.Served{s}, Calls: map[string]map[uint32]plan.Calls{hash: calls}}
}

func times(n int, ms float64) plan.Calls {
	c := plan.Calls{Count: int64(n), TimeMS: float64(n) * ms}
	for range n {
		c.Samples = append(c.Samples, ms)
	}
	return c
}

// TestSignTest: a point needs log2(20·m) slow calls, where m points are tested.
func TestSignTest(t *testing.T) {
	for _, c := range []struct {
		slow, fast int // points, and samples of each
		samples    int
		want       plan.Verdict
	}{
		{1, 0, 4, plan.Undecided}, {1, 0, 5, plan.Slow}, {1, 1, 5, plan.Undecided}, {1, 1, 6, plan.Slow},
		{2, 14, 8, plan.Undecided}, {2, 14, 9, plan.Slow}, {0, 1, 4, plan.Undecided}, {0, 1, 5, plan.Fast},
	} {
		calls := map[uint32]plan.Calls{}
		for i := range c.slow + c.fast {
			ms := 5.1
			if i >= c.slow {
				ms = 5
			}
			calls[uint32(10*i)] = times(c.samples, ms)
		}
		p := newPlan(t, plan.Loads, 0)
		p.Update(loadOf(hashes[0], 20, calls))
		for start, at := range p.Programs[hashes[0]].Points {
			if int(start) < 10*max(c.slow, 1) && at.Verdict != c.want {
				t.Errorf("%+v: point %d is %q", c, start, at.Verdict)
			}
		}
	}
}

// TestVerdictsChange: a slow function that becomes fast closes again. A function between both is
// fast after all samples.
func TestVerdictsChange(t *testing.T) {
	p := newPlan(t, plan.Loads, 0)
	at := func(calls plan.Calls) plan.Point {
		p.Update(loadOf(hashes[0], 1, map[uint32]plan.Calls{0: calls}))
		return p.Programs[hashes[0]].Points[0]
	}
	if got := at(times(6, 9)); got.Verdict != plan.Slow {
		t.Errorf("%+v", got)
	}
	if got := at(times(6, 1)); got.Verdict != plan.Slow || got.Samples != "111111000000" {
		t.Errorf("after as many fast calls: %+v", got)
	}
	if got := at(times(30, 1)); got.Verdict != plan.Fast || len(got.Samples) != plan.MostSamples || got.Calls != 42 {
		t.Errorf("after many fast calls: %+v", got)
	}
	p = newPlan(t, plan.Live, 0)
	for i := range 20 {
		got := at(times(1, float64(9*(i%2))))
		if want := map[bool]plan.Verdict{true: plan.Fast}[i == 19]; got.Verdict != want {
			t.Errorf("%d samples: %+v", i+1, got)
		}
	}
}

// TestGates: the forms of functions follow from the plan, which becomes stable after a load that
// decides nothing. Then other functions of its programs have no insertions.
func TestGates(t *testing.T) {
	p := newPlan(t, plan.Loads, 0)
	gates := func(want ...instrument.Gate) {
		t.Helper()
		c := p.Next()
		for i, w := range want {
			if got := c.Gate(hashes[0], uint32(10*i)); got != w {
				t.Errorf("gate of %d is %d, want %d", 10*i, got, w)
			}
		}
		if got := c.Gate(hashes[1], 0); got != instrument.Undecided {
			t.Errorf("gate of another program is %d", got)
		}
	}
	gates(instrument.Undecided, instrument.Undecided)
	calls := map[uint32]plan.Calls{0: times(9, 9), 10: times(9, 1)}
	if r := p.Update(loadOf(hashes[0], 50, calls)); r.Points != 50 || r.Active != 2 || r.Slow != 1 || p.Stable {
		t.Errorf("%+v, stable: %t", r, p.Stable)
	}
	gates(instrument.Slow, instrument.Fast, instrument.Undecided)
	p.Update(loadOf(hashes[0], 50, map[uint32]plan.Calls{0: times(9, 9), 20: times(1, 1)}))
	if p.Stable {
		t.Error("a plan with an undecided point is stable")
	}
	if p.Update(loadOf(hashes[0], 50, map[uint32]plan.Calls{0: times(9, 9)})); !p.Stable {
		t.Error("the plan is not stable")
	}
	gates(instrument.Slow, instrument.Unmeasured, instrument.Unmeasured)
}

// TestStale: points of a text that its address no longer has are dropped, also on another port.
// Points that no program has are counted.
func TestStale(t *testing.T) {
	p := newPlan(t, plan.Loads, 0)
	p.Update(loadOf(hashes[0], 3, map[uint32]plan.Calls{0: times(9, 9), 10: times(9, 9)}))
	l := loadOf(hashes[1], 2, map[uint32]plan.Calls{0: times(9, 9), 15: times(9, 9)})
	l.Calls[hashes[0]] = map[uint32]plan.Calls{0: times(1, 1)}
	l.Programs[0].URL = "http://a.test:90/a.js"
	if r := p.Update(l); p.Dropped != 2 || r.Unknown != 2 || r.Points != 2 || len(p.Programs) != 1 {
		t.Errorf("%d dropped, %+v, programs %v", p.Dropped, r, p.Programs)
	}
}

// TestShare: a load measures the wanted share of functions. Estimates from shares are unbiased.
// Rarely called functions are measured more often.
func TestShare(t *testing.T) {
	const functions, share = 400, 0.2
	p := newPlan(t, "", share)
	r := p.Update(loadOf(hashes[0], functions, nil))
	if r.Needed != 14 { // 0.8 to the 14th is below 0.05
		t.Errorf("%d loads are needed", r.Needed)
	}
	p = newPlan(t, "", share)
	r = plan.Report{}
	first := 0.0
	for n := range 120 {
		c, calls := p.Next(), map[uint32]plan.Calls{}
		for i := range functions {
			start := uint32(10 * i)
			if c.Active("calls", hashes[0], start) && c.Gate(hashes[0], start) == instrument.Measured {
				calls[start] = times(1+i%2*99, 2) // every second one is called 100 times
			}
		}
		if n == 0 {
			first = float64(len(calls)) / functions
		}
		before := r.Tested
		if r = p.Update(loadOf(hashes[0], functions, calls)); r.Tested < before {
			t.Errorf("load %d: %g of the functions are tested, and %g before", n, r.Tested, before)
		}
	}
	if math.Abs(first-share) > 0.07 || r.Tested != 1 || r.Needed == 0 {
		t.Errorf("the first load measures %g, %g are tested after all, %d needed", first, r.Tested, r.Needed)
	}
	sums, tested := [2]float64{}, [2]int{}
	for start, at := range p.Programs[hashes[0]].Points {
		sums[start/10%2] += at.WeightedCalls
		tested[start/10%2] += at.Tested
	}
	for i, want := range [2]float64{1, 100} {
		if got := sums[i] / 120 / (functions / 2); math.Abs(got/want-1) > 0.1 {
			t.Errorf("%g calls a load are estimated, want %g", got, want)
		}
	}
	if ratio := float64(tested[0]) / float64(tested[1]); ratio < 4 {
		t.Errorf("rare functions are tested %g times as often", ratio)
	}
}

// TestTested: points count the loads that measured them, though calls change their probabilities.
func TestTested(t *testing.T) {
	p := newPlan(t, "", 0.5)
	const functions = 20
	var tested [functions]int
	for load := range 40 {
		calls, choice := map[uint32]plan.Calls{}, p.Next()
		for i := range functions {
			if start := uint32(10 * i); choice.Active("", hashes[0], start) {
				calls[start] = plan.Calls{Count: int64(1 + load*load*load)}
				tested[i]++
			}
		}
		p.Update(loadOf(hashes[0], functions, calls))
	}
	for i, want := range tested {
		if got := p.Programs[hashes[0]].Points[uint32(10*i)].Tested; got != want {
			t.Errorf("point %d: tested in %d loads, want %d", i, got, want)
		}
	}
}

// TestPlain: one of ten loads stays plain, but not the first. The places differ.
func TestPlain(t *testing.T) {
	places := map[int]bool{}
	p := newPlan(t, "", 0)
	for ten := range 30 {
		found := 0
		for i := range 10 {
			if p.Count = 10*ten + i; p.Plain() {
				found++
				places[i] = true
			}
		}
		if found != 1 {
			t.Errorf("%d of ten loads stay plain", found)
		}
	}
	if places[0] || len(places) < 7 {
		t.Errorf("places %v", places)
	}
}

func TestRead(t *testing.T) {
	p := newPlan(t, plan.Live, 0.2)
	p.Update(loadOf(hashes[0], 3, map[uint32]plan.Calls{0: times(9, 9), 10: times(2, 1)}))
	p.Trial.Add(plan.Past{})
	p.Costs = []plan.Cost{{Policy: "calls", Records: 5}}
	p.Off = []plan.Off{{Policy: "loops", Loads: 30, Reason: "slow"}}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	good := text.String()
	again, err := plan.Read(strings.NewReader(good))
	if err != nil || fmt.Sprint(*again) != fmt.Sprint(*p) {
		t.Errorf("%+v, %v\nwant %+v", again, err, p)
	}
	for _, c := range []struct{ old, new, want string }{
		{"eideticker.plan", "eideticker.set", "schema is"},
		{`"version":2`, `"version":1`, "version is 1: must be 2"},
		{`"adapt":"live"`, `"adapt":"life"`, `adapt is "life"`},
		{`"share":0.2`, `"share":1.5`, "share is 1.5: must be 0.01 to 1"},
		{`"share":0.2`, `"share":-1`, "share is -1"},
		{`"plains":null`, `"plains":[1` + strings.Repeat(",1", 1000) + `]`, "1001 plain loads: at most 1000"},
		{`"count":1,"looks"`, `"count":0,"looks"`, "trial: its counts are out of range"},
		{`"looks":0`, `"looks":2`, "trial: its counts are out of range"},
		{`"blocked_ms":0`, `"blocked_ms":-1`, "trial: load 0 is out of range"},
		{`"load_ms":0`, `"load_ms":-1`, "load 0 is out of range"},
		{`"records":5`, `"records":-5`, `costs: policy "calls" is out of range`},
		{`"loads":30`, `"loads":-30`, `off: policy "loops" is out of range`},
		{hashes[0], "abc", "must be a SHA-256"},
		{`"since":0`, `"since":2`, "url or since is out of range"},
		{`"samples":"00"`, `"samples":"02"`, "point 10 is out of range"},
		{`"samples":"00"`, `"samples":"` + strings.Repeat("0", 21) + `"`, "point 10 is out of range"},
		{`"verdict":"slow"`, `"verdict":"slower"`, "point 0 is out of range"},
		{`"tested":`, `"tested":9`, "is out of range"},
		{`"weighted_calls":`, `"weighted_calls":-`, "is out of range"},
		{`{"schema"`, `[{"schema"`, "JSON"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		_, err := plan.Read(strings.NewReader(bad))
		if bad == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.new, err, c.want)
		}
	}
	if _, err := plan.New("", 0.001, 1); err == nil {
		t.Error("a share below 1 % is accepted")
	}
}

// FuzzRead: a plan that is read can be used, updated and written, and is valid then.
func FuzzRead(f *testing.F) {
	p := newPlan(f, plan.Live, 0.2)
	p.Update(loadOf(hashes[0], 3, map[uint32]plan.Calls{0: times(9, 9), 10: times(2, 1)}))
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes(), 3.0)
	f.Add([]byte(`{"schema":"eideticker.plan","version":2,"count":5,"programs":{}}`), 1e300)
	f.Fuzz(func(t *testing.T, raw []byte, ms float64) {
		p, err := plan.Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		c := p.Next()
		c.Gate(hashes[0], 10)
		calls := map[uint32]plan.Calls{0: {Count: 1, TimeMS: math.Abs(ms), Samples: []float64{ms}}, 11: times(1, 2)}
		if r := p.Update(loadOf(hashes[0], 3, calls)); r.Unknown != 1 {
			t.Errorf("%+v", r)
		}
		p.Plain()
		var text bytes.Buffer
		if err := p.Write(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Read(&text); err != nil {
			t.Errorf("%v: %s", err, text.String())
		}
	})
}
