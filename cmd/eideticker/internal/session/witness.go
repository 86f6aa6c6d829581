package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/image/draw"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// witnessed is what was seen on a run's own network.
type witnessed struct {
	line     link.Conditions
	lineFrom timeline.Time // the run's; what was there before was probes
	fall     *har.Waterfall
	wall     int64 // from the recording's clock to the wall's
	harKept  bool
}

// EventSource is who says that requests began and ended.
const EventSource = "netsim"

// Kinds of its events.
const (
	RequestBegun = "request-begun" // its first byte left the device, or what it waited for before began
	RequestEnded = "request-ended" // the device had all of the answer
)

// mostEvents is of how many requests a recording tells; the HAR file has all.
const mostEvents = 500

// witness puts together what names, line and servers have seen of a run, and tells the recording of it. The recording is still being written.
func (s *session) witness(emit func(timeline.Event)) {
	if s.network == nil || s.pages.server == nil {
		return
	}
	// The green page and the red, and what a page tells of itself, are none of the test's.
	e := s.network.Evidence(s.lineFrom)
	e.Names = slices.DeleteFunc(e.Names, func(q dns.Query) bool { return q.Name == greenHost || strings.HasSuffix(q.Name, "."+greenHost) })
	e.Flows = slices.DeleteFunc(e.Flows, func(f link.Flow) bool { return strconv.Itoa(int(f.Server.Port())) == greenPort })
	e.Connections, e.Exchanges = s.pages.server.Witnessed()
	e.Exchanges = slices.DeleteFunc(e.Exchanges, func(x serve.Exchange) bool {
		if s.pages.site == nil {
			return false // a site of others has whatever paths it likes
		}
		u, err := url.Parse(x.URL)
		return err == nil && site.Reporting(u.Path)
	})
	s.fall = har.New(e)
	s.wall, _ = timeline.WallOffset(timeline.Monotonic())
	s.count()
	s.tellReplayed()
	for _, event := range events(s.fall, timeline.Monotonic().Now()) {
		emit(event)
	}
	if refused, lost := s.pages.server.Unnoted(); refused+lost > 0 {
		s.note("%d connections were refused, and %d requests were not noted, since there were too many", refused, lost)
	}
	s.log.Info("the network", "requests", s.record.Network.Requests, "missed", s.record.Network.Missed, "bytes up", s.record.Network.BytesUp, "bytes down", s.record.Network.BytesDown)
}

// count is what run.json says of a waterfall.
func (s *session) count() {
	n, over := s.record.Network, map[int]bool{}
	n.Requests, n.BytesUp, n.BytesDown = len(s.fall.Requests), s.fall.BytesUp, s.fall.BytesDown
	for i := range s.fall.Requests {
		r := &s.fall.Requests[i]
		over[r.Over.ID] = true
		if r.Missed() {
			n.Missed++
		}
	}
	n.Connections = len(over)
	for _, l := range s.fall.Lookups {
		if l.Query.Result == dns.Refused {
			n.NamesRefused++
		}
	}
}

// asked is the data of a request's events.
type asked struct {
	Number int    `json:"number"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"` // of the body, as they came
}

// events are those of the first requests. What nothing bounds was before now.
func events(fall *har.Waterfall, now timeline.Time) (all []timeline.Event) {
	tell := func(m har.Moment, kind string, about asked) {
		latest := m.Latest
		if latest == 0 {
			latest = max(m.At, now)
		}
		data, err := json.Marshal(about)
		if err != nil {
			return // texts and numbers cannot fail
		}
		all = append(all, timeline.Event{At: m.At, Uncertainty: max(m.At.Sub(m.Earliest), latest.Sub(m.At)), Source: EventSource, Kind: kind, Data: data})
	}
	for i := range fall.Requests[:min(len(fall.Requests), mostEvents)] {
		r := &fall.Requests[i]
		about := asked{Number: i + 1, Method: r.Served.Method, URL: cut(r.Served.URL, 500)}
		if m := r.Begins(); m.Known() {
			tell(m, RequestBegun, about)
		}
		if r.Ended.Known() {
			about.Status, about.Bytes = r.Served.Status, r.Served.ResponseBytes
			tell(r.Ended, RequestEnded, about)
		}
	}
	return all
}

// cut shortens a text to so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "?")
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.ToValidUTF8(text[:most], "?") + "…"
}

