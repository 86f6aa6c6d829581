package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// analysisJSON is how fast some measures of one scene were taken, opening the recording included.
type analysisJSON struct {
	Scene           string
	What            string // the measures in words
	Measures        []string
	Tolerance       int
	Frames          int
	ElapsedNS       int64
	FramesPerSecond float64
	RealTimeRatio   float64 // to 60 frames a second
	WantedRatio     float64 // 0: nothing is claimed
	// how many times as long as all of pixels, for each frame of the scene; 0: is that, or has none
	PixelRatio float64
	HeapBytes  uint64   // the most that was seen, garbage included
	Refused    []string // measures that found no work here, and why

	variants []string
	most     int // frames that it is measured on; 0: all
}

// againstJSON is an analysis beside another program's.
type againstJSON struct {
	Scene       string
	Frames      int
	Peer        string
	OursNS      int64
	PeerNS      int64
	Ratio       float64
	WantedRatio float64
}

// pixelMeasures are those that look at pixels, with the two variants of progress that are for every
// run.
func pixelMeasures() []string {
	return []string{"loadhist", "speedindex", "heatmap", "checkerboard", "scroll"}
}

const allOfPixels = "all of pixels"

// slowFrames are enough of a scene in which all changes, for measures that are slower than it
// plays.
const slowFrames = 240

// analysisScene is a recording and what is measured in it.
type analysisScene struct {
	name   string
	frames int // 60 of them are a second
	quick  int
	cases  []analysisJSON
}

func analysisScenes() []analysisScene {
	cheap := []string{"pixel", "histogram"}
	return []analysisScene{
		{"web", 3600, 600, []analysisJSON{
			{What: "fps tearing quality", Measures: []string{"fps", "tearing", quality.Name}, WantedRatio: 200},
			{What: "fps", Measures: []string{"fps"}, WantedRatio: 100_000. / 60},
			{What: allOfPixels, Measures: pixelMeasures(), WantedRatio: 20, variants: cheap},
			{What: "perceptual", Measures: []string{"speedindex"}, variants: []string{"perceptual"}, most: slowFrames},
			{What: "contentful", Measures: []string{"speedindex"}, variants: []string{"contentful"}, most: slowFrames},
		}},
		{"static", 3600, 3600, []analysisJSON{
			{What: "fps", Measures: []string{"fps"}, WantedRatio: 100_000. / 60},
			{What: allOfPixels, Measures: pixelMeasures(), WantedRatio: 1000, variants: cheap},
			{What: "perceptual contentful", Measures: []string{"speedindex"},
				variants: []string{"perceptual", "contentful"}},
		}},
		{"caret", 3600, 3600, []analysisJSON{
			{What: "fps", Measures: []string{"fps"}, WantedRatio: 100_000. / 60},
			{What: allOfPixels, Measures: pixelMeasures(), WantedRatio: 1000, variants: cheap},
			{What: "perceptual contentful", Measures: []string{"speedindex"},
				variants: []string{"perceptual", "contentful"}},
		}},
		{"noise", 600, 120, []analysisJSON{
			{What: "fps", Measures: []string{"fps"}, Tolerance: 8, WantedRatio: 3},
			{What: allOfPixels, Measures: pixelMeasures(), Tolerance: 8, variants: cheap},
		}},
	}
}

// analyses records each scene, measures it, and takes it away again; then it holds the framerate
// against ffmpeg's.
func (b *bench) analyses() error {
	for _, s := range analysisScenes() {
		if b.quick {
			s.frames = s.quick
		}
		if err := b.analyseScene(s); err != nil {
			return fmt.Errorf("analysis of %s: %w", s.name, err)
		}
	}
	if err := b.againstDecimate(); err != nil {
		return fmt.Errorf("ffmpeg's mpdecimate: %w", err)
	}
	b.result.Notes = append(b.result.Notes,
		"analyses are the least of up to three runs, or of more short runs; files come from the page cache if they fit")
	return nil
}

