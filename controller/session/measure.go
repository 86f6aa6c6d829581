package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/groundtruth"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// measurement is the result of an analysis. The known part is valid on an error too.
type measurement struct {
	found  *runfolder.Found // nil: nothing
	by     *Measured
	checks checks
}

// checks compare measured with drawn content.
type checks struct {
	made            int
	failed, notMade []string
}

// measure analyses a recording as the test asks. It compares the results with the page's report.
func (r *run) measure(ctx context.Context, p *pages, t *take, file *recording.Reader) (m measurement, err error) {
	settings := r.settings(p, &t.Played)
	if m.found, err = runfolder.Run(ctx, file, settings, r.Program, r.Progress); err != nil {
		return m, fmt.Errorf("measure the recording: %w", err)
	}
	m.by = measuredBy(settings)
	if t.claims != nil {
		m.found.Results.Vitals = t.claims.compare(m.found, file, t)
	}
	if t.script != nil {
		m.found.Results.Script = t.script.Results(m.found.Results.Windows)
		m.found.Results.Script.Plan = r.plan.results()
	}
	r.addProfile(m.found, file, t)
	r.writeMessages(addMessages(m.found, t.report), idOf(file))
	r.log.Info("measured")
	if m.checks, err = r.compareWithDrawn(ctx, file, m.found, t); err != nil { // the numbers stay valid
		r.note("results could not be compared with the drawn content: %v", err)
	}
	return m, nil
}

// settings returns the settings of the analysis.
func (r *run) settings(p *pages, played *controller.Played) runfolder.Settings {
	t := r.Test
	a := runfolder.Settings{
		Measures: t.Measures, Primary: t.Primary, Name: t.Name, T0: t.T0, Markers: true,
		Begin: t.Begin, Still: t.Sync.Still, EndEvent: t.Sync.Event,
		Tolerance: t.Tolerance.N, AutoTolerance: t.Tolerance.Auto,
		FPS: fps.Options{Cadence: t.Cadence}, Response: r.response(played),
	}
	if t.Sync.Limit > 0 || t.Sync.Still > 0 {
		a.EndEvent = controller.Ended
	}
	if p.site != nil {
		page := p.site.Playlist()[0]
		if page.Markers {
			a.Nonce = p.nonce
		}
		a.Tearing.Disjoint = page.Flip != nil // known of test pages only
	}
	place := func(region frame.Region) frame.Region {
		if t.Places != suite.Screen { // relative to the content
			region.X += played.Area.X
			region.Y += played.Area.Y
		}
		return region
	}
	if t.Region != (frame.Region{}) {
		region := place(t.Region)
		a.Region = &region
	}
	for _, m := range t.Masks {
		a.Masks = append(a.Masks, place(m))
	}
	return a
}

// response returns the definition of an answer to pings.
func (r *run) response(played *controller.Played) (o response.Options) {
	if len(played.Answers) == 0 {
		o.Kinds = []string{input.EventKind} // for example, a turn of a wheel is answered by scrolling
		return o
	}
	first := played.Answers[0]
	o.Kinds, o.Limit = []string{controller.Asked}, first.Timeout
	if first.Region != played.Area { // the content's area is the default
		o.Region = first.Region
	}
	if c := first.Colour; c != nil {
		o.Colour = &response.Colour{R: c.R, G: c.G, B: c.B}
	}
	for _, other := range played.Answers[1:] {
		if other.Region != first.Region || (other.Colour == nil) != (first.Colour == nil) || first.Colour != nil &&
			*other.Colour != *first.Colour {
			r.note("ping steps expect different answers: response is measured by what the first expects")
			break
		}
	}
	return o
}

// compareWithDrawn compares the results of a test page with its report. The report describes all
// pixels. So a test with a region, masks or a tolerance is not compared.
func (r *run) compareWithDrawn(ctx context.Context, file *recording.Reader, found *runfolder.Found,
	take *take) (c checks, err error) {
	t := r.Test
	if take.report == nil || len(found.Outcomes) != 1 || found.Outcomes[0] == nil || t.Region != (frame.Region{}) ||
		len(t.Masks) > 0 || t.Tolerance.Auto || t.Tolerance.N > 0 {
		return c, nil
	}
	_, end := r.Progress.Phase("comparing with the drawn content", 0)
	defer end()
	page, err := groundtruth.Read(ctx, groundtruth.Input{Reader: file, Outcome: found.Outcomes[0],
		Masks: found.Masks[0], Report: *take.report, Script: found.Results.Script, Measures: t.Measures})
	if err != nil {
		return c, err
	}
	w := &found.Results.Windows[0]
	w.Checks, w.Claims = page.Checks, page.Claims
	for i := range page.Checks {
		switch one := &page.Checks[i]; {
		case one.Unchecked:
			c.notMade = append(c.notMade, one.What)
			continue
		case one.Failed():
			c.failed = append(c.failed, one.What)
			r.log.Warn("not measured as it was drawn", "what", one.What, "measured", one.Measured, "drawn", one.Drawn,
				"note", one.Note)
		}
		c.made++
	}
	return c, nil
}

// Measured has the settings of a measurement, apart from regions and masks. The recording is
// measured again with these.
type Measured struct {
	// kind of the event at which load times begin; "": the default of an analysis
	T0       string `json:"t0,omitempty"`
	Begin    string `json:"begin_event,omitempty"` // the content began with this event; "": with its first change
	StillNS  int64  `json:"still_ns,omitempty"`    // the content ended before a stillness of this length
	EndEvent string `json:"end_event,omitempty"`   // or with the last event of this kind

	Cadence  float64 `json:"cadence_fps,omitempty"` // of the drawn content; 0: unknown
	Disjoint bool    `json:"disjoint,omitempty"`    // the page consists of disjoint images

	Answer Answer `json:"response"`
}

