// Package agent connects a rig to the hub of its fleet.
//
// It reports the rig's devices and results, and does the attempts that the hub desires. The rig's
// own queue runs them. A file keeps which attempts were accepted and how they ended. An attempt is
// therefore never run twice, and its result is reported until the hub acknowledges it.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/pattern"
)

// Files in the data directory.
const (
	FileName   = "fleet.json"
	RightsFile = "secrets/fleet-rig.jwt"
	seedFile   = "secrets/fleet-rig.seed"
	stateFile  = "fleet-agent.json"
	lightDir   = "fleet-agent" // zip files of light folders
)

// Fleet is the content of fleet.json: the rig's place in a fleet.
type Fleet struct {
	Hub         string `json:"hub"`         // address, such as https://hub:8430
	Fingerprint string `json:"fingerprint"` // of the hub's certificate
	Rig         string `json:"rig"`
	Path        string `json:"path"` // of the websocket, below the hub's address
	Key         string `json:"key"`  // public, of the rig: each time it joins, the file changes
}

// Bus carries the rig's requests to its hub.
type Bus interface {
	Request(ctx context.Context, kind string, request []byte) ([]byte, error)
	Woken() <-chan struct{}
	Connected() (bool, error)
	Close() error
}

// Queue runs attempts. The rig's daemon implements it.
type Queue interface {
	Submit(ctx context.Context, id, owner string, p api.StartParams) (api.Job, error)
	Job(id string) (api.Job, bool)
	Cancel(id string) error
}

// Options are those of an agent.
type Options struct {
	Dir string // data directory
	// Dial connects to a hub. jwt returns the rig's current rights.
	Dial    func(f Fleet, seed []byte, jwt func() (string, error)) (Bus, error)
	Queue   Queue
	Devices func() []api.Device
	// Descriptions returns the devices of the file, for labels; nil: those of Devices are all.
	Descriptions func() []device.Description
	// Tests returns the names of the rig's tests, and of those with a profile; nil: they are not told.
	Tests func() (all, profiled []string)
	// Feeds returns the names of the feeds whose builds run on a device; nil: they are not told.
	Feeds func(device string) []string
	// Open opens the folder of a set. It is not deleted before release. The error wraps
	// fs.ErrNotExist if there is none.
	Open func(set string) (root *os.Root, release func(), err error)
	// Superseded has the runs of a set deleted before others. nil: they are like others.
	Superseded func(set string)
	// Rest has the rig's sets of class fill wait between two blocks, so that results can be sent. Nil:
	// they do not.
	Rest    func(is bool)
	Files   http.Handler // answers requests of the relay, without a token
	Program string
	Address string // of the rig's own page; "": it is not told
	Accept  wire.Accept
	// Unbuilt are feeds of commits whose builds the rig does not make for the fleet.
	Unbuilt []string
	// Signs are feeds whose builds the rig makes for other rigs by Make, while it measures nothing.
	Signs []string
	Make  func(ctx context.Context, b wire.Build) (wire.Made, error)
	// Fetches are feeds whose builds the rig gets from the hub. Learn checks the signature of one and
	// keeps it.
	Fetches []string
	Learn   func(m wire.Made) error
	Labels  map[string]map[string]string // words of the rig's owner, by device; "": of all devices
	Poll    time.Duration                // 0: 10 s
	Look    time.Duration                // between looks at attempts and fleet.json; 0: 1 s
	Now     func() time.Time             // nil: the system's
	Log     *slog.Logger                 // nil: none
	// Point is called where it would matter that the program ends there, for tests.
	Point func(name string)
}

// Agent is a rig's part in a fleet. Its methods may be called from any goroutine.
type Agent struct {
	o    Options
	boot string

	mu        sync.Mutex
	fleet     Fleet                    // zero: the rig is in no fleet
	bus       Bus                      // nil: as fleet
	to        *transfer                // nil: as bus
	wanted    []wire.Build             // that the hub wants for other rigs
	made      map[wire.Build]wire.Made // of those
	untold    bool                     // one was made since the last poll
	state     state
	reason    string    // of a lost connection, or of a refusal of jobs
	connected bool      // as it was found last
	since     time.Time // of connected
	held      time.Time // since then a light folder waits for a quiet rig
	next      time.Duration
	rests     bool     // results wait for a quiet rig, and the hub for them
	odd       bool     // an invalid ID of an attempt was told
	tests     []string // names of the rig's, since listed
	profiled  []string
	listed    time.Time
	kept      []string         // reasons of the last poll, by device
	facts     map[string]facts // by device
}

