package trace

import (
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
)

// TestBuildGivesTheCalls: without cost and with an exact clock, all times are exact.
func TestBuildGivesTheCalls(t *testing.T) {
	threw, open, resumed := 0, 0, 0
	for seed := range uint64(200) {
		p := newProgram(seed, 1, [2]int64{}).play()
		tr := Build(p.batches(), 0)
		r := tr.Realms[0]
		if len(tr.Problems) > 1 || len(r.Calls) != len(p.calls) {
			t.Fatalf("seed %d: %d calls, want %d; %v", seed, len(r.Calls), len(p.calls), tr.Problems)
		}
		for i, want := range p.calls {
			got := r.Calls[i]
			if got.spans > 1 {
				resumed++
			}
			got.begun, got.closed, got.spans = 0, 0, 0
			if got != want.Call {
				t.Fatalf("seed %d, call %d:\ngot  %+v\nwant %+v", seed, i, got, want.Call)
			}
			if got.Threw {
				threw++
			}
			if got.Open {
				open++
			}
		}
		if got := r.Offset; got.Earliest > timeline.Time(p.offset) || got.Latest < timeline.Time(p.offset) ||
			got.Width() > 2*2e6 {
			t.Errorf("seed %d: offset %v, want %d", seed, got, p.offset)
		}
	}
	if threw < 100 || open < 100 || resumed < 100 {
		t.Errorf("the programs have %d exceptions, %d open and %d resumed calls", threw, open, resumed)
	}
}

// TestOrderOfBatchesDoesNotMatter: arrival in any order, with duplicates, gives the same trace.
func TestOrderOfBatchesDoesNotMatter(t *testing.T) {
	p := newProgram(1, 100_000, [2]int64{100, 200}).play()
	first := Build(p.batches(), 7)
	for range 5 {
		all := p.batches()
		got := Build(all, 7)
		if !reflect.DeepEqual(got.Totals(), first.Totals()) || !reflect.DeepEqual(got.Tasks(), first.Tasks()) {
			t.Error("the results differ")
		}
	}
}

// inside counts how often a truth is within bounds.
type inside struct{ hits, all int }

func (i *inside) add(t *testing.T, truth int64, s Span) {
	t.Helper()
	if s.Low > s.Value || s.Value > s.High || s.Low < 0 {
		t.Fatalf("span %+v", s)
	}
	if i.all++; s.Low <= truth && truth <= s.High {
		i.hits++
	}
}

func (i *inside) check(t *testing.T, what string, least int) {
	t.Helper()
	if i.all < least || float64(i.hits) < 0.95*float64(i.all) {
		t.Errorf("%s: %d of %d truths are within the bounds", what, i.hits, i.all)
	}
}

// TestTruthIsWithinTheBounds: 95 % of the true times are within their bounds. Clocks are coarse,
// records cost time, and natives catch exceptions.
func TestTruthIsWithinTheBounds(t *testing.T) {
	for name, make := range map[string]func(seed uint64) *program{
		"exact clock":           func(seed uint64) *program { return newProgram(seed, 1, [2]int64{}) },
		"coarse clock":          func(seed uint64) *program { return newProgram(seed, 100_000, [2]int64{}) },
		"very coarse clock":     func(seed uint64) *program { return newProgram(seed, 1_000_000, [2]int64{}) },
		"cost before the stamp": func(seed uint64) *program { return newProgram(seed, 5_000, [2]int64{9_000, 0}) },
		"cost after the stamp":  func(seed uint64) *program { return newProgram(seed, 5_000, [2]int64{0, 9_000}) },
		"coarse clock and costs": func(seed uint64) *program {
			return newProgram(seed, 100_000, [2]int64{3_000,
				5_000})
		},
		"swallowed exceptions": func(seed uint64) *program {
			p := newProgram(seed, 5_000, [2]int64{})
			p.swallow = true
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			var self, total, mean, least, most, during, unexplained inside
			for seed := range uint64(60) {
				p := make(seed).play()
				tr := Build(p.batches(), 0)
				totals, sums := tr.Totals(), p.functions()
				if len(totals) != len(sums) {
					t.Fatalf("%d functions, want %d", len(totals), len(sums))
				}
				for _, of := range totals {
					self.add(t, sums[of.Function].Self, of.Self)
					total.add(t, p.total(of.Function), of.Total)
					shortest, longest, sum := int64(never), int64(0), int64(0)
					for _, c := range p.calls {
						if c.Function == of.Function {
							shortest, longest, sum = min(shortest, c.Total), max(longest, c.Total), sum+c.Total
						}
					}
					mean.add(t, sum/of.Calls, of.Mean)
					least.add(t, shortest, of.Min)
					most.add(t, longest, of.Max)
					for _, x := range [][3]int64{{of.Min.Low, of.Mean.Low, of.Max.Low},
						{of.Min.Value, of.Mean.Value, of.Max.Value}, {of.Min.High, of.Mean.High, of.Max.High}} {
						if x[0] > x[1] || x[1] > x[2] {
							t.Fatalf("min, mean, max are out of order: %+v", of)
						}
					}
				}
				for range 10 {
					from := p.random.Int64N(p.now)
					to := from + 1 + p.random.Int64N(20e6)
					p.checkDuring(t, tr, from, to, &during, &unexplained)
				}
			}
			self.check(t, "self", 300)
			total.check(t, "total", 300)
			mean.check(t, "mean", 300)
			least.check(t, "min", 300)
			most.check(t, "max", 300)
			during.check(t, "during", 1000)
			unexplained.check(t, "unexplained", 500)
		})
	}
}

// total returns the time in which at least one call of a function was on the stack.
func (p *program) total(function uint32) int64 { return p.onStack[function] }

// checkDuring compares the shares of a span with the course of the program.
func (p *program) checkDuring(t *testing.T, tr *Trace, from, to int64, during, unexplained *inside) {
	t.Helper()
	true := map[uint32]int64{}
	w := window{from, to}
	for _, s := range p.course {
		if s.cost {
			continue
		}
		true[s.function] += w.overlap(s.from, s.to)
	}
	true[0] += w.overlap(p.now, never) + w.overlap(-never, 1e6)
	all := tr.During(timeline.Time(from+p.offset), timeline.Time(to+p.offset))
	if len(all) == 0 { // the realm does not exist yet
		return
	}
	if len(all) != 1 || all[0].Lost.High != 0 {
		t.Fatalf("%+v", all)
	}
	unexplained.add(t, true[0], all[0].Unexplained)
	for _, share := range all[0].Functions {
		during.add(t, true[share.Function], share.Self)
		delete(true, share.Function)
	}
	delete(true, 0)
	for _, missing := range true {
		during.add(t, missing, Span{})
	}
}
