// Package attach joins a trace of another tool to a finished run. It detects and reads its format.
// It finds the relation of its clock to the recording's clock, and keeps it in the run folder.
//
//	file ──unpack──▶ reader of its format ──▶ index.etr
//	                        └── claims ──▶ evidence ──▶ clock ──▶ trace.json
//	                    facts of the run ──┘
package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/pattern"
)

// Options are those of an attachment.
type Options struct {
	Run   string // run folder
	Trace string // file, or the folder of a trace that eideticker profile recorded
	Name  string // of the trace in the run; empty: of the file
	Clock Mode
	Force bool // with the mode None: accept a trace of another run
}

// Attached is the result.
type Attached struct {
	Info   activity.Info
	Claims *activity.Claims
	Joined
}

// Attach attaches a trace.
func Attach(ctx context.Context, o Options) (*Attached, error) {
	a, err := attach(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("attach %s: %w", o.Trace, err)
	}
	return a, nil
}

func attach(ctx context.Context, o Options) (_ *Attached, err error) {
	profile, name := profileOf(o.Trace), ""
	if profile != "" {
		if profile, err = filepath.Abs(profile); err != nil {
			return nil, err
		}
		name = filepath.Base(profile)
	}
	if profile == "" || o.Name != "" || !nameIs.MatchString(name) {
		if name, err = traceName(o); err != nil {
			return nil, err
		}
	}
	facts, err := readFacts(o.Run)
	if err != nil {
		return nil, err
	}
	traces := filepath.Join(o.Run, activity.TracesDir)
	if _, err := os.Lstat(filepath.Join(traces, name)); err == nil {
		return nil, fmt.Errorf("%s of the run: %w; name another with --as", name, fs.ErrExist)
	}
	if err := os.MkdirAll(traces, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(traces, "."+name+".*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
			_ = os.Remove(traces) // only if it is empty
		}
	}()
	a := &Attached{Info: activity.Info{Schema: activity.Schema, Version: activity.Version, Recording: facts.Recording,
		Name: name, Command: []string{}, Warnings: []string{}}}
	if profile != "" {
		err = a.copy(ctx, profile, dir, facts, o)
	} else {
		err = a.readFile(ctx, dir, facts, o)
	}
	if err != nil {
		return nil, err
	}
	if err := a.Info.Write(dir); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := activity.Open(dir) // a copied one may be damaged
	if err != nil {
		return nil, err
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := os.Rename(dir, filepath.Join(traces, name)); err != nil {
		return nil, fmt.Errorf("name trace %s: %w", name, err)
	}
	return a, nil
}

// readFile keeps the file and reads it.
func (a *Attached) readFile(ctx context.Context, dir string, facts *runFacts, o Options) error {
	raw, err := keepRaw(ctx, o.Trace, dir)
	if err != nil {
		return err
	}
	a.Info.Raw = []string{filepath.Base(raw)}
	if err := a.read(ctx, raw, dir, facts, o); err != nil {
		return err
	}
	a.describe()
	return nil
}

// read writes the index. It finds the relation to the run before the frames of the claims are
// written.
func (a *Attached) read(ctx context.Context, raw, dir string, facts *runFacts, o Options) error {
	u, err := unpack(raw)
	if err != nil {
		return err
	}
	defer u.Close() // only read
	f, err := detect(u)
	if err != nil {
		return err
	}
	w, err := activity.NewWriter(dir, a.Info)
	if err != nil {
		return err
	}
	a.Claims, err = f.read(interruptible{ctx, u}, w)
	if err == nil {
		for _, f := range a.Claims.Frames {
			a.Claims.Seen(f.Begin)
			a.Claims.Seen(f.At)
		}
		if a.Claims.FramesOnly = w.Events() == 0; a.Claims.FramesOnly {
			a.Claims.Way = "frames"
		}
		err = a.relate(ctx, facts, o, w)
	}
	info, closed := w.Close()
	if err := errors.Join(err, closed); err != nil {
		return err
	}
	if info.Events == 0 {
		return fmt.Errorf("read %s: it has no records of threads or frames", f.name)
	}
	a.Info = info
	return nil
}

// relate finds the relation to the run, and passes on the frames of the claims.
func (a *Attached) relate(ctx context.Context, facts *runFacts, o Options, to activity.Sink) (err error) {
	unread := error(nil)
	pictures := func() {
		if unread = facts.readPictures(ctx, o.Run); unread != nil {
			facts.Pictures = nil
		}
	}
	marked := len(a.Claims.Strips) > 0
	if marked {
		pictures()
	}
	if a.Joined, err = join(ctx, a.Claims, facts, o.Clock, o.Force); err != nil {
		return err
	}
	if len(a.Claims.Frames) > 0 && !a.Clock.None {
		if !marked {
			pictures()
		}
		facts.show(a.Claims, &a.Clock)
	}
	if unread != nil {
		a.Joined.Warnings = append(a.Joined.Warnings,
			"Pictures are not matched: the recording's code strip cannot be read.")
	}
	return a.Claims.WriteFrames(to)
}

// describe completes the info from the claims.
func (a *Attached) describe() {
	c, i := a.Claims, &a.Info
	i.Engine, i.Way, i.Target, i.RateHz = c.Engine, c.Way, activity.Clean(c.Target), c.RateHz
	i.Clock = a.Clock
	i.Why = "attached"
	if i.Skipped == nil {
		i.Skipped = map[string]int64{}
	}
	for kind, n := range c.Skipped {
		i.Skipped[kind] += n
	}
	if c.Truncated {
		i.Warnings = append(i.Warnings, "The trace is truncated: its file ends within a record.")
	}
	if c.Slept > 0 {
		i.Warnings = append(i.Warnings, fmt.Sprintf("The trace's device slept for %s. Records from its waking until "+
			"the next clock snapshot may be too early by that.", time.Duration(c.Slept).Round(time.Millisecond)))
	}
	sum := int64(0)
	for _, n := range i.Skipped {
		sum += n
	}
	if 100*sum > c.Records {
		i.Warnings = append(i.Warnings, fmt.Sprintf("The trace is damaged: %d of %d records were skipped.", sum,
			max(sum, c.Records)))
	}
	i.Warnings = append(i.Warnings, a.Joined.Warnings...)
}

// interruptible ends with a context.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(b)
}

