package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/codec/recorder"
)

// benchResult has the tables of a benchmark.
type benchResult struct {
	Ceilings []ceilingJSON
	Scenes   []benchScene
	Reading  []readingJSON
	Peers    []peerJSON
	Paced    []pacedJSON
	Analyses []analysisJSON
	Against  []againstJSON
	Notes    []string
}

type ceilingJSON struct {
	Name           string
	About          string
	BytesPerSecond float64
}

// benchScene is how fast one scene was recorded.
type benchScene struct {
	Scene           string
	Frames          uint64
	ElapsedNS       int64
	SourceNS        int64 // of it, what the source alone takes
	NetNS           int64 // the rest
	PixelsPerSecond float64
	FileBytes       int64
	Ceiling         string
	Share           float64
}

// BenchmarkRead measures what this machine can do, then records scenes and reads them. It takes
// half a minute and 3 GB.
func BenchmarkRead(b *testing.B) {
	benchmark(b, (*bench).memory, (*bench).disk, (*bench).scenes)
}

// BenchmarkPeers gives the same frames to the recorder, to ffmpeg's lossless encoders and to LZ4.
// It takes minutes and 5 GB.
func BenchmarkPeers(b *testing.B) { benchmark(b, (*bench).peers) }

// BenchmarkPaced records scenes in real time. It takes ten minutes and 60 GB.
func BenchmarkPaced(b *testing.B) { benchmark(b, (*bench).paced) }

// BenchmarkAnalyze measures how fast recordings are analysed. It takes minutes and 15 GB; with
// -short, recordings are shorter.
func BenchmarkAnalyze(b *testing.B) { benchmark(b, (*bench).analyses) }

// benchmark runs steps once and prints their tables. Files go to the folder for temporary files.
func benchmark(b *testing.B, steps ...func(*bench) error) {
	for b.Loop() {
		run := bench{env: &env{ctx: b.Context(), err: os.Stderr}, dir: b.TempDir(), quick: testing.Short()}
		for _, step := range steps {
			if err := step(&run); err != nil {
				b.Fatal(err)
			}
		}
		fmt.Println()
		if err := run.result.print(os.Stdout); err != nil {
			b.Fatal(err)
		}
	}
}

// bench is one run.
type bench struct {
	*env
	dir    string
	quick  bool
	result benchResult
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

// sceneCases are what is recorded, and what bounds it: a still screen by comparing, noise by the
// disk.
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
		b.phase("recording synth:"+s.Scene, 0).End()
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
	src, err := recorder.OpenSource(b.ctx, uri)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, s.Scene+".eid")
	started := time.Now()
	res, err := recorder.Record(b.ctx, src, path, recorder.Options{Program: program()})
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
	src, err := recorder.OpenSource(b.ctx, uri)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	err = recorder.Discard(b.ctx, src)
	took := time.Since(started)
	return took, errors.Join(err, src.Close(), context.Cause(b.ctx))
}
