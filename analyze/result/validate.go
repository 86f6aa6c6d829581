package result

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/analyze/vitals"
)

const (
	maxSide   = 1 << 16 // of a frame, pixels
	maxFrames = 1 << 26
	maxName   = 300  // bytes of a name
	maxText   = 8000 // bytes of a sentence
)

// Validate returns the first fault and its place.
func (r *Results) Validate() error {
	if r.Schema != Schema || r.Version != Version {
		return fmt.Errorf("schema %.40q version %d, want %q %d", r.Schema, r.Version, Schema, Version)
	}
	c := checker{frames: r.Recording.Frames}
	c.in("recording", func() { c.recording(r.Recording) })
	for _, key := range sortedKeys(r.Environment) {
		c.in("environment", func() { c.name("key", key); c.name(key, r.Environment[key]) })
	}
	c.in("settings", func() { c.settings(r.Settings) })
	c.in("quality", func() { c.result(&r.Quality) })
	for i := range r.Windows {
		c.in(fmt.Sprintf("windows[%d]", i), func() { c.window(&r.Windows[i]) })
	}
	if r.Network != nil {
		c.in("network", func() { c.network(r.Network) })
	}
	if r.Vitals != nil {
		c.in("vitals", func() { c.vitals(r.Vitals) })
	}
	if r.Script != nil {
		c.in("script", func() { c.script(r.Script, len(r.Windows)) })
	}
	if r.Profile != nil {
		c.in("profile", func() { c.profile(r.Profile, len(r.Windows)) })
	}
	if r.Video != nil {
		c.in("video", func() { c.link(r.Video.File, false); c.link(r.Video.Map, false) })
	}
	c.pictures(r.Pictures)
	c.require(r.RetriedRuns >= 0, "retried_runs is %d", r.RetriedRuns)
	c.texts("notes", r.Notes)
	return c.err
}

// checker keeps the first thing that is wrong, and the place that is looked at.
type checker struct {
	frames int // of the recording
	place  []string
	err    error
}

func (c *checker) in(place string, check func()) {
	if c.err != nil {
		return
	}
	c.place = append(c.place, place)
	check()
	c.place = c.place[:len(c.place)-1]
}

func (c *checker) require(ok bool, format string, args ...any) {
	if ok || c.err != nil {
		return
	}
	what := fmt.Sprintf(format, args...)
	if len(c.place) > 0 {
		what = strings.Join(c.place, " ") + ": " + what
	}
	c.err = errors.New(what)
}

func (c *checker) name(what, s string) { c.text(what, s, maxName) }

func (c *checker) text(what, s string, most int) {
	if len(s) > most || !utf8.ValidString(s) {
		c.require(false, "%s of %d bytes, want at most %d of UTF-8", what, len(s), most)
	}
}

func (c *checker) texts(what string, all []string) {
	for _, s := range all {
		c.text(what, s, maxText)
	}
}

func (c *checker) recording(r Recording) {
	c.name("id", r.ID)
	c.name("name", r.Name)
	c.name("pixel_format", r.PixelFormat)
	c.link(r.File, true)
	c.require(r.Frames >= 0 && r.Frames <= maxFrames, "frames is %d", r.Frames)
	c.require(r.Width >= 0 && r.Width <= maxSide && r.Height >= 0 && r.Height <= maxSide, "size of %dx%d pixels",
		r.Width, r.Height)
	c.require(r.PeriodNS >= 0, "period_ns is %d", r.PeriodNS)
	c.require(r.DurationNS >= 0, "duration_ns is %d", r.DurationNS)
}

func (c *checker) settings(s Settings) {
	c.region(s.Region, true)
	c.differing(s.Masks, s.Tolerance, s.MinPixels)
	for _, m := range s.Measures {
		c.name("measure", m)
	}
	for _, name := range s.Primary {
		c.name("primary", name)
	}
}

