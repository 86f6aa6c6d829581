package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

func TestRunsAreInOrder(t *testing.T) {
	names := []string{"run-10", "b", "run-2", "run-02b", "run", "run-1"}
	slices.SortStableFunc(names, naturally)
	if want := []string{"b", "run", "run-1", "run-2", "run-02b", "run-10"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestThresholds(t *testing.T) {
	for text, want := range map[string]float64{"3%": 0.03, "0.05": 0.05, " 2.5 % ": 0.025, "0": 0} {
		var f fraction
		if err := f.UnmarshalText([]byte(text)); err != nil || f.value != want || !f.given {
			t.Errorf("%q: %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", "%", "-1%", "nan", "lots", "1e9", "3", "1"} {
		var f fraction
		if err := f.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, f)
		}
	}
}

// TestPairShowsTheSameOnBothSides: a value that one run lacks is shown of neither, and two of one name bear their measure's.
func TestPairShowsTheSameOnBothSides(t *testing.T) {
	window := func(framerate float64, measures ...string) *report.Window {
		w := &report.Window{}
		for _, m := range measures {
			w.Results = append(w.Results, analyze.Result{Measure: m, Values: []analyze.Value{rate(framerate)}})
		}
		return w
	}
	names := func(values []analyze.Value) (list []string) {
		for _, v := range values {
			list = append(list, fmt.Sprintf("%s=%v", v.Name, v.Value))
		}
		return list
	}
	a, b := pairValues(window(50, "scroll", "fps"), window(60, "fps"))
	if !slices.Equal(names(a), []string{"fps.framerate=50"}) || !slices.Equal(names(b), []string{"fps.framerate=60"}) {
		t.Errorf("%v beside %v", names(a), names(b))
	}
	if a, _ = pairValues(window(50, "scroll", "fps"), window(60, "fps", "scroll")); !slices.Equal(names(a), []string{"fps.framerate=50", "scroll.framerate=50"}) {
		t.Errorf("%v", names(a))
	}
}

// madeRun makes results with one value in each of some windows.
func madeRun(name string, env report.Environment, windows map[string]analyze.Value, order ...string) runResults {
	r := runResults{name: name, environment: env}
	for _, w := range order {
		v := windows[w]
		r.windows = append(r.windows, report.Window{Name: w, Results: []analyze.Result{{Measure: "fps", Version: 1, Values: []analyze.Value{v}}}})
	}
	return r
}

func rate(v float64) analyze.Value {
	return analyze.Value{Name: "framerate", Unit: "frames/s", Value: v, Low: v, High: v, State: analyze.Exact, Better: analyze.Higher, Threshold: 0.03}
}

func TestWindowsBelongTogetherByName(t *testing.T) {
	both := map[string]analyze.Value{"dom": rate(60), "canvas": rate(30), "video": rate(24)}
	a := &runSet{path: "a", runs: []runResults{madeRun("1", nil, both, "dom", "canvas", "dom")}}
	b := &runSet{path: "b", runs: []runResults{madeRun("1", nil, both, "canvas", "dom", "video")}}
	c, err := compareRuns(a, b, fraction{}, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range c.measures {
		names = append(names, c.measures[i].fullName())
	}
	if want := []string{"dom: fps.framerate", "canvas: fps.framerate"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if want := []string{"only A has dom (2): fps.framerate", "only B has video: fps.framerate"}; !slices.Equal(c.warnings, want) {
		t.Errorf("%q, want %q", c.warnings, want)
	}
}

// TestWindowsOfOtherNames: windows are called after their recordings, so those of two recordings share no name.
func TestWindowsOfOtherNames(t *testing.T) {
	one := map[string]analyze.Value{}
	for _, name := range []string{"x 1", "x 2", "y 1", "y 2", "y 3", "z"} {
		one[name] = rate(60)
	}
	set := func(names ...[]string) *runSet {
		s := &runSet{path: "set"}
		for i, n := range names {
			s.runs = append(s.runs, madeRun(fmt.Sprint("run-", i+1), nil, one, n...))
		}
		return s
	}
	x, y, y3, z := []string{"x 1", "x 2"}, []string{"y 1", "y 2"}, []string{"y 1", "y 2", "y 3"}, []string{"z"}
	for _, tc := range []struct {
		name    string
		a, b    *runSet
		want    []string
		warning string
		err     string
	}{
		{"of one name", set(x), set(x), []string{"x 1", "x 2"}, "", ""},
		{"as many", set(x), set(y), []string{"window 1", "window 2"}, "windows have other names in run-1 of B: y 1, y 2 are taken for x 1, x 2, in this order", ""},
		{"as many in several runs", set(x, y), set(y, x), []string{"window 1", "window 2"}, "in run-2 of A: y 1, y 2 are taken for x 1, x 2, in this order; so are those of 1 more run", ""},
		{"some are of one name", set(y), set(y3), []string{"y 1", "y 2"}, "", ""},
		{"one of each", set(z), set([]string{"x 1"}), []string{""}, "", ""},
		{"more in B", set(x), set(y3), nil, "", "A has windows x 1, x 2, B has windows y 1, y 2, y 3: choose one of each"},
		{"one in B", set(x), set(z), nil, "", "A has windows x 1, x 2, B has window z: choose one of each"},
		{"none in B", set(x), set([]string{}), nil, "", "analyze both with the same measures"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := compareRuns(tc.a, tc.b, fraction{}, "")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var windows []string
			for i := range c.measures {
				windows = append(windows, c.measures[i].key.window)
				if n := len(c.measures[i].A); n != len(tc.a.runs) {
					t.Errorf("%d values of A", n)
				}
			}
			if !slices.Equal(windows, tc.want) {
				t.Errorf("%q, want %q", windows, tc.want)
			}
			if got := strings.Join(c.warnings, "; "); !strings.Contains(got, tc.warning) || strings.Contains(got, "other names") != (tc.warning != "") {
				t.Errorf("%q, want %q", got, tc.warning)
			}
			if w, ok := c.window(&tc.b.runs[0]); !ok || w != &tc.b.runs[0].windows[0] {
				t.Error("the primary's window is not the first of B")
			}
		})
	}
}

func TestWhatWindowsUsed(t *testing.T) {
	run := func(settings report.Settings, windows ...report.Window) *runSet {
		for i := range windows {
			used(&windows[i], &settings)
		}
		return &runSet{runs: []runResults{{name: "1", settings: settings, windows: windows}}}
	}
	calibrated := report.Window{Tolerance: 2, MinPixels: 5, Noise: &analyze.Noise{Tolerance: 2, MinPixels: 5, SmallestPixels: 6, SmallestLevels: 5}}
	other := calibrated
	other.Noise = &analyze.Noise{Tolerance: 2, MinPixels: 5, SmallestPixels: 6, SmallestLevels: 5, Frames: 7}
	noisier := report.Window{Tolerance: 3, MinPixels: 5, Noise: &analyze.Noise{SmallestPixels: 6, SmallestLevels: 7}}
	const calibration = "smallest change seen for certain, by calibration"
	for _, tc := range []struct {
		name string
		a, b *runSet
		want []envDifference
	}{
		{"calibrated alike", run(report.Settings{}, calibrated), run(report.Settings{}, other), nil},
		{"calibrated otherwise", run(report.Settings{}, calibrated), run(report.Settings{}, noisier),
			[]envDifference{{"tolerance", []string{"2"}, []string{"3"}}, {calibration, []string{"6 pixels by 5 levels"}, []string{"6 pixels by 7 levels"}}}},
		{"calibrated and given", run(report.Settings{}, calibrated), run(report.Settings{Tolerance: 2, MinPixels: 5}, report.Window{Tolerance: 2, MinPixels: 5}),
			[]envDifference{{calibration, []string{"6 pixels by 5 levels"}, []string{"none"}}}},
		{"told by settings alone", run(report.Settings{Tolerance: 2}, report.Window{}), run(report.Settings{Tolerance: 2}, report.Window{Tolerance: 2}), nil},
		{"a code strip in one", run(report.Settings{}, report.Window{Masks: [][]int{{0, 0, 768, 8}}}), run(report.Settings{}, report.Window{}),
			[]envDifference{{"masks", []string{"768x8+0+0"}, []string{"none"}}}},
		{"two windows", run(report.Settings{}, calibrated, noisier), run(report.Settings{}, calibrated, calibrated),
			[]envDifference{{"tolerance", []string{"2 and 3"}, []string{"2"}}, {calibration, []string{"6 pixels by 5 levels and 6 pixels by 7 levels"}, []string{"6 pixels by 5 levels"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := differing(tc.a, tc.b); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestEnvironments(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b report.Environment
		want []string
	}{
		{"alike", report.Environment{"browser": "x 1"}, report.Environment{"browser": "x 1"}, nil},
		{"another browser", report.Environment{"browser": "x 1"}, report.Environment{"browser": "x 2"}, []string{"browser"}},
		{"known of one", report.Environment{"network": "cable"}, nil, []string{"network"}},
		{"a key of its own", report.Environment{"zoom": "1"}, report.Environment{"zoom": "2"}, []string{"zoom"}},
		{"about as warm", report.Environment{"temperature": "41.5 °C"}, report.Environment{"temperature": "43 °C"}, nil},
		{"warmer", report.Environment{"temperature": "41.5 °C"}, report.Environment{"temperature": "58 °C"}, []string{"temperature"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one := map[string]analyze.Value{"w": rate(60)}
			a, b := &runSet{runs: []runResults{madeRun("1", tc.a, one, "w")}}, &runSet{runs: []runResults{madeRun("1", tc.b, one, "w")}}
			var names []string
			for _, d := range differing(a, b) {
				names = append(names, d.name)
			}
			if !slices.Equal(names, tc.want) {
				t.Errorf("%v, want %v", names, tc.want)
			}
		})
	}
}

// TestJUnitAndPerfherder: hostile names stay text, and the limits of Perfherder's schema are kept.
func TestJUnitAndPerfherder(t *testing.T) {
	hostile := `<a>&"]]>` + "\x01" + strings.Repeat("é", 100)
	of := func(v float64) *runSet {
		value := rate(v)
		value.Name, value.Unit = hostile, strings.Repeat("u", 30)
		env := report.Environment{"browser": "Firefox 151.0"}
		set := &runSet{path: "p"}
		for i := range 8 { // fewer cannot fail
			value.Value, value.Low, value.High = v+float64(i)/8, v+float64(i)/8, v+float64(i)/8
			plain := value
			plain.Name, plain.Unit = "framerate", "frames/s"
			set.runs = append(set.runs, madeRun(fmt.Sprint(i), env, map[string]analyze.Value{hostile: value, "b": plain}, hostile, "b"))
		}
		return set
	}
	c, err := compareRuns(of(60), of(30), fraction{}, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := xml.Marshal(c.junit())
	if err != nil {
		t.Fatal(err)
	}
	var back junitRoot
	if err := xml.Unmarshal(b, &back); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if back.Tests != 2 || back.Failures != 2 || len(back.Suites) != 2 || len(back.Suites[0].Cases) != 1 || back.Suites[0].Cases[0].Failure == nil {
		t.Errorf("%+v", back)
	}
	p := c.perfherder()
	if p.Application == nil || *p.Application != (perfherderName{"firefox", "151.0"}) || len(p.Suites) != 2 {
		t.Fatalf("%+v", p)
	}
	for _, s := range p.Suites {
		test := s.Subtests[0]
		if n := len([]rune(test.Name)); n > 80 || len(test.Unit) > 20 || *test.Lower || *test.Threshold != 3 || len(test.Replicates) != 8 || test.Replicates[0] != 30 {
			t.Errorf("%d letters, %+v", n, test)
		}
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}

func TestHeatMapsRoundTrip(t *testing.T) {
	h := &analyze.Heat{Width: 5, Height: 3, Counts: []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 31, 0, 0, 0, 7}}
	var b bytes.Buffer
	if err := render.WriteNPY(&b, h); err != nil {
		t.Fatal(err)
	}
	got, err := readHeat(&b)
	if err != nil || got.Width != 5 || got.Height != 3 || !slices.Equal(got.Counts, h.Counts) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHeatDifference(t *testing.T) {
	small := func(i int) uint32 { return uint32(i % 7) }
	for _, tc := range []struct {
		name       string
		heightB    int
		b          func(i int) uint32
		more, less uint64
		refusal    string
	}{
		{"more and fewer", 90, func(i int) uint32 { return map[int]uint32{1: 0, 160: 40}[i] + small(i)*uint32(min(1, (i-1)*(i-1))) }, 40, 1, ""},
		{"another size", 91, small, 0, 0, "they are of 160x90 and 160x91 pixels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			c := &comparison{}
			wa, a := heatRun(t, filepath.Join(dir, "a"), 160, 90, small)
			wb, b := heatRun(t, filepath.Join(dir, "b"), 160, tc.heightB, tc.b)
			if err := c.writeHeat(evidenceFolder{dir, dir}, a, b, wa, wb); err != nil {
				t.Fatal(err)
			}
			if c.heat.more != tc.more || c.heat.less != tc.less || c.heat.refusal != tc.refusal {
				t.Errorf("%+v", c.heat)
			}
			for _, path := range []string{c.heat.picture, c.heat.numbers} {
				if st, err := os.Stat(path); tc.refusal == "" && (err != nil || st.Size() == 0) {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	c := &comparison{}
	if err := c.writeHeat(evidenceFolder{t.TempDir(), "out"}, &runResults{name: "r"}, &runResults{name: "r"}, &report.Window{}, &report.Window{}); err != nil || !strings.Contains(c.heat.refusal, "run r has no heat map") {
		t.Errorf("%v, %+v", err, c.heat)
	}
}

// heatRun makes a run folder with a heat map.
func heatRun(t *testing.T, dir string, width, height int, count func(i int) uint32) (*report.Window, *runResults) {
	t.Helper()
	h := &analyze.Heat{Width: width, Height: height}
	for i := range width * height {
		h.Counts = append(h.Counts, count(i))
	}
	path := filepath.Join(dir, "pictures", "heatmap.npy")
	if err := writeWhole(path, func(out *outFile) error { return render.WriteNPY(out, h) }); err != nil {
		t.Fatal(err)
	}
	w := &report.Window{Pictures: []report.Picture{{Kind: report.PictureHeatMap, File: "pictures/heatmap.png", Data: "pictures/heatmap.npy"}}}
	return w, &runResults{name: filepath.Base(dir), dir: dir}
}

func FuzzReadHeat(f *testing.F) {
	var b bytes.Buffer
	if err := render.WriteNPY(&b, &analyze.Heat{Width: 2, Height: 2, Counts: []uint32{1, 2, 3, 4}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:len(b.Bytes())-1])
	f.Add(bytes.Replace(b.Bytes(), []byte("(2, 2)"), []byte("(9999, 32768)"), 1))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHeat(bytes.NewReader(b))
		if err == nil && (len(h.Counts) != h.Width*h.Height || 4*len(h.Counts) > len(b)) {
			t.Errorf("%dx%d with %d counts out of %d bytes", h.Width, h.Height, len(h.Counts), len(b))
		}
	})
}

// film writes a recording whose frames are filled with given bytes, but for one pixel; a negative number is a lost frame.
func film(t *testing.T, fill []int, change func(n int, pix []byte, l *frame.Layout)) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.eid")
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	format, err := frame.NewFormat(frame.BGR4, 100, 20)
	if err != nil {
		t.Fatal(err)
	}
	l, err := frame.NewLayout(format)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Segment(format, 1, 60); err != nil {
		t.Fatal(err)
	}
	const period = 16_666_667
	for n, v := range fill {
		at := timeline.At(timeline.Time(1e9 + n*period))
		if v < 0 {
			err = w.Gap(frame.Gap{First: uint64(n), Count: 1, Cause: frame.RingFull, At: at})
		} else {
			pix := bytes.Repeat([]byte{byte(v)}, l.Size)
			change(n, pix, l)
			err = w.WriteFrame(pix, frame.Meta{Sequence: uint64(n), Sampled: at}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestFirstDivergence(t *testing.T) {
	set := func(x, y, at int) func(int, []byte, *frame.Layout) {
		return func(n int, pix []byte, l *frame.Layout) {
			if n == at {
				pix[y*l.Format.Stride+4*x] ^= 1
			}
		}
	}
	none := func(int, []byte, *frame.Layout) {}
	for _, tc := range []struct {
		name              string
		a, b              []int
		changeB           func(int, []byte, *frame.Layout)
		startA, startB    int
		region            []int
		masks             [][]int
		tolerance         int
		frameA, frameB    int // -1: none
		box               frame.Region
		pairs, unpaired   int
		sinceMilliseconds int64
	}{
		{"alike", []int{1, 2, 3}, []int{1, 2, 3}, none, 0, 0, nil, nil, 0, -1, -1, frame.Region{}, 3, 0, 0},
		{"one bit of one pixel", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, nil, 0, 2, 2, frame.Region{X: 70, Y: 5, Width: 1, Height: 1}, 2, 0, 33},
		{"within the tolerance", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, nil, 1, -1, -1, frame.Region{}, 4, 0, 0},
		{"outside the content", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, []int{0, 0, 70, 20}, nil, 0, -1, -1, frame.Region{}, 4, 0, 0},
		{"beside the content, left", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(9, 5, 2), 0, 0, []int{10, 0, 70, 20}, nil, 0, -1, -1, frame.Region{}, 4, 0, 0},
		{"under a mask", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, [][]int{{70, 5, 1, 1}}, 0, -1, -1, frame.Region{}, 4, 0, 0},
		{"beside a mask", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, [][]int{{71, 5, 9, 1}, {0, 0, 70, 20}}, 0, 2, 2, frame.Region{X: 70, Y: 5, Width: 1, Height: 1}, 2, 0, 33},
		{"starts differ", []int{9, 9, 1, 2, 3}, []int{9, 1, 2, 4}, none, 2, 1, nil, nil, 0, 4, 3, frame.Region{Width: 100, Height: 20}, 2, 0, 33},
		{"a frame lost in A", []int{1, -1, 3, 4}, []int{1, 2, 3, 5}, none, 0, 0, nil, nil, 0, 2, 3, frame.Region{Width: 100, Height: 20}, 2, 1, 50},
		{"changed in a frame that has no partner, and back", []int{1, -1, 1, 1}, []int{1, 2, 1, 1}, none, 0, 0, nil, nil, 0, -1, -1, frame.Region{}, 3, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := film(t, tc.a, none), film(t, tc.b, tc.changeB)
			wa := &report.Window{Start: tc.startA, End: a.Frames() - 1, Region: tc.region, Tolerance: tc.tolerance, Masks: tc.masks}
			wb := &report.Window{Start: tc.startB, End: b.Frames() - 1, Region: tc.region}
			p, err := newPairer(a, b, wa, wb)
			if err != nil {
				t.Fatal(err)
			}
			d, dir := &divergence{}, t.TempDir()
			if err := p.find(&env{ctx: t.Context()}, d, evidenceFolder{dir, dir}, &progress{}); err != nil {
				t.Fatal(err)
			}
			if d.found != (tc.frameA >= 0) || d.pairs != tc.pairs || d.unpaired != tc.unpaired {
				t.Fatalf("%+v", d)
			}
			if !d.found {
				return
			}
			if d.a.number != tc.frameA || d.b.number != tc.frameB || d.box != tc.box || d.a.since.Milliseconds() != tc.sinceMilliseconds {
				t.Errorf("%+v", d)
			}
			if _, err := os.Stat(filepath.Join(dir, "first-difference-b.png")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDivergenceRefusals(t *testing.T) {
	none := func(int, []byte, *frame.Layout) {}
	r := film(t, []int{1, 2, 3}, none)
	for _, tc := range []struct {
		name   string
		wa, wb report.Window
		want   string
	}{
		{"window outside the recording", report.Window{End: 3}, report.Window{End: 2}, "analyze it again"},
		{"content elsewhere", report.Window{End: 2, Region: []int{0, 0, 10, 10}}, report.Window{End: 2, Region: []int{0, 2, 10, 10}}, "content of A lies"},
		{"content outside the frame", report.Window{End: 2, Region: []int{0, 0, 101, 10}}, report.Window{End: 2, Region: []int{0, 0, 101, 10}}, "outside the frame"},
	} {
		if _, err := newPairer(r, r, &tc.wa, &tc.wb); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestSuspectedValuesDecideNothing: what is only suspected may differ, and fails nobody.
func TestSuspectedValuesDecideNothing(t *testing.T) {
	of := func(v float64, state analyze.State) *runSet {
		set := &runSet{path: "p"}
		for i := range 8 {
			value := analyze.Value{Name: "torn_frames", Unit: "frames", Value: v + float64(i), Low: v + float64(i), High: v + float64(i), State: state, Better: analyze.Lower}
			set.runs = append(set.runs, madeRun(fmt.Sprint(i), report.Environment{}, map[string]analyze.Value{"w": value}, "w"))
		}
		return set
	}
	for _, state := range []analyze.State{analyze.Exact, analyze.Suspected} {
		c, err := compareRuns(of(1, state), of(40, state), fraction{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if failed := c.failure() != nil; failed != (state == analyze.Exact) {
			t.Errorf("%s: %v", state, c.failure())
		}
	}
}