func (b *bench) analyseScene(s analysisScene) (err error) {
	path := filepath.Join(b.dir, s.name+".eid")
	b.phase(fmt.Sprintf("drawing %s of %s", plural(s.frames, "frame"), s.name), 0).End()
	if err := b.draw(s.name, s.frames, path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	var pixels float64 // of a frame, ns
	for _, c := range s.cases {
		b.phase(fmt.Sprintf("analysing %s: %s", s.name, c.What), 0).End()
		c.Scene, c.Frames = s.name, s.frames
		if c.most > 0 && c.most < c.Frames {
			c.Frames = c.most
			b.result.Notes = append(b.result.Notes, fmt.Sprintf("%s: %s looks at the first %s of %s", s.name, c.What,
				countText(c.Frames), plural(s.frames, "frame")))
		}
		if err := b.measure(&c, path); err != nil {
			return fmt.Errorf("%s: %w", c.What, err)
		}
		switch each := float64(c.ElapsedNS) / float64(c.Frames); {
		case c.What == allOfPixels:
			pixels = each
		case pixels > 0:
			c.PixelRatio = each / pixels
		}
		b.result.Analyses = append(b.result.Analyses, c)
	}
	return b.memoryOfLength(s, path)
}

// memoryOfLength measures a quarter too, where that takes long enough to see what it needs.
func (b *bench) memoryOfLength(s analysisScene, path string) error {
	if s.name != "web" {
		return nil
	}
	quarter := analysisJSON{Scene: s.name, What: allOfPixels + ", a quarter", Frames: s.frames / 4,
		Measures: pixelMeasures(), variants: []string{"pixel", "histogram"}}
	if err := b.measure(&quarter, path); err != nil {
		return err
	}
	b.result.Analyses = append(b.result.Analyses, quarter)
	return nil
}

// draw records a scene.
func (b *bench) draw(scene string, frames int, path string) error {
	src, err := recorder.OpenSource(b.ctx, fmt.Sprintf("synth:%s?size=1920x1080&format=BGR4&frames=%d", scene, frames))
	if err != nil {
		return err
	}
	_, err = recorder.Record(b.ctx, src, path, recorder.Options{Program: program()})
	return errors.Join(err, src.Close(), b.ctx.Err())
}

// measure takes the measures of a case, as far as this program has them.
func (b *bench) measure(c *analysisJSON, path string) error {
	known := append(analyze.Names(), quality.Name)
	asked := c.Measures
	c.Measures, c.Refused = nil, []string{}
	for _, m := range asked {
		if slices.Contains(known, m) {
			c.Measures = append(c.Measures, m)
		} else {
			c.Refused = append(c.Refused, m+": this program has no such measure")
		}
	}
	missing := len(c.Refused)
	took, err := least(func() (time.Duration, error) {
		c.Refused = c.Refused[:missing]
		runtime.GC() // what was before is not counted
		heap := watchHeap()
		started := time.Now()
		err := b.analyseOnce(c, path)
		took := time.Since(started)
		c.HeapBytes = max(c.HeapBytes, heap.most())
		return took, err
	})
	if err != nil {
		return err
	}
	c.ElapsedNS = took.Nanoseconds()
	c.FramesPerSecond = float64(c.Frames) / took.Seconds()
	c.RealTimeRatio = c.FramesPerSecond / 60
	return nil
}

func (b *bench) analyseOnce(c *analysisJSON, path string) error {
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	ofFrames := slices.DeleteFunc(slices.Clone(c.Measures), func(m string) bool { return m == quality.Name })
	if len(ofFrames) < len(c.Measures) {
		quality.Of(r, false)
	}
	if len(ofFrames) == 0 { // of none, all would be measured
		return nil
	}
	out, err := analyze.Analyze(b.ctx, r, measure.FramesWindow(r, 0, c.Frames), analyze.Options{
		Measures: ofFrames, Tolerance: c.Tolerance, Load: load.Options{Variants: c.variants},
	})
	if err != nil {
		return err
	}
	for _, found := range out.Results {
		if found.State == analyze.Refused {
			c.Refused = append(c.Refused, found.Measure+": "+found.Refusal)
		}
	}
	return nil
}

// againstDecimate counts unique frames as others do: ffmpeg's mpdecimate, on the same frames as
// lossless x264. Both read one file and write nothing.
func (b *bench) againstDecimate() (err error) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		b.result.Notes = append(b.result.Notes, "framerate is not held against ffmpeg, which is not installed")
		return nil
	}
	frames := 300
	if b.quick {
		frames = 120
	}
	p := peerRun{bench: b, scene: peerJSON{Scene: "web", Frames: frames}, ffmpeg: ffmpeg,
		raw: filepath.Join(b.dir, "decimate.raw")}
	ours, theirs := filepath.Join(b.dir, "decimate.eid"), filepath.Join(b.dir, "decimate.mkv")
	defer func() {
		for _, path := range []string{p.raw, ours, theirs} {
			if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	b.phase("drawing "+plural(frames, "frame")+" for ffmpeg", 0).End()
	if err := p.draw(); err != nil {
		return err
	}
	if _, err := p.record("raw:"+p.raw+"?size=1920x1080&format=BGR4&fps=60", ours); err != nil {
		return err
	}
	var said strings.Builder
	encode := exec.CommandContext(b.ctx, ffmpeg, p.ffmpegArgs("-c:v", "libx264rgb", "-preset", "ultrafast", "-qp", "0",
		theirs)...)
	encode.Stderr = &said
	if err := encode.Run(); err != nil {
		return fmt.Errorf("lossless x264: %w: %s", err, strings.TrimSpace(said.String()))
	}
	peer, err := p.timed("mpdecimate", "-nostdin", "-v", "error", "-i", theirs, "-vf", "mpdecimate", "-f", "null", "-")
	if err != nil {
		return err
	}
	c := analysisJSON{Scene: "web", Frames: frames, Measures: []string{"fps"}}
	if err := b.measure(&c, ours); err != nil {
		return err
	}
	b.result.Against = append(b.result.Against, againstJSON{
		Scene: "web", Frames: frames, Peer: "ffmpeg mpdecimate, x264 lossless", OursNS: c.ElapsedNS,
		PeerNS: peer.Nanoseconds(),
		Ratio:  float64(peer.Nanoseconds()) / float64(max(c.ElapsedNS, 1)), WantedRatio: 20,
	})
	return nil
}

// heapWatch looks at the heap while something runs.
type heapWatch struct {
	stop    chan struct{}
	done    sync.WaitGroup
	largest uint64
}

func watchHeap() *heapWatch {
	h := &heapWatch{stop: make(chan struct{})}
	h.done.Go(func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			h.largest = max(h.largest, sample[0].Value.Uint64())
			select {
			case <-h.stop:
				return
			case <-tick.C:
			}
		}
	})
	return h
}

