package compare

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// PageName is the name of the page in the folder.
const PageName = "compare.html"

// Names in the folder.
const (
	heatPictureFile = "heatmap-difference.png"
	heatNumbersFile = "heatmap-difference.npy"
	divergenceFileA = "first-difference-a.png"
	divergenceFileB = "first-difference-b.png"
	pairVideoFile   = "pair.mp4"
)

// stripFiles are the filmstrips of A and B.
func stripFiles() []string { return []string{"filmstrip-a.png", "filmstrip-b.png"} }

// FolderFiles are the names of all files that a folder may have.
func FolderFiles() []string {
	return append([]string{heatPictureFile, heatNumbersFile, divergenceFileA, divergenceFileB, pairVideoFile,
		pairVideoFile + ".json", PageName}, stripFiles()...)
}

// Folder has the visual evidence of a comparison, and a page that shows it. The first differences
// and the difference of the heat maps are evidence. So are a video and filmstrips of both runs.
type Folder struct {
	// SingleFile inlines pictures and video in the page.
	SingleFile bool
	// NoVideo leaves out the video of both runs.
	NoVideo bool
	// FilmstripStep is the step of the filmstrips; 0: by the length of the windows.
	FilmstripStep time.Duration

	staged *staging.Folder
	path   string // as asked for
}

// BeginFolder prepares to write a folder, replacing one of the same name. It returns an error if
// the folder cannot be written. Write or Abandon must end it.
func BeginFolder(path string) (*Folder, error) {
	staged, err := staging.Begin(path)
	if err != nil {
		return nil, err
	}
	return &Folder{staged: staged, path: path}, nil
}

// Abandon removes the written files. A nil folder was not requested.
func (f *Folder) Abandon() error {
	if f == nil {
		return nil
	}
	return f.staged.Abandon()
}

// Write draws the evidence of the two shown runs, and moves the folder into place when it is
// complete. A picture that cannot be drawn is a refusal in the comparison's evidence. If Write
// fails, the comparison names no files.
func (f *Folder) Write(ctx context.Context, c *Comparison, progress runfolder.Progress) error {
	d := drawing{Comparison: c, progress: progress, made: f.staged.Dir(), shown: f.path, noVideo: f.NoVideo,
		filmstripStep: f.FilmstripStep}
	err := d.all(ctx)
	if err == nil {
		c.page = d.name(PageName)
		err = d.drawPage(report.PageOptions{SingleFile: f.SingleFile})
	}
	if err = f.staged.Finish(err); err != nil {
		c.heat, c.divergence, c.pair, c.strips, c.page = nil, nil, nil, nil, ""
	}
	return err
}

// Evidence is what a folder has, in words.
type Evidence struct{ Name, Text string }

// Evidence returns the drawn evidence; none if no folder was written.
func (c *Comparison) Evidence() (all []Evidence) {
	if c.heat != nil {
		all = append(all, Evidence{"heat maps", c.heat.text()})
	}
	if c.divergence != nil {
		all = append(all, Evidence{"divergence", c.divergence.text()})
	}
	if c.pair != nil {
		all = append(all, Evidence{"video", c.pair.text()})
	}
	if c.page != "" {
		all = append(all, Evidence{"page", c.page})
	}
	return all
}

// drawing is a comparison whose folder is written.
type drawing struct {
	*Comparison
	progress runfolder.Progress
	made     string // folder to write into
	shown    string // what it will be called
	noVideo  bool

	filmstripStep time.Duration
}

// path is where to write a file.
func (d drawing) path(name string) string { return filepath.Join(d.made, name) }

// name is what the file will be called.
func (d drawing) name(name string) string { return filepath.Join(d.shown, name) }

func (d drawing) file(name string, write func(io.Writer) error) error {
	out, err := os.Create(d.path(name))
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

// all draws the two runs that are shown, in the window that the primary is of.
func (d drawing) all(ctx context.Context) error {
	if d.shownA < 0 || d.shownB < 0 {
		return nil
	}
	a, okA := d.side(&d.A.Runs[d.shownA])
	b, okB := d.side(&d.B.Runs[d.shownB])
	if !okA || !okB {
		return nil
	}
	if err := d.drawHeat(a, b); err != nil {
		return err
	}
	if err := d.drawDivergence(ctx, a, b); err != nil {
		return err
	}
	if err := d.drawStrips(ctx, a, b); err != nil {
		return err
	}
	if d.noVideo {
		return nil
	}
	return d.drawPair(ctx, a, b)
}

// side returns that of a run.
func (d drawing) side(r *Run) (s side, ok bool) {
	w, ok := d.window(r)
	return side{r, w}, ok
}