// Answer defines an answer to a ping.
type Answer struct {
	Kinds   []string `json:"kinds"`               // of the events of pings
	Region  []int    `json:"region_px,omitempty"` // x, y, width, height; left out: anywhere
	Colour  string   `json:"colour,omitempty"`    // #rrggbb; "": any change
	LimitNS int64    `json:"limit_ns,omitempty"`  // 0: the default of an analysis
}

// measuredBy returns the Measured of settings.
func measuredBy(s runfolder.Settings) *Measured {
	m := &Measured{T0: s.T0, Begin: s.Begin, StillNS: int64(s.Still), EndEvent: s.EndEvent, Cadence: s.FPS.Cadence,
		Disjoint: s.Tearing.Disjoint}
	m.Answer = Answer{Kinds: append([]string{}, s.Response.Kinds...), LimitNS: int64(s.Response.Limit)}
	if r := s.Response.Region; r != (frame.Region{}) {
		m.Answer.Region = []int{r.X, r.Y, r.Width, r.Height}
	}
	if c := s.Response.Colour; c != nil {
		m.Answer.Colour = fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	}
	return m
}

// Limits of values in a run.json.
const (
	maxKinds = 64
	maxTime  = 24 * time.Hour
)

var errNoRunWrites = errors.New("no run writes such settings")

// check rejects values that no run writes.
func (m *Measured) check() error {
	inTime := func(ns int64) bool { return ns >= 0 && ns <= int64(maxTime) }
	ok := short(m.T0) && short(m.Begin) && short(m.EndEvent) && inTime(m.StillNS) && inTime(m.Answer.LimitNS) &&
		m.Cadence >= 0 && m.Cadence <= frame.MaxRate
	ok = ok && len(m.Answer.Kinds) <= maxKinds &&
		!slices.ContainsFunc(m.Answer.Kinds, func(k string) bool { return k == "" || !short(k) })
	if !ok {
		return errNoRunWrites
	}
	_, err := m.Answer.region()
	if err == nil {
		_, err = m.Answer.colour()
	}
	return err
}

func (a Answer) region() (frame.Region, error) {
	r := a.Region
	if len(r) == 0 {
		return frame.Region{}, nil
	}
	if len(r) != 4 || min(r[0], r[1]) < 0 || min(r[2], r[3]) < 1 || slices.Max(r) > frame.MaxSide {
		return frame.Region{}, errNoRunWrites
	}
	return frame.Region{X: r[0], Y: r[1], Width: r[2], Height: r[3]}, nil
}

func (a Answer) colour() (*response.Colour, error) {
	if a.Colour == "" {
		return nil, nil
	}
	var c response.Colour
	if n, err := fmt.Sscanf(a.Colour, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil || n != 3 ||
		len(a.Colour) != len("#rrggbb") {
		return nil, errNoRunWrites
	}
	return &c, nil
}

// AsAtFirst completes settings with those of the first measurement. Settings with a range of
// frames, or with markers only, keep their end of the content.
func (e *Earlier) AsAtFirst(s *runfolder.Settings) {
	if len(s.Primary) == 0 {
		s.Primary = e.primary
	}
	m := e.measured
	if m == nil {
		return
	}
	if s.T0 == "" {
		s.T0 = m.T0
	}
	if s.Begin == "" && s.To == 0 && !s.Markers {
		s.Begin = m.Begin
	}
	if s.Still == 0 && s.EndEvent == "" && s.Limit == 0 && s.To == 0 && !s.Markers {
		s.Still, s.EndEvent = time.Duration(m.StillNS), m.EndEvent
	}
	if s.FPS.Cadence == 0 {
		s.FPS.Cadence = m.Cadence
	}
	if len(s.Tearing.Images) == 0 {
		s.Tearing.Disjoint = s.Tearing.Disjoint || m.Disjoint
	}
	r := &s.Response
	if len(r.Kinds) == 0 && r.Region == (frame.Region{}) && r.Colour == nil {
		r.Region, _ = m.Answer.region() // checked by ReadEarlier
		r.Colour, _ = m.Answer.colour()
	}
	if len(r.Kinds) == 0 {
		r.Kinds = slices.Clone(m.Answer.Kinds)
	}
	if r.Limit == 0 {
		r.Limit = time.Duration(m.Answer.LimitNS)
	}
}

// sameAs reports if settings equal those of the first measurement, and measure all pixels exactly.
// The report of a page describes nothing else.
func (m *Measured) sameAs(s runfolder.Settings) bool {
	if m == nil || !reflect.DeepEqual(m, measuredBy(s)) {
		return false
	}
	rest := s
	rest.T0, rest.Begin, rest.Still, rest.EndEvent = "", "", 0, ""
	rest.FPS, rest.Tearing.Disjoint = fps.Options{}, false
	rest.Response.Kinds, rest.Response.Region, rest.Response.Colour, rest.Response.Limit = nil, frame.Region{}, nil, 0
	// these change no figure
	rest.Primary = nil
	rest.Name, rest.Measures, rest.Strict, rest.Markers, rest.Nonce = "", nil, false, false, ""
	if len(rest.Variants)+len(rest.Masks)+len(rest.Tearing.Images)+len(rest.Checkerboard.Colours) == 0 {
		rest.Variants, rest.Masks, rest.Tearing.Images, rest.Checkerboard.Colours = nil, nil, nil, nil
	}
	return reflect.DeepEqual(rest, runfolder.Settings{})
}
