package trend_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/deploy/store/trend/trendtest"
)

func open(t testing.TB) (*trend.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trend.db")
	return reopen(t, path), path
}

func reopen(t testing.TB, path string) *trend.DB {
	t.Helper()
	d, err := trend.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func point(seq int64, set string, values ...float64) []trend.Measured {
	m := trend.Measured{Key: trend.SeriesKey{Schedule: "awfy", Test: "scene", Measure: "fps", Value: "framerate",
		Unit: "frames/s", Better: "higher", Version: 1, Device: "local", Product: "firefox", Feed: "nightly",
		Role: trend.Subject}, Threshold: 0.05, Point: trend.Point{Seq: seq, Build: "b", Set: set, WallNS: seq}}
	for i, v := range values {
		m.Point.Values = append(m.Point.Values, trend.Value{Run: set + "~subject~run-" + string(rune('1'+i)),
			Block: i + 1, Value: v})
	}
	return []trend.Measured{m}
}

func page(t testing.TB, d *trend.DB, p api.SeriesParams) api.SeriesData {
	t.Helper()
	data, err := d.Get(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTiles: in whatever order points are added, each level's tiles cover all of them in order.
// Level k has at most a 4^k-th of the points.
func TestTiles(t *testing.T) {
	for name, order := range map[string]func([]int64){
		"appended":     func([]int64) {},
		"newest first": func(s []int64) { slices.Reverse(s) },
		"random": func(s []int64) {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t)
			var seqs []int64
			for i := range int64(150) {
				seqs = append(seqs, 3*i+1)
			}
			order(seqs)
			for _, s := range seqs {
				if err := d.Add(t.Context(), set(s), point(s, set(s), value(s))); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(seqs)
			checkTiles(t, d, seqs, true)
			// a set that is added again moves its point; one without values removes it
			for i, s := range seqs[:40] {
				moved := point(s+1, set(s), value(s+1))
				if seqs[i]++; i%2 == 0 {
					moved, seqs[i] = point(s, set(s), math.NaN()), -1
				}
				if err := d.Add(t.Context(), set(s), moved); err != nil {
					t.Fatal(err)
				}
			}
			checkTiles(t, d, slices.DeleteFunc(seqs, func(s int64) bool { return s < 0 }), false)
		})
	}
}

func set(seq int64) string { return "s-" + string(rune('a'+seq%26)) + string(rune('a'+seq/26)) }

func value(seq int64) float64 { return float64(seq * 7919 % 101) }

func checkTiles(t *testing.T, d *trend.DB, seqs []int64, full bool) {
	t.Helper()
	level := -1
	for limit := 2000; limit > 0; limit = limit * 2 / 3 {
		data := page(t, d, api.SeriesParams{Series: 1, Limit: limit})
		s := data.Series
		if s.Points != len(seqs) || s.FirstSeq != seqs[0] || s.LastSeq != seqs[len(seqs)-1] {
			t.Fatalf("series %+v, want %d points", s, len(seqs))
		}
		if len(data.Points) > limit || len(data.Tiles) > limit || data.Level < level {
			t.Fatalf("limit %d: level %d, %d points, %d tiles", limit, data.Level, len(data.Points), len(data.Tiles))
		}
		level = data.Level
		if level == 0 {
			if got := seqsOf(data.Points); !slices.Equal(got, seqs) {
				t.Fatalf("points %v, want %v", got, seqs)
			}
			continue
		}
		rest := seqs
		for _, tile := range data.Tiles {
			n := min(tile.Points, len(rest))
			mine := rest[:n]
			rest = rest[n:]
			byValue := func(a, b int64) int { return cmp.Compare(value(a), value(b)) }
			if n == 0 || mine[0] != tile.FirstSeq || mine[n-1] != tile.LastSeq ||
				value(slices.MinFunc(mine, byValue)) != tile.Min || value(slices.MaxFunc(mine, byValue)) != tile.Max ||
				tile.Median < tile.Min || tile.Median > tile.Max {
				t.Fatalf("level %d: tile %+v has %v", level, tile, mine)
			}
		}
		if most := max(1, len(seqs)>>(2*level)); len(rest) > 0 || full && len(data.Tiles) > most {
			t.Fatalf("level %d: %d tiles, want at most %d; %v in none", level, len(data.Tiles), most, rest)
		}
	}
	if level < 2 {
		t.Errorf("only level %d was reached", level)
	}
}

func seqsOf(points []api.SeriesPoint) (all []int64) {
	for _, p := range points {
		all = append(all, p.Seq)
	}
	return all
}

// TestBuiltTiles: many sets at once make the same page as the same sets one by one.
func TestBuiltTiles(t *testing.T) {
	d := trendtest.Open(t, trendtest.Filling{Points: 300, Tests: 2, Step: 0.1, Seed: 1})
	list, err := d.Series(t.Context(), api.SeriesListParams{Role: trend.Subject})
	if err != nil || list.Total != 2 || list.Series[0].Points != 300 {
		t.Fatalf("%+v, %v", list, err)
	}
	for limit, level := range map[int]int{300: 0, 299: 1, 75: 1, 74: 2, 1: 5} {
		data := page(t, d, api.SeriesParams{Series: list.Series[0].ID, Limit: limit})
		n := 0
		for _, tile := range data.Tiles {
			n += tile.Points
		}
		if data.Level != level || level > 0 && n != 300 || len(data.With) != 2 {
			t.Errorf("limit %d: level %d with %d points and %d beside it, want level %d", limit, data.Level, n,
				len(data.With), level)
		}
	}
	data := page(t, d, api.SeriesParams{Series: list.Series[0].ID, FromSeq: 1000, ToSeq: 1190})
	if len(data.Points) != 20 || data.Points[0].Revision == "" || data.Points[19].Seq != 1190 {
		t.Errorf("%+v", data.Points)
	}
	points, err := d.Points(t.Context(), list.Series[0].ID, 0, 0, 7)
	if err != nil || len(points) != 7 || points[6].Seq != 3000 || len(points[6].Values) != 5 {
		t.Errorf("%+v, %v", points, err)
	}
}

// TestGap: of several gaps at a place, build and reason are those of one.
func TestGap(t *testing.T) {
	d, _ := open(t)
	err := d.Add(t.Context(), "a", point(1, "a", 1))
	for _, g := range []trend.Gap{{Test: "scene", SeriesGap: api.SeriesGap{Build: "b2", Reason: "broken"}},
		{SeriesGap: api.SeriesGap{Build: "b1", Reason: "late"}}} {
		g.Schedule, g.Seq = "awfy", 2
		err = errors.Join(err, d.AddGap(t.Context(), g))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []api.SeriesGap{{Seq: 2, Build: "b1", Reason: "late"}}
	if got := page(t, d, api.SeriesParams{Series: 1}).Gaps; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRelease: the newest usable release before a build is compared, or the next point after it.
func TestRelease(t *testing.T) {
	d, _ := open(t)
	var err error
	for seq, name := range []string{"b0", "r1", "b", "r2", "b3", "r4", "b5"} {
		b := api.Build{Feed: "nightly", Seq: int64(seq), Name: name, State: "usable"}
		if name == "r4" {
			b.State = "broken"
		}
		err = errors.Join(err, d.AddBuilds(t.Context(), []api.Build{b}))
		if name != "r2" {
			err = errors.Join(err, d.Add(t.Context(), name, point(int64(seq), name, 1, 2, 3)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s := page(t, d, api.SeriesParams{Series: 1}).Series
	for _, one := range []struct {
		pattern string
		before  int64
		want    string
	}{{"r*", 6, "b3"}, {"r*", 4, ""}, {"r*", 3, "r1"}, {"r*", 1, ""}, {"x*", 6, ""}, {"b", 6, "b"}} {
		got := ""
		p, err := d.Release(t.Context(), &s, one.pattern, one.before)
		if p != nil {
			got = p.Set
		}
		if err != nil || got != one.want || p != nil && p.Median != 2 {
			t.Errorf("%+v: %+v, %v", one, p, err)
		}
	}
}

// TestSetsOfOneBuild: runs of another set of one build are more runs of its point. Blocks keep
// their partners in other series.
func TestSetsOfOneBuild(t *testing.T) {
	d, _ := open(t)
	control := func(m []trend.Measured) []trend.Measured {
		c := m[0]
		c.Key.Role = trend.Control
		c.Point.Values = slices.Clone(c.Point.Values[1:]) // its first run has failed
		return append(m, c)
	}
	for set, values := range map[string][]float64{"a": {1, 2, 3}, "b": {4, 5, 6, 7}} {
		for range 2 { // idempotent
			if err := d.Add(t.Context(), set, control(point(5, set, values...))); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := page(t, d, api.SeriesParams{Series: 1})
	if p := data.Points; len(p) != 1 || p[0].Runs != 7 || p[0].Median != 4 || !p[0].Interval ||
		data.Series.Points != 1 || data.Series.Latest != "4 frames/s" {
		t.Fatalf("%+v", data)
	}
	var both [2][]trend.Point
	for i := range both {
		var err error
		if both[i], err = d.Points(t.Context(), int64(i+1), 0, 0, 10); err != nil || len(both[i]) != 1 {
			t.Fatal(both[i], err)
		}
	}
	blocks := map[int]float64{}
	for _, v := range both[0][0].Values {
		blocks[v.Block] = v.Value
	}
	for _, v := range both[1][0].Values {
		if blocks[v.Block] != v.Value {
			t.Errorf("%+v is not in the block of its partner: %v", v, blocks)
		}
	}
	if len(blocks) != 7 || len(both[1][0].Values) != 5 {
		t.Errorf("%d blocks, %+v", len(blocks), both[1])
	}
}

// TestChanged: kept points, changes and alerts are reported. Builds and errors are not.
func TestChanged(t *testing.T) {
	d, _ := open(t)
	var calls []string
	d.Changed = func(what string, id int64) { calls = append(calls, fmt.Sprint(what, id)) }
	change := api.SeriesShift{Series: 1, FirstSeq: 1, LastSeq: 2, State: "confirmed"}
	err := errors.Join(d.AddBuilds(t.Context(), []api.Build{{Feed: "nightly", Seq: 1, Name: "b", State: "usable"}}),
		d.Add(t.Context(), "a", point(1, "a", 1)), d.PutChange(t.Context(), &change))
	alert := api.Alert{Schedule: "awfy", State: "open", Changes: []api.SeriesShift{change}}
	err = errors.Join(err, d.PutAlert(t.Context(), &alert))
	bad := api.SeriesShift{Series: 9, State: "confirmed"}
	if err != nil || d.PutChange(t.Context(), &bad) == nil {
		t.Fatal(err)
	}
	if want := []string{"points0", "change1", "alert1"}; !slices.Equal(calls, want) {
		t.Errorf("%v, want %v", calls, want)
	}
}
