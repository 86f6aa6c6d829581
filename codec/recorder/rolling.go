package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// rolling keeps the last frames of a recording without end.
//
// It writes part files, PATH.part-0, PATH.part-1 and so on, each at least as long as the window. It
// keeps two: the current one and the previous one. Together they always hold the window, and at
// most twice that and the time to end a part. At the end, finish copies the wanted frames to PATH
// and removes the parts. A crash leaves the parts, which are ordinary recordings.
//
// Note: one file whose old blocks are freed (hole punching) was rejected. A recording is
// append-only and its blocks refer to earlier ones, so freeing needs to know them all. And not
// every filesystem supports it.
type rolling struct {
	path    string
	options recording.Options
	window  time.Duration

	// What every part starts with.
	metadata []capture.Metadata
	format   frame.Format
	num, den int64

	// Used by the pump, but for what mu guards.
	gaps    []frame.Gap   // told, and not yet written: they belong before a frame that may open a new part
	started timeline.Time // of the current part's first frame
	empty   bool          // the current part has no frame yet

	mu      sync.Mutex        // Event and Stats come from other goroutines
	current *recording.Writer // guarded by mu for others than the pump
	number  int               // of the current part
	done    recording.Stats   // sums of the parts before
	closing sync.WaitGroup    // the part before, while it is being closed
	failed  error             // guarded by mu: of closing or removing a part
}

func newRolling(path string, o recording.Options, window time.Duration) (*rolling, error) {
	if _, err := os.Lstat(path); err == nil && !o.Force {
		return nil, fmt.Errorf("record to %s: %w", path, fs.ErrExist)
	}
	left, err := filepath.Glob(globQuote(path) + ".part-*")
	if err != nil {
		return nil, fmt.Errorf("look for parts of %s: %w", path, err)
	}
	if len(left) > 0 && !o.Force {
		return nil, fmt.Errorf("record to %s: %s is left from an earlier recording; move it, or use --force: %w",
			path, left[0], fs.ErrExist)
	}
	for _, old := range left {
		if err := os.Remove(old); err != nil {
			return nil, fmt.Errorf("remove an old part: %w", err)
		}
	}
	r := &rolling{path: path, options: o, window: window, empty: true}
	if r.current, err = recording.Create(r.part(0), o); err != nil {
		return nil, fmt.Errorf("record to %s: %w", r.part(0), err)
	}
	return r, nil
}