// keepNetwork writes the waterfall into a run folder in the making, as a HAR file and under what was seen, and puts it into the results.
func (s *session) keepNetwork(dir string, r *recording.Reader) error {
	if s.fall == nil {
		return nil
	}
	results := &s.found.Results
	if err := s.writeHAR(dir); err != nil {
		return err
	}
	results.Network = s.networkResults()
	if s.NoPictures || len(s.found.Outcomes) != len(results.Windows) {
		return nil
	}
	for i, o := range s.found.Outcomes {
		prefix := ""
		if i > 0 {
			prefix = strconv.Itoa(i+1) + "_"
		}
		w := &results.Windows[i]
		name := path.Join(analysis.PicturesDir, prefix+"waterfall.svg")
		err := writeTo(filepath.Join(dir, filepath.FromSlash(name)), func(to io.Writer) error { return s.fall.SVG(to, s.waterfall(w, o, r)) })
		var ondisk *os.PathError
		switch {
		case errors.As(err, &ondisk):
			return err
		case err != nil: // a run is worth more than a picture
			results.Notes = append(results.Notes, fmt.Sprintf("a picture is missing: %v", err))
			_ = os.Remove(filepath.Join(dir, filepath.FromSlash(name)))
			continue
		}
		w.Pictures = append(w.Pictures, report.Picture{Kind: report.PictureWaterfall, File: name, Data: HARFile, Text: "What was seen, how much of it was there, and what the network brought meanwhile, on one axis of time.", Frame: -1})
	}
	return nil
}

