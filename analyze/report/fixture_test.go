package report

import (
	"flag"
	"fmt"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
)

var keep = flag.String("keep", "", "write the run folders of the page's tests into this folder, to be looked at")

// A run folder as an analysis leaves it: a synthetic page with markers, of which some frames are
// lost.
const (
	runFrames = 240
	runPeriod = 16_683_350
	runLost   = 3 // before frame lostBefore
	lostAt    = 120
	runBegin  = 40_000_000_000_000
)

// sequence is the source's number of a stored frame.
func sequence(n int) int {
	if n >= lostAt {
		return n + runLost
	}
	return n
}

func runTime(n int) int64 { return runBegin + int64(sequence(n))*runPeriod }

// newRun makes a run folder and its results.
func newRun(t *testing.T, size string) (string, *result.Results) {
	t.Helper()
	dir := t.TempDir()
	if *keep != "" {
		dir = filepath.Join(*keep, t.Name())
		analyzetest.Check(t, os.RemoveAll(dir))
	}
	s, err := synth.Open("page", url.Values{"size": {size}, "frames": {fmt.Sprint(runFrames + runLost - 60)},
		"markers": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	film := filepath.Join(films, size)
	if _, err := os.Stat(film); err != nil { // tests run one at a time
		makeFilm(t, s, film)
	}
	analyzetest.Check(t, os.CopyFS(dir, os.DirFS(film)))
	r := runResults(s.Info().Format, s.Truth())
	analyzetest.Check(t, result.Write(filepath.Join(dir, result.FileName), r))
	return dir, r
}

// films is the folder of the video and pictures of each size. Tests share them.
var films string

// makeFilm makes the video and the pictures of a run.
func makeFilm(t *testing.T, s *synth.Source, dir string) {
	t.Helper()
	analyzetest.Check(t, os.MkdirAll(filepath.Join(dir, "pictures"), 0o755))
	l := analyzetest.Must(frame.NewLayout(s.Info().Format))(t)
	video := analyzetest.Must(render.NewVideo(filepath.Join(dir, "video.mp4"), l,
		render.VideoOptions{RateNum: 60000, RateDen: 1001}))(t)
	pix := make([]byte, l.Size)
	show := func(n int) frame.Image { s.Render(uint64(sequence(n)), pix); return l.View(pix) }
	for n := range runFrames {
		slot := render.Slot{Frame: n, Sequence: uint64(sequence(n)), Time: timeline.Time(runTime(n))}
		analyzetest.Check(t, video.Add(show(n), slot))
	}
	analyzetest.Check(t, video.Close())
	for _, n := range []int{60, 130} {
		f := analyzetest.Must(os.Create(filepath.Join(dir, "pictures", fmt.Sprintf("evidence_%d.png", n))))(t)
		analyzetest.Check(t, png.Encode(f, render.Picture(show(n))))
		analyzetest.Check(t, f.Close())
	}
}

func runResults(f frame.Format, truth synth.Truth) *result.Results {
	r := sample()
	r.Recording = result.Recording{
		ID: "5f1c9a4e", Name: "canvas-framerate, run 3", Frames: runFrames, Lost: runLost, Width: f.Width,
		Height:      f.Height,
		PixelFormat: "BGR4", PeriodNS: runPeriod, StartedWallNS: 1_790_000_000_000_000_000,
		DurationNS: runTime(runFrames-1) - runBegin,
	}
	r.Environment = result.Environment{
		result.EnvDUT: "local", result.EnvOS: "Debian 12", result.EnvKernel: "6.1.0-39-amd64",
		result.EnvBrowser: "Chromium 148.0.7778.167",
		result.EnvNetwork: "cable, 28 ms",
		result.EnvSignal:  "1280x720p59.94", result.EnvRigBuild: "0.4.0",
		result.EnvMachineShared: "yes", result.EnvGovernor: "performance",
	}
	r.Settings = result.Settings{}
	r.Quality = runQuality()
	first, second := 30, 150
	r.Windows = []result.Window{
		runWindow(f, truth, "Canvas animation", first, 139),
		runWindow(f, truth, "Page load", second, runFrames-31),
	}
	r.Windows[0].Claims = map[string]float64{"fps.framerate": 60, "drawn": 118}
	said := 1766.6
	r.Windows[0].Checks = []result.Check{
		{What: "checkerboard pixels, exact in", Unit: "frames", Measured: result.Span{Value: 117, Low: 117, High: 118},
			Drawn:  result.Span{Value: 118, Low: 118, High: 118},
			Frames: []int{r.Windows[0].Start, r.Windows[0].Start + 1, r.Windows[0].Start + 2}},
		{What: "time to fill", Unit: "ms", Measured: result.Span{Value: 1716.6, Low: 1715.6, High: 1717.5},
			Drawn: result.Span{Value: 1716.6, Low: 1700, High: 1720}, Claimed: &said, Agrees: true},
		{What: "torn frames", Unit: "frames", Unchecked: true, Note: "not each of the page's images was seen whole"},
	}
	r.Windows[0].T0, r.Windows[0].Pictures = nil, []result.Picture{
		{Kind: result.PictureEvidence, Text: "Frame 60.", Measure: "tearing", Frame: 60,
			File: "pictures/evidence_60.png"},
		{Kind: result.PictureEvidence, Text: "Frame 130.", Measure: "tearing", Frame: 130,
			File: "pictures/evidence_130.png"},
		{Kind: result.PictureHeatMap, File: "pictures/evidence_60.png", Text: "How often each pixel changed.",
			Measure: "heatmap", Frame: -1},
	}
	r.Windows[1].T0 = &result.T0{AtNS: r.Windows[1].StartNS - 140_000_000, UncertaintyNS: 800_000, Source: "navigation"}
	r.Script = runScript(r.Windows)
	r.Profile = browsertest.Profile(&r.Windows[0], 0, []int{54, 82, 131}, "poll<fd>")
	r.Video, r.Pictures, r.Notes = &result.Video{File: "video.mp4", Map: "video.mp4.json"}, nil, nil
	return r
}

func exactly(name, unit string, x float64, frames ...int) analyze.Value {
	return analyze.Value{Name: name, Unit: unit, Value: x, Low: x, High: x, State: analyze.Exact, Better: analyze.Lower,
		Frames: frames}
}

func between(name, unit string, x, low, high float64, frames ...int) analyze.Value {
	return analyze.Value{Name: name, Unit: unit, Value: x, Low: low, High: high, State: analyze.Bounded,
		Better: analyze.Higher, Frames: frames}
}

func runQuality() analyze.Result {
	return analyze.Result{
		Measure: "quality", Version: 1, State: analyze.Exact,
		Values: []analyze.Value{
			exactly("produced_frames", "frames", runFrames+runLost), exactly("stored_frames", "frames", runFrames),
			exactly("lost_frames", "frames", runLost, lostAt), exactly("flagged_frames", "frames", 0),
			exactly("jitter_p50", "ms", 0.041),
			exactly("jitter_p99", "ms", 0.63),
		},
		Warnings: []string{"3 of 243 frames were lost: 3 ring full"},
	}
}

func runWindow(f frame.Format, truth synth.Truth, name string, start, end int) result.Window {
	w := result.Window{
		Name: name, Kind: result.Markers, Green: start - 1, Start: start, End: end, Red: end + 1,
		StartNS: runTime(start), EndNS: runTime(end + 1),
		Region: []int{0, 0, f.Width, f.Height}, Times: result.FrameTimes{First: start - 1},
	}
	for n := start - 1; n <= end+1; n++ {
		at := runTime(n) - w.StartNS
		w.Times.Time = append(w.Times.Time, at)
		w.Times.Earliest, w.Times.Latest = append(w.Times.Earliest, at-120_000), append(w.Times.Latest, at+40_000)
	}
	if start < lostAt && lostAt <= end {
		w.Times.Lost = []result.Loss{{Before: lostAt, Frames: runLost, Cause: "ring full"}}
	}
	w.Results = []analyze.Result{runFPS(truth, start, end), runLoad(start, end), runTearing(f, start)}
	w.Results = append(w.Results,
		analyze.Result{Measure: "heatmap", Version: 1, State: analyze.Exact, Values: []analyze.Value{
			exactly("total_heat", "pixels", 48_211_930), exactly("excess_heat", "pixels", 1_204_448),
		}},
		analyze.Result{Measure: "checkerboard", Version: 1, State: analyze.Refused,
			Refusal: "no colour of checkerboard is given and no grid of two colours was found; " +
				"name one with --checker-colour"})
	return w
}

func runFPS(truth synth.Truth, start, end int) analyze.Result {
	r := analyze.Result{Measure: "fps", Version: 1, State: analyze.Bounded}
	times := analyze.Series{Name: "frame_time", Unit: "ms", Holds: true}
	for n := start; n <= end; {
		next := n + 1
		for next <= end && (!truth.Changed(uint64(sequence(next))) || next%23 == 0) {
			next++
		}
		times.Frames = append(times.Frames, n)
		times.Values = append(times.Values, float64(runTime(next)-runTime(n))/1e6)
		n = next
	}
	u := float64(len(times.Frames))
	seconds := float64(runTime(end+1)-runTime(start)) / 1e9
	longest := 0
	for i := range times.Values {
		if times.Values[i] > times.Values[longest] {
			longest = i
		}
	}
	r.Series = []analyze.Series{times}
	long := exactly("long_frames", "frames", 7)
	for i := range 7 {
		long.Frames = append(long.Frames, times.Frames[len(times.Frames)/8*i])
	}
	r.Values = []analyze.Value{
		exactly("frames", "frames", float64(end-start+1)), between("unique_frames", "frames", u, u, u+3, lostAt),
		between("framerate", "frames/s", u/seconds, u/seconds-0.08, (u+3)/seconds+0.08),
		exactly("longest_freeze", "ms", times.Values[longest], times.Frames[longest]), long,
		exactly("unchanged_mean", "fraction", 0.0413),
	}
	r.Warnings = []string{"3 frames were lost just before frame 120: what they showed is not known"}
	return r
}

func runLoad(start, end int) analyze.Result {
	r := analyze.Result{Measure: "speedindex", Version: 1, State: analyze.Bounded}
	p := analyze.Series{Name: "pixel", Unit: "fraction", Holds: true}
	h := analyze.Series{Name: "histogram", Unit: "fraction", Holds: true}
	for n := start; n <= end; n += 4 {
		x := float64(n-start) / float64(end-start)
		p.Frames, p.Values = append(p.Frames, n), append(p.Values, min(1, 1.2*x*x*(1.8-x)))
		h.Frames, h.Values = append(h.Frames, n), append(h.Values, min(1, 0.15+x*1.1))
	}
	r.Series = []analyze.Series{p, h}
	at := func(n int) float64 { return float64(runTime(n)-runTime(start))/1e6 + 140 }
	for i, name := range []string{"first_visual_change", "visually_complete_85", "visually_complete_95",
		"last_visual_change"} {
		n := start + i*(end-start)/4
		r.Values = append(r.Values, between(name, "ms", at(n), at(n)-1.3, at(n)+0.9, n))
	}
	v := between("speed_index", "ms", 1204.7, 1203.1, 1206)
	v.Note = "p is pixel-exact"
	r.Values = append([]analyze.Value{v}, r.Values...)
	return r
}

func runTearing(f frame.Format, start int) analyze.Result {
	r := analyze.Result{Measure: "tearing", Version: 1, State: analyze.Exact,
		Values: []analyze.Value{exactly("torn_frames", "frames", 2, 60, 130)}}
	for i, n := range []int{60, 130} {
		r.Evidence = append(r.Evidence, analyze.Evidence{
			Kind: "torn", Frame: max(n, start), Rows: []int{f.Height/3 + i*40},
			Text: fmt.Sprintf("image 1 above line %d, image 2 below", f.Height/3+i*40),
		})
	}
	r.Evidence[1].Region = []int{f.Width / 4, f.Height / 4, f.Width / 2, f.Height / 2}
	return r
}

// runScript has a task of the page in every third frame and of a worker in every seventh. One task
// is as long as the longest freeze of the first window.
func runScript(windows []result.Window) *result.Script {
	ms := func(x, within float64) result.Span {
		return result.Span{Value: x * 1e6, Low: max(0, x-within) * 1e6, High: (x + within) * 1e6}
	}
	const app, page, worker = "https://shop.test/js/app.js", "https://shop.test/", "https://shop.test/js/worker.js"
	s := &result.Script{
		Policies: []string{"calls", "errors"},
		Programs: result.ScriptPrograms{Served: 41, Instrumented: 38, Bytes: 1_204_448, CoveredBytes: 1_180_220,
			AddedBytes: 212_003, Functions: 4120, CalledOfThem: 871},
		Plain: []result.PlainScript{{URL: "https://cdn.test/legacy.js", Reason: "unexpected token at 12:7", Count: 2},
			{URL: "https://shop.test/sw.js", Reason: "service worker", Count: 1}},
		Realms: []result.ScriptRealm{{Kind: result.RealmWorker, URL: worker}, {Kind: result.RealmWindow, URL: page},
			{Kind: result.RealmFrame, URL: "https://ads.test/frame.html"}},
		ClockNS: 310_000, Records: 182_311, Lost: 412,
		Cost:     result.ScriptCost{PerCallNS: result.Span{Value: 85, Low: 80, High: 90}, CountedNS: ms(0.4, 0.03)},
		Warnings: []string{"the page forbids the runtime in 1 nested frame"}, Log: "script.log",
	}
	for i, name := range []string{"slow", "layoutRows", "(anonymous)",
		"Cart.prototype.renderAllProductsOfTheFirstCategory",
		"diff", "patch", "parse", "onScroll", "tick", "hash", "merge", "clone", "key", "noop"} {
		self := 160 / float64(i+1)
		calls := int64(7 + 311*i*i)
		s.Functions = append(s.Functions, result.Function{Name: name, URL: app, Line: 12 + 31*i, Column: 3,
			Calls: calls,
			Self:  ms(self, self/80), Total: ms(self*1.4, 1), Min: ms(0.001, 0.1), Mean: ms(self/float64(calls), 0.01),
			Max: ms(self/2, 0.1)})
	}
	for n := 31; n < runFrames-40; n++ {
		at := runTime(n)
		if n%3 == 0 {
			s.Tasks = append(s.Tasks, result.Task{BeginNS: at, EndNS: at + int64(2+n%11)*1_000_000, Function: n % 14,
				Realm: 1, Calls: 40 * n})
		}
		if n%7 == 0 {
			s.Tasks = append(s.Tasks, result.Task{BeginNS: at + 1_000_000, EndNS: at + 21_000_000, Function: -1,
				Calls: 9})
		}
		if n == 80 {
			s.Tasks = append(s.Tasks, result.Task{BeginNS: at + 2_000_000, EndNS: at + 112_000_000, Realm: 1,
				Calls: 431})
		}
	}
	s.Gaps = []result.Gap{{FromNS: runTime(100), ToNS: runTime(104), Records: 412, Cause: "ring full"}}
	for i, w := range windows {
		times, _ := w.Results[0].Find("longest_freeze")
		from := times.Frames[0]
		length := int64(times.Value * 1e6)
		s.Late = append(s.Late, result.LateFrame{Window: i, Frame: from + int(length/runPeriod), FromNS: runTime(from),
			ToNS: runTime(from) + length, UnexplainedNS: ms(float64(length)/4e6, 1),
			Functions: []result.RanMeantime{{Function: i, Self: ms(float64(length)/2e6, 1)}}})
	}
	s.Errors = []result.ScriptError{
		{Kind: result.ErrorThrown, Message: "TypeError: Cannot read properties of undefined (reading '…')", URL: app,
			Line:   204,
			Column: 17, AtNS: runTime(70) + 3_000_000, Count: 3, Frame: 71, Stack: []result.Place{
				{Function: "Cart.prototype.add", URL: app, Line: 204, Column: 17}, {URL: page, Line: 88, Column: 3}}},
		{Kind: result.ErrorResource, URL: "https://cdn.test/missing.png", AtNS: runTime(160), Count: 1, Frame: -1},
	}
	return s
}
