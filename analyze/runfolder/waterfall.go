package runfolder

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"os"
	"strings"

	"golang.org/x/image/draw"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/har"
)

// HARFile is in the folder of a run on a network of its own: what the network brought.
const HARFile = "network.har"

// Network is what the network of a run brought. It is put into the run's folder when the run is
// measured, and again when it is measured again.
type Network struct {
	Results *result.Network // nil: only the HAR file exists
	Fall    *har.Waterfall  // nil: it is not drawn
	// HAR puts the HAR file into a folder in the making. Nil: the folder that is written into has
	// it already, or there is none, as the results say.
	HAR func(dir string) error
}

// network puts the network's files into the folder, and draws the requests under the frames.
func (f *folder) network(n *Network, pictures bool) error {
	if n == nil {
		return nil
	}
	if n.HAR != nil {
		if err := n.HAR(f.dir); err != nil {
			return err
		}
	}
	results := &f.found.Results
	results.Network = n.Results
	if n.Fall == nil || !pictures || len(f.found.Outcomes) != len(results.Windows) {
		return nil
	}
	for i, o := range f.found.Outcomes {
		p := f.window(i, o)
		file, err := p.file("waterfall.svg", func(to io.Writer) error { return n.Fall.SVG(to, p.waterfall()) })
		var ondisk *os.PathError
		switch {
		case errors.As(err, &ondisk):
			return err
		case err != nil: // a run is worth more than a picture
			f.note("%s", p.title("a picture is missing: "+err.Error()))
			_ = os.Remove(f.path(file))
			continue
		}
		p.add(result.PictureWaterfall, file, HARFile, "",
			"The frames seen, their progress and the network's requests, on one axis of time.", -1)
	}
	return nil
}

// waterfall is what the window is drawn with: from the command that it begins with, or its first
// frame, to its end.
func (p *windowPictures) waterfall() har.Picture {
	w, results := p.window, &p.found.Results
	d := har.Picture{Title: results.Recording.Name, From: timeline.Time(w.StartNS), To: timeline.Time(w.EndNS),
		About: results.Environment[result.EnvNetwork]}
	if b := Browser(results.Environment); b.Name != "" {
		d.Title += ", " + b.Name + " " + b.Version
	}
	d.Left = "the first measured frame"
	if w.T0 != nil && w.T0.AtNS < w.StartNS {
		d.From, d.Left = timeline.Time(w.T0.AtNS), "T0, the command ("+w.T0.Source+")"
	}
	first, last := Seen(w)
	for _, m := range []har.Mark{{At: first, Name: "start render"}, {At: last, Name: "last change"}} {
		if m.At != 0 {
			d.Marks = append(d.Marks, m)
		}
	}
	d.Curve = curve(p.outcome)
	for i := range d.Curve {
		d.Curve[i].At = p.outcome.Times.At(int(d.Curve[i].At))
	}
	if len(d.Curve) > 0 && d.Curve[0].At > d.From {
		d.Curve = append([]har.Point{{At: d.From}}, d.Curve...)
	}
	d.Film = p.film(d.From, d.To)
	return d
}

// Seen returns the times of a window's first and last change from its results, or 0.
func Seen(w *result.Window) (first, last timeline.Time) {
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
			each := 1 + len(series.Frames)/maxPoints
			for i := 0; i < len(series.Frames); i += each {
				points = append(points, har.Point{At: timeline.Time(series.Frames[i]), Share: series.Values[i]})
			}
			return points
		}
	}
	return nil
}

const (
	maxPoints = 4000
	filmWidth = 224 // pixels; drawn at half of that, so that it is sharp on fine screens
)

// film returns pictures of the screen. An unreadable frame leaves a hole, with one note for all.
func (p *windowPictures) film(from, to timeline.Time) (shots []har.Shot) {
	last, shot, told := -1, har.Shot{}, false
	for _, t := range har.FilmTimes(from, to, har.FilmShots(aspect(p.reader))) {
		if n := max(0, p.reader.Find(t)); n != last {
			shown, err := p.shown(n)
			if err == nil {
				shot, err = small(shown)
			}
			if err != nil {
				if !told {
					p.note("%s", p.title(fmt.Sprintf("the waterfall lacks a picture of frame %d: %v", n, err)))
				}
				told = true
				continue
			}
			last = n
		}
		shot.At = t
		shots = append(shots, shot)
	}
	return shots
}

// shown returns the picture of a frame: an empty one for the green before the content.
func (p *windowPictures) shown(n int) (image.Image, error) {
	if p.window.Green >= 0 && n < p.window.Start {
		return render.Nothing(image.Pt(filmWidth, max(1, int(filmWidth/aspect(p.reader)))))
	}
	img, err := p.reader.Image(n)
	if err != nil {
		return nil, err
	}
	return frame.NewConverter(img.Layout).Picture(img), nil
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

// aspect is the shape of a recording's first frames, width to height.
func aspect(r *recording.Reader) float64 {
	all := r.Segments()
	if len(all) == 0 || all[0].Layout.Format.Height == 0 {
		return 0
	}
	return float64(all[0].Layout.Format.Width) / float64(all[0].Layout.Format.Height)
}

// Browser parts what a browser says of itself in an environment, "Mozilla Firefox 140.10.2esr" say,
// into name and version.
func Browser(e result.Environment) (b har.Program) {
	for word := range strings.FieldsSeq(e[result.EnvBrowser]) {
		if word[0] >= '0' && word[0] <= '9' {
			b.Version = word
			return b
		}
		b.Name = strings.TrimSpace(b.Name + " " + word)
	}
	return b
}
