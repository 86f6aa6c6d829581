package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Joined is what became of the parts of a recording.
type Joined struct {
	Frames int      // of the recording; 0: nothing was in them, and it is not there
	Notes  []string // sentences
}

// JoinParts makes one recording of the parts that a killed program left while it kept the last
// frames. It contains all of their frames. Every frame is compared with its source before the parts
// are removed. On an error the parts stay. It returns nil if no parts exist. It calls progress with
// the number of copied frames, unless progress is nil.
func JoinParts(ctx context.Context, path string, progress func(done int)) (*Joined, error) {
	parts, err := partsOf(path)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	j := &joiner{path: path, progress: progress}
	if err := j.join(ctx, parts); err != nil {
		return &j.Joined, fmt.Errorf("join the parts of %s: %w", path, err)
	}
	return &j.Joined, nil
}

// partsOf returns the parts of a recording, the oldest first.
func partsOf(path string) ([]string, error) {
	parts, err := filepath.Glob(globQuote(path) + ".part-*")
	if err != nil {
		return nil, fmt.Errorf("look for parts of %s: %w", path, err)
	}
	number := func(part string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(part, path+".part-"))
		if err != nil {
			return -1 // none of ours
		}
		return n
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return number(part) < 0 })
	slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return parts, nil
}

// joiner puts parts together.
type joiner struct {
	Joined
	path     string
	progress func(done int)
}

func (j *joiner) join(ctx context.Context, parts []string) error {
	full, useless, err := j.sort(parts)
	if err != nil {
		return err
	}
	// the program was killed when it had saved them, while it took them away
	if frames, ok := closedFrames(j.path); ok {
		j.Frames = frames
		return j.remove(slices.Concat(full, useless))
	}
	switch len(full) {
	case 0:
		useless = append(useless, j.path) // a half-made recording has no frames either
	case 1:
		err = errors.Join(os.Rename(full[0], j.path), syncNames(j.path))
	default:
		err = j.copy(ctx, full)
		useless = append(useless, full...)
	}
	if err != nil {
		return err
	}
	return j.remove(useless)
}

// closedFrames counts the frames of a recording that was closed as it should be.
func closedFrames(path string) (frames int, ok bool) {
	r, err := recording.Open(path)
	if err != nil {
		return 0, false
	}
	defer r.Close() // was only read
	return r.Frames(), r.Info().Complete
}

// sort repairs parts, and returns those that have frames and those that have nothing. What cannot
// be read stays where it is.
func (j *joiner) sort(parts []string) (full, useless []string, err error) {
	for _, part := range parts {
		rep, err := recording.Repair(part)
		switch {
		case errors.Is(err, recording.ErrNotRecording):
			blank, e := isBlank(part)
			if e != nil {
				return nil, nil, e
			}
			if blank { // its head had not reached the disk
				useless = append(useless, part)
				continue
			}
			j.Notes = append(j.Notes, fmt.Sprintf("%s cannot be read, and stays: %v", filepath.Base(part), err))
		case err != nil:
			return nil, nil, err
		case rep.Kept == 0:
			useless = append(useless, part)
		default:
			full = append(full, part)
			j.Frames += rep.Kept
		}
		j.Notes = append(j.Notes, rep.Notes...)
	}
	return full, useless, nil
}

// isBlank reports whether all bytes of a file are zero, as after a power cut where nothing was
// synced.
func isBlank(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // was only read
	b := make([]byte, 1<<16)
	for {
		n, err := f.Read(b)
		if slices.ContainsFunc(b[:n], func(c byte) bool { return c != 0 }) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// copy makes one recording of several, and puts it in place when all of it was verified.
func (j *joiner) copy(ctx context.Context, parts []string) error {
	options, err := likeOf(parts[0])
	if err != nil {
		return err
	}
	made := filepath.Join(filepath.Dir(j.path), "."+filepath.Base(j.path)+".joined")
	if _, err := assemble(ctx, made, options, math.MaxInt64, parts, j.progress); err != nil {
		return err
	}
	err = verify(ctx, made, j.Frames)
	if err == nil {
		err = os.Rename(made, j.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made))
	}
	return syncNames(j.path)
}

// likeOf returns the options by which a new recording keeps the day and time of an older one.
func likeOf(path string) (o recording.Options, err error) {
	r, err := recording.Open(path)
	if err != nil {
		return o, err
	}
	defer r.Close() // was only read
	first, err := r.Meta(0)
	if err != nil {
		return o, err
	}
	in := r.Info()
	return recording.Options{
		Force: true, OwnClock: in.OwnClock, Program: in.Writer,
		Clock: pastClock{timeline.Monotonic().Now().Sub(first.Sampled.Mid()).Nanoseconds(), in.WallOffset},
	}, nil
}

// pastClock goes as the rig's clock did when something was recorded, perhaps before the machine was
// started anew.
type pastClock struct{ behind, wallOffset int64 }

func (c pastClock) Now() timeline.Time { return timeline.Monotonic().Now() - timeline.Time(c.behind) }

// Wall is asked for by [timeline.WallOffset].
func (c pastClock) Wall() int64 { return int64(c.Now()) + c.wallOffset }

// verify holds a recording against its source, and counts its frames.
func verify(ctx context.Context, path string, frames int) error {
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	if r.Frames() != frames {
		return fmt.Errorf("%s has %d frames, and its parts have %d", path, r.Frames(), frames)
	}
	_, err = r.Verify(ctx, nil)
	return err
}

// remove removes files that are no longer needed.
func (j *joiner) remove(files []string) error {
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncNames has the name of a file survive a power cut.
func syncNames(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
