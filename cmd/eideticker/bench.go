package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/rig"
)

type benchCmd struct {
	Dir     string `placeholder:"DIR" complete:"files" help:"Folder on the disk to measure; the one for temporary files if not given."`
	Peers   bool   `help:"Also give the same frames to ffmpeg's lossless encoders and to plain LZ4; takes minutes and 5 GB."`
	Paced   bool   `help:"Also record scenes in real time; takes ten minutes and 60 GB."`
	Analyze bool   `help:"Only measure how fast recordings are analysed, a minute of 1920x1080 at 60 frames a second; takes minutes and 15 GB."`
	Quick   bool   `help:"With --analyze: shorter recordings. With --same: ten pings a run at most."`
	JSON    bool   `help:"Print one JSON object."`
	sameFlags
}

func (benchCmd) Help() string {
	return `Examples:

  eideticker bench --dir /recordings
  eideticker bench --analyze --quick
  eideticker bench --same --quick -o out/same
  eideticker bench --same --from out/same

Measures what this box can do at most, and then how fast frames of 1920x1080 come from memory into a file. Nothing else should run meanwhile. It takes about half a minute and 3 GB of disk, which it gives back.

With --same it makes 40 comparisons of a browser with itself, each from runs of its own, dealt in blocks of random order and judged as compare does. Whatever
is said to differ is a false alarm, of which 5 % are promised at most. It tells how many there are, in how many comparisons a verdict was possible at all, how far the
values of all runs lie apart, and exits with 1 if there are more than chance allows in 99 of 100 cases, or if nothing could have been one. The runs stay in their folder; Ctrl-C
ends it with what there is.`
}

// benchJSON is what bench --json prints.
type benchJSON struct {
	Ceilings []ceilingJSON  `json:"ceilings"`
	Scenes   []benchScene   `json:"scenes"`
	Reading  []readingJSON  `json:"reading"`
	Peers    []peerJSON     `json:"peers,omitempty"`
	Paced    []pacedJSON    `json:"paced,omitempty"`
	Analyses []analysisJSON `json:"analyses,omitempty"`
	Against  []againstJSON  `json:"against,omitempty"`
	Same     *sameJSON      `json:"same,omitempty"`
	Notes    []string       `json:"notes"`
}

type ceilingJSON struct {
	Name           string  `json:"name"`
	About          string  `json:"about"`
	BytesPerSecond float64 `json:"bytes_per_s"`
}

// benchScene is how fast one scene was recorded.
type benchScene struct {
	Scene           string  `json:"scene"`
	Frames          uint64  `json:"frames"`
	ElapsedNS       int64   `json:"elapsed_ns"`
	SourceNS        int64   `json:"source_ns"` // of it, what the source alone takes
	NetNS           int64   `json:"net_ns"`    // the rest
	PixelsPerSecond float64 `json:"pixel_bytes_per_s"`
	FileBytes       int64   `json:"file_bytes"`
	Ceiling         string  `json:"ceiling"`
	Share           float64 `json:"share_of_ceiling"`
}

func (c benchCmd) Run(e *env) (err error) {
	switch {
	case c.Same && (c.Peers || c.Paced || c.Analyze || c.Dir != ""):
		return usagef("--same goes alone: without --dir, --peers, --paced and --analyze")
	case c.Same:
		return c.same(e)
	case !c.idle():
		return usagef("tests, and flags of which the help says \"With --same\", go with --same alone")
	}
	dir, err := os.MkdirTemp(c.Dir, "eideticker-bench-")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := bench{env: e, dir: dir, quick: c.Quick, result: benchJSON{Ceilings: []ceilingJSON{}, Scenes: []benchScene{}, Reading: []readingJSON{}, Notes: []string{}}}
	steps := []func() error{b.memory, b.disk, b.scenes}
	if c.Analyze {
		steps = []func() error{b.analyses}
	}
	if c.Peers {
		steps = append(steps, b.peers)
	}
	if c.Paced {
		steps = append(steps, b.paced)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	if c.JSON {
		return printJSON(e.out, b.result)
	}
	return b.result.print(e.out)
}

// bench is one run.
type bench struct {
	*env
	dir    string
	quick  bool
	result benchJSON
}

func (b *bench) ceiling(name, about string, bytes int64, took time.Duration) {
	b.result.Ceilings = append(b.result.Ceilings, ceilingJSON{name, about, float64(bytes) / took.Seconds()})
}

// speed returns a ceiling that was measured.
func (b *bench) speed(name string) float64 {
	for _, c := range b.result.Ceilings {
		if c.Name == name {
			return c.BytesPerSecond
		}
	}
	return 0
}

// sceneCases are what is recorded, and what bounds it: a still screen by comparing, noise by the disk.
func sceneCases() []benchScene {
	return []benchScene{
		{Scene: "static", Frames: 1800, Ceiling: "compare"},
		{Scene: "page", Frames: 1800, Ceiling: "compare"},
		{Scene: "web", Frames: 240, Ceiling: "compare"},
		{Scene: "noise", Frames: 120, Ceiling: "disk"},
	}
}

func (b *bench) scenes() error {
	for _, s := range sceneCases() {
		b.phase("recording synth:"+s.Scene, 0).end()
		if err := b.record(&s); err != nil {
			return err
		}
		b.result.Scenes = append(b.result.Scenes, s)
	}
	return nil
}

func (b *bench) record(s *benchScene) error {
	uri := fmt.Sprintf("synth:%s?size=1920x1080&format=BGR4&frames=%d", s.Scene, s.Frames)
	alone, err := b.sourceAlone(uri)
	if err != nil {
		return err
	}
	src, err := rig.OpenSource(b.ctx, uri)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, s.Scene+".eid")
	started := time.Now()
	res, err := rig.Record(b.ctx, src, path, rig.Options{Program: program()})
	took := time.Since(started)
	if err := errors.Join(err, src.Close(), b.ctx.Err()); err != nil {
		return err
	}
	if err := errors.Join(b.read(s.Scene, path), os.Remove(path)); err != nil {
		return err
	}
	if !res.Direct {
		b.result.Notes = append(b.result.Notes, s.Scene+": "+res.DirectNote)
	}
	s.ElapsedNS, s.SourceNS = took.Nanoseconds(), alone.Nanoseconds()
	s.NetNS = max(s.ElapsedNS-s.SourceNS, 1)
	s.PixelsPerSecond = float64(res.RawBytes) / (float64(s.NetNS) / 1e9)
	s.FileBytes = res.Bytes
	s.Share = s.PixelsPerSecond / b.speed(s.Ceiling)
	return nil
}

// sourceAlone measures how long the source takes to deliver all frames to nobody.
func (b *bench) sourceAlone(uri string) (time.Duration, error) {
	src, err := rig.OpenSource(b.ctx, uri)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	err = rig.Discard(b.ctx, src)
	took := time.Since(started)
	return took, errors.Join(err, src.Close(), context.Cause(b.ctx))
}