// New returns an agent with the state of the one that was here before.
func New(o Options) (*Agent, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Poll == 0 {
		o.Poll = 10 * time.Second
	}
	if o.Look == 0 {
		o.Look = time.Second
	}
	if o.Point == nil {
		o.Point = func(string) {}
	}
	if o.Rest == nil {
		o.Rest = func(bool) {}
	}
	a := &Agent{o: o, boot: rand.Text(), facts: map[string]facts{}, made: map[wire.Build]wire.Made{}}
	return a, a.load()
}

// Run connects to the hub of fleet.json until ctx ends. The file may appear and change meanwhile.
func (a *Agent) Run(ctx context.Context) error {
	look := time.NewTicker(a.o.Look)
	defer look.Stop()
	var stop func()
	leave := func() {
		if stop != nil {
			stop()
			stop = nil
		}
	}
	defer leave()
	for {
		f, err := readFleet(a.o.Dir)
		a.mu.Lock()
		changed := err == nil && f != a.fleet
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.reason = err.Error()
		}
		a.mu.Unlock()
		if errors.Is(err, fs.ErrNotExist) {
			changed, f = a.Fleet() != Fleet{}, Fleet{}
		}
		if changed {
			leave()
			a.enter(f)
		}
		if f.Hub != "" && stop == nil {
			stop = a.connect(ctx, f)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Fleet returns the rig's place in a fleet; zero: it has none.
func (a *Agent) Fleet() Fleet {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fleet
}

// enter notes a new fleet. Results of an earlier hub are not for the new one.
func (a *Agent) enter(f Fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleet, a.reason, a.since, a.held = f, "", time.Time{}, time.Time{}
	if f.Hub != "" && (a.state.Hub != f.Hub || a.state.Rig != f.Rig) {
		for _, t := range a.state.Attempts {
			if t.Submitted && t.Ended == nil {
				_ = a.o.Queue.Cancel(t.ID) // it may have ended
			}
		}
		a.state = state{Version: stateVersion, Hub: f.Hub, Rig: f.Rig, Key: f.Key, Done: a.state.Done,
			Signals: a.state.Signals}
		if err := a.save(); err != nil {
			a.o.Log.Error("the state of the fleet could not be kept", "error", err)
		}
	}
	if f.Hub != "" && a.state.Key != f.Key { // it has joined anew, maybe to get rid of an epoch
		before := a.state
		a.state.Key, a.state.Epoch = f.Key, 0
		if err := a.save(); err != nil {
			a.state = before
			a.o.Log.Error("the state of the fleet could not be kept", "error", err)
		}
	}
	if f.Hub != "" {
		a.o.Log.Info("the rig is in a fleet", "hub", f.Hub, "rig", f.Rig)
	}
}

// connect begins the work for a hub. stop ends it. A nil stop means that another try is needed.
func (a *Agent) connect(ctx context.Context, f Fleet) (stop func()) {
	bus, err := a.dial(f)
	if err != nil {
		a.mu.Lock()
		a.reason = err.Error()
		a.mu.Unlock()
		return nil
	}
	to, err := newTransfer(f)
	if err != nil {
		a.mu.Lock()
		a.reason = err.Error()
		a.mu.Unlock()
		_ = bus.Close() // nothing was sent
		return nil
	}
	a.mu.Lock()
	a.bus, a.to, a.reason = bus, to, ""
	a.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	found := make(chan struct{})
	all.Go(func() { a.examine(ctx, found) })
	all.Go(func() { a.work(ctx, bus, to, found) })
	all.Go(func() { a.relay(ctx, bus, to) })
	all.Go(func() { a.makeBuilds(ctx) })
	return func() {
		cancel()
		if err := bus.Close(); err != nil {
			a.o.Log.Debug("the connection to the hub was not closed", "error", err)
		}
		all.Wait()
		to.close()
		a.mu.Lock()
		a.bus, a.to, a.connected = nil, nil, false
		a.mu.Unlock()
	}
}

func (a *Agent) dial(f Fleet) (Bus, error) {
	seed, err := os.ReadFile(filepath.Join(a.o.Dir, seedFile))
	if err != nil {
		return nil, fmt.Errorf("connect to hub %s: read the rig's key: %w", f.Hub, err)
	}
	return a.o.Dial(f, seed, func() (string, error) {
		jwt, err := os.ReadFile(filepath.Join(a.o.Dir, RightsFile))
		return string(jwt), err
	})
}

// work polls the hub. It looks at the rig's own attempts more often, so that changes are reported
// at once. The first poll waits a little for the facts about devices.
func (a *Agent) work(ctx context.Context, bus Bus, to *transfer, found <-chan struct{}) {
	look := time.NewTicker(a.o.Look)
	defer look.Stop()
	select {
	case <-found:
	case <-time.After(factsTime):
	case <-ctx.Done():
	}
	defer a.rest(false)
	var polled time.Time
	now := true
	for ctx.Err() == nil {
		now = a.observe(ctx) || now
		if now || time.Since(polled) >= a.interval() {
			polled, now = time.Now(), a.poll(ctx, bus, to)
		}
		select {
		case <-look.C:
		case <-bus.Woken():
			now = true
		case <-ctx.Done():
		}
	}
}

func (a *Agent) interval() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next > 0 && a.next < a.o.Poll {
		return a.next
	}
	return a.o.Poll
}

// Status returns the rig's connection to its fleet.
func (a *Agent) Status() api.FleetStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := api.FleetStatus{Role: "alone", Waiting: map[string]int{}, Reason: a.reason}
	if a.fleet.Hub == "" {
		return out
	}
	out.Role, out.Hub, out.Rig, out.Connected = "rig", a.fleet.Hub, a.fleet.Rig, a.connected
	out.Results = len(a.state.ended())
	for _, t := range a.state.Attempts {
		if t.Ended == nil && t.State == "running" {
			out.Running++
		}
	}
	if !a.since.IsZero() {
		out.SinceWallNS = a.since.UnixNano()
	}
	return out
}

