package runfolder

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
)

// maxEvidence is how many frames of evidence are drawn for a window.
const maxEvidence = 12

// windowPictures draws what belongs to one window.
type windowPictures struct {
	*folder
	window  *result.Window
	outcome *analyze.Outcome
	prefix  string // of file names, where there are several windows
}

func (f *folder) window(i int, o *analyze.Outcome) *windowPictures {
	p := &windowPictures{folder: f, window: &f.found.Results.Windows[i], outcome: o}
	if i > 0 {
		p.prefix = fmt.Sprintf("%d_", i+1)
	}
	return p
}

func (f *folder) pictures(ctx context.Context) error {
	advance, end := f.progress.Phase("drawing pictures", len(f.found.Outcomes))
	defer end()
	for i, o := range f.found.Outcomes {
		if ctx.Err() != nil {
			return f.interrupted(ctx, "%d of %d windows have pictures", i, len(f.found.Outcomes))
		}
		if err := f.window(i, o).all(); err != nil {
			return err
		}
		advance(1)
	}
	return f.problems()
}

// problems draws the frames of marker problems.
func (f *folder) problems() error {
	drawn := 0
	for _, p := range f.found.Problems {
		for _, n := range p.Frames {
			if drawn++; drawn > maxEvidence {
				return nil
			}
			img, err := f.reader.Image(n)
			if err != nil {
				f.note("a picture is missing: %v", err)
				continue
			}
			e := []analyze.Evidence{{Kind: p.Kind, Frame: n, Text: p.Text}}
			pic, err := render.EvidencePicture(img, e, render.EvidenceOptions{Caption: fmt.Sprintf("frame %d", n)})
			if err != nil {
				f.note("a picture is missing: %v", err)
				continue
			}
			name := fmt.Sprintf("%s/marker_%06d.png", PicturesDir, n)
			if err := f.file(name, func(w io.Writer) error { return png.Encode(w, pic) }); err != nil {
				return err
			}
			f.found.Results.Pictures = append(f.found.Results.Pictures,
				result.Picture{Kind: result.PictureEvidence, File: name, Text: p.Text, Frame: n})
		}
	}
	return nil
}