// differing is what says which pixels differ.
func (c *checker) differing(masks [][]int, tolerance, minPixels int) {
	for _, m := range masks {
		c.region(m, false)
	}
	c.require(tolerance >= 0 && tolerance <= 255, "tolerance is %d, want 0 to 255", tolerance)
	c.require(minPixels >= 0, "min_pixels is %d", minPixels)
}

// noise is a calibration, tiles line by line.
func (c *checker) noise(n *noise.Calibration) {
	c.require(n.Frames >= 0 && n.Frames <= c.frames, "%d frames of %d", n.Frames, c.frames)
	c.require(n.Pattern >= 0 && n.Pattern <= n.Frames, "%d frames of a pattern, of %d", n.Pattern, n.Frames)
	c.differing(nil, n.Tolerance, n.MinPixels)
	c.number("false_rate", n.FalseRate)
	c.require(n.FalseRate >= 0 && n.FalseRate <= 1, "false_rate is %g, want 0 to 1", n.FalseRate)
	c.require(n.SmallestPixels >= 0 && n.SmallestLevels >= 0, "smallest change of %d pixels by %d levels",
		n.SmallestPixels, n.SmallestLevels)
	c.require(n.Columns > 0 && len(n.Tiles)%n.Columns == 0 || n.Columns == 0 &&
		len(n.Tiles) == 0, "%d tiles in %d columns", len(n.Tiles), n.Columns)
	c.require(!slices.ContainsFunc(n.Tiles, func(d int) bool { return d < 0 || d > 255 }),
		"tiles are not of 0 to 255 levels")
}

// region is x, y, width and height.
func (c *checker) region(r []int, optional bool) {
	if optional && len(r) == 0 {
		return
	}
	ok := len(r) == 4 && !slices.ContainsFunc(r, func(n int) bool { return n < 0 || n > maxSide })
	c.require(ok, "region %v, want x, y, width, height", firstFew(r))
}

func (c *checker) window(w *Window) {
	c.name("name", w.Name)
	c.require(w.Kind == Markers || w.Kind == Frames || w.Kind == End || w.Kind == All, "kind is %.40q", w.Kind)
	c.require(w.Green >= -1 && w.Green <= w.Start, "green_frame is %d, start_frame %d", w.Green, w.Start)
	c.require(w.Start >= 0 && w.Start <= w.End && w.End < max(c.frames, 1), "frames %d to %d of %d", w.Start, w.End,
		c.frames)
	c.require(w.Red == -1 || w.Red > w.End && w.Red < c.frames, "red_frame is %d, end_frame %d", w.Red, w.End)
	c.require(w.StartNS <= w.EndNS, "start_ns is %d, end_ns %d", w.StartNS, w.EndNS)
	c.region(w.Region, true)
	c.differing(w.Masks, w.Tolerance, w.MinPixels)
	if w.Noise != nil {
		c.in("noise", func() { c.noise(w.Noise) })
	}
	if w.T0 != nil {
		c.name("t0", w.T0.Source)
		c.require(w.T0.UncertaintyNS >= 0, "t0's uncertainty_ns is %d", w.T0.UncertaintyNS)
	}
	c.in("frame_times", func() { c.times(&w.Times) })
	for i := range w.Results {
		c.in(fmt.Sprintf("results[%d]", i), func() { c.result(&w.Results[i]) })
	}
	for _, name := range sortedKeys(w.Claims) {
		c.name("claim", name)
		c.number(name, w.Claims[name])
	}
	for i := range w.Checks {
		c.in(fmt.Sprintf("checks[%d]", i), func() { c.check(&w.Checks[i]) })
	}
	if w.Channel != nil {
		c.in("channel", func() { c.channel(w.Channel) })
	}
	c.pictures(w.Pictures)
	c.texts("warnings", w.Warnings)
}

func (c *checker) check(k *Check) {
	c.name("what", k.What)
	c.name("unit", k.Unit)
	for _, s := range []Span{k.Measured, k.Drawn} {
		c.number("value", s.Value)
		c.number("low", s.Low)
		c.number("high", s.High)
	}
	if k.Claimed != nil {
		c.number("claimed", *k.Claimed)
	}
	for _, n := range k.Frames {
		c.frame(n, false)
	}
	c.text("note", k.Note, maxText)
}

