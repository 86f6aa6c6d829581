package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/eideticker/eideticker/codec/recording"
)

// readingJSON is how fast one recording is read back.
type readingJSON struct {
	Scene string
	// Any frame in random order, with whatever of the file the page cache happens to hold.
	RandomP50NS int64
	RandomP99NS int64
	// All frames in turn, decoded; the second pass, from the page cache.
	SequentialPerSecond float64
	SequentialRatio     float64 // to 60 frames a second
	// All changes without pixels, opening the file included, with nothing of it in the page cache.
	TimelinePerSecond float64
}

const randomReads = 300

func (b *bench) read(scene, path string) error {
	b.phase("reading "+scene, 0).End()
	r := readingJSON{Scene: scene}
	if err := dropFromCache(path); err != nil {
		b.result.Notes = append(b.result.Notes, "the recording may have been in the page cache: "+err.Error())
	}
	for _, step := range []func(string) error{r.timeline, r.random, r.inTurn} {
		if err := errors.Join(step(path), b.ctx.Err()); err != nil {
			return err
		}
	}
	b.result.Reading = append(b.result.Reading, r)
	return nil
}

func (r *readingJSON) timeline(path string) error {
	started := time.Now()
	rec, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer rec.Close() // was only read
	n := rec.Frames()
	t := rec.Timeline(0, n)
	for t.Next() {
	}
	r.TimelinePerSecond = float64(n) / time.Since(started).Seconds()
	return t.Err()
}

func (r *readingJSON) random(path string) error {
	rec, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer rec.Close() // was only read
	pix := make([]byte, rec.Segments()[0].Layout.Size)
	rng := rand.New(rand.NewPCG(1, 2))
	took := make([]time.Duration, randomReads)
	for i := range took {
		started := time.Now()
		if err := rec.ReadFrame(rng.IntN(rec.Frames()), pix); err != nil {
			return err
		}
		took[i] = time.Since(started)
	}
	slices.Sort(took)
	r.RandomP50NS, r.RandomP99NS = took[randomReads/2].Nanoseconds(), took[randomReads*99/100].Nanoseconds()
	return nil
}

func (r *readingJSON) inTurn(path string) error {
	rec, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer rec.Close() // was only read
	for range 2 {
		p, err := rec.Play(0, rec.Frames())
		if err != nil {
			return err
		}
		started := time.Now()
		for p.Next() {
		}
		r.SequentialPerSecond = float64(rec.Frames()) / time.Since(started).Seconds()
		if err := errors.Join(p.Err(), p.Close()); err != nil {
			return err
		}
	}
	r.SequentialRatio = r.SequentialPerSecond / 60
	return nil
}
