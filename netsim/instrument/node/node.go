// Package node runs Node programs and records the calls of all their functions.
//
// Node preloads a runtime. It has each CommonJS module and each ES module rewritten before it runs.
// Threads and child processes do the same. Files on the disk stay unchanged.
//
// A thread asks the rewriter by two named pipes, because Node loads modules synchronously. It
// writes its records to a log of its own. So they outlive a program that is killed.
package node

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

// Limits of a tracer.
const (
	channels = 64 // threads that load modules at a time
	maxPlace = 16 << 10
	// defaultQuota is 16 million records.
	defaultQuota = 256 << 20
	maxLogs      = 1 << 10
)

// Options describe a tracer.
type Options struct {
	Only      string // a folder; files elsewhere run unchanged; empty: all files
	Signal    string // starts and stops the recording, such as SIGUSR2; empty: none
	Stopped   bool   // do not record before the signal, or before the program's start()
	Callbacks bool   // record timers, promises and other callbacks
	Quota     int64  // bytes of a thread's log (default: defaultQuota)
}

// Tracer rewrites and records programs. Its methods are not safe for concurrent use.
type Tracer struct {
	Start timeline.Time // the logs' times count from it

	only    string
	folder  string
	in      *instrument.Instrument
	serving sync.WaitGroup
	pipes   []*os.File
}

// New returns a tracer, which runs until Close.
func New(o Options) (*Tracer, error) {
	chosen, err := policy.Named("calls")
	if err != nil {
		return nil, err
	}
	nonce := instrument.NewNonce()
	in, err := instrument.New(instrument.Options{Nonce: nonce, Secret: "node", Policies: chosen,
		Collector: func(string, bool) string { return "" }})
	if err != nil {
		return nil, err
	}
	t := &Tracer{Start: timeline.Monotonic().Now(), in: in}
	if o.Only != "" {
		if t.only, err = filepath.Abs(o.Only); err == nil {
			t.only, err = filepath.EvalSymlinks(t.only)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.folder, err = os.MkdirTemp("", "eideticker-trace-"); err != nil {
		return nil, err
	}
	r := runtime.NodeOptions{Nonce: nonce, Folder: t.folder, Channels: channels, Start: int64(t.Start), Quota: o.Quota,
		Signal: o.Signal, Begins: !o.Stopped, Callbacks: o.Callbacks}
	if r.Quota == 0 {
		r.Quota = defaultQuota
	}
	for _, p := range chosen {
		r.Policies = append(r.Policies, p.Runtime)
	}
	preload, hooks := runtime.Node(r)
	err = os.WriteFile(t.preload(), []byte(preload), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.folder, "hooks.mjs"), []byte(hooks), 0o600)
	}
	for i := 0; i < channels && err == nil; i++ {
		err = t.open(i)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Tracer) preload() string { return filepath.Join(t.folder, "preload.cjs") }

// open opens the pipes of a channel and answers its questions.
func (t *Tracer) open(i int) error {
	var both [2]*os.File
	for k, name := range []string{"ask", "answer"} {
		path := filepath.Join(t.folder, fmt.Sprintf("%s.%d", name, i))
		if err := makePipe(path); err != nil {
			return err
		}
		// Both directions: a pipe without a reader or writer would block, or end.
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		both[k] = f
		t.pipes = append(t.pipes, f)
	}
	t.serving.Go(func() {
		for t.answer(both[0], both[1]) == nil {
		}
	})
	return nil
}

// The goals of a question, and the length of the answer that a program is unchanged.
const (
	script    = 1
	module    = 2
	unchanged = 0xffffffff
)

// answer reads one question and answers it.
func (t *Tracer) answer(ask io.Reader, answer io.Writer) error {
	var head [12]byte
	if _, err := io.ReadFull(ask, head[:]); err != nil {
		return err
	}
	u32 := binary.LittleEndian.Uint32
	goal, place, size := u32(head[:]), u32(head[4:]), u32(head[8:])
	out := binary.LittleEndian.AppendUint32(nil, unchanged)
	if (goal != script && goal != module) || place > maxPlace || size > ecma.MaxSource {
		if _, err := io.CopyN(io.Discard, ask, int64(place)+int64(size)); err != nil {
			return err
		}
	} else {
		var text bytes.Buffer
		if _, err := io.CopyN(&text, ask, int64(place)+int64(size)); err != nil {
			return err
		}
		path, src := text.String()[:place], text.String()[place:]
		if t.wants(path) {
			made := t.in.Module(path, src, goal == script)
			if made != src && len(made) < unchanged {
				out = append(binary.LittleEndian.AppendUint32(nil, uint32(len(made))), made...)
			}
		}
	}
	_, err := answer.Write(out)
	return err
}

// wants reports whether a file is to be recorded.
func (t *Tracer) wants(path string) bool {
	rest, ok := strings.CutPrefix(path, t.only)
	return ok && (t.only == "" || rest == "" || rest[0] == filepath.Separator)
}

// Environment returns an environment in which Node programs are recorded.
func (t *Tracer) Environment(from []string) []string {
	const name = "NODE_OPTIONS="
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(t.preload())
	value := `--require "` + quoted + `"`
	for _, v := range from {
		if before, ok := strings.CutPrefix(v, name); ok && before != "" {
			value = before + " " + value
		}
	}
	return append(slices.Clone(from), name+value)
}

// Programs returns the programs that were loaded.
func (t *Tracer) Programs() []instrument.Program { return t.in.Programs() }

// Logs returns the paths of all logs. A log has the format of script.log.
func (t *Tracer) Logs() ([]string, error) {
	logs, err := filepath.Glob(filepath.Join(t.folder, "*.log"))
	if len(logs) > maxLogs {
		return nil, fmt.Errorf("%d threads were recorded: at most %d are allowed", len(logs), maxLogs)
	}
	return logs, err
}

// Close ends the rewriter and removes the logs.
func (t *Tracer) Close() error {
	for _, f := range t.pipes {
		f.Close() // its readers return
	}
	t.serving.Wait()
	return os.RemoveAll(t.folder)
}

// TracerJS is a tracer for pages and Node that works without this program.
//
//go:embed tracer.js
var TracerJS string