func (c *checker) network(n *Network) {
	c.name("profile", n.Profile)
	for _, v := range []int64{n.RTTAskedNS, n.RTTNS, n.DownAsked, n.Down, n.UpAsked, n.Up, int64(n.Requests),
		int64(n.Missed), int64(n.NamesRefused), int64(n.Connections), n.BytesUp, n.BytesDown} {
		c.require(v >= 0, "a figure is %d", v)
	}
	for _, v := range []float64{n.LossAsked, n.Loss} {
		c.number("loss", v)
		c.require(v >= 0 && v <= 1, "a loss of %g, want 0 to 1", v)
	}
	c.link(n.File, true)
	c.require(len(n.List) <= MostRequests && len(n.List) <= n.Requests, "%d of %d requests are listed, at most %d are",
		len(n.List), n.Requests, MostRequests)
	c.traffic(n.ByType)
	c.traffic(n.ByDomain)
	for i := range n.List {
		c.in(fmt.Sprintf("list[%d]", i), func() { c.request(&n.List[i]) })
	}
}

// vitals are a page's claims.
func (c *checker) vitals(v *vitals.Claims) {
	c.text("sentence", v.Sentence, maxText)
	c.result(&v.Result)
	c.text("lcp_element", v.Element, maxText)
	c.region(v.Region, true)
	c.require(v.OriginWithinNS >= 0, "origin_uncertainty_ns is %d", v.OriginWithinNS)
	c.require(max(len(v.Timings), len(v.Errors)) <= MostRequests, "%d timings and %d errors, at most %d",
		len(v.Timings), len(v.Errors), MostRequests)
	for _, t := range v.Timings {
		c.text("name", t.Name, maxText)
		c.number("at_ms", t.AtMS)
		if t.LastMS != nil {
			c.number("duration_ms", *t.LastMS)
		}
	}
	c.texts("console_errors", v.Errors)
	c.traffic(v.ByType)
	c.traffic(v.ByDomain)
}

func (c *checker) traffic(all []vitals.Traffic) {
	c.require(len(all) <= MostRequests, "%d lines of traffic, at most %d", len(all), MostRequests)
	for _, t := range all {
		c.text("name", t.Name, maxText)
		c.require(t.Requests >= 0 && t.Bytes >= 0, "%d requests of %d bytes", t.Requests, t.Bytes)
	}
}

func (c *checker) request(r *Request) {
	c.name("method", r.Method)
	c.text("url", r.URL, maxText)
	c.require(r.Status >= 0 && r.Status <= 999, "status is %d", r.Status)
	c.name("protocol", r.Protocol)
	c.name("priority", r.Priority)
	for _, v := range []int64{r.NameNS, r.ConnectNS, r.TLSNS, r.WaitNS, r.LoadNS, r.WireBytes, r.BodyBytes,
		r.DecodedBytes} {
		c.require(v >= -1, "a part of it is %d", v)
	}
}

func (c *checker) times(t *FrameTimes) {
	n := len(t.Time)
	c.require(len(t.Earliest) == n && len(t.Latest) == n, "%d times, %d earliest and %d latest", n, len(t.Earliest),
		len(t.Latest))
	c.require(t.First >= 0 && t.First <= c.frames && n <= c.frames-t.First, "%d frames from %d on, of %d", n, t.First,
		c.frames)
	if c.err != nil {
		return
	}
	for i := range t.Time {
		if t.Earliest[i] > t.Latest[i] || i > 0 && t.Time[i] < t.Time[i-1] {
			c.require(false, "times of frame %d are not in order", t.First+i)
			return
		}
	}
	for _, l := range t.Lost {
		c.frame(l.Before, false)
		c.name("cause", l.Cause)
	}
}