// most ends the watch and returns the most that was there at once.
func (h *heapWatch) most() uint64 {
	close(h.stop)
	h.done.Wait()
	return h.largest
}

func analysisRows(all []analysisJSON) [][]string {
	var rows [][]string
	for _, a := range all {
		what := a.What
		if a.Tolerance > 0 {
			what += fmt.Sprintf(", tolerance %d", a.Tolerance)
		}
		rows = append(rows, []string{
			a.Scene, what, countText(a.Frames), secondsText(time.Duration(a.ElapsedNS)),
			countText(int64(a.FramesPerSecond)),
			fmt.Sprintf("%.4g", a.RealTimeRatio), wanted(a.RealTimeRatio, a.WantedRatio), toPixels(a.PixelRatio),
			bytesText(a.HeapBytes),
		})
	}
	return rows
}

func againstRows(all []againstJSON) [][]string {
	var rows [][]string
	for _, a := range all {
		rows = append(rows, []string{
			a.Scene, countText(a.Frames), a.Peer, secondsText(time.Duration(a.PeerNS)),
			fmt.Sprintf("%.1f ms", float64(a.OursNS)/1e6),
			fmt.Sprintf("%.4g", a.Ratio), wanted(a.Ratio, a.WantedRatio),
		})
	}
	return rows
}

// wanted says which ratio is claimed, and whether it is reached.
func wanted(got, want float64) string {
	switch {
	case want == 0:
		return "-"
	case got < want:
		return fmt.Sprintf("%.4g, missed", want)
	}
	return fmt.Sprintf("%.4g, met", want)
}

// toPixels says how much longer than the measures of pixels something takes.
func toPixels(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2g x", ratio)
}

// refusals are notes on measures that had nothing to do, so that their speed means nothing.
func refusals(all []analysisJSON) []string {
	var notes []string
	for _, a := range all {
		for _, r := range a.Refused {
			notes = append(notes, fmt.Sprintf("%s, %s: %s", a.Scene, a.What, r))
		}
	}
	return notes
}