// file writes one file of the folder.
func (f *folder) file(name string, write func(io.Writer) error) error {
	out, err := os.Create(f.path(name))
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

func (p *windowPictures) all() error {
	for _, draw := range []func() error{p.heat, p.frameTimes, p.progress, p.filmstrips, p.evidence} {
		err := draw()
		var path *os.PathError
		switch {
		case errors.As(err, &path): // the disk, and not the picture
			return err
		case err != nil:
			p.note("%s", p.title(fmt.Sprintf("a picture is missing: %v", err)))
		}
	}
	return nil
}

// file writes one file of the window's pictures and returns its name in the folder.
func (p *windowPictures) file(name string, write func(io.Writer) error) (string, error) {
	name = PicturesDir + "/" + p.prefix + name
	return name, p.folder.file(name, write)
}

func (p *windowPictures) png(name string, img image.Image) (string, error) {
	return p.file(name, func(w io.Writer) error { return png.Encode(w, img) })
}

func (p *windowPictures) add(kind, file, data, measure, text string, frame int) {
	p.window.Pictures = append(p.window.Pictures, result.Picture{Kind: kind, File: file, Data: data, Text: text,
		Measure: measure, Frame: frame})
}

func (p *windowPictures) heat() error {
	r, ok := p.outcome.Find("heatmap")
	if !ok || r.Heat == nil {
		return nil
	}
	last, err := p.reader.Image(p.outcome.Window.End)
	if err != nil {
		return err
	}
	img, err := render.HeatPicture(r.Heat, render.HeatOptions{Title: p.title("how often each pixel changed"),
		Under: &last})
	if err != nil {
		return err
	}
	data, err := p.file("heatmap.npy", func(w io.Writer) error { return render.WriteNPY(w, r.Heat) })
	if err != nil {
		return err
	}
	name, err := p.png("heatmap.png", img)
	if err == nil {
		p.add(result.PictureHeatMap, name, data, "heatmap", "How often each pixel changed.", -1)
	}
	return err
}

func (p *windowPictures) title(what string) string {
	if p.window.Name != "" {
		return p.window.Name + ": " + what
	}
	return what
}

// seconds is when a frame was on the screen, counted from s.
// seconds is a frame's time from T0, or from the window's start without one.
func (p *windowPictures) seconds(n int) float64 {
	return p.outcome.Times.At(n).Sub(zero(p.outcome)).Seconds()
}

// command marks T0, so that a graph begins there.
func (p *windowPictures) command() []render.TimeMark {
	if p.outcome.Window.T0 == nil {
		return nil
	}
	return []render.TimeMark{{Label: "T0", Tone: render.Begin}}
}

func (p *windowPictures) frameTimes() error {
	r, ok := p.outcome.Find("fps")
	if !ok || len(r.Series) == 0 {
		return nil
	}
	g, err := render.FrameTimeGraph(r.Series[0], p.seconds, render.GraphOptions{Title: p.title("frame times"),
		Marks: p.command()})
	if err != nil {
		return err
	}
	return p.graph(g, "frametimes", result.PictureFrameTimes, "fps", "How long each frame was on the screen.")
}

func (p *windowPictures) progress() error {
	var lines []render.Line
	if r, ok := p.outcome.Find("speedindex"); ok {
		for _, s := range r.Series {
			lines = append(lines, render.Line{Name: s.Name, Series: s, Seconds: p.seconds})
		}
	}
	if r, ok := p.outcome.Find("loadhist"); ok && len(lines) == 0 && len(r.Series) > 0 {
		lines = append(lines, render.Line{Name: "pixels", Series: r.Series[0], Seconds: p.seconds})
	}
	if len(lines) == 0 {
		return nil
	}
	g, err := render.ProgressGraph(lines, render.GraphOptions{Title: p.title("load progress"), Marks: p.command()})
	if err != nil {
		return err
	}
	return p.graph(g, "progress", result.PictureProgress, "speedindex",
		"How much of the last picture was there, over time.")
}

func (p *windowPictures) graph(g *render.Graph, name, kind, measure, text string) error {
	svg, err := p.file(name+".svg", g.WriteSVG)
	if err != nil {
		return err
	}
	if _, err := p.file(name+".png", g.WritePNG); err != nil {
		return err
	}
	p.add(kind, svg, "", measure, text, -1)
	return nil
}

// filmstrips draws the screen in even steps, then the frames at which something changed.
func (p *windowPictures) filmstrips() error {
	w := p.outcome.Window
	zero, end := zero(p.outcome), p.outcome.Times.At(max(w.End, w.Red))
	step := p.step
	if step == 0 {
		step = filmStep(end.Sub(zero))
	} else if step = FilmStep(end.Sub(zero), step, MaxFilmstrip); step != p.step {
		p.note("%s", p.title(fmt.Sprintf("the filmstrip has steps of %v: %v needs more than %d pictures", step, p.step,
			MaxFilmstrip)))
	}
	var cells []render.Cell
	n := w.First()
	for t := zero; t < end.Add(step); t = t.Add(step) { // the last picture shows the end
		for n < w.End && p.outcome.Times.At(n+1) <= t {
			n++
		}
		cells = append(cells, render.Cell{Frame: n, Caption: fmt.Sprintf("%.*f s", digits(step), t.Sub(zero).Seconds()),
			Nothing: n < w.Start})
	}
	text := fmt.Sprintf("the screen every %g s", step.Seconds())
	err := p.strip("filmstrip_even.png", "T"+text[1:]+".", cells, render.FilmstripOptions{Title: p.title(text),
		MaxCells: MaxFilmstrip + 1, Columns: evenColumns, CellWidth: evenWidth})
	if err != nil {
		return err
	}
	return p.filmstrip()
}

const (
	maxEven     = 34 // pictures of a filmstrip in even steps, and one of the end
	evenColumns = 7
	evenWidth   = 180 // pixels of a picture
)

// filmStep is the step of a filmstrip: the smallest usual one for which there is room.
func filmStep(d time.Duration) time.Duration {
	step := 100 * time.Millisecond
	for i := 0; d/step >= maxEven; i++ {
		step *= time.Duration([]int{5, 2}[i%2])
	}
	return step
}

// MaxFilmstrip limits the pictures of a filmstrip whose step was chosen. Browsers can show a row of
// so many.
const MaxFilmstrip = 150

// FilmStep returns a chosen step, or its smallest multiple with at most so many pictures from 0 to
// d.
func FilmStep(d, step time.Duration, most int) time.Duration {
	return step * (max(d, 0)/(step*time.Duration(most)) + 1)
}

// digits are those of a step's seconds, at least one.
func digits(step time.Duration) int {
	n := 1
	for unit := 100 * time.Millisecond; step%unit != 0 && n < 3; n++ {
		unit /= 10
	}
	return n
}

// filmstrip shows the frames at which something changed.
func (p *windowPictures) filmstrip() error {
	var cells []render.Cell
	for _, n := range p.changed() {
		cells = append(cells, render.Cell{Frame: n, Caption: fmt.Sprintf("%.3f s", p.seconds(n))})
	}
	if len(cells) == 0 {
		return nil
	}
	cells[0].Mark, cells[0].Tone = "start", render.Begin
	return p.strip("filmstrip.png", "Frames at which something changed, evenly chosen where there are many.", cells,
		render.FilmstripOptions{Title: p.title("frames seen")})
}

// strip draws a filmstrip.
func (p *windowPictures) strip(name, text string, cells []render.Cell, o render.FilmstripOptions) error {
	strip, err := render.NewFilmstrip(cells, o)
	if err != nil {
		return err
	}
	for _, n := range strip.Frames() {
		img, err := p.reader.Image(n)
		if err != nil {
			return err
		}
		strip.Add(n, img)
	}
	img, err := strip.Picture()
	if err != nil {
		return err
	}
	file, err := p.png(name, img)
	if err == nil {
		p.add(result.PictureFilmstrip, file, "", "", text, -1)
	}
	return err
}

// changed returns the frames of the window that are new, as far as a measure that was asked for
// tells; of one that counts final pixels those in which there are more or fewer.
func (p *windowPictures) changed() []int {
	w := p.outcome.Window
	for _, measure := range []string{"fps", "speedindex", "loadhist"} {
		r, ok := p.outcome.Find(measure)
		if !ok || len(r.Series) == 0 || len(r.Series[0].Frames) == 0 {
			continue
		}
		frames := r.Series[0].Frames
		for len(frames) > 0 && frames[0] <= w.Start { // a load begins with the frame before it
			frames = frames[1:]
		}
		return append([]int{w.Start}, frames...)
	}
	return []int{w.Start, w.End}
}

// evidence draws the frames that measures name, each with all that is said of it.
func (p *windowPictures) evidence() error {
	of := map[int][]analyze.Evidence{}
	measure := map[int]string{}
	var frames []int
	for i := range p.outcome.Results {
		for _, e := range p.outcome.Results[i].Evidence {
			if len(of[e.Frame]) == 0 {
				frames = append(frames, e.Frame)
				measure[e.Frame] = p.outcome.Results[i].Measure
			}
			of[e.Frame] = append(of[e.Frame], e)
		}
	}
	if n := len(frames); n > maxEvidence {
		p.note("%s", p.title(fmt.Sprintf(
			"%d frames are evidence of findings; pictures were drawn of the first %d", n, maxEvidence)))
		frames = frames[:maxEvidence]
	}
	slices.Sort(frames)
	for _, n := range frames {
		img, err := p.reader.Image(n)
		if err != nil {
			return err
		}
		pic, err := render.EvidencePicture(img, of[n],
			render.EvidenceOptions{Caption: fmt.Sprintf("frame %d, %.3f s", n, p.seconds(n))})
		if err != nil {
			return err
		}
		name, err := p.png(fmt.Sprintf("evidence_%06d.png", n), pic)
		if err != nil {
			return err
		}
		p.add(result.PictureEvidence, name, "", measure[n], of[n][0].Text, n)
	}
	return nil
}