func (c *checker) result(r *analyze.Result) {
	c.name("measure", r.Measure)
	c.require(r.Measure != "", "no measure is named")
	c.require(r.Version >= 0, "version is %d", r.Version)
	c.state(r.State)
	c.text("refusal", r.Refusal, maxText)
	c.texts("warnings", r.Warnings)
	for i := range r.Values {
		c.in(fmt.Sprintf("%.40s %.40s", r.Measure, r.Values[i].Name), func() { c.value(&r.Values[i]) })
	}
	for i := range r.Series {
		c.in(fmt.Sprintf("%.40s %.40s", r.Measure, r.Series[i].Name), func() { c.series(&r.Series[i]) })
	}
	for i := range r.Evidence {
		c.in(fmt.Sprintf("%.40s evidence[%d]", r.Measure, i), func() { c.evidence(&r.Evidence[i]) })
	}
}

func (c *checker) state(s analyze.State) {
	c.require(s == analyze.Exact || s == analyze.Bounded || s == analyze.Suspected ||
		s == analyze.Refused, "state is %.40q", s)
}

func (c *checker) value(v *analyze.Value) {
	c.name("name", v.Name)
	c.require(v.Name != "", "a value without a name")
	c.name("unit", v.Unit)
	c.state(v.State)
	c.number("value", v.Value)
	c.number("low", v.Low)
	c.number("high", v.High)
	c.require(v.State == analyze.Refused || v.Low <= v.Value && v.Value <= v.High, "%g is not between %g and %g",
		v.Value, v.Low, v.High)
	c.require(v.Better == analyze.Higher || v.Better == analyze.Lower || v.Better == analyze.Neither || v.Better == "",
		"better is %.40q", v.Better)
	c.number("threshold", v.Threshold)
	for _, n := range v.Frames {
		c.frame(n, false)
	}
	c.text("note", v.Note, maxText)
}

func (c *checker) series(s *analyze.Series) {
	c.name("name", s.Name)
	c.name("unit", s.Unit)
	c.require(len(s.Frames) == len(s.Values), "%d frames and %d values", len(s.Frames), len(s.Values))
	if c.err != nil {
		return
	}
	for i, n := range s.Frames {
		c.frame(n, false)
		c.number("value", s.Values[i])
		if i > 0 && n <= s.Frames[i-1] {
			c.require(false, "frame %d stands behind %d", n, s.Frames[i-1])
		}
		if c.err != nil {
			return
		}
	}
}

func (c *checker) evidence(e *analyze.Evidence) {
	c.name("kind", e.Kind)
	c.frame(e.Frame, false)
	c.text("text", e.Text, maxText)
	c.region(e.Region, true)
	for _, y := range e.Rows {
		if y < 0 || y > maxSide {
			c.require(false, "row is %d", y)
		}
	}
}

func (c *checker) pictures(all []Picture) {
	for i, p := range all {
		c.in(fmt.Sprintf("pictures[%d]", i), func() {
			c.name("kind", p.Kind)
			c.link(p.File, false)
			c.link(p.Data, true)
			c.text("text", p.Text, maxText)
			c.name("measure", p.Measure)
			c.frame(p.Frame, true)
		})
	}
}

// frame wants the number of a stored frame, or -1 where there may be none.
func (c *checker) frame(n int, none bool) {
	if (n < 0 || n >= c.frames) && !(none && n == -1) {
		c.require(false, "frame %d, the recording has %d", n, c.frames)
	}
}

func (c *checker) number(what string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		c.require(false, "%s is %g", what, x)
	}
}

// link wants the name of a file in the run folder, in slashes. Nothing in it may mean something
// else in a URL or on another system.
func (c *checker) link(name string, optional bool) {
	if optional && name == "" {
		return
	}
	c.name("link", name)
	ok := fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\:?#%*<>|\"\x00")
	c.require(ok, "%.80q is not the name of a file in the run folder", name)
}

func firstFew(r []int) []int { return r[:min(len(r), 6)] }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