// globQuote makes a file name stand for itself in a pattern.
func globQuote(name string) string {
	var b []byte
	for i := range len(name) {
		switch name[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return string(b)
}

func (r *rolling) part(n int) string { return fmt.Sprintf("%s.part-%d", r.path, n) }

func (r *rolling) Metadata(name string, value json.RawMessage) error {
	r.metadata = append(r.metadata, capture.Metadata{Name: name, Value: value})
	return r.current.Metadata(name, value)
}

// Segment has the current part go on in another format. No part holds a frame of the format before
// when it returns, also not the one that is being closed.
func (r *rolling) Segment(f frame.Format, num, den int64) error {
	r.closing.Wait()
	if err := r.failure(); err != nil {
		return err
	}
	r.format, r.num, r.den = f, num, den
	return r.current.Segment(f, num, den)
}

func (r *rolling) Gap(g frame.Gap) error {
	r.gaps = append(r.gaps, g)
	return nil
}

func (r *rolling) Ahead(pixels [][]byte) { r.current.Ahead(pixels) }

// Came is of no use here: if recording fails the parts are left as they are.
func (r *rolling) Expect(uint64, uint64, timeline.Time) {}

func (r *rolling) WriteFrame(pix []byte, m frame.Meta, owner recording.Owner) error {
	return r.WriteFrameChange(pix, m, owner, nil)
}

// WriteFrameChange is for who watches. In the first frame of a part all has changed.
func (r *rolling) WriteFrameChange(pix []byte, m frame.Meta, owner recording.Owner, c *frame.Change) error {
	at := m.Sampled.Mid()
	if r.empty {
		r.started, r.empty = at, false
	} else if at.Sub(r.started) >= r.window {
		if err := r.rotate(); err != nil {
			owner.Release()
			return err
		}
		r.started = at
	}
	if err := r.flushGaps(); err != nil {
		owner.Release()
		return err
	}
	return r.current.WriteFrameChange(pix, m, owner, c)
}

func (r *rolling) flushGaps() error {
	for _, g := range r.gaps {
		if err := r.current.Gap(g); err != nil {
			return err
		}
	}
	r.gaps = r.gaps[:0]
	return nil
}

// rotate opens the next part, has the current one closed, and removes the one before that.
func (r *rolling) rotate() error {
	r.closing.Wait() // the part before; it had a whole window's time
	if err := r.failure(); err != nil {
		return err
	}
	o := r.options
	o.Force = true
	next, err := recording.Create(r.part(r.number+1), o)
	if err != nil {
		return fmt.Errorf("start part %d: %w", r.number+1, err)
	}
	for _, m := range r.metadata {
		if err := next.Metadata(m.Name, m.Value); err != nil {
			return errors.Join(err, next.Close())
		}
	}
	if err := next.Segment(r.format, r.num, r.den); err != nil {
		return errors.Join(err, next.Close())
	}
	r.mu.Lock()
	old := r.current
	r.current = next
	r.number++
	number := r.number
	r.mu.Unlock()
	// Closing waits for the disk; frames go on meanwhile.
	r.closing.Go(func() { r.retire(old, number-2) })
	return nil
}

// retire closes a part, and removes one that is not needed any more.
func (r *rolling) retire(old *recording.Writer, obsolete int) {
	err := old.Close()
	if obsolete >= 0 {
		err = errors.Join(err, os.Remove(r.part(obsolete)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.done, old.Stats())
	r.failed = errors.Join(r.failed, err)
}

func (r *rolling) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *rolling) Event(e timeline.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.Event(e)
}

// Flush has the current part's frames reach its file.
func (r *rolling) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.Flush()
}

func (r *rolling) SetPressure(p float64) { r.current.SetPressure(p) }

// Stats sums over all parts, also those that are gone.
func (r *rolling) Stats() recording.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.done
	add(&sum, r.current.Stats())
	return sum
}

func add(sum *recording.Stats, s recording.Stats) {
	sum.Frames += s.Frames
	sum.Unique += s.Unique
	sum.Gaps += s.Gaps
	sum.Missing += s.Missing
	sum.BytesIn += s.BytesIn
	sum.BytesOut += s.BytesOut
	sum.Direct, sum.DirectNote = s.Direct, s.DirectNote
}

func (r *rolling) Close() error {
	err := r.flushGaps()
	err = errors.Join(err, r.current.Close())
	r.closing.Wait()
	return errors.Join(err, r.failure())
}

// finish makes the file that was asked for from the parts. If recording failed before, or this
// does, the parts stay; the error names them, and the result is about the last.
func (r *rolling) finish(res Result, failed error) (Result, error) {
	var parts []string
	for n := max(r.number-1, 0); n <= r.number; n++ {
		parts = append(parts, r.part(n))
	}
	if failed != nil {
		return r.left(res), fmt.Errorf("%w; see its latest frames in %s", failed, strings.Join(parts, " and "))
	}
	kept, err := assemble(context.Background(), r.path, r.options, r.window, parts, nil)
	if err != nil {
		return r.left(res), fmt.Errorf("save the last %v: %w; it is in %s", r.window, err, strings.Join(parts, " and "))
	}
	for _, part := range parts {
		err = errors.Join(err, os.Remove(part))
	}
	res.keep(kept)
	res.Bytes = kept.Bytes
	return res, err
}

// left copies the last part into the result, since the requested file does not exist. Data after
// its last frame is lost.
func (r *rolling) left(res Result) Result {
	res.Path = r.part(r.number)
	kept, err := summarize(res.Path)
	if err != nil {
		return res
	}
	came, any := res.Last, res.Total > 0
	res.keep(kept)
	res.Bytes = kept.Bytes
	if kept.Total > 0 && any && came > kept.Last {
		n := came - kept.Last
		res.Lost = append(res.Lost, Loss{frame.Stopped, n})
		res.Missing, res.Total, res.Last = res.Missing+n, res.Total+n, came
	}
	return res
}