// keepRaw copies the trace into the run. Only the user may read it.
func keepRaw(ctx context.Context, from, dir string) (string, error) {
	if st, err := os.Stat(from); err != nil || !st.Mode().IsRegular() {
		return "", errors.Join(err, errors.New("it is neither a file nor a folder of eideticker profile"))
	}
	folder := filepath.Join(dir, activity.RawDir)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(folder, "trace"+endings(from))
	return to, copyFile(ctx, from, to)
}

var (
	nameIs    = pattern.New(`^[a-z0-9][a-z0-9-]{0,31}$`)
	otherName = pattern.New(`[^a-z0-9]+`)
	endingIs  = pattern.New(`(\.[a-z0-9]{1,12}){1,2}$`)
)

// endings returns the endings of a file's name, such as .json.gz.
func endings(file string) string {
	return endingIs.FindString(strings.ToLower(strings.TrimLeft(filepath.Base(file), ".")))
}

// traceName returns the name of the trace in the run.
func traceName(o Options) (string, error) {
	name := o.Name
	if name == "" {
		base := strings.ToLower(filepath.Base(o.Trace))
		name = strings.Trim(otherName.ReplaceAllString(strings.TrimSuffix(base, endings(base)), "-"), "-")
		if name = strings.Trim(name[:min(len(name), 32)], "-"); name == "" {
			name = "trace"
		}
		if reserved(name) {
			name = "attached-" + name
		}
	}
	switch {
	case !nameIs.MatchString(name):
		return "", fmt.Errorf("name %.40q: must be up to 32 of a-z, 0-9 and -", name)
	case reserved(name):
		return "", fmt.Errorf("name %s: is that of a recorded profile; choose another with --as", name)
	}
	return name, nil
}

// reserved reports whether a name is that of a trace which a run records.
func reserved(name string) bool {
	return name == "native" || name == "sockets" || name == "js" || name == "page"
}
