package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/deploy/store/trend/trendtest"
)

// secret is a text that a site must not have.
const secret = "s3cret"

const evil = `</script><script>window.evil=1</script><img src=x onerror="window.evil=2">'"`

const builds = 40

// born is the day of the first build.
var born = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// rig makes a data directory with two tests. The subject has become slower at build 20.
func rig(t testing.TB) (data string, db *trend.DB) {
	t.Helper()
	data = t.TempDir()
	db, err := trend.Open(t.Context(), filepath.Join(data, "trend.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	var all []trend.Measured
	for n := range builds {
		for _, test := range []string{"framerate", "hidden"} {
			for role, product := range map[string]string{trend.Subject: "firefox", trend.Rival: "chrome",
				trend.Control: "firefox"} {
				m := trend.Measured{Key: trend.SeriesKey{Schedule: secret, Test: test, Measure: "fps",
					Value: "framerate", Unit: "frames/s", Better: "higher", Version: 1, Device: secret + "-device",
					Product: product, Feed: secret + "-feed", Role: role}}
				m.Point = trend.Point{Seq: int64(n + 1), Build: fmt.Sprint("v", 100+n),
					WallNS: born.AddDate(0, 0, n).UnixNano()}
				if n == builds-1 && role == trend.Subject {
					m.Point.Build = evil
				}
				level := 60.0
				if role == trend.Subject && n >= 20 {
					level = 52
				}
				for run := range 6 {
					m.Point.Values = append(m.Point.Values, trend.Value{Block: run,
						Run:   fmt.Sprintf("%s~%s~run-%02d.%d", secret, role, n, run),
						Value: level + float64((run*7+n*3)%11)/10})
				}
				all = append(all, m)
			}
		}
	}
	if err := db.Add(t.Context(), secret, all); err != nil {
		t.Fatal(err)
	}
	list, err := db.Series(t.Context(), api.SeriesListParams{Test: "framerate", Role: trend.Subject})
	if err == nil {
		err = db.PutChange(t.Context(), &api.SeriesShift{Series: list.Series[0].ID, FirstSeq: 20, LastSeq: 21,
			State: "confirmed", Reason: secret, Shift: -0.13, Low: -0.15, High: -0.11, Relative: true, P: 0.001,
			Direction: "worse", FoundNS: born.AddDate(0, 0, 21).UnixNano()})
	}
	for _, n := range []int{19, 20, builds - 1} {
		for _, role := range []string{trend.Subject, trend.Rival} {
			for run := range 6 {
				err = errors.Join(err, makeRun(filepath.Join(data, "runs", secret, role,
					fmt.Sprintf("run-%02d.%d", n, run))))
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data, db
}

func makeRun(dir string) error {
	record := session.Record{Schema: session.Schema, Version: session.Version, Test: "framerate", Device: secret,
		State: session.Passed, Reason: secret, Environment: result.Environment{result.EnvOS: "Ubuntu 24.04 " + secret,
			result.EnvRig: secret}}
	res := &result.Results{Schema: result.Schema, Version: result.Version, Notes: []string{secret},
		Recording: result.Recording{Name: secret, Frames: 2, DurationNS: 1e9}, Quality: analyze.Result{
			Measure: "quality", State: analyze.Exact}, Video: &result.Video{File: "video.mp4", Map: "video.json"},
		Pictures: []result.Picture{{Kind: result.PictureFilmstrip, File: "strip.png", Text: secret}},
		Windows:  []result.Window{}}
	return errors.Join(os.MkdirAll(dir, 0o755), record.Write(dir),
		result.Write(filepath.Join(dir, result.FileName), res),
		os.WriteFile(filepath.Join(dir, "video.mp4"), []byte("a video of "+filepath.Base(filepath.Dir(dir))), 0o644),
		os.WriteFile(filepath.Join(dir, "strip.png"), strip(), 0o644))
}

func options(t testing.TB, data string) Options {
	return Options{Dir: t.TempDir(), Data: data, Tests: []string{"frame*"},
		Now: born.AddDate(0, 0, builds).Add(-time.Hour)}
}

func write(t testing.TB, db *trend.DB, o Options) Result {
	t.Helper()
	r, err := Write(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// site reads all files. Each address in one of them must be that of another one.
func site(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path) // path is below it
		all[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var address = regexp.MustCompile(`[a-z0-9-]+-[0-9a-f]{16}\.[a-z0-9]+`)

// whole follows the addresses from the index. It returns the reached files.
func whole(t testing.TB, all map[string]string) map[string]bool {
	t.Helper()
	seen, next := map[string]bool{}, []string{indexFile}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if _, there := all[name]; !there {
			t.Fatalf("%s is missing from %q", name, slices.Sorted(maps.Keys(all)))
		}
		if seen[name] {
			continue
		}
		if seen[name] = true; strings.HasSuffix(name, ".html") {
			for _, to := range address.FindAllString(all[name], -1) {
				next = append(next, folderName+"/"+to)
			}
		}
	}
	return seen
}

// TestFleetRuns: a run of a hub's rig is found in its light folder.
func TestFleetRuns(t *testing.T) {
	data := t.TempDir()
	if err := makeRun(filepath.Join(data, "fleet", "light", "lab-07", "s-1.2", "subject", "run-01")); err != nil {
		t.Fatal(err)
	}
	if kind := newRuns(data).kind("lab-07/s-1.2~subject~run-01"); kind != "Linux computer" {
		t.Error(kind)
	}
}

// TestManySeries: series of tests that are not public do not count towards the limit.
func TestManySeries(t *testing.T) {
	data, db := rig(t)
	var all []trend.Measured
	for n := range maxSeries {
		all = append(all, trend.Measured{Key: trend.SeriesKey{Schedule: secret, Test: "hidden",
			Measure: fmt.Sprint("m", n), Value: "v", Role: trend.Subject}, Point: trend.Point{Seq: 1, Build: "v",
			Values: []trend.Value{{Run: "s-many~r", Value: 1}}}})
	}
	if err := db.Add(t.Context(), "s-many", all); err != nil {
		t.Fatal(err)
	}
	o := options(t, data)
	if _, err := Write(t.Context(), db, o); err != nil {
		t.Error(err)
	}
	o.Tests = []string{"*"}
	if _, err := Write(t.Context(), db, o); err == nil {
		t.Error("too many public series are published")
	}
}

// TestFields: a page has the fields of the list, and no text that is not public.
//
// Fault: A public page shows hosts, owners, paths, logs or labels
func TestFields(t *testing.T) {
	data, db := rig(t)
	o := options(t, data)
	r := write(t, db, o)
	all := site(t, o.Dir)
	if r.Values != 1 || len(r.New) != len(all) || len(whole(t, all)) != len(all) {
		t.Errorf("%+v: %d files", r, len(all))
	}
	for name, content := range all {
		if strings.Contains(content, secret) || strings.Contains(name, secret) || strings.Contains(content, data) ||
			strings.Contains(content, "hidden") && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has a text that is not public", name)
		}
	}
	keys := map[string]bool{}
	fields(reflect.TypeFor[page](), keys)
	const want = "address after before better build by change changes day device direction film first_seq folder " +
		"from high home interval kind last_seq latest lead level longer low max measure median min name network next " +
		"points product products relative runs seq shift since strip test text tiles to unit value values video window"
	if got := strings.Join(slices.Sorted(maps.Keys(keys)), " "); strings.ReplaceAll(got, "change changes", "changes") !=
		strings.ReplaceAll(want, "change changes", "changes") {
		t.Errorf("the fields are\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(all[indexFile], "Linux computer") || !strings.Contains(all[indexFile], `"product":"chrome"`) {
		t.Errorf("the index has neither the kind of the device nor the leader: %s", all[indexFile])
	}
	o.Names = true
	if write(t, db, o); !strings.Contains(site(t, o.Dir)[indexFile], secret+"-device") {
		t.Error("the device has no name")
	}
}

func fields(of reflect.Type, keys map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		fields(of.Elem(), keys)
	case reflect.Struct:
		for f := range of.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				keys[name] = true
				fields(f.Type, keys)
			}
		}
	}
}

// TestHostileNames: names of builds stay text.
//
// Fault: A build's name on a public page contains HTML or scripts
func TestHostileNames(t *testing.T) {
	data, db := rig(t)
	o := options(t, data)
	write(t, db, o)
	for name, content := range site(t, o.Dir) {
		if strings.HasSuffix(name, ".html") && (strings.Contains(content, "<script>window") ||
			strings.Contains(content, "<img") || !strings.Contains(content, `\u003c/script\u003e`)) {
			t.Errorf("%s: a build's name is markup", name)
		}
	}
}

// TestDry: --dry lists the files that are written afterwards. A second call writes none.
func TestDry(t *testing.T) {
	data, db := rig(t)
	o := options(t, data)
	o.Dry, o.Tests = true, append(o.Tests, "no-test")
	dry := write(t, db, o)
	if len(dry.Unknown) != 1 || !strings.HasPrefix(dry.Unknown[0], "no-test; ") {
		t.Errorf("unknown tests: %q", dry.Unknown)
	}
	if all := site(t, o.Dir); len(all) > 0 || len(dry.New) == 0 {
		t.Fatalf("a dry run lists %d files and writes %d", len(dry.New), len(all))
	}
	o.Dry = false
	real := write(t, db, o)
	if !reflect.DeepEqual(dry, real) {
		t.Errorf("dry: %+v\nreal: %+v", dry, real)
	}
	for _, f := range real.New {
		if st, err := os.Stat(filepath.Join(o.Dir, f.Name)); err != nil || st.Size() != int64(f.Bytes) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if again := write(t, db, o); len(again.New) != 0 || again.Removed != 0 || again.Kept != len(real.New) {
		t.Errorf("a second call: %+v", again)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, indexFile), []byte("my own page"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), db, o); err == nil {
		t.Error("another site's index is replaced")
	}
}

// TestInterrupted: wherever a call ends, the site is whole: the old one or the new one.
//
// Fault: eideticker publish is interrupted between two files
func TestInterrupted(t *testing.T) {
	data, db := rig(t)
	o := options(t, data)
	o.Embargo = 30 * 24 * time.Hour
	write(t, db, o)
	before := site(t, o.Dir)
	own := filepath.Join(o.Dir, folderName, "own.txt")
	if err := os.WriteFile(own, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o.Embargo = 0
	errStop := errors.New("stop")
	steps := 0
	for stop := 1; ; stop++ {
		n := 0
		steps = stop
		o.at = func(string) error {
			if n++; n == stop {
				return errStop
			}
			return nil
		}
		_, err := Write(t.Context(), db, o)
		all := site(t, o.Dir)
		whole(t, all)
		if err == nil {
			break
		}
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
	}
	after := site(t, o.Dir)
	if steps < 4 || after[indexFile] == before[indexFile] || len(whole(t, after)) != len(after)-1 {
		t.Errorf("%d steps; %q", steps, slices.Sorted(maps.Keys(after)))
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("a file of somebody else: %v", err)
	}
}

// TestLeadNeedsRuns: ranges of few runs are apart by chance.
func TestLeadNeedsRuns(t *testing.T) {
	v := &value{Better: "higher", Products: []product{{Name: "a"}, {Name: "b"}}}
	for runs, want := range map[int]string{1: "", 3: "", 4: "a", 6: "a"} {
		var all []visible
		for _, median := range []float64{60, 50} {
			p := point{Seq: 1, Runs: runs, Median: median, Low: median, High: median}
			all = append(all, visible{figures: []point{p}})
		}
		if got := leading(v, all).Product; got != want {
			t.Errorf("%d runs: %q is ahead, want %q", runs, got, want)
		}
	}
}

// TestEmbargo: younger points, films and changes are not in the site, however few points it has.
func TestEmbargo(t *testing.T) {
	data, db := rig(t)
	o := options(t, data)
	for days, want := range map[int]int{0: builds, 10: builds - 10, 22: builds - 22, builds + 1: 0} {
		o.Dir, o.Embargo = t.TempDir(), time.Duration(days)*24*time.Hour
		r := write(t, db, o)
		all := site(t, o.Dir)
		if r.Points != 2*want || (r.Values > 0) != (want > 0) || (r.Hidden > 0) != (days > 0) {
			t.Errorf("%d days: %+v, want %d points of two products", days, r, want)
		}
		var shown page
		_, raw, _ := strings.Cut(all[indexFile], `id="data">`)
		raw, _, _ = strings.Cut(raw, "</script>")
		if err := json.Unmarshal([]byte(raw), &shown); err != nil {
			t.Fatal(err)
		}
		if (len(shown.Changes) > 0) != (days < 19) {
			t.Errorf("%d days: %d changes", days, len(shown.Changes))
		}
		for name, content := range all {
			hidden := fmt.Sprintf(`"v%d"`, 100+want)
			if days > 0 && strings.Contains(content, hidden) {
				t.Errorf("%d days: %s has build %s", days, name, hidden)
			}
		}
	}
}

// BenchmarkWrite writes the page of a long series.
func BenchmarkWrite(b *testing.B) {
	const points = 20_000
	db := trendtest.Open(b, trendtest.Filling{Points: points, Alone: true, Runs: 1})
	o := Options{Data: b.TempDir(), Tests: []string{"*"}, Now: time.Unix(0, 1<<62)}
	for name, embargo := range map[string]time.Duration{"all": 0, "embargo": time.Hour} {
		b.Run(name, func(b *testing.B) {
			o.Embargo = embargo
			for b.Loop() {
				o.Dir = b.TempDir()
				if r := write(b, db, o); r.Values != 1 || r.Points == 0 {
					b.Fatalf("%+v", r)
				}
			}
			b.ReportMetric(points*float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
}

// TestFilmsOfFewRuns: scheduled sets make few videos, so the shown run is the closest one that has
// a video. Without any it is the closest of all.
func TestFilmsOfFewRuns(t *testing.T) {
	data := t.TempDir()
	p := trend.Point{Build: "b"}
	for i, name := range []string{"s-1/a", "s-2/b", "s-3/c", "s-4/d"} {
		if err := makeRun(filepath.Join(data, "runs", name)); err != nil {
			t.Fatal(err)
		}
		p.Values = append(p.Values, trend.Value{Run: strings.Replace(name, "/", "~", 1), Value: float64(10 - i)})
	}
	w := &writer{o: Options{Dir: t.TempDir(), at: func(string) error { return nil }}, used: map[string]bool{}}
	if err := os.Mkdir(filepath.Join(w.o.Dir, folderName), 0o755); err != nil {
		t.Fatal(err)
	}
	c := collector{files: newRuns(data), w: w}
	p.Values = append(p.Values, trend.Value{Run: "s-5~gone", Value: 8.5})
	for _, without := range []string{"s-2/b", "s-3/c", "s-1/a"} {
		if err := os.Remove(filepath.Join(data, "runs", without, "video.mp4")); err != nil {
			t.Fatal(err)
		}
		f, err := c.film(p)
		if err != nil || f == nil {
			t.Fatal(f, err)
		}
		got, err := os.ReadFile(filepath.Join(w.o.Dir, folderName, f.Video))
		if want := map[string]string{"s-2/b": "s-3", "s-3/c": "s-1", "s-1/a": "s-4"}[without]; err != nil ||
			string(got) != "a video of "+want {
			t.Errorf("without %s: %q, %v, want %s", without, got, err, want)
		}
	}
}