// linked notes whether the hub answers.
func (a *Agent) linked(is bool, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is != a.connected || a.since.IsZero() && is {
		a.connected, a.since = is, a.o.Now()
		a.o.Log.Info("the connection to the hub has changed", "connected", is, "reason", reason)
	}
	a.reason = reason
}

var (
	rigForm  = pattern.New(`^[A-Za-z0-9-]{1,32}$`)
	pathForm = pattern.New(`^/[A-Za-z0-9/_.-]{0,99}$`)
)

// maxFile bounds fleet.json and the state.
const maxFile = 16 << 20

// Read returns a rig's place in a fleet, and the seed of its key.
func Read(dir string) (f Fleet, seed []byte, err error) {
	if f, err = readFleet(dir); err == nil {
		seed, err = os.ReadFile(filepath.Join(dir, seedFile))
	}
	return f, seed, err
}

// Erase takes a rig out of its fleet: a running one disconnects. Its key is deleted.
func Erase(dir string) (err error) {
	for _, name := range []string{FileName, seedFile, RightsFile} {
		if e := os.Remove(filepath.Join(dir, name)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// readFleet reads fleet.json.
func readFleet(dir string) (f Fleet, err error) {
	file := filepath.Join(dir, FileName)
	if err := readJSON(file, &f); err != nil {
		return Fleet{}, err
	}
	if !rigForm.MatchString(f.Rig) || !pathForm.MatchString(f.Path) {
		return Fleet{}, fmt.Errorf("read %s: invalid rig or path; join the fleet again", file)
	}
	return f, nil
}

func readJSON(file string, into any) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular() || st.Size() > maxFile:
		return fmt.Errorf("read %s: not a file of at most %d bytes", file, maxFile)
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// Write writes the files of a rig that joined a fleet, with the owner of the folder. The last one
// makes a running rig connect.
func Write(dir string, f Fleet, seed []byte, jwt string) error {
	secrets := filepath.Join(dir, "secrets")
	err := os.Mkdir(secrets, 0o700)
	if err == nil {
		err = staging.Adopt(secrets)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text []byte
		mode os.FileMode
	}{{seedFile, seed, 0o600}, {RightsFile, []byte(jwt), 0o600}, {FileName, append(raw, '\n'), 0o640}} {
		if err := staging.WriteFileOfFolder(filepath.Join(dir, file.name), file.text, file.mode); err != nil {
			return err
		}
	}
	return nil
}