func writeTo(path string, write func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

// keepHAR writes the HAR file of a run that was not measured.
func (s *session) keepHAR() error {
	if s.fall == nil || s.harKept {
		return nil
	}
	return s.writeHAR(s.Dir)
}

func (s *session) writeHAR(dir string) error {
	name, version, _ := strings.Cut(s.Program, " ")
	o := har.Options{Creator: har.Program{Name: name, Version: version}, Title: s.Test.Name, Wall: s.wall, Comment: "Times are those at the device. Nothing was hooked in it: names, line and servers have seen them."}
	o.Browser = s.browser()
	if s.found != nil && len(s.found.Results.Windows) > 0 && s.record.State != Failed {
		w := &s.found.Results.Windows[0]
		o.StartRender, o.LastChange = seen(w)
		if w.T0 != nil {
			o.Started = timeline.Time(w.T0.AtNS)
		}
	}
	err := writeTo(filepath.Join(dir, HARFile), func(to io.Writer) error { return s.fall.Write(to, o) })
	s.harKept = err == nil
	return err
}

// browser parts what a browser says of itself, "Mozilla Firefox 140.10.2esr" say, into name and version.
func (s *session) browser() (b har.Program) {
	for _, word := range strings.Fields(s.record.Environment[report.EnvBrowser]) {
		if word[0] >= '0' && word[0] <= '9' {
			b.Version = word
			return b
		}
		b.Name = strings.TrimSpace(b.Name + " " + word)
	}
	return b
}

// seen is when a window changed for the first and for the last time, by what was measured of it, or 0.
func seen(w *report.Window) (first, last timeline.Time) {
	from := w.StartNS
	if w.T0 != nil {
		from = w.T0.AtNS
	}
	for i := range w.Results {
		if w.Results[i].Measure != "speedindex" {
			continue
		}
		if v, ok := w.Results[i].Find("first_visual_change"); ok && v.State != analyze.Refused {
			first = timeline.Time(from + int64(v.Value*1e6))
		}
		if v, ok := w.Results[i].Find("last_visual_change"); ok && v.State != analyze.Refused {
			last = timeline.Time(from + int64(v.Value*1e6))
		}
	}
	return first, last
}

// waterfall is what a window is drawn with: from the command that it begins with, or its first frame, to its end.
func (s *session) waterfall(w *report.Window, o *analyze.Outcome, r *recording.Reader) har.Picture {
	p := har.Picture{Title: s.Test.Name, From: timeline.Time(w.StartNS), To: timeline.Time(w.EndNS), About: s.record.Network.String()}
	if b := s.browser(); b.Name != "" {
		p.Title += ", " + b.Name + " " + b.Version
	}
	p.Left = "the first frame of what was measured"
	if w.T0 != nil && w.T0.AtNS < w.StartNS {
		p.From, p.Left = timeline.Time(w.T0.AtNS), "T0, the command ("+w.T0.Source+")"
	}
	first, last := seen(w)
	for _, m := range []har.Mark{{At: first, Name: "start render"}, {At: last, Name: "last change"}} {
		if m.At != 0 {
			p.Marks = append(p.Marks, m)
		}
	}
	p.Curve = curve(o)
	for i := range p.Curve {
		p.Curve[i].At = o.Times.At(int(p.Curve[i].At))
	}
	if len(p.Curve) > 0 && p.Curve[0].At > p.From {
		p.Curve = append([]har.Point{{At: p.From}}, p.Curve...)
	}
	p.Film = s.film(p.From, p.To, r)
	return p
}

// curve is how much of the last picture was there; the times are numbers of frames.
func curve(o *analyze.Outcome) (points []har.Point) {
	for _, measure := range []string{"speedindex", "loadhist"} {
		found, ok := o.Find(measure)
		if !ok {
			continue
		}
		for _, series := range found.Series {
			if !strings.HasSuffix(series.Name, "progress") || series.Unit != "fraction" {
				continue
			}
			each := 1 + len(series.Frames)/mostPoints
			for i := 0; i < len(series.Frames); i += each {
				points = append(points, har.Point{At: timeline.Time(series.Frames[i]), Share: series.Values[i]})
			}
			return points
		}
	}
	return nil
}

const (
	mostPoints = 4000
	filmWidth  = 224 // pixels; drawn at half of that, so that it is sharp on fine screens
)

// film are pictures of what was on the screen; what cannot be read leaves a hole.
func (s *session) film(from, to timeline.Time, r *recording.Reader) (shots []har.Shot) {
	last, shot := -1, har.Shot{}
	for _, t := range har.FilmTimes(from, to, har.FilmShots(aspect(r))) {
		n := max(0, r.Find(t))
		if n != last {
			img, err := r.Image(n)
			if err != nil {
				s.log.Warn("a picture of the filmstrip is missing", "frame", n, "why", err)
				continue
			}
			if shot, err = small(frame.NewConverter(img.Layout).Picture(img)); err != nil {
				s.log.Warn("a picture of the filmstrip is missing", "frame", n, "why", err)
				continue
			}
			last = n
		}
		shot.At = t
		shots = append(shots, shot)
	}
	return shots
}

func small(of image.Image) (har.Shot, error) {
	b := of.Bounds()
	height := max(1, filmWidth*b.Dy()/max(1, b.Dx()))
	to := image.NewRGBA(image.Rect(0, 0, filmWidth, min(height, 4*filmWidth)))
	draw.ApproxBiLinear.Scale(to, to.Rect, of, b, draw.Src, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, to, &jpeg.Options{Quality: 82}); err != nil {
		return har.Shot{}, err
	}
	return har.Shot{Type: "image/jpeg", Data: out.Bytes(), Aspect: float64(b.Dx()) / float64(max(1, b.Dy()))}, nil
}

// networkResults is what results.json says of the network.
func (s *session) networkResults() *report.Network {
	n := s.record.Network
	found := &report.Network{
		Profile: n.Profile, RTTAskedNS: int64(n.RTT.Asked), RTTNS: int64(n.RTT.Got), DownAsked: int64(n.Down.Asked), Down: int64(n.Down.Got), UpAsked: int64(n.Up.Asked), Up: int64(n.Up.Got),
		LossAsked: n.Loss.Asked, Loss: n.Loss.Got, Requests: n.Requests, Missed: n.Missed, NamesRefused: n.NamesRefused, Connections: n.Connections,
		BytesUp: int64(n.BytesUp), BytesDown: int64(n.BytesDown), File: HARFile, List: []report.Request{},
	}
	for i := range s.fall.Requests[:min(len(s.fall.Requests), report.MostRequests)] {
		found.List = append(found.List, requestResults(&s.fall.Requests[i]))
	}
	return found
}

func requestResults(r *har.Request) report.Request {
	x := &r.Served
	part := func(from, to har.Moment) int64 {
		if !from.Known() || !to.Known() {
			return -1
		}
		return int64(max(0, to.At.Sub(from.At)) / time.Nanosecond)
	}
	priority := "u=" + strconv.Itoa(x.Urgency)
	if x.Incremental {
		priority += ", i"
	}
	return report.Request{
		Method: cut(x.Method, 40), URL: cut(x.URL, 2000), Status: x.Status, Protocol: r.Over.Protocol, Priority: priority, Reused: r.Reused, BeginNS: int64(r.Begins().At),
		NameNS: part(r.Name.From, r.Name.To), ConnectNS: part(r.Connect.From, r.Connect.To), TLSNS: part(r.TLS.From, r.TLS.To), WaitNS: part(r.Sent, r.FirstByte), LoadNS: part(r.FirstByte, r.Ended),
		Exact: r.FirstByte.Exact() && r.Ended.Exact(), WireBytes: r.WireBytes, BodyBytes: x.ResponseBytes, DecodedBytes: x.DecodedBytes,
	}
}

// aspect is the shape of a recording's first frames, width to height.
func aspect(r *recording.Reader) float64 {
	all := r.Segments()
	if len(all) == 0 || all[0].Layout.Format.Height == 0 {
		return 0
	}
	return float64(all[0].Layout.Format.Width) / float64(all[0].Layout.Format.Height)
}
